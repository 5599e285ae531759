//! Commands that edit a check: rename, tag, describe, and "change this of that to …".

use serde_json::{Map, Value, json};

use super::commands::{self, Command};
use super::intent::Call;
use super::phrase::{self, Word};
use super::{clauses, durations};

/// What of a check "change … of X to …" names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Tags,
    Description,
    Schedule,
    Grace,
}

fn update(name: String, changes: Map<String, Value>) -> Vec<Call> {
    let mut call = Call::new("update_check").with("check", name);
    call.arguments.extend(changes);
    vec![call]
}

/// "rename X to Y".
pub fn rename(words: &[Word]) -> Command {
    let (check, name) =
        parted(words, "to into as -> →").ok_or_else(|| example("rename \"old name\" to \"new name\""))?;
    Ok(vec![Call::new("update_check").with("check", phrase::name(check)?).with("name", phrase::written(name))])
}

/// "tag X with a, b".
pub fn tag(words: &[Word]) -> Command {
    let (check, tags) = parted(words, "with as").ok_or_else(|| example("tag \"nightly backup\" with prod, db"))?;
    Ok(vec![Call::new("update_check").with("check", phrase::name(check)?).with("tags", phrase::tags(tags))])
}

/// "untag X"; also what follows in "remove the tags of X".
pub fn untag(words: &[Word]) -> Command {
    let links = words.iter().take_while(|word| word.is("of from on for")).count();
    Ok(vec![Call::new("update_check").with("check", phrase::name(&words[links..])?).with("tags", json!([]))])
}

/// "describe X as \"…\"".
pub fn describe(words: &[Word]) -> Command {
    let (check, text) =
        parted(words, "as with").ok_or_else(|| example("describe \"nightly backup\" as \"dumps the database\""))?;
    Ok(vec![Call::new("update_check").with("check", phrase::name(check)?).with("description", phrase::written(text))])
}

/// "set the grace of X to 10 minutes", "set X to every 10 minutes", "make X hourly", "give X 10 minutes grace".
pub fn change(words: &[Word]) -> Command {
    let article = words.iter().take_while(|word| word.is("the a my")).count();
    if let Some((field, used)) = field(&words[article..])
        && let rest = &words[article + used..]
        && rest.first().is_some_and(|word| word.is("of for on"))
    {
        return set(field, &rest[1..]);
    }
    let tos = words.iter().enumerate().filter(|(_, word)| word.is("to")).map(|(at, _)| at);
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
            return Ok(update(phrase::name(without_old_value(before))?, changes));
        }
        if durations::read(after).is_some_and(|(_, taken)| taken == after.len()) {
            let (name, length) = (phrase::excerpt(phrase::written(before)), phrase::written(after));
            return Err(format!(
                "The period or the grace? Say: set period of \"{name}\" to {length}, or: set grace of \"{name}\" to {length}."
            ));
        }
    }
    let (name, changes) = commands::name_and_clauses(words)?;
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
        return Ok(update(phrase::name(check)?, value(field, text)?));
    }
    // A name may hold a "to": the value decides which one parts them.
    let mut refusal = example("set grace of \"nightly backup\" to 10 minutes");
    for at in (1..words.len()).rev().filter(|at| words[*at].is("to =")) {
        match value(field, &words[at + 1..]) {
            Ok(changes) => return Ok(update(phrase::name(&words[..at])?, changes)),
            Err(sentence) => refusal = sentence,
        }
    }
    Err(refusal)
}

fn field(words: &[Word]) -> Option<(Field, usize)> {
    let first = words.first()?;
    let (field, tail): (_, &str) = match first.key.as_str() {
        "name" | "title" => (Field::Name, ""),
        "tag" | "tags" => (Field::Tags, ""),
        "description" => (Field::Description, ""),
        "period" | "schedule" | "interval" | "frequency" => (Field::Schedule, ""),
        "grace" => (Field::Grace, "period time"),
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

/// A name that may stand in the possessive: "nightly's".
pub fn owner(words: &[Word]) -> Result<String, String> {
    let name = phrase::name(words)?;
    let quoted = words.last().is_some_and(|word| word.quoted);
    let bare = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).filter(|_| !quoted);
    Ok(bare.map_or_else(|| name.clone(), str::to_owned))
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

fn example(command: &str) -> String {
    format!("For example: {command}. Names that hold several words are safest in quotes.")
}
