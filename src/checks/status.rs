//! What follows from a check's row and the time: paused, late, started, when the next ping is due, when it goes down.
//!
//! Pure. The one place for this arithmetic: whoever changes a row computes its [`Times`] here, from the row that the
//! same transaction holds, and writes them with the change.

use std::time::Duration;

use super::{Check, Status};
use crate::clock::Millis;

/// What is not stored of a check's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// Pings are noted only, and it cannot go down.
    pub paused: bool,
    /// Up, but its ping is due.
    pub late: bool,
    /// A start that nothing has ended yet.
    pub started: bool,
}

/// What a check is at `now` besides its stored status.
pub fn derive(check: &Check, now: Millis) -> Derived {
    let paused = is_paused(check, now);
    Derived {
        paused,
        late: !paused && check.status == Status::Up && check.due_at.is_some_and(|due| due <= now),
        started: check.started_at.is_some() || check.runs_deadline_at.is_some(),
    }
}

/// Whether a pause is in force. One whose `paused_until` has passed has ended by itself, cleared or not.
pub fn is_paused(check: &Check, now: Millis) -> bool {
    check.paused_at.is_some() && check.paused_until.is_none_or(|until| until > now)
}

/// When the ping after one at `from` is due; never sooner than the floor of the account's tier.
pub fn next_due(check: &Check, from: Millis) -> Option<Millis> {
    check.schedule.next_after(from, check.tier.floor())
}

/// What the schedule counts from, when the next ping is due, and when the check goes down without one: columns of the
/// row.
///
/// A check that is new has none of them until its first ping, but a start gives it a deadline. One that is down has no
/// deadline. While a pause without end is in force there is neither. A run with an id that has not ended in time takes
/// the check down whatever comes between, so no deadline is later than theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// The last success, or the end of a pause.
    pub counted_from: Option<Millis>,
    /// When the next ping is due.
    pub due_at: Option<Millis>,
    /// When the check goes down without one.
    pub deadline_at: Option<Millis>,
}

impl Times {
    /// After a success at `now`, from whatever state: the run is over and the next one is a period away. `runs` is the
    /// earliest deadline of those that go on.
    pub fn after_success(check: &Check, runs: Option<Millis>, now: Millis) -> Self {
        Self::counted_from(check, now).no_later_than(runs)
    }

    /// After a ping that leaves the schedule alone, or a fail, which leaves it for the next success: down has no
    /// deadline.
    pub fn unchanged(check: &Check) -> Self {
        Self { counted_from: check.counted_from, due_at: check.due_at, deadline_at: check.deadline_at }
    }

    /// After a fail, from whatever state: down has no deadline.
    pub fn after_fail(check: &Check) -> Self {
        Self { deadline_at: None, ..Self::unchanged(check) }
    }

    /// After a start at `now`: the run may take its time, but no later than the check would have gone down anyway.
    /// `runs` is the earliest deadline of the other ones.
    pub fn after_start(check: &Check, runs: Option<Millis>, now: Millis) -> Self {
        let deadline_at = match check.status {
            Status::Down => None,
            Status::New | Status::Up => Some(end_of_run(check, now, check.due_at)),
        };
        let after = Self { deadline_at, ..Self::unchanged(check) };
        if check.status == Status::Down { after } else { after.no_later_than(runs) }
    }

    /// After an edit at `now`: counted from where the old times were. `after` is the row with the edit made, still
    /// with the old times; of `before` only the configuration matters. What the edit makes late goes down at the edit, not
    /// before it. A check that was held after an outage of our own (its ping is due later than its schedule says, or it
    /// goes down later than its start says) is held on.
    pub fn after_edit(before: &Check, after: &Check, now: Millis) -> Self {
        let counted = after.counted_from.filter(|_| after.due_at.is_some());
        let scheduled = counted.and_then(|from| next_due(before, from));
        let held = after.due_at.filter(|due| scheduled.is_none_or(|scheduled| scheduled < *due));
        let due_at = match counted {
            None => after.due_at,
            Some(from) => next_due(after, from).map(|due| held.map_or(due, |held| due.max(held))),
        };
        let deadline_at = after.deadline_at.map(|old| {
            let new = match (after.started_at, due_at) {
                (Some(start), _) => {
                    let end = end_of_run(after, start, due_at);
                    let is_held = old > end_of_run(before, start, after.due_at);
                    let longer = Millis(old.0 + 1_000 * (after.grace_seconds - before.grace_seconds));
                    if is_held { end.max(longer) } else { end }
                }
                (None, Some(due)) => due.plus(seconds(after.grace_seconds)),
                (None, None) => old,
            };
            earlier(new, after.runs_deadline_at).max(old.min(now))
        });
        Self { counted_from: after.counted_from, due_at, deadline_at }
    }

    /// After a pause that ends by itself at `until`, or never. Both times count from that end, so that nothing has to
    /// happen then. Pausing forgets open runs: store `started_at` as NULL with these, and no run.
    pub fn after_pause(check: &Check, until: Option<Millis>) -> Self {
        until.map_or_else(Self::default, |until| Self::after_resume(check, until))
    }

    /// After a pause was ended at `now`. Pings were only noted meanwhile, so the period starts again.
    pub fn after_resume(check: &Check, now: Millis) -> Self {
        match check.status {
            Status::Up => Self::counted_from(check, now),
            Status::New | Status::Down => Self::default(),
        }
    }

    fn counted_from(check: &Check, from: Millis) -> Self {
        let due_at = next_due(check, from);
        let deadline_at = due_at.map(|due| due.plus(seconds(check.grace_seconds)));
        Self { counted_from: Some(from), due_at, deadline_at }
    }

    fn no_later_than(self, runs: Option<Millis>) -> Self {
        Self { deadline_at: self.deadline_at.map(|own| earlier(own, runs)).or(runs), ..self }
    }
}

fn earlier(one: Millis, other: Option<Millis>) -> Millis {
    other.map_or(one, |other| one.min(other))
}

/// `min(due, start) + max_runtime`, or the grace if there is none. A late start with a run shorter than the grace has
/// its full run within the grace: otherwise a start in time could already be too late.
pub fn end_of_run(check: &Check, start: Millis, due: Option<Millis>) -> Millis {
    let grace = seconds(check.grace_seconds);
    let run = check.max_runtime_seconds.map_or(grace, seconds);
    let end = start.plus(run);
    due.map_or(end, |due| end.min(due.plus(run.max(grace))))
}

/// Stored durations are positive: parsed at the edge.
fn seconds(count: i64) -> Duration {
    Duration::from_secs(count.max(0).unsigned_abs())
}

#[cfg(test)]
mod tests;
