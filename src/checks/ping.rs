//! One ping from arrival to answer: accepted, noted because the check is paused, or too soon.
//!
//! A change of state never waits for the floor, and everything else does: so a storm of pings of one kind has exactly
//! one accepted, whichever state the check is in. Alternating success and fail would be a way round that, so changes
//! of state are charged to `check-flip` too, which may refuse those that the floor would have refused.
//!
//! A check may tolerate fails: then only the Nth in a row takes it down. Each of them has kept the floor, and each of
//! the tolerated ones moves what is due as a success does: the job ran and said so. Else its deadline would come first.

use std::time::Duration;

use super::history::{Kind, Reason};
use super::status::{Times, end_of_run, is_paused};
use super::store::{flips, pings, runs};
use super::{Check, CheckError, Refusal, Status, tell};
use crate::clock::{Millis, SharedClock};
use crate::db::{Db, DbError, Tx};
use crate::ids::{CheckId, new_v7};
use crate::limits::{self, Charge, Policy};

/// How much of a ping's body is kept.
pub const MAX_BODY: usize = 10_000;

/// A ping as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ping {
    /// What it says.
    pub kind: Kind,
    /// The job's exit status, where the ping named one; `kind` follows from it.
    pub exit_status: Option<u8>,
    /// The run it belongs to (a uuid), which pairs a start with its end.
    pub rid: Option<String>,
    /// The sender's address.
    pub remote: String,
    /// The first [`MAX_BODY`] bytes of the body.
    pub body: Vec<u8>,
    /// How many bytes came.
    pub body_length: i64,
}

/// What became of a ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It counts.
    Accepted,
    /// The check is paused: noted, nothing else.
    Paused,
    /// Counted as rejected on the check, nothing else.
    TooSoon(TooSoon),
}

/// A refusal's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooSoon {
    /// The floor: the least time between two accepted pings of this kind.
    pub min_interval: Duration,
    /// When the last one was accepted.
    pub last_accepted_at: Millis,
    /// After this a ping of this kind passes.
    pub wait: Duration,
}

/// Decides on a ping for the check that `key` stands for.
///
/// # Errors
/// `check_not_found`, or the database's.
pub async fn ping(db: &Db, clock: &SharedClock, key: &str, ping: Ping) -> Result<Outcome, CheckError> {
    // A key that nobody has must not cost a write transaction. This read only ever says no.
    if !pings::is_known(db, key).await? {
        return Err(Refusal::not_found().into());
    }
    let id = new_v7(clock.now());
    let arrival = Arrival { id: id.clone(), key: key.to_owned(), ping, clock: SharedClock::clone(clock) };
    match db.write(move |tx| Box::pin(async move { decide(tx, &arrival).await })).await {
        Ok(outcome) => Ok(outcome),
        Err(Undone::UnknownKey) => Err(Refusal::not_found().into()),
        Err(Undone::FlipsTooOften { check, now, too_soon }) => {
            pings::count_rejected(db, &check, now).await?;
            Ok(Outcome::TooSoon(until_either_passes(db, clock, &check, too_soon).await?))
        }
        // The answer to the commit was lost. What is stored says what happened; if nothing is, that is not known.
        Err(Undone::Db(DbError::CommitUnknown(error))) => match pings::is_accepted(db, &id).await {
            Ok(true) => Ok(Outcome::Accepted),
            Ok(false) | Err(_) => Err(DbError::CommitUnknown(error).into()),
        },
        Err(Undone::Db(error)) => Err(error.into()),
    }
}

struct Arrival {
    id: String,
    key: String,
    ping: Ping,
    clock: SharedClock,
}

/// Why the transaction was rolled back.
enum Undone {
    UnknownKey,
    /// `check-flip` refused a change of state inside the floor.
    FlipsTooOften {
        check: CheckId,
        now: Millis,
        too_soon: TooSoon,
    },
    Db(DbError),
}

