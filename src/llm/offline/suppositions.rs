//! Questions about a change that is only thought of: "what happens if I set grace of X to 10 minutes?".

use super::commands::{self, Verb};
use super::intent::{Aspect, Call, Intent};
use super::phrase::{self, Word, skip};
use super::{clauses, edits};

/// Words before the "if" of a question at most: "what would happen to X if".
const LONGEST_LEAD: usize = 12;

/// "what if X ran every 2 hours", "would setting the grace of X to 10 minutes take it down", "can I make X hourly".
pub fn read(words: &[Word]) -> Option<Intent> {
    let first = words.first()?;
    if first.is("preview simulate suppose") {
        return supposed(&words[1..]);
    }
    first.is("what what's would does will how is can could may should").then_some(())?;
    let begins = |pair: &[Word]| pair[0].is("if") || (pair[0].is("when") && pair[1].is("i we you"));
    let Some(at) = words.windows(2).take(LONGEST_LEAD).position(begins) else { return asked(words) };
    match supposed(&words[at + 1..])? {
        // "would X go down if I set its grace to 5 minutes" names the check before.
        Intent::Read(call, aspect) if !call.arguments.contains_key("check") => {
            let name = affected(&words[..at]).and_then(|name| phrase::subject(name).ok().flatten());
            Some(Intent::Read(if let Some(name) = name { call.with("check", name) } else { call }, aspect))
        }
        intent => Some(intent),
    }
}

/// Without an "if": "would setting … take it down", "is it safe to lower …", "can I set X to hourly". Only what reads
/// as a change of a check's settings; the rest asks how Flatline works.
fn asked(words: &[Word]) -> Option<Intent> {
    const EFFECT: &str = "take takes bring it down make go flip break do mean be ok okay fine allowed safe alert alerts anyone \
        cause trigger at once immediately now right away any have an effect";
    let lead = if words[0].is("is") {
        words.iter().take(LONGEST_LEAD).position(|word| word.is("to"))? + 1
    } else if words[0].is("can could may should") {
        words.get(1)?.is("i we").then_some(2)?
    } else {
        let lead = words.iter().take_while(|word| word.is("what what's would does will the effect of")).count();
        words.get(lead)?.key.ends_with("ing").then_some(lead)?
    };
    let change = phrase::trim_end(&words[lead..], |word| word.is(EFFECT));
    let mut command = change.to_vec();
    present(command.first()?)?.clone_into(&mut command[0].key);
    is_edit(&command).then_some(())?;
    match as_command(&command)? {
        Intent::Unclear(_) => None,
        intent => Some(intent),
    }
}

fn is_edit(command: &[Word]) -> bool {
    command.first().and_then(commands::verb).is_some_and(|verb| matches!(verb, Verb::Change | Verb::Rename | Verb::Tag))
}

/// The check in "what happens to X", "would X go down".
fn affected<'w, 'a>(lead: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    if let Some(at) = lead.iter().position(|word| word.is("to with")) {
        return Some(&lead[at + 1..]);
    }
    let (first, rest) = lead.split_first()?;
    first
        .is("would will does")
        .then(|| phrase::trim_end(rest, |word| word.is("go be down late flip alert fire stay still up")))
}

/// What follows the "if".
fn supposed(words: &[Word]) -> Option<Intent> {
    let doing = skip(words, "i we you one someone would were to had just could have");
    if let Some(verb) = doing.first().and_then(present) {
        let mut command = doing.to_vec();
        verb.clone_into(&mut command[0].key);
        return as_command(&command);
    }
    described(words).map(preview)
}

/// A command's verb as "if I …" has it.
fn present(word: &Word) -> Option<&'static str> {
    Some(match word.key.as_str() {
        "set" | "put" | "move" | "moved" | "moving" | "switch" | "switched" | "switching" | "setting" => "set",
        "change" | "changed" | "changing" | "edit" | "edited" | "update" | "updated" | "adjust" | "adjusted" => {
            "change"
        }
        "make" | "made" | "making" | "ran" | "run" => "make",
        "give" | "gave" | "giving" => "give",
        "raise" | "raised" | "raising" | "increase" | "increased" | "increasing" | "extend" | "extended" => "raise",
        "lower" | "lowered" | "lowering" | "reduce" | "reduced" | "reducing" | "decrease" | "decreased" | "shorten"
        | "shortened" | "shortening" => "lower",
        "rename" | "renamed" | "renaming" => "rename",
        "tag" | "tagged" => "tag",
        "pause" | "paused" => "pause",
        "resume" | "resumed" => "resume",
        "delete" | "deleted" | "remove" | "removed" => "delete",
        "rotate" | "rotated" => "rotate",
        "create" | "created" | "add" | "added" => "create",
        _ => return None,
    })
}

fn as_command(command: &[Word]) -> Option<Intent> {
    let (first, rest) = command.split_first()?;
    // "what happens if I pause a check" asks how it works.
    if phrase::is_any(rest) || rest.is_empty() {
        return None;
    }
    Some(preview(match commands::verb(first)? {
        Verb::Change => edits::change(rest),
        Verb::Rename => edits::rename(rest),
        Verb::Tag => edits::tag(rest),
        _ => Err(format!(
            "I can look ahead at a check's settings and at schedules. For this, say it as a command: {} {}. That only \
             prepares an action, and its card shows what would follow.",
            first.key,
            phrase::excerpt(phrase::written(rest))
        )),
    }))
}

fn preview(changes: Result<Vec<Call>, String>) -> Intent {
    match changes.map(|calls| calls.into_iter().next()) {
        Ok(Some(Call { arguments, .. })) => Intent::Read(Call { tool: "preview_change", arguments }, Aspect::Status),
        Ok(None) => Intent::Unclear(phrase::WHICH.to_owned()),
        Err(sentence) => Intent::Unclear(sentence),
    }
}

/// "X ran every 2 hours", "X had a grace of 10 minutes", "the grace of X were 10 minutes".
fn described(words: &[Word]) -> Option<Result<Vec<Call>, String>> {
    const DOES: &str = "ran runs run pinged pings ping had has have were was is used uses got alerted alerts";
    let verbs = (1..words.len()).filter(|at| words[*at].is(DOES));
    for at in verbs {
        let from = if words[at].is("alerted alerts") { at } else { at + 1 };
        let name = phrase::trim_end(&words[..at], |word| word.is("would should must only just"));
        if let Ok(changes) = clauses::read(&words[from..])
            && !changes.is_empty()
            && !phrase::is_any(name)
        {
            return Some(phrase::subject(name).map(|name| edits::update(name, changes)));
        }
    }
    // "X's grace was 10 minutes", "the grace of X were 10 minutes".
    (!phrase::is_any(words)).then(|| edits::change(words).ok())?.map(Ok)
}
