//! What time it is: the machine's clock, the database's, or a test's. The one file that asks the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

/// A moment: milliseconds since 1970, UTC. Serialized as RFC 3339 with whole seconds or milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema, sqlx::Type)]
#[sqlx(transparent)]
#[schema(value_type = String, format = DateTime)]
pub struct Millis(pub i64);

impl Millis {
    /// This moment `span` later; saturates.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    /// This moment `span` earlier; saturates.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The moment as a timestamp of the calendar library; the range ends clamp.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX })
    }

    /// RFC 3339 in UTC.
    pub fn rfc3339(self) -> String {
        self.timestamp().to_string()
    }

    /// Parses RFC 3339 with an offset.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.timestamp())
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            // A whole time that is none of the calendar's is well written all the same.
            let is_whole = Pieces::parse(&text).is_ok_and(|it| it.time().is_some() && it.offset().is_some());
            let why = if is_whole { "too early or too late: the last time is 9999-12-30T22:00:00Z" } else { NO_TIME };
            serde::de::Error::custom(why)
        })
    }
}

const NO_TIME: &str = "not an RFC 3339 time with an offset";

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// Whole seconds until `span` is over, at least 1: what `Retry-After` says.
pub fn wait_seconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

/// Tells the time. Passed to whatever needs it, so that tests decide what time it is.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Millis;
}

/// The clock in use, shared.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clock; or the database's, when several instances share one. That one is measured now and then and
/// counted on by the machine's monotonic clock in between, so a step of the machine's time of day changes nothing.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
    /// The database's time at `origin`, in milliseconds; [`UNMEASURED`] until it was asked.
    base_ms: AtomicI64,
}

const UNMEASURED: i64 = i64::MIN;
/// A measurement that took longer than this says too little; the one before stands.
const SLOWEST: Duration = Duration::from_millis(250);

impl Default for SystemClock {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine")]
        Self { origin: Instant::now(), base_ms: AtomicI64::new(UNMEASURED) }
    }
}

impl SystemClock {
    /// The machine's own time of day.
    pub fn machine_now() -> Millis {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Millis(millis(since))
    }

    /// How long this clock has existed.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Takes `database_now`, which was asked for when this clock had existed for `asked`, as the truth from now on.
    pub fn follow(&self, asked: Duration, database_now: Millis) {
        let took = self.elapsed().saturating_sub(asked);
        let is_first = self.base_ms.load(Ordering::Relaxed) == UNMEASURED;
        if is_first || took <= SLOWEST {
            self.base_ms.store(database_now.minus(asked + took / 2).0, Ordering::Relaxed);
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        match self.base_ms.load(Ordering::Relaxed) {
            UNMEASURED => Self::machine_now(),
            base => Millis(base).plus(self.elapsed()),
        }
    }
}

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn new(now: Millis) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(millis(span), Ordering::SeqCst);
    }

    /// Sets the clock, backwards too.
    pub fn set(&self, now: Millis) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_round_up_and_are_never_zero() {
        assert_eq!(wait_seconds(Duration::ZERO), 1);
        assert_eq!(wait_seconds(Duration::from_millis(36_001)), 37);
        assert_eq!(wait_seconds(Duration::from_secs(37)), 37);
    }

    #[test]
    fn times_travel_as_rfc_3339() {
        let at = Millis(1_790_000_000_123);
        assert_eq!(Millis::parse(&at.rfc3339()), Some(at));
        assert_eq!(Millis::parse("2026-12-01T14:00:00+01:00"), Millis::parse("2026-12-01T13:00:00Z"));
        assert_eq!(Millis::parse("2026-12-01 14:00"), None);
        let refused = |text: &str| serde_json::from_value::<Millis>(text.into()).unwrap_err().to_string();
        assert!(refused("9999-12-31T23:59:59Z").contains("too late"));
        for text in ["soon", "", "2026-12-01T14:00:00", "9999-13-31T23:59:59Z", "99999-12-31T23:59:59Z"] {
            assert_eq!(refused(text), NO_TIME, "{text}");
        }
    }
}
