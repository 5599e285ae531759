//! A check's uptime and outages over a span of time. Pure: made of its flips, its pauses and our own gaps.
//!
//! What is neither up nor down counts for nothing: the time before the first ping, and, shown as "no data", the time in
//! which the check was paused or no instance took pings in. Counted in whole seconds of the clock, so that every sum is
//! exact.

use serde::Serialize;
use utoipa::ToSchema;

use super::Status;
use super::history::Reason;
use super::intake::Gap;
use super::store::flips::Flip;
use crate::clock::Millis;

/// Seconds of a day; days are UTC's.
const DAY: i64 = 86_400;

/// The seconds that count of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct Share {
    /// Up.
    pub up_seconds: i64,
    /// Down.
    pub down_seconds: i64,
    /// Up or down, but paused, or no instance took pings in.
    pub no_data_seconds: i64,
}

/// A day of the span, in UTC; the first and the last may be in it in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Day {
    /// Which: `2026-12-01`.
    #[schema(format = Date)]
    pub date: String,
    /// What of it counts.
    #[serde(flatten)]
    pub share: Share,
}

/// A time of being down that reaches into the span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Outage {
    /// When it began, be it before the span.
    pub from: Millis,
    /// When it ended, be it after the span; null if it goes on.
    #[schema(required)]
    pub to: Option<Millis>,
    /// What it adds to the span's `down_seconds`: neither what lies outside nor what is "no data".
    pub seconds: i64,
    /// Why; null if that is not known any more.
    #[schema(required)]
    pub reason: Option<Reason>,
}

/// How a check did in a span.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Uptime {
    /// The span's beginning.
    pub from: Millis,
    /// Its end.
    pub to: Millis,
    /// What of it counts.
    #[serde(flatten)]
    pub share: Share,
    /// Up as a part of up and down, 0 to 1; null if it was neither.
    #[schema(required)]
    pub uptime: Option<f64>,
    /// Oldest first.
    pub outages: Vec<Outage>,
    /// Every day of the span.
    pub days: Vec<Day>,
}

/// From a moment to a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The beginning.
    pub from: Millis,
    /// The end.
    pub to: Millis,
}

/// How a check did in `span`. `flips` are all since then, later than its end too, and the last one before, oldest first;
/// without any the check was all the time what it `is`. `gaps` are [`merged`].
pub fn measure(span: Span, flips: &[Flip], gaps: &[Gap], is: Status) -> Uptime {
    let mut tally = Tally::new(span, gaps);
    let mut outages = Vec::new();
    let (mut status, mut since, mut why) = (flips.first().map_or(is, |flip| flip.from), span.from, None);
    let ends = flips.iter().map(Some).chain([None]);
    for end in ends {
        // A clock that was set back dates a flip before the one that it follows.
        let until = end.map(|flip| flip.at.max(since));
        let seconds = tally.count(status, since, until.unwrap_or(span.to));
        let is_inside = since < span.to && until.is_none_or(|until| until > span.from);
        if status == Status::Down && is_inside {
            outages.push(Outage { from: since, to: until, seconds, reason: why });
        }
        if let Some(flip) = end {
            // The first may have been before the span: what it began is known to have begun then.
            since = if why.is_none() { flip.at } else { flip.at.max(since) };
            (status, why) = (flip.to, Some(flip.reason));
        }
    }
    let share = tally.share;
    Uptime { from: span.from, to: span.to, share, uptime: share.uptime(), outages, days: tally.days }
}

/// The same times, oldest first, and none that touches another.
pub fn merged(mut gaps: Vec<Gap>) -> Vec<Gap> {
    gaps.sort_by_key(|gap| gap.from);
    gaps.dedup_by(|next, kept| {
        let touches = next.from <= kept.to;
        if touches {
            kept.to = kept.to.max(next.to);
        }
        touches
    });
    gaps
}

impl Share {
    /// Up as a part of up and down; `None` if there was neither.
    fn uptime(self) -> Option<f64> {
        let float = |seconds: i64| f64::from(u32::try_from(seconds).unwrap_or(u32::MAX));
        let known = self.up_seconds + self.down_seconds;
        (known > 0).then(|| float(self.up_seconds) / float(known))
    }
}

/// What has been counted so far. Times in it are whole seconds since 1970.
struct Tally<'a> {
    from: i64,
    to: i64,
    gaps: &'a [Gap],
    share: Share,
    days: Vec<Day>,
}

impl<'a> Tally<'a> {
    fn new(span: Span, gaps: &'a [Gap]) -> Self {
        let (from, to) = (seconds(span.from), seconds(span.to));
        // The day of the last second: a span that ends at midnight has nothing of the next day.
        let last = (to - 1).max(from).div_euclid(DAY);
        let days = (from.div_euclid(DAY)..=last).map(|day| Day { date: date(day), share: Share::default() }).collect();
        Self { from, to, gaps, share: Share::default(), days }
    }

    /// Counts the part of `from..to` that is in the span, in which the check was `status`, and returns how many
    /// seconds counted as that.
    fn count(&mut self, status: Status, from: Millis, to: Millis) -> i64 {
        let (mut at, to) = (seconds(from).max(self.from), seconds(to).min(self.to));
        let of_status: fn(&mut Share) -> &mut i64 = match status {
            Status::New => return 0,
            Status::Up => |share| &mut share.up_seconds,
            Status::Down => |share| &mut share.down_seconds,
        };
        let mut counted = 0;
        let gaps = self.gaps;
        let first = gaps.partition_point(|gap| seconds(gap.to) <= at);
        for gap in gaps[first..].iter().take_while(|gap| seconds(gap.from) < to) {
            let (begin, end) = (seconds(gap.from).max(at), seconds(gap.to).min(to));
            counted += self.add(at, begin, of_status);
            self.add(begin, end, |share| &mut share.no_data_seconds);
            at = end.max(at);
        }
        counted + self.add(at, to, of_status)
    }

    /// Adds `from..to`, which lies in the span, to the whole and to its days.
    fn add(&mut self, from: i64, to: i64, part: fn(&mut Share) -> &mut i64) -> i64 {
        let first_day = self.from.div_euclid(DAY);
        let mut at = from;
        while at < to {
            let day = at.div_euclid(DAY);
            let end = to.min((day + 1) * DAY);
            let index = usize::try_from(day - first_day).unwrap_or(usize::MAX);
            if let Some(day) = self.days.get_mut(index) {
                *part(&mut day.share) += end - at;
            }
            at = end;
        }
        let added = (to - from).max(0);
        *part(&mut self.share) += added;
        added
    }
}

fn seconds(at: Millis) -> i64 {
    at.0.div_euclid(1000)
}

/// `2026-12-01` for the days since 1970.
fn date(day: i64) -> String {
    Millis(day * DAY * 1000).rfc3339().chars().take_while(|c| *c != 'T').collect()
}

#[cfg(test)]
mod tests;
