//! What would be: a change as its card would show it, and a schedule that nobody has yet. Nothing is written.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::check::NextRun;
use super::{Found, find_account};
use crate::checks::config::{default_grace, one_schedule, refuse_what_never_runs};
use crate::checks::draft::{self, Asked, read_changes};
use crate::checks::floor::{check_floor, floor_seconds};
use crate::checks::preview::takes_down;
use crate::checks::schedule::{Cron, Schedule, Zone};
use crate::checks::status::{Times, is_paused};
use crate::checks::values::Seconds;
use crate::checks::{Check, CheckError};
use crate::clock::Millis;
use crate::db::Db;
use crate::ids::UserId;

const NOTE: &str = "Nothing has changed and nothing was proposed.";

/// `preview_change`: what `update_check` with these arguments would propose.
pub(super) async fn change(
    db: &Db,
    now: Millis,
    owner: &UserId,
    arguments: Map<String, Value>,
) -> Result<Found, CheckError> {
    let Asked { before, channels, changes, alerts } = read_changes(db, owner, arguments).await?;
    let (check, after) = (before.clone(), changes.over(&before)?);
    let moves_times = changes.has_schedule() || changes.max_runtime_seconds.is_some();
    let preview = draft::change(db, now, check, &channels, changes, alerts).await?.preview;
    let times = if moves_times { Times::after_edit(&before, &after, now) } else { Times::unchanged(&before) };
    let next_runs = NextRun::of(&Check { due_at: times.due_at, ..after }, now);
    Ok(Found::own(json!({"check": before.name, "status": before.status, "paused": is_paused(&before, now),
        "summary": preview.summary, "changes": preview.changes, "warnings": preview.warnings,
        "goes_down_now": moves_times && takes_down(&before, times, now),
        "due_at": times.due_at, "deadline_at": times.deadline_at, "next_runs": next_runs, "note": NOTE})))
}

/// A schedule as `create_check` takes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    period_seconds: Option<Seconds>,
    cron: Option<Cron>,
    timezone: Option<Zone>,
}

/// `preview_schedule`: what a schedule says, and whether the account's tier admits it.
pub(super) async fn schedule(db: &Db, now: Millis, owner: &UserId, when: When) -> Result<Found, CheckError> {
    let When { period_seconds, cron, timezone } = when;
    let timezone = timezone.or_else(|| cron.as_ref().map(|_| Zone::utc()));
    let schedule = one_schedule(period_seconds, cron.as_ref(), timezone.as_ref())?;
    refuse_what_never_runs(&schedule, now)?;
    let tier = find_account(db, owner).await?.tier;
    let refusal = check_floor(tier, &schedule, default_grace(&schedule, now).get(), now).err();
    let mut result = json!({"words": schedule.words(), "period_seconds": schedule.period_seconds(),
        "cron": schedule.cron(), "timezone": schedule.zone(), "next_runs": NextRun::of_schedule(&schedule, now),
        "shortest_interval_seconds": schedule.shortest_interval(now), "tier": tier,
        "floor_seconds": floor_seconds(tier), "allowed": refusal.is_none()});
    if let Schedule::Every(_) = schedule {
        result["next_runs_counted_from"] = "a ping now".into();
    }
    if let Some(refusal) = refusal {
        result["reason"] = refusal.message.into();
    }
    Ok(Found::own(result))
}
