//! Commands about alerts: "tell ops about X", "stop alerts for X", "send X's alerts to ops", "remind me about X daily".

use jiff::ZonedDateTime;
use serde_json::{Map, Value, json};

use super::commands::Command;
use super::fields::Field;
use super::phrase::{self, Word, skip, trim_end};
use super::questions::AFTER_NAME;
use super::{alerts, clauses, edits, ends, pauses};

const LINKS: &str = "about for when whenever while if of on from";
const ALERTS: &str = "alert alerts notification notifications";
const TELLING: &str = "tell telling alert alerting notify notifying email emailing bother bothering";
const REMINDERS: &str = "remind reminding reminder reminders";
const PEOPLE: &str = "anyone anybody me us people everyone everybody";

/// Reads a command about alerts; nothing if the words are none.
pub fn command(words: &[Word], now: &ZonedDateTime) -> Option<Command> {
    off(words, now)
        .or_else(|| send(words))
        .or_else(|| tell(words))
        .or_else(|| use_only(words))
        .or_else(|| unlisted(words))
}

/// "stop alerts for X", "turn off X's reminders", "no reminders for X", "don't tell anyone about X".
fn off(words: &[Word], now: &ZonedDateTime) -> Option<Command> {
    const FILLERS: &str = "the all any more sending getting of my";
    let (what, rest) = unwanted(words).map(|rest| skip(rest, FILLERS))?.split_first()?;
    let is_alert = what.is(ALERTS) || what.is(TELLING);
    if !is_alert && !what.is(REMINDERS) {
        // "stop X's alerts".
        let (last, name) = words.split_last().filter(|(last, _)| last.is(ALERTS) || last.is(REMINDERS))?;
        let name = skip(unwanted(name)?, FILLERS);
        return Some(nothing(if last.is(REMINDERS) { Field::Reminder } else { Field::Channels }, name));
    }
    let rest = skip(rest, PEOPLE);
    if is_alert && !what.is(ALERTS) && rest.first().is_some_and(|word| !word.is(LINKS)) {
        return Some(Err(alerts::whole_list()));
    }
    let name = trim_end(skip(rest, LINKS), |word| word.is(AFTER_NAME));
    if is_alert && (1..name.len()).any(|at| ends::read(&name[at..], now).is_some()) {
        return Some(pauses::pause(name, now));
    }
    Some(nothing(if is_alert { Field::Channels } else { Field::Reminder }, name))
}

/// What follows "stop", "turn off", "no", "don't" and the like.
fn unwanted<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    match words {
        [stop, rest @ ..] if stop.is("stop disable cancel no don't never without") => Some(rest),
        [switch, off, rest @ ..] if switch.is("turn switch") && off.is("off") => Some(rest),
        [not, rest @ ..] if not.is("do") && rest.first().is_some_and(|word| word.is("not")) => Some(&rest[1..]),
        _ => None,
    }
}

fn nothing(field: Field, name: &[Word]) -> Command {
    let (argument, nothing) = match field {
        Field::Channels => ("channels", json!([])),
        Field::Reminder => ("reminder_seconds", Value::Null),
        Field::Runtime => ("max_runtime_seconds", Value::Null),
        Field::Tags => ("tags", json!([])),
        Field::Description => ("description", json!("")),
        Field::Name | Field::Schedule | Field::Zone | Field::Grace | Field::Failures => {
            return Err(clauses::not_understood(name));
        }
    };
    Ok(edits::update(edits::owner(name)?, Map::from_iter([(argument.to_owned(), nothing)])))
}

/// "remove the reminders of X": an optional setting taken away.
pub fn remove(field: Field, words: &[Word]) -> Command {
    nothing(field, skip(words, "of from on for about"))
}

