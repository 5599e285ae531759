//! Days read from words, and the end of a pause: "for 2 hours", "until friday 18:00", "for the weekend".

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{SignedDuration, Timestamp, ToSpan, ZonedDateTime};

use super::phrase::{Word, skip};
use super::{durations, moments};

/// When a pause ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At a time.
    At(Timestamp),
    /// When somebody resumes it.
    Never,
}

/// Reads all of `words` as the end of a pause: "for 2 hours", "2h", "until tomorrow 9:00 Europe/Berlin".
/// Without a zone a time is on the person's clock, which `now` has. A time of day alone is the next one.
pub fn read(words: &[Word], now: &ZonedDateTime) -> Option<End> {
    let (lead, rest) = words.split_first()?;
    match lead.key.as_str() {
        "for" | "over" => after(rest, now).or_else(|| rest_of(rest, now)).map(End::At),
        "indefinitely" | "forever" if rest.is_empty() => Some(End::Never),
        "until" | "till" | "til" | "'til" if is_never(rest) => Some(End::Never),
        "until" | "till" | "til" | "'til" => until(rest, now).map(End::At),
        _ => after(words, now).map(End::At),
    }
}

/// The end of a length of time that all of `words` are.
fn after(words: &[Word], now: &ZonedDateTime) -> Option<Timestamp> {
    let words = skip(words, "another the next");
    let (seconds, taken) = durations::read(words)?;
    let length = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
    (taken == words.len()).then_some(())?;
    now.timestamp().checked_add(length).ok().and_then(whole_second)
}

fn is_never(words: &[Word]) -> bool {
    let keys: Vec<&str> = words.iter().map(|word| word.key.as_str()).collect();
    matches!(keys.as_slice(), ["further", "notice"] | ["i" | "we", "resume", ..] | ["resumed"])
}

/// The end of "the day", "the rest of the week", "the weekend", "today", on the person's clock.
fn rest_of(words: &[Word], now: &ZonedDateTime) -> Option<Timestamp> {
    let [unit] = skip(words, "the rest remainder of this") else { return None };
    let today = now.date();
    let next = if unit.is("weekend") {
        today.nth_weekday(1, Weekday::Monday).ok()?
    } else {
        unit_end(if unit.is("today") { "day" } else { &unit.key }, today)?
    };
    Some(next.to_zoned_datetime(now.time_zone().clone()).ok()?.timestamp())
}

/// The first day after this day, week, month or year.
fn unit_end(unit: &str, today: Date) -> Option<Date> {
    match unit {
        "day" => today.tomorrow().ok(),
        "week" => today.nth_weekday(1, Weekday::Monday).ok(),
        "month" => today.last_of_month().tomorrow().ok(),
        "year" => today.last_of_year().tomorrow().ok(),
        _ => None,
    }
}

