//! Questions about what would be: "what happens if I set grace of X to 10 minutes?", "when would */5 * * * * run?".

use super::commands::{self, Verb};
use super::intent::{Aspect, Call, Intent};
use super::phrase::{self, Word, skip};
use super::{clauses, edits, schedules};

/// Words before the "if" of a question at most: "what would happen to X if".
const LONGEST_LEAD: usize = 12;

/// Reads a question about a change or a schedule that is only thought of.
pub fn read(words: &[Word]) -> Option<Intent> {
    change(words).or_else(|| schedule(words))
}

/// "what if X ran every 2 hours", "what would happen if I set the grace of X to 10 minutes", "preview setting …".
fn change(words: &[Word]) -> Option<Intent> {
    let first = words.first()?;
    if first.is("preview simulate suppose") {
        return supposed(&words[1..]);
    }
    first.is("what what's would does will how").then_some(())?;
    let begins = |pair: &[Word]| pair[0].is("if") || (pair[0].is("when") && pair[1].is("i we you"));
    let at = words.windows(2).take(LONGEST_LEAD).position(begins)?;
    match supposed(&words[at + 1..])? {
        // "would X go down if I set its grace to 5 minutes" names the check before.
        Intent::Read(call, aspect) if !call.arguments.contains_key("check") => {
            let name = affected(&words[..at]).and_then(|name| phrase::subject(name).ok().flatten());
            Some(Intent::Read(if let Some(name) = name { call.with("check", name) } else { call }, aspect))
        }
        intent => Some(intent),
    }
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
        "set" | "put" | "move" | "moved" | "switch" | "switched" | "setting" => "set",
        "change" | "changed" | "changing" | "edit" | "edited" | "update" | "updated" | "adjust" | "adjusted" => {
            "change"
        }
        "make" | "made" | "making" | "ran" | "run" => "make",
        "give" | "gave" | "giving" => "give",
        "raise" | "raised" | "increase" | "increased" | "extend" | "extended" => "raise",
        "lower" | "lowered" | "reduce" | "reduced" | "decrease" | "decreased" => "lower",
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
        let name = phrase::trim_end(&words[..at], |word| word.is("would should must only"));
        if let Ok(changes) = clauses::read(&words[from..])
            && !changes.is_empty()
            && !phrase::is_any(name)
        {
            return Some(phrase::subject(name).map(|name| edits::update(name, changes)));
        }
    }
    let article = skip(words, "the its");
    edits::field(article).and_then(|_| edits::change(words).ok()).map(Ok)
}

/// "when would */5 * * * * in Europe/Berlin run", "next runs of cron …", "is every 2 minutes allowed".
fn schedule(words: &[Word]) -> Option<Intent> {
    const BEFORE: &str = "when would does will do is are what what's the a next run runs times five 5 of show list me mean \
        explain preview can could i use try test for with schedule at";
    const AFTER: &str = "run runs running fire fires trigger happen mean means do next allowed ok okay possible valid \
        accepted enough schedule be work right";
    let mut refusal = None;
    let lead = words.iter().take(LONGEST_LEAD).take_while(|word| word.is(BEFORE)).count();
    for at in 0..=lead {
        match schedules::read(&words[at.min(words.len())..]) {
            Some(Ok((arguments, taken))) => {
                let said = &words[at..at + taken];
                // "nightly" and "weekly" alone are rather names of checks.
                let is_plain = taken > 1 || said[0].quoted || said[0].text.starts_with('@');
                if is_plain && words[at + taken..].iter().all(|word| word.is(AFTER)) && asks(words, at, said) {
                    let mut call = Call::new("preview_schedule");
                    call.arguments.extend(arguments.into_iter().map(|(key, value)| (key.to_owned(), value)));
                    schedules::in_utc_unless_said(&mut call);
                    return Some(Intent::Read(call, Aspect::Status));
                }
            }
            Some(Err(sentence)) => {
                let is_meant = words[at..].iter().any(|word| word.text.contains(['*', '/', '@']));
                refusal = refusal.or((is_meant && lead > 0).then_some(sentence));
            }
            None => {}
        }
    }
    refusal.map(Intent::Unclear)
}

/// A schedule alone is a question only if it can be nothing else.
fn asks(words: &[Word], at: usize, said: &[Word]) -> bool {
    at > 0 || said.len() < words.len() || said.iter().any(|word| word.text.contains('*'))
}
