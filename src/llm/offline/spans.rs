//! Questions about a span of time up to now: "uptime of X in the last 7 days", "outages of X this month".

use jiff::civil::Date;
use jiff::{ToSpan, ZonedDateTime};

use super::intent::{Aspect, Call, Intent};
use super::phrase::{self, Word, skip, trim_end};
use super::{durations, edits, ends};

/// Words that a span has at most: "over the last 7 days and 12 hours".
const LONGEST: usize = 8;
const DAY: u64 = 86_400;

/// Reads a question about how a check did; without a span it is the server's usual one.
pub fn read(words: &[Word], now: &ZonedDateTime) -> Option<Intent> {
    let earliest = words.len().saturating_sub(LONGEST);
    let found = (earliest..words.len()).find_map(|at| days(&words[at..], now).map(|days| (at, days)));
    let (head, days) = found.map_or((words, None), |(at, days)| (&words[..at], Some(days)));
    // "and the last 7 days?" goes on with the check that was spoken of.
    let alone = head.is_empty() || matches!(head, [what, about] if what.is("what how") && about.is("about"));
    if let Some(days) = days.filter(|_| alone) {
        return Some(Intent::Read(Call::new("get_uptime").with("days", days), Aspect::Status));
    }
    if days.is_some() && head.len() > 1 && is_of_all(head) {
        let sentence = "I look at the past of one check at a time, for example: outages of \"nightly backup\" last week. \
                        What is down now, I can list: what is down.";
        return Some(Intent::Unclear(sentence.to_owned()));
    }
    let name = of_noun(head, days.is_some()).or_else(|| of_verb(head, days.is_some()))?;
    if phrase::is_any(name) {
        return None;
    }
    if let Some(at) = (1..name.len()).find(|at| name[*at].is("in over during since last past this between for on")) {
        return Some(Intent::Unclear(format!(
            "I did not understand “{}”. Try: in the last 7 days, this month, or since 2026-07-01. If that belongs to \
             the name, put the name in quotes.",
            phrase::excerpt(phrase::written(&name[at..]))
        )));
    }
    Some(match edits::owner(name) {
        Ok(name) => {
            let call = Call::about("get_uptime", name);
            Intent::Read(if let Some(days) = days { call.with("days", days) } else { call }, Aspect::Status)
        }
        Err(sentence) => Intent::Unclear(sentence),
    })
}

/// "what was down", "which checks failed", "was anything late".
fn is_of_all(head: &[Word]) -> bool {
    const WORDS: &str = "what which who was were is are did has have been go went the checks check anything any everything \
        something down failed fail failing late";
    head[0].is("what which was were did has") && head.iter().all(|word| word.is(WORDS))
}

/// Reads all of `words` as a span up to `now`: whole days, as many as reach back to its beginning.
fn days(words: &[Word], now: &ZonedDateTime) -> Option<u64> {
    let after = skip(words, "in over for during within the");
    let is_led = after.len() < words.len();
    let today = now.date();
    match after {
        [day] if day.is("today") => since(today, now),
        [day] if day.is("yesterday") => since(today.yesterday().ok()?, now),
        [last, night] if last.is("last") && night.is("night") => since(today.yesterday().ok()?, now),
        [this, part] if this.is("this") && part.is("morning afternoon evening") => since(today, now),
        [this, unit] if this.is("this") => since(beginning(&unit.key, today)?, now),
        [since_word, day @ ..] if since_word.is("since") => since(ends::past_day(day, today)?, now),
        [last, length @ ..] if last.is("last past previous") => long(length),
        length if is_led => long(length),
        _ => None,
    }
}

/// "week", "7 days", "36 hours", "3 months": a month is taken as 30 days, a year as 365.
fn long(words: &[Word]) -> Option<u64> {
    let (count, unit) = match words {
        [unit] => (1, unit),
        [count, unit] => (count.key.parse().unwrap_or(0), unit),
        _ => return in_days(words),
    };
    match unit.key.as_str() {
        "month" | "months" if count > 0 => Some(30_u64.saturating_mul(count)),
        "year" | "years" if count > 0 => Some(365_u64.saturating_mul(count)),
        key if words.len() == 1 && !unit.quoted && durations::unit(key).is_some() => {
            Some(durations::unit(key)?.div_ceil(DAY))
        }
        _ => in_days(words),
    }
}

