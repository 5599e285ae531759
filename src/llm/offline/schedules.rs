//! When a check must ping, read from words: "every 5 minutes", "weekdays at 9", "at 3am every day Europe/Berlin", cron.

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use serde_json::Value;

use super::clauses::{Clause, not_understood, seconds};
use super::intent::Call;
use super::phrase::{self, Word};
use super::{durations, moments};

/// Reads a schedule at the start of `words`. Nothing if there is none, an error if it is one that cannot be read.
pub fn read(words: &[Word]) -> Option<Clause> {
    let (first, rest) = words.split_first()?;
    match first.key.as_str() {
        "hourly" => Some(Ok((seconds("period_seconds", 3_600), 1))),
        "daily" | "nightly" => Some(calendar("*", rest, 1)),
        "weekly" => {
            let on = rest.iter().take_while(|word| word.is("on every")).count();
            match days(&rest[on..]) {
                Some((days, taken)) => Some(calendar(&days, &rest[on + taken..], 1 + on + taken)),
                None => Some(Ok((seconds("period_seconds", 604_800), 1))),
            }
        }
        "once" if rest.first().is_some_and(|word| word.is("a an every")) => every(&rest[1..], 2),
        "twice" if rest.first().is_some_and(|word| word.is("a an every")) => {
            let unit = durations::unit(&rest.get(1)?.key)?;
            Some(Ok((seconds("period_seconds", unit / 2), 3)))
        }
        "every" | "each" => every(rest, 1),
        "at" => at_first(words),
        "schedule" => {
            let links = 1 + rest.iter().take_while(|word| word.is("of is")).count();
            read(&words[links..]).map(|clause| clause.map(|(found, taken)| (found, links + taken)))
        }
        "cron" => {
            let links = rest.iter().take_while(|word| word.is("expression schedule")).count();
            Some(cron(&rest[links..], 1 + links))
        }
        // An expression without the word "cron" before it.
        _ if first.text.contains('*') || first.text.starts_with('@') || are_fields(words) => Some(cron(words, 0)),
        _ => on_days(words),
    }
}

/// What follows "every", which took `before` words.
fn every(words: &[Word], before: usize) -> Option<Clause> {
    if let Some((days, taken)) = days(words) {
        return Some(calendar(&days, &words[taken..], before + taken));
    }
    if let Some(length) = durations::counted_unit(words).or_else(|| durations::read(words)) {
        return Some(Ok((seconds("period_seconds", length.0), before + length.1)));
    }
    // "every" alone stands for one, and "hour and a half" is one and a half of them.
    let (length, taken) = durations::after_one(words)?;
    Some(Ok((seconds("period_seconds", length), before + taken)))
}

/// "at 3am every day Europe/Berlin", "at 9 on weekdays", "at 2:30 in Europe/Berlin nightly": the time before the day.
fn at_first(words: &[Word]) -> Option<Clause> {
    let (time, used) = moments::time_of_day(words)?;
    let zone = |words: &[Word]| moments::zone(words).ok().flatten().map_or(0, |(_, taken)| taken);
    let early = zone(&words[used..]);
    let after = &words[used + early..];
    let lead = after.iter().take_while(|word| word.is("on every each")).count();
    let (days, taken) = match after.get(lead) {
        Some(word) if word.is("daily nightly") => ("*".to_owned(), 1),
        _ => days(&after[lead..])?,
    };
    let end = used + early + lead + taken;
    let zoned = if early > 0 { &words[used..used + early] } else { &words[end..] };
    Some(cron_and_zone(&at(time, &days), zoned).map(|(found, zone_words)| {
        let late = if early > 0 { 0 } else { zone_words };
        (found, end + late)
    }))
}

/// "weekdays at 9", "on mondays at 6:30 am", "mon-fri 9:00": days, which are a schedule only with a time.
fn on_days(words: &[Word]) -> Option<Clause> {
    let on = usize::from(words.first()?.is("on"));
    let (days, taken) = days(&words[on..]).filter(|(days, _)| days != "*")?;
    let clause = calendar(&days, &words[on + taken..], on + taken);
    has_time(&words[on + taken..]).then_some(clause)
}

fn has_time(words: &[Word]) -> bool {
    let zone = moments::zone(words).ok().flatten().map_or(0, |(_, taken)| taken);
    moments::time_of_day(&words[zone..]).is_some()
}

/// Days of the week, or all of them, at a time of day. Every day without a time is a period like any other.
fn calendar(days: &str, words: &[Word], before: usize) -> Clause {
    // "every sunday night at 11pm": the time says the same.
    if words.first().is_some_and(|word| word.is("night morning afternoon evening")) && has_time(&words[1..]) {
        return calendar(days, &words[1..], before + 1);
    }
    // "every day Europe/Berlin at 3am": the zone may stand before the time.
    let early = moments::zone(words).ok().flatten().map_or(0, |(_, taken)| taken);
    let (early, time, used) = match moments::time_of_day(&words[early..]) {
        Some((time, used)) => (early, Some(time), early + used),
        None if words.first().is_some_and(|word| word.is("at")) => return Err(not_understood(words)),
        None => (0, None, 0),
    };
    if time.is_none() && days == "*" {
        return Ok((seconds("period_seconds", 86_400), before));
    }
    let expression = at(time.unwrap_or(Time::midnight()), days);
    let zoned = if early > 0 { &words[..early] } else { &words[used..] };
    let (arguments, zone_words) = cron_and_zone(&expression, zoned)?;
    Ok((arguments, before + if early > 0 { used } else { used + zone_words }))
}

