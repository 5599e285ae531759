//! Why a check is down, late or paused: the facts of its rows, and the same in words.

use std::time::Duration;

use serde::Serialize;

use crate::checks::history::{Kind, Reason};
use crate::checks::schedule::{Timetable, Zone};
use crate::checks::status::{derive, end_of_run};
use crate::checks::store::flips::FlipRow;
use crate::checks::store::{intake, pings};
use crate::checks::view::RecentPing;
use crate::checks::words::{count, moment, span};
use crate::checks::{Check, Status};
use crate::clock::Millis;
use crate::db::{Db, DbError};
use crate::ids::UserId;

/// Runs without an end that are looked at; more are hardly ever open.
const OPEN_RUNS: i64 = 20;

/// Why a check is not plainly up.
#[derive(Debug, Serialize)]
pub(super) struct Why {
    /// `paused`, `down` or `late`, the first that it is.
    state: &'static str,
    /// Of down: that of the flip.
    reason: &'static str,
    since: Option<Millis>,
    due_at: Option<Millis>,
    deadline_at: Option<Millis>,
    /// Of paused: when it ends by itself.
    until: Option<Millis>,
    /// The last success or fail.
    last_ping: Option<RecentPing>,
    failures_in_row: i64,
    /// The run that took too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
    /// Our own absence, after which its deadline was held.
    #[serde(skip_serializing_if = "Option::is_none")]
    outage: Option<Outage>,
    words: String,
    hints: Vec<String>,
    /// Of paused: why it was down before.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Box<Why>>,
}

