//! Points in time: times of day, days of the week and zones read from words, and times said in words.

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

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

/// A month's number, by its name or the first three letters.
pub fn month(key: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = MONTHS.iter().position(|name| key == *name || key == &name[..3])?;
    i8::try_from(at + 1).ok()
}

/// A stored time in words, on the person's clock: "2026-07-05 02:30 UTC (3 hours ago)", "2026-07-05 04:30 CEST (…)".
/// What does not read as a time is shown as it is.
pub fn say(stored: &str, now: &ZonedDateTime) -> String {
    say_in(stored, None, now)
}

/// The same on the clock of a zone first, if that shows another time than the person's: "2026-07-05 04:30 Europe/Berlin
/// (02:30 UTC, 3 hours ago)".
pub fn say_in(stored: &str, zone: Option<&str>, now: &ZonedDateTime) -> String {
    let Ok(at) = stored.parse::<Timestamp>() else { return stored.to_owned() };
    let apart = u64::try_from(at.duration_since(now.timestamp()).as_secs().abs()).unwrap_or_default();
    let roughly = durations::say_roughly(apart);
    let relation = if at > now.timestamp() { format!("in {roughly}") } else { format!("{roughly} ago") };
    let here = at.to_zoned_datetime(now.time_zone().clone());
    let there = zone.and_then(|name| Some((name, at.to_zoned_datetime(TimeZone::get(name).ok()?))));
    // A check that is in UTC is told of by the person's clock alone.
    let there = there.filter(|(_, local)| !is_utc(local.time_zone()) && local.datetime() != here.datetime());
    match there {
        Some((name, local)) => {
            let format = if local.date() == here.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
            let here = format!("{} {}", here.strftime(format), abbreviation(&here));
            format!("{} {name} ({here}, {relation})", local.strftime("%Y-%m-%d %H:%M"))
        }
        None => format!("{} {} ({relation})", here.strftime("%Y-%m-%d %H:%M"), abbreviation(&here)),
    }
}

/// When a schedule runs: in its zone and in UTC. One that is in UTC is told of by the person's clock too.
pub fn say_run(stored: &str, zone: Option<&str>, now: &ZonedDateTime) -> String {
    let own = zone.filter(|name| TimeZone::get(name).is_ok_and(|zone| !is_utc(&zone)));
    say_in(stored, own.or_else(|| now.time_zone().iana_name()), &now.with_time_zone(TimeZone::UTC))
}

/// Whether a zone is UTC, by whichever of its names.
pub fn is_utc(zone: &TimeZone) -> bool {
    matches!(zone_name(zone).as_str(), "UTC" | "Etc/UTC")
}

/// What a clock's zone is called at its time, which tells the two times apart that a clock shows twice: "CEST", or
/// "UTC-03" where it has no letters.
fn abbreviation(at: &ZonedDateTime) -> String {
    let name = at.strftime("%Z").to_string();
    if name.starts_with(['+', '-']) { format!("UTC{name}") } else { name }
}