/// "send alerts of X only to ops", "send X's alerts to ops", "send alerts to ops for X".
fn send(words: &[Word]) -> Option<Command> {
    let (first, rest) = words.split_first()?;
    let rest = skip(rest, "the all");
    let noun = rest.iter().position(|word| word.is(ALERTS)).filter(|_| first.is("send route direct"))?;
    // A name may hold a "to", the channels rather not.
    let to = rest.iter().rposition(|word| word.is("to")).filter(|to| *to > noun)?;
    let between = trim_end(&rest[noun..to], |word| word.is("only"));
    let linked = skip(&between[1..], LINKS);
    let (name, channels) = if noun > 0 && linked.is_empty() {
        (&rest[..noun], &rest[to + 1..])
    } else if linked.is_empty() {
        // "to ops for X".
        let link = (to + 2..rest.len()).find(|at| rest[*at].is(LINKS))?;
        (&rest[link + 1..], &rest[to + 1..link])
    } else {
        (linked, &rest[to + 1..])
    };
    let channels = trim_end(skip(channels, "only"), |word| word.is("only"));
    Some(
        alerts::named(channels)
            .and_then(|list| Ok(edits::update(edits::owner(name)?, Map::from_iter([("channels".to_owned(), list)])))),
    )
}

/// "tell ops about X", "remind me about X every 2 hours", "alert me about X only after 3 failures", "let ops know …".
fn tell(words: &[Word]) -> Option<Command> {
    let is_more = words.first()?.is("also");
    let words = skip(&words[usize::from(is_more)..], "only just");
    let (first, rest) = words.split_first()?;
    if first.is("let")
        && let Some(know) = rest.iter().position(|word| word.is("know"))
    {
        let mut said: Vec<Word> = words.to_vec();
        "tell".clone_into(&mut said[0].key);
        said.remove(know + 1);
        return tell(&said);
    }
    first.is("tell notify alert email remind").then_some(())?;
    // "tell me a joke" is no command.
    if first.is("tell") && rest.first().is_some_and(|word| word.is("me us")) {
        return None;
    }
    let adds = |word: &Word| word.is("too additionally") || (word.is("well") && words.iter().any(|word| word.is("as")));
    if (is_more || words.iter().any(adds)) && !first.is("remind") {
        return Some(Err(alerts::whole_list()));
    }
    // "while it's down" is when alerts are sent anyway.
    let words = trim_end(words, |word| word.is(AFTER_NAME) || word.is("it it's while stays remains long as"));
    let Some(link) = (1..words.len()).find(|at| words[*at].is(LINKS)) else {
        return Some(Err(format!("{} {}", phrase::WHICH, edits::example("tell ops about \"nightly backup\""))));
    };
    let name = skip(&words[link..], LINKS);
    // "remind me about X every 2 hours", "alert me about X only after 3 failures": the rule may stand last.
    let is_rule = |tail: &[Word]| {
        if first.is("remind") {
            alerts::whole_interval(tail).is_some()
        } else {
            matches!(alerts::clause(tail), Some(Ok((_, taken))) if taken == tail.len())
        }
    };
    let split = (1..name.len()).find(|at| is_rule(skip(&name[*at..], "only and")));
    let (name, tail) = name.split_at(split.unwrap_or(name.len()));
    let clause: Vec<Word> = words[..link].iter().chain(skip(tail, "only")).cloned().collect();
    let changes = match clauses::read(&clause) {
        Ok(changes) => changes,
        Err(unread) => return Some(Err(unread.into())),
    };
    let name = trim_end(name, |word| word.is(AFTER_NAME));
    Some(edits::owner(name).map(|name| edits::update(name, changes)))
}

/// "use only ops for X", "use the ops channel for X".
fn use_only(words: &[Word]) -> Option<Command> {
    let (first, rest) = words.split_first().filter(|(first, _)| first.is("use"))?;
    let link = (1..rest.len()).find(|at| rest[*at].is(LINKS))?;
    let is_meant = !first.quoted && rest[..link].iter().any(|word| word.is("only channel channels"));
    let list = is_meant.then(|| alerts::named(skip(&rest[..link], "only the")))?;
    let name = trim_end(&rest[link + 1..], |word| word.is(ALERTS));
    Some(list.and_then(|list| Ok(edits::update(edits::owner(name)?, Map::from_iter([("channels".to_owned(), list)])))))
}

/// "unsubscribe ops from X", "take ops off X", "turn on alerts for X": the list is set as a whole.
fn unlisted(words: &[Word]) -> Option<Command> {
    let (first, rest) = words.split_first()?;
    let takes_off = first.is("take") && rest.iter().any(|word| word.is("off"));
    let turns_on = first.is("turn switch enable")
        && rest.iter().take(3).any(|word| word.is(ALERTS))
        && (first.is("enable") || rest[0].is("on"));
    (takes_off || turns_on || first.is("subscribe unsubscribe")).then(|| Err(alerts::whole_list()))
}