fn in_days(words: &[Word]) -> Option<u64> {
    let (seconds, taken) = durations::read(words)?;
    (taken == words.len() && seconds > 0).then(|| seconds.div_ceil(DAY))
}

fn beginning(unit: &str, today: Date) -> Option<Date> {
    match unit {
        "week" => today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok(),
        "month" => Some(today.first_of_month()),
        "year" => Some(today.first_of_year()),
        _ => None,
    }
}

/// Days since the beginning of `date` on the person's clock, counted up.
fn since(date: Date, now: &ZonedDateTime) -> Option<u64> {
    let from = date.to_zoned_datetime(now.time_zone().clone()).ok()?;
    let seconds = u64::try_from(now.duration_since(&from).as_secs()).ok()?;
    Some(seconds.div_ceil(DAY).max(1))
}

/// The name in "uptime of X", "how many outages did X have", "what is X's uptime".
fn of_noun<'w, 'a>(head: &'w [Word<'a>], has_span: bool) -> Option<&'w [Word<'a>]> {
    const NOUNS: &str = "uptime downtime availability outage outages reliability";
    const KINDS: &str = "report reports stats statistics summary figures figure percentage percent history numbers";
    const OPENERS: &str = "what what's is was were are the me my show list give get any all there which latest last recent \
        do does did has have about percentage percent monthly weekly overall total";
    let noun = head.iter().position(|word| word.is(NOUNS))?;
    let (before, after) = (&head[..noun], skip(&head[noun + 1..], KINDS));
    let how_many = before.len() > 1 && before[0].is("how") && before[1].is("many much");
    let how_is = before.len() > 1 && before[0].is("how") && after.first().is_some_and(|word| word.is("of for"));
    let rest = if how_many { &before[2..] } else { skip(&before[usize::from(how_is)..], OPENERS) };
    let (first, others) = match after {
        // "X's uptime"; "what is uptime" and "how is X's uptime counted" ask for the idea.
        [] if !rest.is_empty() => {
            let name = trim_end(rest, |word| word.is("have had any seen"));
            return (!rest[0].is("how why when who can a an")).then_some(name);
        }
        [] => {
            let asks_idea = matches!(before, [what, is] if what.is("what") && is.is("is are")) && !has_span;
            return (!asks_idea).then_some(after);
        }
        [first, others @ ..] => (first, others),
    };
    rest.is_empty().then_some(())?;
    if first.is("of for on") {
        return Some(others);
    }
    if first.is("did does has have had was were") {
        return Some(trim_end(others, |word| word.is("have had has seen suffered been there")));
    }
    // "show uptime X".
    before.iter().all(|word| word.is("show list get me the")).then_some(after)
}

/// The name in "how long was X down", "when was X last down", "what happened to X" with a span.
fn of_verb<'w, 'a>(head: &'w [Word<'a>], has_span: bool) -> Option<&'w [Word<'a>]> {
    const BE: &str = "is was were has have did been";
    const DOWN: &str = "down fail failed failing offline";
    let head = trim_end(head, |word| word.is("already now so far"));
    let (first, rest) = head.split_first()?;
    let subject = match first.key.as_str() {
        "how" if rest.first()?.is("long often much many") => skip(&rest[1..], "times time"),
        "how" if rest.first()?.is("reliable available") => {
            return Some(trim_end(skip(&rest[1..], BE), |word| word.is(BE)));
        }
        "how" if has_span && rest.first()?.is("was did has") => {
            return Some(trim_end(&rest[1..], |word| word.is("do doing been done fare")));
        }
        "what" if has_span && rest.first()?.is("happened") => {
            return rest.get(1)?.is("to with").then(|| &rest[2..]);
        }
        "when" if rest.first()?.is("was were did has") => rest,
        "since" if rest.first()?.is("when") => &rest[1..],
        "was" | "has" | "did" if has_span => head,
        _ => return None,
    };
    let name = skip(subject, BE);
    (name.len() < subject.len() && name.last()?.is(DOWN)).then_some(())?;
    Some(trim_end(name, |word| word.is(DOWN) || word.is("go gone been last ever")))
}
