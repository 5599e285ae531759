//! Commands that ask for a change: each becomes the tool calls that propose it.

use jiff::ZonedDateTime;

use super::fields::Field;
use super::intent::Call;
use super::phrase::{self, Word};
use super::{alerts, clauses, creations, durations, edits, fields, pauses, telling};

/// The calls that a command means, or the sentence that asks for what is missing.
pub type Command = Result<Vec<Call>, String>;

/// Proposals that one message may make; the server refuses more.
const MAX_CALLS: usize = 5;

/// The verbs of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// A new check.
    Create,
    /// A new name.
    Rename,
    /// Any other edit.
    Change,
    /// New tags.
    Tag,
    /// No tags.
    Untag,
    /// A new description.
    Describe,
    /// Silence.
    Pause,
    /// The end of it.
    Resume,
    /// The end of a check.
    Delete,
    /// A new ping key.
    Rotate,
}

/// The verb that a word is.
pub fn verb(word: &Word) -> Option<Verb> {
    match word.key.as_str() {
        "create" | "add" | "monitor" | "watch" | "new" => Some(Verb::Create),
        "rename" => Some(Verb::Rename),
        "set" | "change" | "update" | "make" | "edit" | "adjust" | "give" | "increase" | "extend" | "raise"
        | "lower" | "reduce" | "decrease" | "shorten" | "lengthen" | "move" | "switch" | "put" | "reschedule"
        | "configure" | "let" | "limit" | "cap" => Some(Verb::Change),
        "tag" | "label" => Some(Verb::Tag),
        "untag" => Some(Verb::Untag),
        "describe" => Some(Verb::Describe),
        "pause" | "silence" | "mute" | "snooze" | "suspend" | "disable" | "hold" => Some(Verb::Pause),
        "resume" | "unpause" | "un-pause" | "unmute" | "unsnooze" | "un-snooze" | "unsilence" | "reactivate"
        | "enable" | "re-enable" | "reenable" | "continue" => Some(Verb::Resume),
        "delete" | "remove" | "destroy" | "drop" | "erase" | "trash" => Some(Verb::Delete),
        "rotate" | "regenerate" | "renew" | "reset" | "replace" => Some(Verb::Rotate),
        _ => None,
    }
}

/// Reads a command; nothing if the words do not begin with a verb.
pub fn read(words: &[Word], now: &ZonedDateTime) -> Option<Command> {
    let (first, rest) = words.split_first()?;
    let makes_new = match first.key.as_str() {
        "make" | "give" | "get" if names_new(phrase::skip(rest, "me us")) => {
            return Some(creations::create(phrase::skip(rest, "me us")));
        }
        "set" => rest.first().is_some_and(|word| word.is("up")),
        // "I would like a check named X every 5 minutes", without what is polite.
        "check" | "job" | "heartbeat" => rest.first().is_some_and(|word| word.is("called named for")),
        "start" => {
            rest.first().is_some_and(|word| word.is("monitoring watching"))
                && !rest.last().is_some_and(|word| word.is("again"))
        }
        "get" if rest.len() > 2 && rest[0].is("rid") && rest[1].is("of") => return Some(delete(&rest[2..])),
        _ => false,
    };
    if makes_new {
        return Some(creations::create(if rest[0].is("called named for") { rest } else { &rest[1..] }));
    }
    if let Some(command) = undo(words).or_else(|| telling::command(words, now)).or_else(|| pauses::switched(words, now))
    {
        return Some(command.and_then(complete));
    }
    if verb(first).is_none()
        && let Some(command) = edits::wish(words)
    {
        return Some(command);
    }
    if first.is("clear unset empty") {
        return Some(clear(rest));
    }
    let key_asked = rest.iter().any(|word| word.is("key url"));
    Some(match verb(first)? {
        // "new ping url for X", "change the ping key of X" are rotations under another verb.
        Verb::Create | Verb::Change if key_asked && !first.is("create") && names_key(rest) => rotate(rest),
        Verb::Create if first.is("add") && fields::can_be_added(rest) => {
            edits::of_front(rest).map_or_else(|| creations::create(rest), |changed| changed.and_then(complete))
        }
        Verb::Create => creations::create(rest),
        Verb::Rename => edits::rename(rest).and_then(complete),
        Verb::Change => edits::change(rest).and_then(complete),
        Verb::Tag => edits::tag(rest).and_then(complete),
        Verb::Untag => telling::remove(Field::Tags, rest).and_then(complete),
        Verb::Describe => edits::describe(rest).and_then(complete),
        Verb::Pause => pauses::pause(rest, now),
        Verb::Resume => each("resume_check", rest),
        Verb::Delete => delete(rest),
        Verb::Rotate if key_asked || first.is("rotate") => rotate(rest),
        Verb::Rotate => return None,
    })
}

/// A call that lacks the check asks for it: a command is never about what was spoken of before.
fn complete(calls: Vec<Call>) -> Command {
    let lacks = |call: &Call| call.tool == "update_check" && !call.arguments.contains_key("check");
    if calls.iter().any(lacks) { Err(phrase::WHICH.to_owned()) } else { Ok(calls) }
}

/// "a check called X", "a new one": what is to be made, rather than what a check is to be.
fn names_new(words: &[Word]) -> bool {
    match words {
        [article, rest @ ..] if article.is("a an") => phrase::skip(rest, "new hourly daily nightly weekly")
            .first()
            .is_some_and(|word| word.is("check monitor job heartbeat")),
        [new, rest @ ..] if new.is("new") => !rest.is_empty(),
        _ => false,
    }
}