fn until(words: &[Word], now: &ZonedDateTime) -> Option<Timestamp> {
    if let [one] = words
        && let Ok(exact) = one.text.parse::<Timestamp>()
    {
        return Some(exact);
    }
    // The zone stands last ("in time zone X time" at most), and "today" depends on it.
    let mut zone_at = words.len();
    let mut tz = now.time_zone().clone();
    for at in words.len().saturating_sub(5)..words.len() {
        if let Ok(Some((found, taken))) = moments::zone(&words[at..])
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
    let today = now.with_time_zone(tz.clone()).date();
    let (day, time) = day_and_time(words, today)?;
    let on = |date: Date| tz.to_ambiguous_zoned_datetime(date.to_datetime(time.unwrap_or(Time::midnight())));
    if let Some(day) = day {
        return Some(on(day).compatible().ok()?.timestamp());
    }
    // A time that the clock shows twice on a day may be over once and yet to come.
    let next = [on(today).compatible(), on(today).later(), on(today.tomorrow().ok()?).compatible()];
    next.into_iter().flatten().map(|at| at.timestamp()).find(|at| *at > now.timestamp())
}

/// All of `words` as a day, a time of day, or both in either order.
fn day_and_time(words: &[Word], today: Date) -> Option<(Option<Date>, Option<Time>)> {
    let time = |words: &[Word]| moments::time_of_day(words).filter(|(_, taken)| *taken == words.len());
    if let Some((day, taken)) = day(words, today) {
        let rest = &words[taken..];
        return if rest.is_empty() { Some((Some(day), None)) } else { Some((Some(day), Some(time(rest)?.0))) };
    }
    let (time, taken) = moments::time_of_day(words)?;
    let rest = skip(&words[taken..], "on");
    if rest.is_empty() {
        return (taken == words.len()).then_some((None, Some(time)));
    }
    let (day, used) = day(rest, today)?;
    (used == rest.len()).then_some((Some(day), Some(time)))
}

/// A day to come at the start of `words`, and how many words name it.
fn day(words: &[Word], today: Date) -> Option<(Date, usize)> {
    let lead = words.iter().take_while(|word| word.is("next this coming the on")).count();
    let rest = &words[lead..];
    let first = rest.first()?;
    let found = match first.key.as_str() {
        "today" => (today, 1),
        "tomorrow" => (today.tomorrow().ok()?, 1),
        "end" => {
            let of = 1 + rest[1..].iter().take_while(|word| word.is("of the this")).count();
            (unit_end(&rest.get(of)?.key, today)?, of + 1)
        }
        // "until next week" is until it begins.
        "week" | "month" | "year" if words[..lead].iter().any(|word| word.is("next")) => {
            (unit_end(&first.key, today)?, 1)
        }
        key => match moments::weekday(key) {
            Some(weekday) => (today.nth_weekday(1, weekday).ok()?, 1),
            None => date(rest, today)?,
        },
    };
    Some((found.0, lead + found.1))
}

/// A day that is not to come, which all of `words` are: a date, yesterday, the last Monday.
pub fn past_day(words: &[Word], today: Date) -> Option<Date> {
    let words = skip(words, "last the");
    let first = words.first()?;
    if words.len() == 1 {
        match first.key.as_str() {
            "today" => return Some(today),
            "yesterday" => return today.yesterday().ok(),
            key => {
                if let Some(weekday) = moments::weekday(key) {
                    return today.nth_weekday(-1, weekday).ok();
                }
            }
        }
    }
    let (day, taken) = date(words, today)?;
    // A date without a year may be this year's or the last one's.
    let is_bare = words.iter().all(|word| word.key.len() < 4 || word.key.parse::<i16>().is_err());
    let day = if day > today && is_bare && words.len() > 1 { day.checked_sub(1.year()).ok()? } else { day };
    (taken == words.len() && day <= today).then_some(day)
}

/// "2026-12-01", "24 December", "Dec 24th 2026": the next one, if no year is said.
fn date(words: &[Word], today: Date) -> Option<(Date, usize)> {
    let key = &words.first()?.key;
    // A date that carries a time of day would parse too, and lose it.
    if let Ok(date) = key.parse()
        && key.len() == "2026-12-01".len()
    {
        return Some((date, 1));
    }
    let month = |word: &Word| moments::month(&word.key);
    let number = |word: &Word| word.key.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h']).parse::<i8>().ok();
    let of = usize::from(words.get(1)?.is("of"));
    let second = words.get(1 + of)?;
    let (day, month) = match (number(&words[0]), month(second)) {
        (Some(day), Some(month)) => (day, month),
        _ if of == 0 => (number(second)?, month(&words[0])?),
        _ => return None,
    };
    let year = words.get(2 + of).and_then(|word| word.key.parse::<i16>().ok()).filter(|year| *year > 1970);
    let taken = 2 + of + usize::from(year.is_some());
    let date = Date::new(year.unwrap_or(today.year()), month, day).ok()?;
    let date = if year.is_none() && date < today { date.checked_add(1.year()).ok()? } else { date };
    Some((date, taken))
}

/// A pause to the fraction of a second would only be hard to read.
fn whole_second(at: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(at.as_second()).ok()
}
