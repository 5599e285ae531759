//! Points in time: times of day, zones and "until …" read from words, and times said in words.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::durations;
use super::phrase::Word;

/// Reads a time of day at the start of `words`: "02:30", "9am", "9 pm", "noon"; a bare hour after "at".
/// Answers the time and how many words it took.
pub fn time_of_day(words: &[Word]) -> Option<(Time, usize)> {
    let at = usize::from(words.first()?.is("at"));
    let key = words.get(at)?.key.as_str();
    match key {
        "noon" => return Some((Time::constant(12, 0, 0, 0), at + 1)),
        "midnight" => return Some((Time::midnight(), at + 1)),
        _ => {}
    }
    let half = |key: &str| if key.ends_with("am") { Some(0) } else { key.ends_with("pm").then_some(12) };
    let (clock, half_day, taken) = match half(key) {
        Some(offset) => (&key[..key.len() - 2], Some(offset), at + 1),
        None => match words.get(at + 1).filter(|word| word.is("am pm")) {
            Some(word) => (key, half(&word.key), at + 2),
            None => (key, None, at + 1),
        },
    };
    let (hour, minute) = match clock.split_once(':') {
        Some((hour, minute)) if minute.len() == 2 => (hour.parse::<i8>().ok()?, minute.parse::<i8>().ok()?),
        // "9" alone is a time only when "at" or a half of the day says so.
        None if at == 1 || half_day.is_some() => (clock.parse::<i8>().ok()?, 0),
        Some(_) | None => return None,
    };
    let hour = match half_day {
        Some(offset) if (1..=12).contains(&hour) => hour % 12 + offset,
        Some(_) => return None,
        None => hour,
    };
    Some((Time::new(hour, minute, 0, 0).ok()?, taken))
}

/// Reads a zone at the start of `words`: "Europe/Berlin", "in Asia/Tokyo", "timezone UTC".
/// Answers nothing if there is none, and an error if a zone is named that does not exist.
pub fn zone(words: &[Word]) -> Result<Option<(TimeZone, usize)>, String> {
    let lead = words.iter().take_while(|word| word.is("in timezone zone time")).count();
    let Some(word) = words.get(lead) else { return Ok(None) };
    let named = word.text.contains('/') || word.is("utc gmt") || (lead > 0 && !word.is("the"));
    if !named {
        return Ok(None);
    }
    // "Europe/Berlin time" says the same.
    let trail = usize::from(words.get(lead + 1).is_some_and(|word| word.is("time")));
    match TimeZone::get(word.text) {
        Ok(zone) => Ok(Some((zone, lead + 1 + trail))),
        Err(_) => Err(format!("I do not know the time zone “{}”. Zones are named like Europe/Berlin.", word.text)),
    }
}

/// A zone's name, as the checks take it.
pub fn zone_name(zone: &TimeZone) -> String {
    zone.iana_name().unwrap_or("UTC").to_owned()
}

/// A day of the week.
pub fn weekday(key: &str) -> Option<Weekday> {
    match key.trim_end_matches('s') {
        "monday" | "mon" => Some(Weekday::Monday),
        "tuesday" | "tue" => Some(Weekday::Tuesday),
        "wednesday" | "wed" => Some(Weekday::Wednesday),
        "thursday" | "thur" | "thu" => Some(Weekday::Thursday),
        "friday" | "fri" => Some(Weekday::Friday),
        "saturday" | "sat" => Some(Weekday::Saturday),
        "sunday" | "sun" => Some(Weekday::Sunday),
        _ => None,
    }
}

/// When a pause ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At a time.
    At(Timestamp),
    /// When somebody resumes it.
    Never,
}

/// Reads all of `words` as the end of a pause: "for 2 hours", "until tomorrow 9:00 Europe/Berlin".
/// Without a zone a time is UTC. A time of day alone is the next one.
pub fn end(words: &[Word], now: Timestamp) -> Option<End> {
    let (lead, rest) = words.split_first()?;
    match lead.key.as_str() {
        "for" => {
            let (seconds, taken) = durations::read(rest)?;
            let length = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
            (taken == rest.len()).then_some(())?;
            now.checked_add(length).ok().and_then(whole_second).map(End::At)
        }
        "indefinitely" | "forever" if rest.is_empty() => Some(End::Never),
        "until" | "till" if is_never(rest) => Some(End::Never),
        "until" | "till" => until(rest, now).map(End::At),
        _ => None,
    }
}

