//! `get_check`: one check with all that a question about it may need, read off its rows.

use serde::Serialize;
use serde_json::{Value, json};

use super::why::why;
use super::{Found, OneCheck, resolve};
use crate::checks::channels::ChannelKind;
use crate::checks::draft::among;
use crate::checks::floor::floor_seconds;
use crate::checks::history::FlipView;
use crate::checks::notice::Event;
use crate::checks::schedule::{Schedule, Zone};
use crate::checks::status::is_paused;
use crate::checks::store::channels::{channels_of_check, list_channels};
use crate::checks::store::deliveries::{DeliveryRow, list_of_check};
use crate::checks::store::flips::list_flips;
use crate::checks::store::pings::list_pings;
use crate::checks::view::{Card, RecentPing};
use crate::checks::{Check, CheckError, Status};
use crate::clock::Millis;
use crate::db::Db;
use crate::ids::UserId;

/// What a model sees of what happened to a check.
const RECENT: i64 = 10;
/// Runs that it is told of.
const NEXT_RUNS: usize = 5;

pub(super) async fn get(db: &Db, now: Millis, owner: &UserId, which: OneCheck) -> Result<Found, CheckError> {
    let check = resolve(db, owner, &which.check).await?;
    let pings = list_pings(db, owner, &check.id, None, RECENT).await?;
    let flips = list_flips(db, owner, &check.id, None, RECENT).await?;
    let told = list_of_check(db, owner, &check.id, None, RECENT).await?;
    let channels = among(&list_channels(db, owner).await?, &channels_of_check(db, &check.id).await?);
    let why = why(db, now, owner, &check, &flips).await?;
    let has_foreign_text = pings.iter().any(|ping| !ping.body.is_empty())
        || why.as_ref().is_some_and(|why| why.last_ping().is_some_and(RecentPing::has_body));

    let channels: Vec<Value> = channels
        .into_iter()
        .map(|channel| json!({"id": channel.id, "name": channel.name, "kind": channel.kind}))
        .collect();
    let told: Vec<Told> = told.into_iter().map(Told::from).collect();
    let recent_pings: Vec<RecentPing> = pings.into_iter().map(RecentPing::from).collect();
    let recent_flips: Vec<FlipView> = flips.into_iter().map(FlipView::from).collect();
    let about = Some((check.id.clone(), check.config_version));
    let result = json!({"check": Card::new(check.clone(), now), "why": why, "next_runs": NextRun::of(&check, now),
        "channels": channels, "alert_after_failures": check.alert_after_failures,
        "reminder_seconds": check.reminder_seconds, "floor_seconds": floor_seconds(check.tier), "told": told,
        "last_edit": null, "recent_pings": recent_pings, "recent_flips": recent_flips});
    Ok(Found { result, has_foreign_text, about })
}

/// Somebody who was told of a check, or is to be.
#[derive(Serialize)]
struct Told {
    event: Event,
    channel: String,
    kind: ChannelKind,
    status: String,
    attempts: i64,
    created_at: Millis,
    finished_at: Option<Millis>,
    next_attempt_at: Option<Millis>,
    last_error: Option<String>,
}

impl From<DeliveryRow> for Told {
    fn from(row: DeliveryRow) -> Self {
        Self {
            event: row.event,
            channel: row.channel_name,
            kind: row.channel_kind,
            next_attempt_at: row.finished_at.is_none().then_some(row.next_attempt_at),
            status: row.status,
            attempts: row.attempts,
            created_at: row.created_at,
            finished_at: row.finished_at,
            last_error: row.last_error,
        }
    }
}

/// A time at which a ping is expected.
#[derive(Debug, Serialize)]
pub(super) struct NextRun {
    at: Millis,
    /// The same on the clock of the schedule's zone.
    local: Option<String>,
}

impl NextRun {
    /// Of a check: by the clock the next ones, whatever its state; of a period the one that is due. None while a pause
    /// without end is in force.
    pub(super) fn of(check: &Check, now: Millis) -> Vec<Self> {
        let from = match check.paused_until {
            _ if !is_paused(check, now) => now,
            Some(until) => until,
            None => return Vec::new(),
        };
        if let Some(timetable) = check.schedule.timetable() {
            let runs = check.schedule.upcoming(from, check.tier.floor(), NEXT_RUNS);
            return runs.into_iter().map(|at| Self::on(at, &timetable.zone)).collect();
        }
        let due = check.due_at.filter(|_| check.status != Status::Down);
        due.into_iter().map(|at| Self { at, local: None }).collect()
    }

    /// Of a schedule that no check has: as it stands, whatever a tier would make of it.
    pub(super) fn of_schedule(schedule: &Schedule, now: Millis) -> Vec<Self> {
        let runs = schedule.upcoming(now, std::time::Duration::ZERO, NEXT_RUNS).into_iter();
        match schedule.timetable() {
            Some(timetable) => runs.map(|at| Self::on(at, &timetable.zone)).collect(),
            None => runs.map(|at| Self { at, local: None }).collect(),
        }
    }

    fn on(at: Millis, zone: &Zone) -> Self {
        let there = at.timestamp().to_zoned_datetime(zone.rules().clone());
        Self { at, local: Some(there.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()) }
    }
}