impl Why {
    /// The last success or fail, with the end of its body.
    pub(super) fn last_ping(&self) -> Option<&RecentPing> {
        self.last_ping.as_ref()
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Run {
    started_at: Millis,
    allowed_seconds: i64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Outage {
    from: Millis,
    to: Millis,
}

/// Why `check` is paused, down or late; `None` if it is none of them. `flips` are its last ones, newest first.
pub(super) async fn why(
    db: &Db,
    now: Millis,
    owner: &UserId,
    check: &Check,
    flips: &[FlipRow],
) -> Result<Option<Why>, DbError> {
    let derived = derive(check, now);
    if !derived.paused && !derived.late && check.status != Status::Down {
        return Ok(None);
    }
    let last_ping = pings::find_last_result(db, owner, &check.id).await?.map(RecentPing::from);
    let is_down = check.status == Status::Down;
    let down = match flips.iter().find(|flip| flip.to_status == Status::Down).filter(|_| is_down) {
        Some(flip) => Some(down(db, now, check, flip, last_ping.clone()).await?),
        None => None,
    };
    if derived.paused {
        let until = check.paused_until;
        let end =
            until.map_or_else(|| "until you resume it".to_owned(), |until| format!("until {}", moment(until, now)));
        let since = check.paused_at.map(|at| format!(" since {}", moment(at, now))).unwrap_or_default();
        let words = format!("It is paused{since}, {end}. Pings are noted only meanwhile.");
        let paused = Why { until, before: down.map(Box::new), ..plain("paused", "paused", words, check, last_ping) };
        return Ok(Some(Why { since: check.paused_at, ..paused }));
    }
    match down {
        Some(down) => Ok(Some(down)),
        None if is_down => {
            Ok(Some(plain("down", "unknown", "It went down longer ago than is kept.".to_owned(), check, last_ping)))
        }
        None => Ok(Some(late(db, now, check, last_ping).await?)),
    }
}

async fn down(
    db: &Db,
    now: Millis,
    check: &Check,
    flip: &FlipRow,
    last_ping: Option<RecentPing>,
) -> Result<Why, DbError> {
    let at = flip.at;
    let (mut run, mut outage, mut hints) = (None, None, Vec::new());
    // An edit or a later start may have moved these since; what lies after it went down did not take it down.
    let due_at = check.due_at.filter(|due| *due <= at && flip.reason == Reason::Timeout);
    let words = match flip.reason {
        Reason::Timeout => {
            run = late_run(db, check, at).await?;
            outage = held_after(db, check, due_at, at, now).await?;
            hints.extend(too_soon(check, now).into_iter().chain(other_zone(check)));
            match (run, due_at) {
                (Some(run), _) => format!(
                    "A run that began at {} did not end within {}, so it went down at {}.",
                    moment(run.started_at, now),
                    span(run.allowed_seconds),
                    moment(at, now)
                ),
                (None, Some(due)) => format!(
                    "No ping came in time: it was due at {}, and its grace of {} was over at {}.",
                    moment(due, now),
                    span(check.grace_seconds),
                    moment(at, now)
                ),
                (None, None) => format!("No ping came in time, so it went down at {}.", moment(at, now)),
            }
        }
        Reason::Fail => format!("Its job reported a failure at {}.", moment(at, now)),
        Reason::Exit => match exit_status(last_ping.as_ref(), at) {
            Some(status) => format!("Its job ended with exit status {status} at {}.", moment(at, now)),
            None => format!("Its job ended with an exit status other than 0 at {}.", moment(at, now)),
        },
        Reason::Recovered | Reason::FirstPing => format!("It went down at {}.", moment(at, now)),
    };
    let is_fail = matches!(flip.reason, Reason::Fail | Reason::Exit);
    let fails = if is_fail && check.failures_in_row > 1 {
        format!(" That makes {} in a row by now.", count(check.failures_in_row, "fail"))
    } else {
        String::new()
    };
    let words = [words, fails, outage_words(outage, now), last_words(last_ping.as_ref(), at, now)].concat();
    let deadline_at = (flip.reason == Reason::Timeout).then_some(at);
    let why = plain("down", flip.reason.as_str(), words, check, last_ping);
    Ok(Why { since: Some(at), due_at, deadline_at, run, outage, hints, ..why })
}

async fn late(db: &Db, now: Millis, check: &Check, last_ping: Option<RecentPing>) -> Result<Why, DbError> {
    let when = |at: Option<Millis>| at.map_or_else(|| "a time that is not known".to_owned(), |at| moment(at, now));
    let outage = match check.deadline_at {
        Some(deadline) => held_after(db, check, check.due_at, deadline, now).await?,
        None => None,
    };
    let words = format!(
        "Its ping was due at {} and has not come. Without one it goes down at {}.",
        when(check.due_at),
        when(check.deadline_at)
    );
    let words = [words, outage_words(outage, now), last_words(last_ping.as_ref(), now, now)].concat();
    let hints = too_soon(check, now).into_iter().chain(other_zone(check)).collect();
    let why = plain("late", "late", words, check, last_ping);
    Ok(Why { since: check.due_at, due_at: check.due_at, deadline_at: check.deadline_at, outage, hints, ..why })
}

fn plain(
    state: &'static str,
    reason: &'static str,
    words: String,
    check: &Check,
    last_ping: Option<RecentPing>,
) -> Why {
    Why {
        state,
        reason,
        since: None,
        due_at: None,
        deadline_at: None,
        until: None,
        last_ping,
        failures_in_row: check.failures_in_row,
        run: None,
        outage: None,
        words,
        hints: Vec::new(),
        before: None,
    }
}

/// The run whose deadline was the check's: if that was not what its schedule made it.
async fn late_run(db: &Db, check: &Check, deadline: Millis) -> Result<Option<Run>, DbError> {
    let grace = Duration::from_secs(check.grace_seconds.unsigned_abs());
    if check.due_at.is_some_and(|due| due.plus(grace) == deadline) {
        return Ok(None);
    }
    let own = check.started_at.filter(|start| *start < deadline);
    let with_ids = pings::list_open_starts(db, &check.id, deadline, OPEN_RUNS).await?;
    let starts: Vec<Millis> = own.into_iter().chain(with_ids).collect();
    // The one that fits to the millisecond; after an edit or a hold none does, and the last one is the likeliest.
    let fits = starts.iter().find(|start| end_of_run(check, **start, check.due_at) == deadline);
    let last = starts.first().filter(|_| check.due_at.is_none_or(|due| due > deadline));
    let run = |start: &Millis| Run { started_at: *start, allowed_seconds: check.longest_run() };
    Ok(fits.or(last).map(run))
}

/// The absence of ours at whose end the check's ping was made due, or its grace begun.
async fn held_after(
    db: &Db,
    check: &Check,
    due: Option<Millis>,
    deadline: Millis,
    now: Millis,
) -> Result<Option<Outage>, DbError> {
    let grace = Duration::from_secs(check.grace_seconds.unsigned_abs());
    let begun = deadline.minus(grace);
    let from = due.map_or(begun, |due| due.min(begun)).minus(Duration::from_millis(1));
    let gaps = intake::list_gaps(db, from, now).await?;
    let held = gaps.into_iter().find(|gap| gap.to == begun || due == Some(gap.to));
    Ok(held.map(|gap| Outage { from: gap.from, to: gap.to }))
}

fn outage_words(outage: Option<Outage>, now: Millis) -> String {
    outage.map_or_else(String::new, |outage| {
        format!(
            " This service was away from {} to {} and took no pings in, so its grace began only then; a ping in that \
             time was lost.",
            moment(outage.from, now),
            moment(outage.to, now)
        )
    })
}

/// What the last ping before or after it went down was, unless that is the one that took it down.
fn last_words(last: Option<&RecentPing>, down_at: Millis, now: Millis) -> String {
    match last {
        None => " It was never pinged.".to_owned(),
        Some(last) if last.at() == down_at => String::new(),
        Some(last) => {
            let what = if last.kind() == Kind::Fail { "a fail" } else { "a success" };
            format!(" Its last ping, {what}, came at {}.", moment(last.at(), now))
        }
    }
}

fn exit_status(last: Option<&RecentPing>, down_at: Millis) -> Option<i64> {
    last.filter(|last| last.at() == down_at)?.exit_status()
}

/// A ping may have come, and not counted.
fn too_soon(check: &Check, now: Millis) -> Option<String> {
    let refused = check.last_rejected_at.filter(|at| check.last_ping_at.is_none_or(|last| *at > last))?;
    Some(format!(
        "A ping at {} came too soon after the one before and did not count: one of a kind is accepted every {}.",
        moment(refused, now),
        span(i64::try_from(check.tier.floor().as_secs()).unwrap_or(i64::MAX))
    ))
}

/// The last success may fit the schedule in UTC, and not in the schedule's zone: a job whose clock is another one.
fn other_zone(check: &Check) -> Option<String> {
    let (timetable, success) = (check.schedule.timetable()?, check.last_success_at?);
    let utc = Timetable { cron: timetable.cron.clone(), zone: Zone::utc() };
    let grace = Duration::from_secs(check.grace_seconds.unsigned_abs());
    let fits = |timetable: &Timetable| timetable.next_after(success.minus(grace)).is_some_and(|run| run <= success);
    let is_other = timetable.zone.as_str() != utc.zone.as_str() && !fits(timetable) && fits(&utc);
    is_other.then(|| {
        format!(
            "The last success came when the schedule names it in UTC, not in {}: perhaps the job's clock is in UTC.",
            timetable.zone
        )
    })
}
