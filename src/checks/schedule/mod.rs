//! When a check expects its pings: every so often, or at the times that a cron expression names. Pure.

pub mod cron;
pub mod field;
mod timetable;
pub mod values;
mod words;
pub mod zone;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::cron::{Cron, CronError};
pub use self::timetable::Timetable;
pub use self::zone::{Zone, ZoneError};
use super::words::every;
use crate::clock::Millis;

/// What a check promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// A ping every so many seconds.
    Every(i64),
    /// A ping at these times.
    At(Timetable),
}

impl Schedule {
    /// When the ping after one at `from` is due. Pings of one kind are accepted once in `floor`, so no two are due
    /// closer together; `None` if there is none in sight.
    pub fn next_after(&self, from: Millis, floor: Duration) -> Option<Millis> {
        match self {
            Self::Every(seconds) => Some(from.plus(seconds_of(*seconds).max(floor))),
            Self::At(timetable) => {
                let due = timetable.next_after(from)?;
                // Only a tier that was lowered since can make the times too close: each is then too soon for some.
                match timetable.next_after(due) {
                    Some(second) if second.since(due) < floor => {
                        timetable.next_after(from.plus(floor).minus(Duration::from_millis(1)))
                    }
                    _ => Some(due),
                }
            }
        }
    }

    /// The next `count` times from `from` on, one after another; fewer if there are no more.
    pub fn upcoming(&self, from: Millis, floor: Duration, count: usize) -> Vec<Millis> {
        std::iter::successors(self.next_after(from, floor), |due| self.next_after(*due, floor)).take(count).collect()
    }

    /// The shortest time between two pings, in seconds; see [`Timetable::shortest_interval`]. A year if there are no
    /// two in sight.
    pub fn shortest_interval(&self, now: Millis) -> i64 {
        match self {
            Self::Every(seconds) => *seconds,
            Self::At(timetable) => timetable.shortest_interval(now).unwrap_or(365 * 86_400),
        }
    }

    /// It in words: `every 5 minutes`, `every day at 02:30 (Europe/Berlin)`.
    pub fn words(&self) -> String {
        match self {
            Self::Every(seconds) => every(*seconds),
            Self::At(timetable) => timetable.words(),
        }
    }

    /// The seconds, unless it goes by the clock.
    pub fn period_seconds(&self) -> Option<i64> {
        match self {
            Self::Every(seconds) => Some(*seconds),
            Self::At(_) => None,
        }
    }

    /// The times, if it goes by the clock.
    pub fn timetable(&self) -> Option<&Timetable> {
        match self {
            Self::Every(_) => None,
            Self::At(timetable) => Some(timetable),
        }
    }

    /// Its expression, if it goes by the clock.
    pub fn cron(&self) -> Option<&str> {
        self.timetable().map(|timetable| timetable.cron.as_str())
    }

    /// Its zone, if it goes by the clock.
    pub fn zone(&self) -> Option<&str> {
        self.timetable().map(|timetable| timetable.zone.as_str())
    }
}

/// The columns of a schedule: a period, or an expression and a zone.
#[derive(Debug, sqlx::FromRow)]
pub struct Columns {
    period_seconds: Option<i64>,
    cron: Option<String>,
    timezone: Option<String>,
}

impl TryFrom<Columns> for Schedule {
    type Error = String;

    fn try_from(columns: Columns) -> Result<Self, String> {
        match columns {
            Columns { period_seconds: Some(seconds), cron: None, .. } => Ok(Self::Every(seconds)),
            Columns { period_seconds: None, cron: Some(cron), timezone: Some(zone) } => {
                let cron = Cron::parse(&cron).map_err(|error| format!("checks.cron: {error}"))?;
                let zone = Zone::parse(&zone).map_err(|error| format!("checks.timezone: {error}"))?;
                Ok(Self::At(Timetable { cron, zone }))
            }
            other => Err(format!("checks hold no schedule: {other:?}")),
        }
    }
}

fn seconds_of(count: i64) -> Duration {
    Duration::from_secs(count.max(0).unsigned_abs())
}
