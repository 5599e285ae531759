//! The command that makes a check: "create X every 5 minutes with grace 10 minutes tagged a, b".

use serde_json::{Map, Value};

use super::clauses::Unread;
use super::commands::Command;
use super::intent::Call;
use super::phrase::{self, Word, skip};
use super::{alerts, clauses, schedules};

const EXAMPLE: &str = "For example: create \"nightly backup\" every 5 minutes.";

/// What follows "create".
pub fn create(words: &[Word]) -> Command {
    const NOISE: &str = "a an new heartbeat up the check monitor job for";
    let words = if words.len() > 1 { skip(words, "up monitoring") } else { words };
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
    let adjective = adjective(words);
    let (name, arguments) = name_and_clauses(adjective.as_deref().unwrap_or(words))?;
    // "add ops to X": nothing says when it must ping, and a list is set as a whole.
    if arguments.is_empty() && name.len() > 2 && name[1..].iter().any(|word| word.is("to")) {
        return Err(alerts::whole_list());
    }
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
    Ok(vec![call])
}

/// "nightly check called X at 2am" with its adjective where the schedule begins: "X nightly at 2am".
fn adjective<'a>(words: &[Word<'a>]) -> Option<Vec<Word<'a>>> {
    let [often, check, called, rest @ ..] = words else { return None };
    let is_one = often.is("hourly daily nightly weekly")
        && check.is("check job monitor")
        && called.is("called named for")
        && !rest.is_empty();
    is_one.then_some(())?;
    let reads = |at: usize| {
        let clause: Vec<Word> = [often.clone()].into_iter().chain(rest[at..].iter().cloned()).collect();
        clauses::read(&clause).is_ok().then_some((at, clause))
    };
    let (at, clause) = (1..=rest.len()).find_map(reads)?;
    Some(rest[..at].iter().cloned().chain(clause).collect())
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
        let schedule = |from: usize| matches!(schedules::read(&words[from..at]), Some(Ok((_, taken))) if taken > 1);
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

/// "X that runs", "X which should ping", "X for" without what joins the name to a clause.
fn without_relative<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let name = phrase::trim_end(words, |word| word.is("runs pings run ping"));
    let joined = phrase::trim_end(name, |word| word.is("that which should must for with"));
    // "test run hourly" is about a test run.
    if joined.len() < name.len() { joined } else { words }
}
