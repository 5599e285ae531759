//! What a check can be told to be: "every 5 minutes", "daily at 02:30 Europe/Berlin", "grace 10 minutes", "tagged a, b".

use jiff::civil::Time;
use serde_json::{Map, Value};

use super::intent::Call;
use super::phrase::{self, Word};
use super::{alerts, durations, moments};

/// Words that begin a clause, besides those of alerts; where one of them stands, a list of tags is over.
const HEADS: &str = "every each hourly daily nightly weekly cron grace period interval with tags tagged labelled \
        described description once tag max maximum longest runtime";

/// Whether a clause begins with this word.
pub fn is_head(word: &Word) -> bool {
    word.is(HEADS) || word.is(alerts::HEADS)
}

/// Where a list that `words` begin with is over: before the next clause and what joins it, "a, b and a max runtime".
pub fn list_end(words: &[Word]) -> usize {
    let end = words.iter().take_while(|word| !is_head(word)).count();
    let joined = words[..end].iter().rev().take_while(|word| word.is("and & a an the")).count();
    if end < words.len() { end - joined } else { end }
}

/// Words that may join two clauses: "and with a".
const MAX_JOINED: usize = 4;

/// Why words do not read as clauses; each with the sentence for the person.
#[derive(Debug)]
pub enum Unread {
    /// A part is no clause, or one that cannot be read.
    NotUnderstood(String),
    /// Each part is a clause, but two say the same thing.
    Twice(String),
}

impl From<Unread> for String {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::NotUnderstood(sentence) | Unread::Twice(sentence) => sentence,
        }
    }
}

/// Reads all of `words` as clauses, in any order, each at most once. Answers the tool arguments that they mean.
pub fn read(words: &[Word]) -> Result<Map<String, Value>, Unread> {
    let mut arguments = Map::new();
    let mut at = 0;
    while at < words.len() {
        let joined = words[at..].iter().take(MAX_JOINED).take_while(|word| word.is("and & with a an the")).count();
        let rest = &words[at + joined..];
        // "a 10 minute grace": the article may also be the number.
        let (found, taken) = match one(rest) {
            None if joined > 0 => one(&words[at + joined - 1..]).map(|clause| clause.map(|(f, n)| (f, n - 1))),
            clause => clause,
        }
        .unwrap_or_else(|| Err(not_understood(&words[at..])))
        .map_err(Unread::NotUnderstood)?;
        for (key, value) in found {
            if arguments.insert(key.to_owned(), value).is_some() {
                return Err(twice(rest));
            }
        }
        if arguments.contains_key("cron") && arguments.contains_key("period_seconds") {
            return Err(twice(rest));
        }
        at += joined + taken;
    }
    Ok(arguments)
}

fn twice(words: &[Word]) -> Unread {
    Unread::Twice(format!("You gave me two values, the second at “{}”. Which one do you mean?", quote(words)))
}

