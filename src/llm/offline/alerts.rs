//! What a check can be told of its alerts: "tell ops", "alert after 3 failures", "remind me every 2 hours".

use serde_json::{Value, json};

use super::clauses::{self, Clause};
use super::durations;
use super::phrase::{self, Word, skip, trim_end};

/// Words that an alert's clause begins with.
pub const HEADS: &str =
    "tell telling notify notifying alert alerting alerts email remind reminding reminder reminders after";

const NOBODY: &str = "nobody none noone nothing";
const WHO: &str = "Which channels? I know them by their names, for example: tell ops, dev. Or: tell nobody.";

/// Reads a clause about alerts at the start of `words`.
pub fn clause(words: &[Word]) -> Option<Clause> {
    nobody(words).or_else(|| failures(words)).or_else(|| reminder(words)).or_else(|| channels(words))
}

/// "no alerts", "without notifications", "don't tell anyone".
fn nobody(words: &[Word]) -> Option<Clause> {
    let taken = match words {
        [no, alerts, ..] if no.is("no without") && alerts.is("alerts notifications channels") => 2,
        [dont, tell, anyone, ..]
            if dont.is("don't never") && tell.is("tell alert notify") && anyone.is("anyone anybody") =>
        {
            3
        }
        _ => return None,
    };
    Some(Ok((vec![("channels", json!([]))], taken)))
}

/// "alert (me) after 3 failures (in a row)".
fn failures(words: &[Word]) -> Option<Clause> {
    const NOUNS: &str = "fail fails failure failures failed";
    let rest = skip(words, "alert alerts alerted alerting tell notify me us only");
    rest.first()?.is("after").then_some(())?;
    let count = durations::number(&rest.get(1)?.key).filter(|_| !rest[1].quoted);
    let rest = skip(&rest[2..], "consecutive");
    let (Some(count), true) = (count, rest.first().is_some_and(|word| word.is(NOUNS))) else {
        return Some(Err(clauses::not_understood(words)));
    };
    let rest = skip(&rest[1..], "pings runs");
    let in_a_row = usize::from(rest.len() > 2 && rest[0].is("in") && rest[1].is("a") && rest[2].is("row")) * 3;
    Some(Ok((vec![("alert_after_failures", count.into())], words.len() - rest.len() + in_a_row)))
}

/// "remind me every 2 hours", "reminders every day", "reminder of 4 hours", "no reminders".
fn reminder(words: &[Word]) -> Option<Clause> {
    if words.len() > 1 && words[0].is("no without") && words[1].is("reminder reminders") {
        return Some(Ok((vec![("reminder_seconds", Value::Null)], 2)));
    }
    words.first()?.is("remind reminding reminder reminders").then_some(())?;
    let rest = skip(&words[1..], "me us again of to is");
    Some(match interval(rest) {
        Some((length, taken)) => Ok((vec![("reminder_seconds", length.into())], words.len() - rest.len() + taken)),
        None => Err(clauses::not_understood(words)),
    })
}

/// "every 2 hours", "2 hours", "each day", "hourly", "daily".
pub fn interval(words: &[Word]) -> Option<(u64, usize)> {
    let first = words.first()?;
    match first.key.as_str() {
        "once" if words.get(1).is_some_and(|word| word.is("a an every per")) => {
            return Some((durations::unit(&words.get(2)?.key)?, 3));
        }
        "hourly" => return Some((3_600, 1)),
        "daily" => return Some((86_400, 1)),
        _ => {}
    }
    let each = usize::from(first.is("every each"));
    let rest = &words[each..];
    match durations::unit(&rest.first()?.key) {
        Some(length) if each == 1 => Some((length, 2)),
        _ => durations::read(rest).map(|(length, taken)| (length, each + taken)),
    }
}

/// "tell ops, dev", "with alerts to \"on call\"", "tell nobody": names to the next clause.
fn channels(words: &[Word]) -> Option<Clause> {
    words.first()?.is("tell telling notify notifying alert alerting alerts email channel channels").then_some(())?;
    // "the channels of X" are not to be set here.
    if words.get(1).is_some_and(|word| word.is("of for")) {
        return None;
    }
    let names = skip(&words[1..], "only to via through the channel channels");
    let end = clauses::list_end(names);
    Some(named(&names[..end]).map(|list| (vec![("channels", list)], words.len() - names.len() + end)))
}

/// Channels by their names, apart by commas or "and", each in quotes if it holds one; "nobody" is none.
pub fn named(words: &[Word]) -> Result<Value, String> {
    let words = trim_end(words, |word| word.is("channel channels"));
    match words {
        [] => return Err(WHO.to_owned()),
        [one] if one.is(NOBODY) => return Ok(json!([])),
        [no, one] if no.is("no") && one.is("one channel channels") => return Ok(json!([])),
        [first, ..] if first.is("me us everyone everybody anyone anybody all it them him her") => {
            return Err(WHO.to_owned());
        }
        _ => {}
    }
    if words.iter().any(|word| word.is("when whenever if while about unless that to")) {
        return Err(clauses::not_understood(words));
    }
    let mut names = Vec::new();
    let mut from = 0;
    for (at, word) in words.iter().enumerate() {
        let joins = word.is("and &");
        if joins || word.comma || at + 1 == words.len() {
            let name = phrase::written(skip(&words[from..if joins { at } else { at + 1 }], "the channel"));
            if !name.is_empty() {
                names.push(name);
            }
            from = at + 1;
        }
    }
    if names.is_empty() { Err(WHO.to_owned()) } else { Ok(names.into()) }
}

/// The sentence for a channel that is to be made, renamed or deleted.
pub const OF_CHANNELS: &str = "I make and change no channels; I only set which of them a check tells, all of them at \
    once, for example: set channels of \"nightly backup\" to ops, dev.";

/// The sentence for a channel that is to be added or taken away.
pub fn whole_list() -> String {
    "I set all channels of a check at once. Say the whole list, for example: set channels of \"nightly backup\" to ops, \
     dev. Who is told now? Ask: who is told about \"nightly backup\"?"
        .to_owned()
}

/// Whether a setting that may be left out is to be: "none", "off", "never".
pub fn is_none(word: &Word) -> bool {
    word.is("none off never nothing no")
}

/// Where a list of channels is over: before another setting, "ops, dev and grace to 10 minutes". A channel may be
/// called "daily", so a schedule does not end it.
pub fn names_end(words: &[Word]) -> usize {
    const SETTINGS: &str = "grace period interval remind reminder reminders after max maximum runtime tagged described";
    let Some(end) = (1..words.len()).find(|at| words[*at].is(SETTINGS)) else { return words.len() };
    end - words[1..end].iter().rev().take_while(|word| word.is("and & a an the with")).count()
}

/// The interval that all of `words` are.
pub fn whole_interval(words: &[Word]) -> Option<u64> {
    interval(words).filter(|(_, taken)| *taken == words.len()).map(|(length, _)| length)
}
