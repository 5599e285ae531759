//! Commands that edit a check: rename, tag, describe, and "change this of that to …".

use serde_json::{Map, Value};

use super::commands::{self, Command};
use super::intent::Call;
use super::phrase::{self, Word};
use super::{alerts, clauses, durations, moments};

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
}

/// The call that edits a check; it names none if `check` is nothing.
pub fn update(check: Option<String>, changes: Map<String, Value>) -> Vec<Call> {
    let mut call = Call::about("update_check", check);
    call.arguments.extend(changes);
    vec![call]
}

/// "rename X to Y".
pub fn rename(words: &[Word]) -> Command {
    let (check, name) =
        parted(words, "to into as -> →").ok_or_else(|| example("rename \"old name\" to \"new name\""))?;
    Ok(update(phrase::subject(check)?, one("name", phrase::written(name))))
}

/// "tag X with a, b".
pub fn tag(words: &[Word]) -> Command {
    let (check, tags) = parted(words, "with as").ok_or_else(|| example("tag \"nightly backup\" with prod, db"))?;
    Ok(update(phrase::subject(check)?, one("tags", phrase::tags(tags))))
}

/// "describe X as \"…\"".
pub fn describe(words: &[Word]) -> Command {
    let (check, text) =
        parted(words, "as with").ok_or_else(|| example("describe \"nightly backup\" as \"dumps the database\""))?;
    Ok(update(phrase::subject(check)?, one("description", phrase::written(text))))
}

/// "set the grace of X to 10 minutes", "set X to every 10 minutes", "make X hourly", "give X 10 minutes grace".
pub fn change(words: &[Word]) -> Command {
    let article = words.iter().take_while(|word| word.is("the a my its")).count();
    if let Some((field, used)) = field(&words[article..])
        && let Some((link, rest)) = words[article + used..].split_first()
    {
        if link.is("of for on") {
            return set(field, rest);
        }
        // "set its grace to 10 minutes", "grace to 10 minutes": of the check that "it" is.
        if link.is(TO) {
            return Ok(update(None, value(field, rest)?));
        }
    }
    let tos = words.iter().enumerate().filter(|(_, word)| word.is(TO)).map(|(at, _)| at);
    for at in tos {
        let (before, after) = (&words[..at], &words[at + 1..]);
        // "X grace to …", "X's grace period to …": the field stands last before "to".
        for length in [2, 1] {
            if let Some(start) = at.checked_sub(length).filter(|start| *start > 0)
                && let Some((field, used)) = field(&before[start..])
                && used == length
            {
                return Ok(update(owner(&before[..start])?, value(field, after)?));
            }
        }
        if let Ok(changes) = clauses::read(after)
            && !changes.is_empty()
        {
            return Ok(update(phrase::subject(without_old_value(before))?, changes));
        }
        if durations::read(after).is_some_and(|(_, taken)| taken == after.len()) {
            let (name, length) = (phrase::excerpt(phrase::written(before)), phrase::written(after));
            return Err(format!(
                "The period or the grace? Say: set period of \"{name}\" to {length}, or: set grace of \"{name}\" to {length}."
            ));
        }
    }
    let (name, changes) = commands::name_and_clauses(words)?;
    // "make X run every 2 hours".
    let name = phrase::subject(phrase::trim_end(name, |word| word.is("run ping")))?;
    if changes.is_empty() {
        return Err(format!(
            "{} {}",
            clauses::not_understood(words),
            example("set grace of \"nightly backup\" to 10 minutes")
        ));
    }
    Ok(update(name, changes))
}

/// "X from every 5 minutes" without what is to be replaced.
fn without_old_value<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let from = words.iter().rposition(|word| word.is("from"));
    match from.filter(|at| *at > 0 && clauses::read(&words[at + 1..]).is_ok()) {
        Some(at) => &words[..at],
        None => words,
    }
}

/// "X to VALUE", for a field that was named before.
fn set(field: Field, words: &[Word]) -> Command {
    if matches!(field, Field::Name | Field::Tags | Field::Description) {
        let (check, text) = parted(words, "to as")
            .ok_or_else(|| example("set name of \"old name\" to \"new name\", with both in quotes"))?;
        return Ok(update(phrase::subject(check)?, value(field, text)?));
    }
    // A name may hold a "to": the value decides which one parts them.
    let mut refusal = example("set grace of \"nightly backup\" to 10 minutes");
    for at in (1..words.len()).rev().filter(|at| words[*at].is("=") || words[*at].is(TO)) {
        match value(field, &words[at + 1..]) {
            Ok(changes) => return Ok(update(phrase::subject(&words[..at])?, changes)),
            Err(sentence) => refusal = sentence,
        }
    }
    Err(refusal)
}