/// The arguments that a clause means, and how many words it took.
pub type Clause = Result<(Vec<(&'static str, Value)>, usize), String>;

fn one(words: &[Word]) -> Option<Clause> {
    schedule(words)
        .or_else(|| grace(words))
        .or_else(|| period(words))
        .or_else(|| runtime(words))
        .or_else(|| tags(words))
        .or_else(|| description(words))
        .or_else(|| alerts::clause(words))
}

/// Reads a schedule at the start of `words`. Nothing if there is none, an error if it is one that cannot be read.
pub fn schedule(words: &[Word]) -> Option<Clause> {
    let (first, rest) = words.split_first()?;
    match first.key.as_str() {
        "hourly" => Some(Ok((seconds("period_seconds", 3_600), 1))),
        "daily" | "nightly" => Some(calendar("*", rest, 1)),
        "weekly" => match rest.iter().position(|word| !word.is("on")).map(|at| (at, day_of_week(&rest[at].key))) {
            Some((at, Some(days))) => Some(calendar(&days, &rest[at + 1..], at + 2)),
            _ => Some(Ok((seconds("period_seconds", 604_800), 1))),
        },
        "once" if rest.first().is_some_and(|word| word.is("a an every")) => every(&rest[1..], 2),
        "every" | "each" => every(rest, 1),
        "cron" => {
            let links = rest.iter().take_while(|word| word.is("expression schedule")).count();
            Some(cron(&rest[links..], 1 + links))
        }
        // An expression without the word "cron" before it.
        _ if first.text.contains('*') || first.text.starts_with('@') || are_fields(words) => Some(cron(words, 0)),
        _ => None,
    }
}

/// What follows "every", which took `before` words.
fn every(words: &[Word], before: usize) -> Option<Clause> {
    let first = words.first()?;
    if first.is("day night") {
        return Some(calendar("*", &words[1..], before + 1));
    }
    if let Some(days) = day_of_week(&first.key) {
        return Some(calendar(&days, &words[1..], before + 1));
    }
    if let Some(length) = durations::unit(&first.key).filter(|_| !first.quoted) {
        return Some(Ok((seconds("period_seconds", length), before + 1)));
    }
    let (length, taken) = durations::read(words)?;
    Some(Ok((seconds("period_seconds", length), before + taken)))
}

/// Days of the week, or all of them, at a time of day. Every day without a time is a period like any other.
fn calendar(days: &str, words: &[Word], before: usize) -> Clause {
    let (time, used) = match moments::time_of_day(words) {
        Some((time, used)) => (Some(time), used),
        None if words.first().is_some_and(|word| word.is("at")) => return Err(not_understood(words)),
        None => (None, 0),
    };
    if time.is_none() && days == "*" {
        return Ok((seconds("period_seconds", 86_400), before));
    }
    let time = time.unwrap_or(Time::midnight());
    let expression = format!("{} {} * * {days}", time.minute(), time.hour());
    let (arguments, zone_words) = cron_and_zone(&expression, &words[used..])?;
    Ok((arguments, before + used + zone_words))
}

fn day_of_week(key: &str) -> Option<String> {
    match key {
        "weekday" | "weekdays" => Some("1-5".to_owned()),
        "weekend" | "weekends" => Some("0,6".to_owned()),
        _ => Some(moments::weekday(key)?.to_sunday_zero_offset().to_string()),
    }
}

/// Whether the first five words are the fields of a cron expression; one of them at least is a star.
fn are_fields(words: &[Word]) -> bool {
    let is_field = |word: &Word| {
        let is_name =
            word.key.len() == 3 && (moments::weekday(&word.key).is_some() || MONTHS.contains(&word.key.as_str()));
        !word.quoted && (is_name || word.text.chars().all(|c| c.is_ascii_digit() || "*/,-".contains(c)))
    };
    words.get(..5).is_some_and(|five| five.iter().all(is_field) && five.iter().any(|word| word.text.contains('*')))
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A cron expression in quotes, five fields, or an alias such as @daily; then perhaps a zone.
fn cron(words: &[Word], before: usize) -> Clause {
    let fields = match words.first() {
        Some(first) if first.quoted || first.text.starts_with('@') => 1,
        _ => 5,
    };
    let Some(expression) = words.get(..fields).map(phrase::written) else {
        return Err("A cron schedule has five fields, for example cron \"*/5 * * * *\".".to_owned());
    };
    let (arguments, zone_words) = cron_and_zone(expression, &words[fields..])?;
    Ok((arguments, before + fields + zone_words))
}

/// The arguments of a cron expression with the zone that may follow, and how many words that took. Without one a new
/// schedule is in UTC, and a changed one stays in its zone.
fn cron_and_zone(expression: &str, words: &[Word]) -> Clause {
    let mut arguments = vec![("cron", expression.into())];
    let found = moments::zone(words)?;
    let taken = found.map_or(0, |(zone, taken)| {
        arguments.push(("timezone", moments::zone_name(&zone).into()));
        taken
    });
    Ok((arguments, taken))
}

/// Says that a new schedule without a zone is in UTC.
pub fn in_utc_unless_said(call: &mut Call) {
    if call.arguments.contains_key("cron") && !call.arguments.contains_key("timezone") {
        call.arguments.insert("timezone".to_owned(), "UTC".into());
    }
}

/// "grace 10 minutes", "grace period of 10 minutes", "10 minutes of grace".
fn grace(words: &[Word]) -> Option<Clause> {
    amount(words, "grace", "grace_seconds")
}

/// "period 10 minutes", "interval of 1 hour".
fn period(words: &[Word]) -> Option<Clause> {
    amount(words, "period interval", "period_seconds")
}

/// "max runtime 1 hour", "runtime of 2 hours", "longest run 90 minutes".
fn runtime(words: &[Word]) -> Option<Clause> {
    let most = words.iter().take(1).take_while(|word| word.is("max maximum longest")).count();
    let clause =
        amount(&words[most..], if most == 1 { "runtime run duration" } else { "runtime" }, "max_runtime_seconds")?;
    Some(clause.map(|(found, taken)| (found, most + taken)))
}

fn amount(words: &[Word], names: &str, argument: &'static str) -> Option<Clause> {
    const LINKS: &str = "of to is period time =";
    if words.first()?.is(names) {
        let links = 1 + words[1..].iter().take_while(|word| word.is(LINKS)).count();
        return Some(match durations::read(&words[links..]) {
            Some((length, taken)) => Ok((seconds(argument, length), links + taken)),
            None => Err(not_understood(words)),
        });
    }
    let (length, taken) = durations::read(words)?;
    let of = usize::from(words.get(taken)?.is("of"));
    words.get(taken + of)?.is(names).then_some(())?;
    let last = words.get(taken + of + 1).is_some_and(|word| word.is("period time"));
    Some(Ok((seconds(argument, length), taken + of + 1 + usize::from(last))))
}

/// "tagged a, b", "tags a and b".
fn tags(words: &[Word]) -> Option<Clause> {
    words.first()?.is("tag tags tagged labelled").then_some(())?;
    let links = 1 + words[1..].iter().take_while(|word| word.is("as with is are to")).count();
    let end = links + list_end(&words[links..]);
    if end == links {
        return Some(Err("Which tags? For example: tagged prod, db.".to_owned()));
    }
    Some(Ok((vec![("tags", phrase::tags(&words[links..end]))], end)))
}

/// "described as \"…\"": a quoted text, or all that follows.
fn description(words: &[Word]) -> Option<Clause> {
    words.first()?.is("described description").then_some(())?;
    let links = 1 + words[1..].iter().take_while(|word| word.is("as is to of by")).count();
    let end = if words.get(links)?.quoted { links + 1 } else { words.len() };
    Some(Ok((vec![("description", phrase::written(&words[links..end]).into())], end)))
}

fn seconds(argument: &'static str, length: u64) -> Vec<(&'static str, Value)> {
    vec![(argument, length.into())]
}

/// The sentence for a part of a command that cannot be read.
pub fn not_understood(words: &[Word]) -> String {
    format!("I did not understand “{}”.", quote(words))
}

fn quote(words: &[Word]) -> String {
    phrase::excerpt(phrase::written(words))
}
