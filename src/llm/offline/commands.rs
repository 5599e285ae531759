//! Commands that ask for a change: each becomes the tool calls that propose it.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::clauses::Unread;
use super::edits::Field;
use super::intent::Call;
use super::moments::{self, End};
use super::phrase::{self, Word};
use super::{alerts, clauses, durations, edits};

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
        | "lower" | "reduce" | "decrease" => Some(Verb::Change),
        "tag" | "label" => Some(Verb::Tag),
        "untag" => Some(Verb::Untag),
        "describe" => Some(Verb::Describe),
        "pause" | "silence" | "mute" | "snooze" | "suspend" | "disable" => Some(Verb::Pause),
        "resume" | "unpause" | "un-pause" | "unmute" | "reactivate" | "enable" => Some(Verb::Resume),
        "delete" | "remove" | "destroy" | "drop" | "erase" => Some(Verb::Delete),
        "rotate" | "regenerate" | "renew" | "reset" | "replace" => Some(Verb::Rotate),
        _ => None,
    }
}

/// Reads a command; nothing if the words do not begin with a verb.
pub fn read(words: &[Word], now: Timestamp) -> Option<Command> {
    let (first, rest) = words.split_first()?;
    let makes_new = match first.key.as_str() {
        "make" => rest.first().is_some_and(|word| word.is("a an new")),
        "set" => rest.first().is_some_and(|word| word.is("up")),
        "start" => rest.first().is_some_and(|word| word.is("monitoring watching")),
        "get" if rest.len() > 2 && rest[0].is("rid") && rest[1].is("of") => return Some(delete(&rest[2..])),
        _ => false,
    };
    if makes_new {
        return Some(create(&rest[1..]));
    }
    if let Some(command) = undo(words).or_else(|| alerts::command(words)) {
        return Some(command.and_then(complete));
    }
    let key_asked = rest.iter().any(|word| word.is("key url"));
    Some(match verb(first)? {
        // "new ping url for X", "change the ping key of X" are rotations under another verb.
        Verb::Create | Verb::Change if key_asked && !first.is("create") && names_key(rest) => rotate(rest),
        Verb::Create => create(rest),
        Verb::Rename => edits::rename(rest).and_then(complete),
        Verb::Change => edits::change(rest).and_then(complete),
        Verb::Tag => edits::tag(rest).and_then(complete),
        Verb::Untag => alerts::remove(Field::Tags, rest).and_then(complete),
        Verb::Describe => edits::describe(rest).and_then(complete),
        Verb::Pause => pause(rest, now),
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

fn names_key(words: &[Word]) -> bool {
    let words = &words[words.iter().take_while(|word| word.is("the a new ping its")).count()..];
    words.first().is_some_and(|word| word.is("key url"))
}

/// "create X every 5 minutes with grace 10 minutes tagged a, b".
fn create(words: &[Word]) -> Command {
    const NOISE: &str = "a an new heartbeat up the check monitor job for";
    const EXAMPLE: &str = "For example: create \"nightly backup\" every 5 minutes.";
    let noise = words.iter().take_while(|word| word.is(NOISE) && word.text == word.key).count();
    let words = &words[noise..];
    let adds_to = words.iter().position(|word| word.is("to")).map(|at| phrase::skip(&words[at + 1..], "the"));
    if adds_to.is_some_and(|rest| rest.first().is_some_and(|word| word.is("channel channels alerts"))) {
        return Err(alerts::whole_list());
    }
    if words.first().is_some_and(|word| word.is("channel channels")) {
        return Err(alerts::OF_CHANNELS.to_owned());
    }
    if words.first().is_some_and(|word| word.is("tag tags description grace")) {
        return Err("To edit a check, say for example: tag \"nightly backup\" with prod, db. \
                    New tags take the place of the old ones."
            .to_owned());
    }
    if words.is_empty() || clauses::read(words).is_ok() {
        return Err(format!("What should the check be called, and how often must it ping? {EXAMPLE}"));
    }
    let (name, arguments) = name_and_clauses(words)?;
    let name = phrase::name(name)?;
    if !arguments.contains_key("period_seconds") && !arguments.contains_key("cron") {
        return Err(format!(
            "How often must “{}” ping? Please say it in one message. {EXAMPLE} \
             It may also be hourly, daily at 02:30 Europe/Berlin, or cron \"*/5 * * * *\".",
            phrase::excerpt(&name)
        ));
    }
    let mut call = Call::new("create_check").with("name", name);
    call.arguments.extend(arguments);
    clauses::in_utc_unless_said(&mut call);
    Ok(vec![call])
}

/// Parts "X every 5 minutes …" where what follows the name reads as clauses to the end, so that a name may hold
/// words such as "daily". A quoted name ends with its quote.
pub fn name_and_clauses<'w, 'a>(words: &'w [Word<'a>]) -> Result<(&'w [Word<'a>], Map<String, Value>), String> {
    let called = words.iter().take_while(|word| word.is("called named check")).count();
    let words = if called < words.len() { &words[called..] } else { words };
    if let [first, rest @ ..] = words
        && first.quoted
    {
        let noise = rest.iter().take_while(|word| word.is("check to that which runs pings running")).count();
        return Ok((&words[..1], clauses::read(&rest[noise..])?));
    }
    let mut refusal = None;
    // "X every 5 minutes and more every 2 hours": what lies between two schedules is no part of a name.
    let holds_schedule = |at: usize| {
        let schedule = |from: usize| matches!(clauses::schedule(&words[from..at]), Some(Ok((_, taken))) if taken > 1);
        (1..at).any(schedule)
    };
    for at in 1..words.len() {
        match clauses::read(&words[at..]) {
            Ok(_) if holds_schedule(at) => break,
            Ok(arguments) => return Ok((without_relative(&words[..at]), arguments)),
            Err(Unread::Twice(sentence)) => return Err(sentence),
            Err(Unread::NotUnderstood(sentence)) => {
                let begins_clause = clauses::is_head(&words[at]) && !words[at].is("with");
                refusal = refusal.or(begins_clause.then_some(sentence));
            }
        }
    }
    match refusal {
        Some(sentence) => Err(format!("{sentence} If that belongs to the name, put the name in quotes.")),
        None => Ok((words, Map::new())),
    }
}

/// "X that runs" without its relative clause.
fn without_relative<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    match words {
        [name @ .., that, runs]
            if !name.is_empty() && that.is("that which should must") && runs.is("runs pings run ping") =>
        {
            name
        }
        _ => words,
    }
}

