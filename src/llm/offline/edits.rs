//! Commands that edit a check: rename, tag, describe, and "change this of that to …".

use serde_json::{Map, Value};

use super::commands::Command;
use super::fields::{Field, TO, field, fields, value_and_check, values};
use super::intent::Call;
use super::phrase::{self, Word, skip};
use super::{clauses, creations, durations};

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
    let quoted =
        words.split_first().filter(|(first, rest)| first.quoted && !rest.iter().any(|word| word.is("with as")));
    let quoted = quoted.filter(|(_, tags)| !tags.is_empty()).map(|(_, tags)| (&words[..1], tags));
    let (check, tags) =
        quoted.or_else(|| parted(words, "with as")).ok_or_else(|| example("tag \"nightly backup\" with prod, db"))?;
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
    if let Some((fields, used)) = fields(words)
        && let Some((link, rest)) = words[used..].split_first()
    {
        // "set its grace to 10 minutes", "set the grace to 10 minutes on X", "a grace of 10 minutes for X".
        let (value_words, check) = value_and_check(&fields, rest);
        if link.is(TO) || (link.is("of") && check.is_some()) {
            return Ok(update(check.map_or(Ok(None), owner)?, values(&fields, value_words)?));
        }
        if link.is("of for on") {
            return set(&fields, rest);
        }
    }
    if let Some(command) = of_front(words) {
        return command;
    }
    let tos = words.iter().enumerate().filter(|(_, word)| word.is(TO)).map(|(at, _)| at);
    for at in tos {
        let (before, after) = (&words[..at], skip(&words[at + 1..], "run ping only"));
        // "X grace to …", "X's grace period to …": the field stands last before "to".
        for length in [2, 1] {
            if let Some(start) = at.checked_sub(length).filter(|start| *start > 0)
                && let Some((field, used)) = field(&before[start..])
                && used == length
            {
                return Ok(update(owner(&before[..start])?, values(&[field], after)?));
            }
        }
        if let Ok(changes) = clauses::read(after)
            && !changes.is_empty()
        {
            return Ok(update(phrase::subject(without_old_value(before))?, changes));
        }
        if let Ok(zone) = values(&[Field::Zone], after) {
            return Ok(update(phrase::subject(before)?, zone));
        }
        if durations::read(after).is_some_and(|(_, taken)| taken == after.len()) {
            let (name, length) = (phrase::excerpt(phrase::written(before)), phrase::written(after));
            return Err(format!(
                "The period or the grace? Say: set period of \"{name}\" to {length}, or: set grace of \"{name}\" to {length}."
            ));
        }
    }
    // "put X in Europe/Berlin": nothing but a name and a zone.
    let (name, changes) = match creations::name_and_clauses(words) {
        Ok((name, changes)) if !changes.is_empty() => (name, changes),
        other => match (1..words.len()).find_map(|at| Some((at, values(&[Field::Zone], &words[at..]).ok()?))) {
            Some((at, zone)) => (&words[..at], zone),
            None => other?,
        },
    };
    // "make X run every 2 hours".
    let name = owner(phrase::trim_end(name, |word| word.is("run ping only")))?;
    if changes.is_empty() {
        return Err(format!(
            "{} {}",
            clauses::not_understood(words),
            example("set grace of \"nightly backup\" to 10 minutes")
        ));
    }
    Ok(update(name, changes))
}

/// "alert after 3 failures for X", "a reminder every hour to X": all that is to be, then the check.
pub fn of_front(words: &[Word]) -> Option<Command> {
    let at = (1..words.len().max(2) - 1).find(|at| {
        words[*at].is("for of on to about") && clauses::read(&words[..*at]).is_ok_and(|changes| !changes.is_empty())
    })?;
    Some(
        clauses::read(&words[..at])
            .map_err(String::from)
            .and_then(|changes| Ok(update(owner(&words[at + 1..])?, changes))),
    )
}

/// "X should run every 2 hours", "X's grace must be 10 minutes", "run X every 6 hours": a change asked for in other
/// words. Nothing if they do not read as one.
pub fn wish(words: &[Word]) -> Option<Command> {
    let (first, rest) = words.split_first()?;
    if first.is("run schedule ping expect") {
        let (name, changes) = creations::name_and_clauses(rest).ok()?;
        return (!changes.is_empty()).then(|| Ok(update(Some(phrase::name(name)?), changes)));
    }
    let is_whole = |calls: &Vec<Call>| calls.iter().all(|call| call.arguments.contains_key("check"));
    let Some(at) = (1..words.len()).find(|at| words[*at].is("should must shall needs ought has")) else {
        // "grace of X to 10 minutes".
        field(words)?;
        return change(words).ok().filter(is_whole).map(Ok);
    };
    let mut said = words[..=at].to_vec();
    "to".clone_into(&mut said[at].key);
    said.extend(skip(&words[at + 1..], "to be run ping go sent only have").iter().cloned());
    change(&said).ok().filter(is_whole).map(Ok)
}

/// "X from every 5 minutes" without what is to be replaced.
fn without_old_value<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let from = words.iter().rposition(|word| word.is("from"));
    match from.filter(|at| *at > 0 && clauses::read(&words[at + 1..]).is_ok()) {
        Some(at) => &words[..at],
        None => words,
    }
}

/// "X to VALUE", for fields that were named before.
fn set(fields: &[Field], words: &[Word]) -> Command {
    if fields.iter().any(|field| matches!(field, Field::Name | Field::Tags | Field::Description)) {
        let (check, text) = parted(words, "to as")
            .ok_or_else(|| example("set name of \"old name\" to \"new name\", with both in quotes"))?;
        return Ok(update(phrase::subject(check)?, values(fields, text)?));
    }
    // A name may hold a "to": the value, which goes on to the end, decides which one parts them.
    let mut refusal = example("set grace of \"nightly backup\" to 10 minutes");
    for at in (1..words.len()).filter(|at| words[*at].is("=") || words[*at].is(TO)) {
        match values(fields, &words[at + 1..]) {
            Ok(changes) => return Ok(update(owner(&words[..at])?, changes)),
            Err(sentence) => refusal = sentence,
        }
    }
    // "make the grace of X 10 minutes".
    match (1..words.len()).find_map(|at| Some((at, values(fields, &words[at..]).ok()?))) {
        Some((at, changes)) if !fields.contains(&Field::Channels) => Ok(update(owner(&words[..at])?, changes)),
        _ => Err(refusal),
    }
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
