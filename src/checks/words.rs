//! Spans and moments in words, for previews and outcome lines.

use jiff::tz::Offset;

use super::schedule::Zone;
use crate::clock::Millis;

/// `1 check`, `3 checks`.
pub fn count(number: i64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A span in words, exact: `5 minutes`, `1 hour 30 minutes`, `2 days`.
pub fn span(seconds: i64) -> String {
    let units = [(seconds / 86_400, "day"), (seconds / 3_600 % 24, "hour"), (seconds / 60 % 60, "minute")];
    let mut parts: Vec<String> = units.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| count(*n, noun)).collect();
    if seconds % 60 > 0 || parts.is_empty() {
        parts.push(count(seconds % 60, "second"));
    }
    parts.join(" ")
}

/// A period in words: `every day`, `every 5 minutes`.
pub fn every(seconds: i64) -> String {
    let span = span(seconds);
    match span.strip_prefix("1 ") {
        Some(unit) if !unit.contains(' ') => format!("every {unit}"),
        _ => format!("every {span}"),
    }
}

/// With a capital letter, to begin a sentence.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Names in a row, at most ten of them: `3 checks: a, b, c`, and just `a` for one.
pub fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 10;
    let total = names.len();
    let shown = names.take(SHOWN).collect::<Vec<_>>().join(", ");
    match total {
        1 => shown,
        _ if total > SHOWN => format!("{total} checks: {shown} and {} more", total - SHOWN),
        _ => format!("{total} checks: {shown}"),
    }
}

/// A moment in UTC: `14:00 UTC`, with the date unless it is today's.
pub fn moment(at: Millis, now: Millis) -> String {
    let (at, now) = (Offset::UTC.to_datetime(at.timestamp()), Offset::UTC.to_datetime(now.timestamp()));
    let time = if at.second() == 0 { at.strftime("%H:%M") } else { at.strftime("%H:%M:%S") };
    if at.date() == now.date() { format!("{time} UTC") } else { format!("{} {time} UTC", at.date()) }
}

/// A moment on the clock of a zone, and in UTC unless that is the same: `2026-12-02 02:30 (01:30 UTC)`.
pub fn local_moment(at: Millis, now: Millis, zone: &Zone) -> String {
    let there = zone.rules().to_datetime(at.timestamp());
    let utc = Offset::UTC.to_datetime(at.timestamp());
    if there == utc {
        return moment(at, now);
    }
    let date = if there.date() == utc.date() { String::new() } else { format!("{} ", utc.date()) };
    format!("{} {} ({date}{} UTC)", there.date(), there.strftime("%H:%M"), utc.strftime("%H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_like_speech() {
        assert_eq!(span(300), "5 minutes");
        assert_eq!(span(5_400), "1 hour 30 minutes");
        assert_eq!(span(90_061), "1 day 1 hour 1 minute 1 second");
        assert_eq!(span(0), "0 seconds");
        assert_eq!(every(86_400), "every day");
        assert_eq!(every(90_000), "every 1 day 1 hour");
        assert_eq!(every(300), "every 5 minutes");
    }

    #[test]
    fn a_moment_names_its_day_unless_it_is_today() {
        let at = |text: &str| Millis::parse(text).unwrap();
        assert_eq!(moment(at("2026-12-01T14:00:00Z"), at("2026-12-01T09:30:00Z")), "14:00 UTC");
        assert_eq!(moment(at("2026-12-02T14:00:09Z"), at("2026-12-01T23:59:00Z")), "2026-12-02 14:00:09 UTC");
    }
}