impl From<DbError> for Undone {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

/// Lock order: the check, then the limiter's row, then what is inserted.
async fn decide(tx: &mut Tx, Arrival { id, key, ping, clock }: &Arrival) -> Result<Outcome, Undone> {
    let check = pings::find_for_ping(tx, key).await?.ok_or(Undone::UnknownKey)?;
    // Read only now that the check is ours: a ping that waited for the sweep is not dated before the sweep.
    let now = clock.now();
    let after = after(tx, &check, ping, now).await?;
    let mut verdict = pings::Verdict { id, check: &check.id, at: now, accepted: true, duration_ms: None };
    if !pings::accept(tx, ping.kind, &check, after, now).await? {
        if is_paused(&check, now) {
            verdict.accepted = false;
            return Ok(note(tx, verdict, &check, ping).await?);
        }
        pings::count_rejected_in(tx, &check.id, now).await?;
        return Ok(Outcome::TooSoon(too_soon(&check, ping.kind, now)));
    }
    if let Some(flip) = flip_of(&check, ping, now) {
        let admitted = limits::take_in(tx, &flip_charge(&check.id), now).await?;
        let too_soon = too_soon(&check, ping.kind, now);
        if !admitted && !too_soon.wait.is_zero() {
            return Err(Undone::FlipsTooOften { check: check.id, now, too_soon });
        }
        tell::record_flip(tx, &check.id, flip, now).await?;
    }
    follow_run(tx, &check, ping, now).await?;
    if let Some(start) = start_of(tx, &check, ping).await? {
        verdict.duration_ms = Some((now.0 - start.0).max(0));
    }
    pings::insert_ping(tx, verdict, ping).await?;
    Ok(Outcome::Accepted)
}

/// What `ping` leaves behind in the row if it is accepted.
async fn after(tx: &mut Tx, check: &Check, ping: &Ping, now: Millis) -> Result<pings::After, DbError> {
    // Runs with ids are rare, and are only looked at if there are any.
    let mut runs = check.runs_deadline_at;
    if runs.is_some() && check.status == Status::Down {
        // One that became late meanwhile has nothing more to tell.
        runs = runs::forget_late(tx, &check.id, Some(now)).await?;
    }
    // A start that is too soon must not push another run out.
    if ping.kind == Kind::Start && ping.rid.is_some() && too_soon(check, ping.kind, now).wait.is_zero() {
        runs::make_room(tx, &check.id).await?;
    }
    let others = match (&ping.rid, ping.kind) {
        (Some(rid), Kind::Success | Kind::Fail | Kind::Start) => runs::find_deadline(tx, &check.id, rid).await?,
        (None, _) | (_, Kind::Log) => runs,
    };
    let (times, runs_deadline_at, started_at) = match ping.kind {
        Kind::Success => (Times::after_success(check, others, now), others, None),
        Kind::Fail if is_tolerated(check) => (Times::after_success(check, others, now), others, None),
        Kind::Fail => (Times::after_fail(check), others, None),
        Kind::Start => {
            let times = Times::after_start(check, others, now);
            if ping.rid.is_some() {
                let own = end_of_run(check, now, check.due_at);
                (times, Some(others.map_or(own, |others| own.min(others))), check.started_at)
            } else {
                (times, others, Some(now))
            }
        }
        Kind::Log => (Times::unchanged(check), runs, check.started_at),
    };
    Ok(pings::After { times, runs_deadline_at, started_at })
}

/// Begins or ends the run that an accepted `ping` names.
async fn follow_run(tx: &mut Tx, check: &Check, ping: &Ping, now: Millis) -> Result<(), DbError> {
    match (ping.kind, &ping.rid) {
        (Kind::Start, Some(rid)) => {
            runs::begin_run(tx, &check.id, rid, now, end_of_run(check, now, check.due_at)).await
        }
        (Kind::Success | Kind::Fail, Some(rid)) => runs::end_run(tx, &check.id, rid).await,
        (Kind::Log, _) | (_, None) => Ok(()),
    }
}

/// Whether one more fail leaves the check as it is. The statement that accepts it decides by the same two numbers.
fn is_tolerated(check: &Check) -> bool {
    check.status != Status::Down && check.failures_in_row + 1 < check.alert_after_failures
}

/// The change of state that an accepted `ping` made of `check`, the row before it.
fn flip_of(check: &Check, ping: &Ping, now: Millis) -> Option<flips::Flip> {
    let (to, reason) = match (ping.kind, check.status) {
        (Kind::Success, Status::Down) => (Status::Up, Reason::Recovered),
        (Kind::Success, Status::New) => (Status::Up, Reason::FirstPing),
        (Kind::Fail, _) if is_tolerated(check) => return None,
        (Kind::Fail, Status::New | Status::Up) if ping.exit_status.is_some() => (Status::Down, Reason::Exit),
        (Kind::Fail, Status::New | Status::Up) => (Status::Down, Reason::Fail),
        (Kind::Success, Status::Up) | (Kind::Fail, Status::Down) | (Kind::Start | Kind::Log, _) => return None,
    };
    Some(flips::Flip { from: check.status, to, reason, at: now })
}

/// The numbers of a refusal; the wait is zero if there is no reason for one.
fn too_soon(check: &Check, kind: Kind, now: Millis) -> TooSoon {
    let last = match kind {
        Kind::Success => check.last_success_at,
        Kind::Fail => check.last_fail_at,
        Kind::Start => check.last_start_at,
        Kind::Log => check.last_log_at,
    };
    let min_interval = check.tier.floor();
    let wait = last.map_or(Duration::ZERO, |last| last.plus(min_interval).since(now));
    TooSoon { min_interval, last_accepted_at: last.unwrap_or(now), wait }
}

/// When the run started that `ping` ends: the one with its rid, or else the one that is open.
async fn start_of(tx: &mut Tx, check: &Check, ping: &Ping) -> Result<Option<Millis>, DbError> {
    match (ping.kind, &ping.rid) {
        (Kind::Start | Kind::Log, _) => Ok(None),
        (Kind::Success | Kind::Fail, Some(rid)) => pings::find_start(tx, &check.id, rid).await,
        (Kind::Success | Kind::Fail, None) => Ok(check.started_at),
    }
}

/// Keeps a ping of a paused check, at most one of a kind per floor: no storm may fill the table.
async fn note(tx: &mut Tx, verdict: pings::Verdict<'_>, check: &Check, ping: &Ping) -> Result<Outcome, DbError> {
    let policy = Policy { name: "check-noted".to_owned(), limit: 1, window: check.tier.floor() };
    let charge = Charge::new(&policy, &format!("{}:{}", check.id, ping.kind));
    if limits::take_in(tx, &charge, verdict.at).await? {
        pings::insert_ping(tx, verdict, ping).await?;
    }
    Ok(Outcome::Paused)
}

fn flip_charge(check: &CheckId) -> Charge {
    Charge::new(&Policy::check_flip(), check.as_str())
}

/// A refused change of state passes when either meter lets it: `check-flip` has a place, or the floor has passed.
async fn until_either_passes(
    db: &Db,
    clock: &SharedClock,
    check: &CheckId,
    too_soon: TooSoon,
) -> Result<TooSoon, DbError> {
    let standings = limits::standings(db, clock.as_ref(), &[flip_charge(check)]).await?;
    let flips = standings.first().map_or(too_soon.wait, |standing| standing.wait);
    Ok(TooSoon { wait: too_soon.wait.min(flips), ..too_soon })
}
