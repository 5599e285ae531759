//! How a check did in a span of time, for the API and for `get_uptime`: one look at its flips, its pauses and our gaps.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Found, resolve};
use crate::checks::intake::Gap;
use crate::checks::store::{flips, intake, pauses};
use crate::checks::uptime::{Day, Span, Uptime, measure, merged};
use crate::checks::{Check, CheckError, Refusal};
use crate::clock::Millis;
use crate::db::Db;
use crate::ids::UserId;

/// More flips than this are not looked at for one answer.
const MAX_FLIPS: u16 = 10_000;
/// How far back a span may reach, in days. Flips are kept a little longer ([`prune`](crate::checks::prune)).
pub const MAX_DAYS: u64 = 400;
/// Days of a span that names none.
pub const USUAL_DAYS: u64 = 30;
/// What a model is told of each kind: the newest.
const SHOWN_OUTAGES: usize = 20;
const SHOWN_GAPS: usize = 10;
const SHOWN_DAYS: usize = 31;

/// A check's uptime in a span, and the times in it in which it was paused or no instance took pings in, oldest first.
///
/// # Errors
/// `invalid_field` naming `from` if too much has happened since.
pub async fn measured(db: &Db, check: &Check, span: Span) -> Result<(Uptime, Vec<Gap>), CheckError> {
    let flips = flips::list_since(db, &check.id, span.from, i64::from(MAX_FLIPS) + 1).await?;
    if flips.len() > usize::from(MAX_FLIPS) {
        let message = format!("The check has changed its state more than {MAX_FLIPS} times since then. Ask for less.");
        return Err(Refusal::invalid("from", message).into());
    }
    let mut gaps = intake::list_gaps(db, span.from, span.to).await?;
    gaps.extend(pauses::list_pauses(db, &check.id, span.from, span.to).await?);
    let gaps = merged(gaps);
    Ok((measure(span, &flips, &gaps, check.status), gaps))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    check: String,
    days: Option<u64>,
}

pub(super) async fn get(db: &Db, now: Millis, owner: &UserId, asked: Asked) -> Result<Found, CheckError> {
    let days = asked.days.unwrap_or(USUAL_DAYS);
    if days == 0 || days > MAX_DAYS {
        let message = format!("From 1 to {MAX_DAYS} days; this is {days}. Older history is not told of.");
        return Err(Refusal::invalid("days", message).into());
    }
    let check = resolve(db, owner, &asked.check).await?;
    let span = Span { from: now.minus(Duration::from_hours(24 * days)), to: now };
    let (uptime, gaps) = measured(db, &check, span).await?;
    Ok(Found::own(told(&check, days, uptime, &gaps)))
}

/// What a model can read at a glance: the whole of it would fill its window.
fn told(check: &Check, days: u64, uptime: Uptime, gaps: &[Gap]) -> Value {
    let Uptime { from, to, share, uptime, outages, days: all_days } = uptime;
    let is_bad = |day: &Day| day.share.down_seconds > 0 || day.share.no_data_seconds > 0;
    let bad_days: Vec<Day> = all_days.into_iter().filter(is_bad).collect();
    let gaps: Vec<Value> = gaps.iter().map(|gap| json!({"from": gap.from, "to": gap.to})).collect();
    let mut result = json!({"check": check.name, "days": days, "from": from, "to": to, "uptime": uptime,
        "up_seconds": share.up_seconds, "down_seconds": share.down_seconds, "no_data_seconds": share.no_data_seconds,
        "outages": newest(&outages, SHOWN_OUTAGES), "no_data": newest(&gaps, SHOWN_GAPS),
        "bad_days": newest(&bad_days, SHOWN_DAYS)});
    let not_shown = outages.len().saturating_sub(SHOWN_OUTAGES);
    if not_shown > 0 {
        result["outages_not_shown"] = not_shown.into();
    }
    result
}

/// The last `count` of a list that is oldest first.
fn newest<T>(list: &[T], count: usize) -> &[T] {
    &list[list.len().saturating_sub(count)..]
}