fn at(time: Time, days: &str) -> String {
    format!("{} {} * * {days}", time.minute(), time.hour())
}

/// Days at the start of `words`, as a cron field has them: "day", "weekdays", "mon-fri", "monday and thursday".
fn days(words: &[Word]) -> Option<(String, usize)> {
    let first = words.first().filter(|first| !first.quoted)?;
    if first.is("day night evening morning") {
        return Some(("*".to_owned(), 1));
    }
    if first.is("working work business week") && words.get(1)?.is("day days") {
        return Some(("1-5".to_owned(), 2));
    }
    let (mut field, mut taken) = day_or_range(words)?;
    loop {
        let joined = usize::from(words.get(taken).is_some_and(|word| word.is("and &")));
        let is_listed = joined == 1 || words[taken - 1].comma;
        match words.get(taken + joined..).filter(|_| is_listed).and_then(day_or_range) {
            Some((more, used)) => {
                field = format!("{field},{more}");
                taken += joined + used;
            }
            None => return Some((field, taken)),
        }
    }
}

fn day_or_range(words: &[Word]) -> Option<(String, usize)> {
    let key = words.first()?.key.as_str();
    match key {
        "weekday" | "weekdays" => return Some(("1-5".to_owned(), 1)),
        "weekend" | "weekends" => return Some(("0,6".to_owned(), 1)),
        _ => {}
    }
    let number = |key: &str| moments::weekday(key).map(Weekday::to_sunday_zero_offset);
    let range = |from: i8, to: i8| format!("{from}-{}", if to == 0 { 7 } else { to });
    if let Some((from, to)) = key.split_once(['-', '–']) {
        return Some((range(number(from)?, number(to)?), 1));
    }
    let from = number(key)?;
    match words.get(1..3) {
        Some([to, last]) if to.is("to through till until") && number(&last.key).is_some() => {
            Some((range(from, number(&last.key)?), 3))
        }
        _ => Some((from.to_string(), 1)),
    }
}

/// Whether the words begin with a cron expression: five fields at least, of which one is a star.
fn are_fields(words: &[Word]) -> bool {
    let run = fields(words);
    run >= 5 && words[..run].iter().any(|word| word.text.contains('*'))
}

/// How many words the run of cron fields has that `words` begin with: all of it, so that one field too many is the
/// server's to refuse and never becomes part of a name.
fn fields(words: &[Word]) -> usize {
    let named = |part: &str| {
        part.len() == 3 && (moments::weekday(part).is_some() || moments::month(part).is_some())
            || part == "l"
            || part == "lw"
    };
    let numbered = |part: &str| {
        part.trim_end_matches(['l', 'w']).chars().all(|c| c.is_ascii_digit() || c == '*') && part.len() < 6
    };
    let is_field = |word: &Word| {
        let mut parts = word.key.split(['/', ',', '-', '#']);
        !word.quoted && parts.all(|part| !part.is_empty() && (named(part) || numbered(part)))
    };
    let mut run = 0;
    while let Some(word) = words.get(run)
        && is_field(word)
        // "0 3 * * * 10 minutes grace": an amount is no field.
        && durations::read(&words[run..]).is_none()
    {
        run += 1;
        if word.comma {
            break;
        }
    }
    run
}

/// A cron expression in quotes, its fields, or an alias such as @daily; then perhaps a zone.
fn cron(words: &[Word], before: usize) -> Clause {
    let taken = match words.first() {
        Some(first) if first.quoted || first.text.starts_with('@') => 1,
        _ => fields(words),
    };
    let (said, rest) = words.split_at(taken);
    let is_whole = taken >= 5 || said.first().is_some_and(|first| first.quoted || first.text.starts_with('@'));
    if !is_whole {
        return Err("A cron schedule has five fields, for example cron \"*/5 * * * *\".".to_owned());
    }
    let mut expression = phrase::written(said).to_owned();
    // Other dialects write a "?" for any day: no mark of a question here, and the server's to refuse.
    if taken >= 5 && said.last().is_some_and(Word::stands_before_question_mark) {
        expression.push_str(" ?");
    }
    let (arguments, zone_words) = cron_and_zone(&expression, rest)?;
    Ok((arguments, before + taken + zone_words))
}

/// The arguments of a cron expression with the zone that may follow, and how many words that took. Without one see
/// `by_the_clock`.
fn cron_and_zone(expression: &str, words: &[Word]) -> Clause {
    let mut arguments: Vec<(&'static str, Value)> = vec![("cron", expression.into())];
    let found = moments::zone(words)?;
    let taken = found.map_or(0, |(zone, taken)| {
        arguments.push(("timezone", moments::zone_name(&zone).into()));
        taken
    });
    Ok((arguments, taken))
}

/// A schedule by the clock that names no zone is meant by the person's clock. In UTC, which may only mean that their
/// zone is not known, a changed schedule stays in its zone.
pub fn by_the_clock(call: &mut Call, zone: &TimeZone) {
    let is_new = matches!(call.tool, "create_check" | "preview_schedule");
    let is_open = call.arguments.contains_key("cron") && !call.arguments.contains_key("timezone");
    if is_open && (is_new || !moments::is_utc(zone)) {
        call.arguments.insert("timezone".to_owned(), moments::zone_name(zone).into());
    }
}
