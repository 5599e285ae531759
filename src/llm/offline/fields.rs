//! The settings of a check by their names, "the grace", "reminders", and the values that they are given.

use serde_json::{Map, Value};

use super::clauses::Clause;
use super::phrase::{self, Word, skip};
use super::{alerts, clauses, durations, moments, schedules};

/// What of a check "change … of X to …" names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Its name.
    Name,
    /// Its tags.
    Tags,
    /// Its description.
    Description,
    /// When it must ping.
    Schedule,
    /// The zone of its clock times.
    Zone,
    /// How late a ping may be.
    Grace,
    /// How long a run may take.
    Runtime,
    /// Who is told.
    Channels,
    /// How often they are told again.
    Reminder,
    /// After how many failures they are told.
    Failures,
}

/// What stands before a new value; "was" and "were" do in suppositions.
pub const TO: &str = "to was were be";

/// Whether the words name what can be added to a check without taking away another: "a reminder", "a grace".
pub fn can_be_added(words: &[Word]) -> bool {
    matches!(field(skip(words, "a an the")), Some((Field::Grace | Field::Runtime | Field::Reminder, _)))
}

/// The fields that `words` begin with, "the period and the grace", and how many words name them.
pub fn fields(words: &[Word]) -> Option<(Vec<Field>, usize)> {
    let article = |at: usize| at + words[at..].iter().take_while(|word| word.is("the a my its")).count();
    let (first, taken) = field(&words[article(0)..])?;
    let (mut fields, mut at) = (vec![first], article(0) + taken);
    while words.get(at).is_some_and(|word| word.is("and &"))
        && let Some((next, taken)) = field(&words[article(at + 1)..])
    {
        fields.push(next);
        at = article(at + 1) + taken;
    }
    Some((fields, at))
}

/// The field that `words` begin with, and how many words name it.
pub fn field(words: &[Word]) -> Option<(Field, usize)> {
    let first = words.first()?;
    if first.is("max maximum longest") {
        return words.get(1)?.is("runtime run duration").then_some((Field::Runtime, 2));
    }
    let (field, tail): (_, &str) = match first.key.as_str() {
        "name" | "title" => (Field::Name, ""),
        "tag" | "tags" => (Field::Tags, ""),
        "description" => (Field::Description, ""),
        "period" | "schedule" | "interval" | "frequency" => (Field::Schedule, ""),
        "cron" => (Field::Schedule, "schedule expression"),
        "grace" => (Field::Grace, "period time"),
        "timezone" | "zone" => (Field::Zone, ""),
        "time" if words.get(1)?.is("zone") => (Field::Zone, "zone"),
        "runtime" => (Field::Runtime, "limit"),
        "alert" | "failure" | "failures" if words.get(1)?.is("threshold limit count") => {
            (Field::Failures, "threshold limit count")
        }
        "threshold" => (Field::Failures, ""),
        "channel" | "channels" | "alerts" | "notifications" => (Field::Channels, ""),
        "reminder" | "reminders" => (Field::Reminder, "interval"),
        _ => return None,
    };
    Some((field, 1 + usize::from(words.get(1).is_some_and(|word| word.is(tail)))))
}

/// All of `words` as the new value of each of these fields, after which further clauses may follow.
pub fn values(fields: &[Field], words: &[Word]) -> Result<Map<String, Value>, String> {
    let mut changes = Map::new();
    let mut end = words.len();
    for field in fields {
        let (found, taken) = value(*field, words)?;
        end = end.min(taken);
        changes.extend(found.into_iter().map(|(key, value)| (key.to_owned(), value)));
    }
    for (key, value) in clauses::read(&words[end..])? {
        if changes.insert(key, value).is_some() {
            return Err(unreadable(words));
        }
    }
    Ok(changes)
}

/// The value that `words` begin with.
fn value(field: Field, words: &[Word]) -> Clause {
    let all = words.len();
    let argument = match field {
        Field::Name => return Ok((vec![("name", phrase::written(words).into())], all)),
        Field::Tags => return Ok((vec![("tags", phrase::tags(words))], all)),
        Field::Description => return Ok((vec![("description", phrase::written(words).into())], all)),
        Field::Zone => {
            let (zone, taken) = moments::zone(words)?.ok_or_else(|| unreadable(words))?;
            return Ok((vec![("timezone", moments::zone_name(&zone).into())], taken));
        }
        Field::Channels => {
            let end = alerts::names_end(words);
            return Ok((vec![("channels", alerts::named(&words[..end])?)], end));
        }
        Field::Reminder => {
            let none = words.first().filter(|word| alerts::is_none(word)).map(|_| (Value::Null, 1));
            let every = || alerts::interval(words).map(|(length, taken)| (length.into(), taken));
            let (value, taken) = none.or_else(every).ok_or_else(|| unreadable(words))?;
            return Ok((vec![("reminder_seconds", value)], taken));
        }
        Field::Runtime if words.first().is_some_and(alerts::is_none) => {
            return Ok((vec![("max_runtime_seconds", Value::Null)], 1));
        }
        Field::Runtime => "max_runtime_seconds",
        Field::Schedule => match schedules::read(words) {
            Some(clause) => return clause,
            None => "period_seconds",
        },
        Field::Grace => "grace_seconds",
        Field::Failures => {
            let count = words.first().and_then(|word| durations::number(&word.key)).ok_or_else(|| unreadable(words))?;
            let taken = words.len() - skip(&words[1..], "failure failures fails in a row consecutive pings").len();
            return Ok((vec![("alert_after_failures", count.into())], taken));
        }
    };
    let (seconds, taken) = durations::read(words).ok_or_else(|| unreadable(words))?;
    Ok((clauses::seconds(argument, seconds), taken))
}

fn unreadable(words: &[Word]) -> String {
    format!("{} For example: 10 minutes.", clauses::not_understood(words))
}

/// Parts "10 minutes on X". What is free text goes on to the end.
pub fn value_and_check<'w, 'a>(fields: &[Field], words: &'w [Word<'a>]) -> (&'w [Word<'a>], Option<&'w [Word<'a>]>) {
    let is_text = fields.iter().any(|field| matches!(field, Field::Name | Field::Description));
    let link = (1..words.len().max(2) - 1).find(|at| {
        words[*at].is("on of for in")
            && (!is_text || words[at - 1].quoted)
            && values(fields, &words[..*at]).is_ok()
            && values(&[Field::Zone], &words[*at..]).is_err()
    });
    link.map_or((words, None), |at| (&words[..at], Some(&words[at + 1..])))
}