/// What stands before a new value; "was" and "were" do in suppositions.
const TO: &str = "to was were be";

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
        "grace" => (Field::Grace, "period time"),
        "timezone" | "zone" => (Field::Zone, ""),
        "time" if words.get(1)?.is("zone") => (Field::Zone, "zone"),
        "runtime" => (Field::Runtime, ""),
        "channel" | "channels" => (Field::Channels, ""),
        "reminder" | "reminders" => (Field::Reminder, "interval"),
        _ => return None,
    };
    Some((field, 1 + usize::from(words.get(1).is_some_and(|word| word.is(tail)))))
}

/// Reads all of `words` as a field's new value; after a schedule or grace, further clauses may follow.
fn value(field: Field, words: &[Word]) -> Result<Map<String, Value>, String> {
    let unreadable = || format!("{} For example: 10 minutes.", clauses::not_understood(words));
    let argument = match field {
        Field::Name => return Ok(one("name", phrase::written(words))),
        Field::Tags => return Ok(one("tags", phrase::tags(words))),
        Field::Description => return Ok(one("description", phrase::written(words))),
        Field::Zone => {
            let (zone, _) = moments::zone(words)?.filter(|(_, taken)| *taken == words.len()).ok_or_else(unreadable)?;
            return Ok(one("timezone", moments::zone_name(&zone)));
        }
        Field::Channels => return Ok(one("channels", alerts::named(words)?)),
        Field::Reminder if alerts::is_none(words) => return Ok(one("reminder_seconds", Value::Null)),
        Field::Runtime if alerts::is_none(words) => return Ok(one("max_runtime_seconds", Value::Null)),
        Field::Reminder => {
            let length = alerts::whole_interval(words).ok_or_else(unreadable)?;
            return Ok(one("reminder_seconds", length));
        }
        Field::Runtime => "max_runtime_seconds",
        Field::Schedule if clauses::schedule(words).is_some() => return Ok(clauses::read(words)?),
        Field::Schedule => "period_seconds",
        Field::Grace => "grace_seconds",
    };
    let (seconds, taken) = durations::read(words).ok_or_else(unreadable)?;
    let mut changes = one(argument, seconds);
    for (key, value) in clauses::read(&words[taken..])? {
        if changes.insert(key, value).is_some() {
            return Err(unreadable());
        }
    }
    Ok(changes)
}

fn one(argument: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(argument.to_owned(), value.into())])
}

/// A check whose name may stand in the possessive: "nightly's"; nothing if it is "it" or none.
pub fn owner(words: &[Word]) -> Result<Option<String>, String> {
    let quoted = words.last().is_some_and(|word| word.quoted);
    Ok(phrase::subject(words)?.map(|name| {
        let bare = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).filter(|_| !quoted);
        bare.map_or_else(|| name.clone(), str::to_owned)
    }))
}

/// Parts "X to Y". Which "to" is meant is plain if there is one, or if quotes stand on a side of it.
fn parted<'w, 'a>(words: &'w [Word<'a>], links: &str) -> Option<(&'w [Word<'a>], &'w [Word<'a>])> {
    let inner = 1..words.len().saturating_sub(1).max(1);
    let candidates: Vec<usize> = inner.filter(|at| words[*at].is(links)).collect();
    let at = match candidates.as_slice() {
        // Two words, or a quoted one at the end, need no link between them.
        [] => {
            let (last, before) = words.split_last()?;
            let apart = last.quoted || before.len() == 1;
            return (apart && !before.is_empty()).then_some((before, &words[before.len()..]));
        }
        [one] => *one,
        [first, ..] if *first == 1 && words[0].quoted => *first,
        [.., last] if *last + 2 == words.len() && words[*last + 1].quoted => *last,
        _ => return None,
    };
    Some((&words[..at], &words[at + 1..]))
}

/// A command as it could be said.
pub fn example(command: &str) -> String {
    format!("For example: {command}. Names that hold several words are safest in quotes.")
}
