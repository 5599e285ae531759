//! When a check with a cron expression is due: in every detail of clock changes as Debian's cron runs a job.

use jiff::civil::{DateTime, DateTimeRound};
use jiff::{RoundMode, SignedDuration, Timestamp, Unit};

use super::zone::Stretch;
use super::{Cron, CronError, Zone};
use crate::clock::Millis;

/// A cron expression in a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timetable {
    /// Which minutes of the wall clock.
    pub cron: Cron,
    /// Whose wall clock.
    pub zone: Zone,
}

/// How far to look for a run. A 29 February on a given weekday can be 40 years away, across a year such as 2100.
const HORIZON: SignedDuration = SignedDuration::from_hours(41 * 366 * 24);
/// Up to here a change of the clock is daylight saving, and Debian's cron makes up for it; beyond, it is a correction.
/// Being put forward takes a minute more than being put back: cron compares minutes from the one before the change.
const LARGEST_FORWARD: i32 = 179 * 60;
const LARGEST_BACK: i32 = 180 * 60;
/// How far [`Timetable::shortest_interval`] looks ahead: two years hold every regular change of the clock.
const OUTLOOK: SignedDuration = SignedDuration::from_hours(2 * 366 * 24);
const OUTLOOK_RUNS: usize = 1_000;

impl Timetable {
    /// The first run strictly after `now`, or none within 41 years.
    pub fn next_after(&self, now: Millis) -> Option<Millis> {
        let from = Timestamp::from_second(now.0.div_euclid(1_000).checked_add(1)?).ok()?;
        let horizon = from.saturating_add(HORIZON).ok()?;
        self.zone
            .stretches(from)
            .take_while(|stretch| stretch.begins < horizon)
            .find_map(|stretch| self.first_within(&stretch, from, horizon))
            .map(|run| Millis(run.as_millisecond()))
    }

    /// The next `count` runs, fewer if there are no more.
    pub fn upcoming(&self, now: Millis, count: usize) -> Vec<Millis> {
        self.runs(now).take(count).collect()
    }

    /// Refuses a timetable that has dates but, because of changes of the clock, no times.
    ///
    /// # Errors
    /// [`CronError::NeverRunsIn`], the one refusal that takes both an expression and a zone.
    pub fn check_that_it_runs(&self, now: Millis) -> Result<(), CronError> {
        let refusal = || CronError::NeverRunsIn { cron: self.cron.to_string(), zone: self.zone.to_string() };
        self.next_after(now).map(|_| ()).ok_or_else(refusal)
    }

    /// The shortest time in seconds between two runs, for comparison with the floor between two pings.
    ///
    /// Looks at the next 1,000 runs, and at as many from a day before each change of the clock, as far as they come
    /// within two years. A change can bring two runs together that are hours apart on any other day. None if there are
    /// no two runs in that time.
    pub fn shortest_interval(&self, now: Millis) -> Option<i64> {
        let until = now.timestamp().saturating_add(OUTLOOK).unwrap_or(Timestamp::MAX);
        let changes = self.zone.stretches(now.timestamp()).map(|stretch| stretch.ends).take_while(|at| *at < until);
        let day_before = |at: Timestamp| Millis(at.as_millisecond() - 86_400_000).max(now);
        let mut shortest = None;
        for from in std::iter::once(now).chain(changes.map(day_before)) {
            let mut earlier: Option<Millis> = None;
            for run in self.runs(from).take(OUTLOOK_RUNS).take_while(|run| run.timestamp() < until) {
                let interval = earlier.map(|earlier| (run.0 - earlier.0) / 1_000);
                shortest = [shortest, interval].into_iter().flatten().min();
                earlier = Some(run);
            }
        }
        shortest
    }

    pub(super) fn runs(&self, mut after: Millis) -> impl Iterator<Item = Millis> {
        std::iter::from_fn(move || {
            after = self.next_after(after)?;
            Some(after)
        })
    }

    /// The first run from `from` on in one stretch of the clock.
    fn first_within(&self, stretch: &Stretch, from: Timestamp, horizon: Timestamp) -> Option<Timestamp> {
        let shift = stretch.shift();
        let mut begins = stretch.begins;
        if !self.cron.follows_the_clock() {
            // Fixed times that the clock was put over are made up for at once, all of them with one run.
            let is_gap = (1..=LARGEST_FORWARD).contains(&shift);
            if is_gap
                && begins >= from
                && self.names_any(stretch.offset_before.to_datetime(begins), stretch.offset.to_datetime(begins))
            {
                return Some(begins);
            }
            // Fixed times that the clock was put back over have had their run.
            if (-LARGEST_BACK..0).contains(&shift) {
                begins = begins.checked_add(SignedDuration::from_secs(i64::from(-shift))).ok()?;
            }
        }
        let from = whole_minute(stretch.offset.to_datetime(from.max(begins)))?;
        let until = stretch.offset.to_datetime(stretch.ends.min(horizon));
        stretch.offset.to_timestamp(self.cron.first_between(from, until)?).ok()
    }

    fn names_any(&self, from: DateTime, until: DateTime) -> bool {
        whole_minute(from).and_then(|from| self.cron.first_between(from, until)).is_some()
    }
}

/// `at`, or the next whole minute if it is not one.
fn whole_minute(at: DateTime) -> Option<DateTime> {
    at.round(DateTimeRound::new().smallest(Unit::Minute).mode(RoundMode::Ceil)).ok()
}