/// "pause X for 2 hours", "pause all tagged prod until 14:00".
fn pause(words: &[Word], now: Timestamp) -> Command {
    let span = (1..words.len()).find_map(|at| moments::end(&words[at..], now).map(|end| (at, end)));
    let (who, end) = match span {
        Some((at, end)) => (&words[..at], end),
        None => (words, End::Never),
    };
    if let Some(at) = who.iter().position(|word| word.is("until till for")) {
        return Err(format!(
            "I did not understand “{}”. Try: for 2 hours, until 14:00, until tomorrow 9:00 Europe/Berlin, or until \
             2026-12-01. If that belongs to the name, put the name in quotes.",
            phrase::excerpt(phrase::written(&who[at..]))
        ));
    }
    let mut call = match tag_of_all(who) {
        Some(tag) => Call::new("pause_checks").with("tag", tag),
        None if who.first().is_some_and(|word| word.is("all everything every")) => {
            return Err("Which checks? Name their tag (pause all tagged prod) or the checks themselves, with commas \
                        between them."
                .to_owned());
        }
        None => match phrase::names(who)?.as_slice() {
            [one] => Call::new("pause_check").with("check", one.as_str()),
            several => Call::new("pause_checks").with("checks", several.to_vec()),
        },
    };
    if let End::At(until) = end {
        call = call.with("until", until.to_string());
    }
    Ok(vec![call])
}

/// The tag in "all tagged prod", "everything with tag prod", "all prod checks".
fn tag_of_all(words: &[Word]) -> Option<String> {
    const ALL: &str = "all everything every checks check jobs the my with that are is of";
    if let Some(at) = words.iter().position(|word| word.is("tagged tag")) {
        let [tag] = &words[at + 1..] else { return None };
        return words[..at].iter().all(|word| word.is(ALL)).then(|| tag.text.to_owned());
    }
    let (first, rest) = words.split_first()?;
    let rest = &rest[rest.iter().take_while(|word| word.is("the my of")).count()..];
    match rest {
        [tag, last] if first.is("all every") && last.is("checks check jobs") => Some(tag.text.to_owned()),
        _ => None,
    }
}

fn delete(words: &[Word]) -> Command {
    // "remove the tags of X" must never become the deletion of X.
    let start = words.iter().take_while(|word| word.is("the a all any")).count();
    if let Some(part) = words.get(start)
        && words.len() > start + 1
        && part.is("tag tags grace description period schedule pause key url ping checks channel channels reminder \
                 reminders runtime max maximum")
    {
        if part.is("channel channels") && !words[start + 1].is("of for from") {
            return Err(alerts::OF_CHANNELS.to_owned());
        }
        let Some((field, used)) = edits::field(&words[start..]).filter(|_| !part.is("tag channel")) else {
            return Err(clauses::not_understood(words));
        };
        return alerts::remove(field, &words[start + used..])
            .map_err(|_| clauses::not_understood(words))
            .and_then(complete);
    }
    if words.first().is_some_and(|word| word.is("all everything every")) {
        return Err("I propose deletions only for checks that are named, at most 5 in one message. \
                    Say list to see them."
            .to_owned());
    }
    each("delete_check", words)
}

/// One proposal for each check named.
fn each(tool: &'static str, words: &[Word]) -> Command {
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
    let lead = words.iter().take_while(|word| word.is("the a new its") || word.is(KEY)).count();
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
    const WHAT: &str = "the my it change action edit number no back";
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