/// "clear the tags of X".
fn clear(words: &[Word]) -> Command {
    let start = words.iter().take_while(|word| word.is("the all any")).count();
    match fields::field(&words[start..]) {
        Some((field, used)) => telling::remove(field, &words[start + used..]).and_then(complete),
        None => Err(clauses::not_understood(words)),
    }
}

fn names_key(words: &[Word]) -> bool {
    let words = &words[words.iter().take_while(|word| word.is("the a new ping its me us")).count()..];
    words.first().is_some_and(|word| word.is("key url"))
}

fn delete(words: &[Word]) -> Command {
    // "remove the tags of X" must never become the deletion of X.
    let start = words.iter().take_while(|word| word.is("the a all any")).count();
    if let Some(part) = words.get(start)
        && words.len() > start + 1
        && part.is("tag tags grace description period schedule pause key url ping checks channel channels reminder \
                 reminders runtime max maximum alert alerts notification notifications")
    {
        if part.is("channel channels") && !words[start + 1].is("of for from") {
            return Err(alerts::OF_CHANNELS.to_owned());
        }
        let Some((field, used)) = fields::field(&words[start..]).filter(|_| !part.is("tag channel")) else {
            return Err(of_a_list(words)?.unwrap_or_else(|| clauses::not_understood(words)));
        };
        return telling::remove(field, &words[start + used..])
            .map_err(|_| clauses::not_understood(words))
            .and_then(complete);
    }
    if words.first().is_some_and(|word| word.is("all everything every")) {
        return Err("I propose deletions only for checks that are named, at most 5 in one message. \
                    Say list to see them."
            .to_owned());
    }
    let words = phrase::trim_end(words, |word| word.is("from my checks account list monitoring flatline"));
    if let Some(sentence) = of_a_list(words)? {
        return Err(sentence);
    }
    each("delete_check", words)
}

/// "remove ops from X" must never become the deletion of a check of that name: what a list holds is set as a whole.
fn of_a_list(words: &[Word]) -> Result<Option<String>, String> {
    let Some(at) = (1..words.len().max(2) - 1).find(|at| words[*at].is("from")) else { return Ok(None) };
    let (part, check) = (phrase::written(&words[..at]), edits::owner(&words[at + 1..])?.unwrap_or_default());
    Ok(Some(format!(
        "I set all channels of a check at once, and all its tags. Say the whole list without “{}”, for example: set \
         channels of \"{check}\" to ops, dev. Or: tag \"{check}\" with prod, db. If you mean a check to be deleted, put its \
         name in quotes.",
        phrase::excerpt(part)
    )))
}

/// One proposal for each check named.
pub fn each(tool: &'static str, words: &[Word]) -> Command {
    if words.first().is_some_and(|word| word.is("all everything every")) {
        return Err("Please name the checks, with commas between them, at most 5 in one message.".to_owned());
    }
    let names = phrase::names(words)?;
    if names.len() > MAX_CALLS {
        return Err(format!("That is {} checks. Please name at most {MAX_CALLS} in one message.", names.len()));
    }
    Ok(names.into_iter().map(|name| Call::new(tool).with("check", name)).collect())
}

/// "rotate X", "rotate the ping key of X", "rotate X's url".
fn rotate(words: &[Word]) -> Command {
    const KEY: &str = "ping key url address secret";
    let lead = words.iter().take_while(|word| word.is("the a new its me us") || word.is(KEY)).count();
    let named_first = words[..lead].iter().any(|word| word.is("key url address secret"));
    let name = if named_first {
        &words[lead..][words[lead..].iter().take_while(|word| word.is("of for on")).count()..]
    } else {
        &words[..words.len() - words.iter().rev().take_while(|word| word.is(KEY)).count()]
    };
    let name = edits::owner(name)?.ok_or_else(|| phrase::WHICH.to_owned())?;
    Ok(vec![Call::new("rotate_ping_key").with("check", name)])
}

/// "undo", "undo that", "undo action 3", "revert the last change", "take it back".
fn undo(words: &[Word]) -> Option<Command> {
    const LAST: &str = "that this last latest previous recent";
    const WHAT: &str = "the my it change action edit thing number no back you i we did made just what";
    let (first, rest) = words.split_first()?;
    let rest = match first.key.as_str() {
        "undo" | "revert" | "rollback" => rest,
        "roll" | "take" if rest.iter().any(|word| word.is("back")) => rest,
        _ => return None,
    };
    let is_one = |at: usize| rest[at].is("one") && at > 0 && rest[at - 1].is(LAST);
    let left = rest.iter().enumerate().filter(|(at, word)| !word.is(WHAT) && !word.is(LAST) && !is_one(*at));
    let mut left = left.map(|(_, word)| word);
    let number = left.next().map(|word| match word.key.trim_start_matches('#') {
        "a" | "an" => None,
        key => durations::number(key),
    });
    Some(match (number, left.next()) {
        (None, _) => Ok(vec![Call::new("undo_action")]),
        (Some(Some(number)), None) => Ok(vec![Call::new("undo_action").with("number", number)]),
        _ => Err(format!(
            "{} I undo the last change (undo) or an action by its number (undo action 3); or ask for the opposite, for \
             example: resume \"nightly backup\".",
            clauses::not_understood(words)
        )),
    })
}
