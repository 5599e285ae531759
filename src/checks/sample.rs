//! A few checks for a fresh account, so that its owner sees how checks look: made through the real flows, in the past.

use std::sync::Arc;
use std::time::Duration;

use super::alerts::AlertChanges;
use super::apply::{Effect, apply};
use super::config::Settings;
use super::history::Kind;
use super::ping::{Ping, ping};
use super::store;
use super::values::{CheckName, Description, Seconds, Tags};
use super::{CheckError, Refusal};
use crate::clock::{ManualClock, Millis, SharedClock};
use crate::db::Db;
use crate::ids::UserId;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Makes the sample checks as they would be at `now`: one up, one that failed, one that waits for its first ping.
/// Not idempotent; for an account without checks.
///
/// # Errors
/// `name_taken` or `check_limit_reached`, for an account that is not fresh.
pub async fn create_samples(db: &Db, now: Millis, owner: &UserId) -> Result<(), CheckError> {
    let ago = |seconds: i64| now.minus(Duration::from_secs(seconds.unsigned_abs()));

    let backup = settings("nightly-backup", DAY, HOUR, &["backup"], "Dumps the database and copies it elsewhere.")?;
    let key = create(db, owner, backup, ago(3 * DAY)).await?;
    for day in [2, 1, 0] {
        let started = ago(day * DAY + 9 * HOUR);
        receive(db, &key, Kind::Start, None, "", started).await?;
        let ended = started.plus(Duration::from_secs(7 * 60 + 12));
        receive(db, &key, Kind::Success, Some(0), "dumped 48 tables, 1.3 GB", ended).await?;
    }

    let export = settings("invoice-export", HOUR, 10 * MINUTE, &["billing"], "Hands new invoices to bookkeeping.")?;
    let key = create(db, owner, export, ago(DAY)).await?;
    for hours in [4, 3, 2] {
        receive(db, &key, Kind::Success, Some(0), "exported", ago(hours * HOUR + 20 * MINUTE)).await?;
    }
    let failure = "connecting to books.example:443\nerror: certificate has expired\n";
    receive(db, &key, Kind::Fail, Some(1), failure, ago(HOUR + 20 * MINUTE)).await?;

    let worker = settings("queue-worker", 5 * MINUTE, 5 * MINUTE, &["queue"], "Pings after each round of its loop.")?;
    create(db, owner, worker, ago(10 * MINUTE)).await?;
    Ok(())
}

/// Makes a check at `at` and returns its ping key.
async fn create(db: &Db, owner: &UserId, settings: Settings, at: Millis) -> Result<String, CheckError> {
    let name = settings.name.to_string();
    let (whose, effect) =
        (owner.clone(), Effect::CreateCheck { settings, alerts: AlertChanges::default(), shown: None });
    db.write::<_, CheckError, _>(move |tx| Box::pin(async move { apply(tx, at, &whose, &effect).await })).await?;
    let check = store::find_by_name(db, owner, &name).await?.ok_or_else(Refusal::not_found)?;
    Ok(check.ping_key)
}

/// Receives a ping at `at`.
async fn receive(
    db: &Db,
    key: &str,
    kind: Kind,
    exit_status: Option<u8>,
    body: &str,
    at: Millis,
) -> Result<(), CheckError> {
    let clock: SharedClock = Arc::new(ManualClock::new(at));
    let body_length = i64::try_from(body.len()).unwrap_or(i64::MAX);
    let sent = Ping { kind, exit_status, rid: None, remote: "192.0.2.10".to_owned(), body: body.into(), body_length };
    ping(db, &clock, key, sent).await?;
    Ok(())
}

fn settings(name: &str, period: i64, grace: i64, tags: &[&str], description: &str) -> Result<Settings, Refusal> {
    let wrong = |message| Refusal::invalid("name", message);
    Ok(Settings {
        name: CheckName::try_from(name.to_owned()).map_err(wrong)?,
        period_seconds: Some(Seconds::try_from(period).map_err(wrong)?),
        cron: None,
        timezone: None,
        grace_seconds: Seconds::try_from(grace).map_err(wrong)?,
        max_runtime_seconds: None,
        tags: Tags::try_from(tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>()).map_err(wrong)?,
        description: Description::try_from(description.to_owned()).map_err(wrong)?,
    })
}