fn is_never(words: &[Word]) -> bool {
    let keys: Vec<&str> = words.iter().map(|word| word.key.as_str()).collect();
    matches!(keys.as_slice(), ["further", "notice"] | ["i" | "we", "resume", ..])
}

fn until(words: &[Word], now: Timestamp) -> Option<Timestamp> {
    if let [one] = words
        && let Ok(exact) = one.text.parse::<Timestamp>()
    {
        return Some(exact);
    }
    // The zone stands last ("in time zone X time" at most), and "today" depends on it.
    let mut zone_at = words.len();
    let mut tz = TimeZone::UTC;
    for at in words.len().saturating_sub(5)..words.len() {
        if let Ok(Some((found, taken))) = zone(&words[at..])
            && at + taken == words.len()
        {
            (zone_at, tz) = (at, found);
            break;
        }
    }
    let words = &words[..zone_at];
    if let [one] = words
        && one.text.len() > "2026-12-01".len()
        && let Ok(written) = one.text.parse::<DateTime>()
    {
        return Some(written.to_zoned_datetime(tz).ok()?.timestamp());
    }
    let here = now.to_zoned_datetime(tz.clone());
    let (day, taken) = match words.first().and_then(|word| day(&word.key, here.date())) {
        Some(day) => (Some(day), 1),
        None => (None, 0),
    };
    let (time, used) = match time_of_day(&words[taken..]) {
        Some((time, used)) => (Some(time), used),
        None => (None, 0),
    };
    (taken + used == words.len() && used + taken > 0).then_some(())?;
    let date = day.unwrap_or_else(|| here.date());
    let at = |date: Date| date.to_datetime(time.unwrap_or(Time::midnight())).to_zoned_datetime(tz.clone()).ok();
    let mut moment = at(date)?.timestamp();
    if day.is_none() && moment <= now {
        moment = at(date.checked_add(1.day()).ok()?)?.timestamp();
    }
    Some(moment)
}

/// A day that is not to come: a date, yesterday, the last Monday.
pub fn past_day(key: &str, today: Date) -> Option<Date> {
    match key {
        "yesterday" => today.checked_sub(1.day()).ok(),
        "tomorrow" => None,
        _ => match weekday(key) {
            Some(weekday) => today.nth_weekday(-1, weekday).ok(),
            None => day(key, today).filter(|day| *day <= today),
        },
    }
}

fn day(key: &str, today: Date) -> Option<Date> {
    match key {
        "today" => Some(today),
        "tomorrow" => today.checked_add(1.day()).ok(),
        _ => match weekday(key) {
            Some(weekday) => today.nth_weekday(1, weekday).ok(),
            // A date that carries a time of day would parse too, and lose it.
            None => key.parse().ok().filter(|_| key.len() == "2026-12-01".len()),
        },
    }
}

/// A pause to the fraction of a second would only be hard to read.
fn whole_second(at: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(at.as_second()).ok()
}

/// A stored time in words: "2026-07-05 02:30 UTC (3 hours ago)". What does not read as a time is shown as it is.
pub fn say(stored: &str, now: Timestamp) -> String {
    say_in(stored, None, now)
}

/// The same on the clock of a zone, if it is one that is not UTC: "2026-07-05 04:30 Europe/Berlin (02:30 UTC, 3 hours
/// ago)".
pub fn say_in(stored: &str, zone: Option<&str>, now: Timestamp) -> String {
    let Ok(at) = stored.parse::<Timestamp>() else { return stored.to_owned() };
    let apart = u64::try_from(at.duration_since(now).as_secs().abs()).unwrap_or_default();
    let roughly = durations::say_roughly(apart);
    let relation = if at > now { format!("in {roughly}") } else { format!("{roughly} ago") };
    let utc = at.to_zoned_datetime(TimeZone::UTC);
    let there = zone.and_then(|name| Some((name, at.to_zoned_datetime(TimeZone::get(name).ok()?))));
    match there.filter(|(_, local)| local.datetime() != utc.datetime()) {
        Some((name, local)) => {
            let format = if local.date() == utc.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
            format!("{} {name} ({} UTC, {relation})", local.strftime("%Y-%m-%d %H:%M"), utc.strftime(format))
        }
        None => format!("{} UTC ({relation})", utc.strftime("%Y-%m-%d %H:%M")),
    }
}
