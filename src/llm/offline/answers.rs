//! Sentences from tool results. They say what the result says, and nothing else.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::intent::Aspect;
use super::{durations, forecasts, lists, reports, uptimes};

/// A tool result with the call that it answers.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it was called with, as far as the call is still known.
    pub arguments: Option<&'a Map<String, Value>>,
    /// The result.
    pub result: &'a Value,
}

/// The answer to a message whose calls were `answered`. `aspect` is what was asked of a single check.
pub fn render(answered: &[Answered], aspect: Aspect, now: Timestamp) -> String {
    let pending: Vec<&Answered> = answered.iter().filter(|one| status(one) == Some("PENDING")).collect();
    let mut parts: Vec<String> = answered
        .iter()
        .filter(|one| pending.len() < 2 || status(one) != Some("PENDING"))
        .map(|one| render_one(one, aspect, now))
        .collect();
    if pending.len() >= 2 {
        parts.push(several(&pending));
    }
    parts.join("\n\n")
}

fn status<'a>(one: &Answered<'a>) -> Option<&'a str> {
    one.result["status"].as_str()
}

fn render_one(one: &Answered, aspect: Aspect, now: Timestamp) -> String {
    if let Some(error) = one.result.get("error") {
        return refusal(error, one.tool);
    }
    let rendered = match one.tool {
        "list_checks" => lists::list(one.result, one.arguments, aspect, now),
        "get_check" => reports::check(one.result, aspect, now),
        "get_uptime" => uptimes::report(one.result, now),
        "preview_change" => forecasts::change(one.result, now),
        "preview_schedule" => forecasts::schedule(one.result, now),
        "get_account" => account(one.result),
        _ => proposal(one),
    };
    rendered.unwrap_or_else(|| "I got an answer that I cannot read, so I would rather say nothing about it.".to_owned())
}

/// An error's message as it came; for a name that was not found also how names are written.
fn refusal(error: &Value, tool: &str) -> String {
    let message = error["message"].as_str().unwrap_or("That did not work.");
    let mut text = message.to_owned();
    if error["code"] == "check_not_found" || message.starts_with("There is no check ") {
        text.push_str(
            "\n\nI match names exactly. Quotes show where a name begins and ends (pause \"nightly backup\"), commas \
             part several names, and list shows them all.",
        );
    }
    if !is_read(tool) {
        text.push_str("\n\nNothing has changed.");
    }
    text
}

fn is_read(tool: &str) -> bool {
    ["list_", "get_", "preview_"].iter().any(|verb| tool.starts_with(verb))
}

/// Kinds that a bare `confirm` does not reach.
fn is_destructive(tool: &str) -> bool {
    // What undoes an action may be a deletion: the number is never wrong.
    matches!(tool, "delete_check" | "rotate_ping_key" | "pause_checks" | "undo_action")
}

/// What became of one proposal, by the status that the server tells.
fn proposal(one: &Answered) -> Option<String> {
    let number = one.result["number"].as_u64()?;
    let summary = summary(one)?;
    let text = match status(one)? {
        "PENDING" => {
            let word = if is_destructive(one.tool) { format!("`confirm {number}`") } else { "confirm".to_owned() };
            format!("I have prepared action {number}: {summary}. Nothing has changed yet: tap Confirm, or type {word}.")
        }
        "EXECUTED" => format!("Action {number} has been confirmed and done: {summary}."),
        "FAILED" => format!("Action {number} was confirmed but could not be done, so nothing has changed: {summary}."),
        "REJECTED" => format!("Action {number} was cancelled, so nothing has changed: {summary}."),
        "EXPIRED" => format!("Action {number} expired before it was confirmed, so nothing has changed: {summary}."),
        "SUPERSEDED" => format!("Action {number} was replaced by a newer one and has changed nothing: {summary}."),
        other => format!("Action {number} is {other}: {summary}."),
    };
    // The note repeats what a pending action's sentence says; for the others it says why.
    match one.result["note"].as_str().filter(|note| !note.is_empty() && status(one) != Some("PENDING")) {
        Some(note) => Some(format!("{text} {note}")),
        None => Some(text),
    }
}

fn several(pending: &[&Answered]) -> String {
    let mut lines = vec![format!("I have prepared {} actions. Nothing has changed yet:", pending.len())];
    for one in pending {
        let number = one.result["number"].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
        lines.push(format!("- action {number}: {}", summary(one).unwrap_or_default()));
    }
    let all = if pending.iter().any(|one| is_destructive(one.tool)) { "" } else { ", or `confirm all`" };
    let example = pending[0].result["number"].as_u64().unwrap_or(1);
    lines.push(String::new());
    lines.push(format!("Tap Confirm on each, or type confirm with a number, such as `confirm {example}`{all}."));
    lines.join("\n")
}

fn summary<'a>(one: &Answered<'a>) -> Option<&'a str> {
    Some(one.result["summary"].as_str()?.trim_end_matches('.'))
}

fn account(result: &Value) -> Option<String> {
    let (name, tier) = (result["name"].as_str()?, result["tier"].as_str()?);
    let (used, limit) = (result["checks"]["used"].as_u64()?, result["checks"]["limit"].as_u64()?);
    let mut lines = vec![format!("You are signed in as {name}, on the {tier} plan.")];
    lines.push(format!("- Checks: {used} of {limit} used, {} left", limit.saturating_sub(used)));
    if let Some(floor) = result["floor_seconds"].as_u64() {
        lines.push(format!("- Pings of one kind: accepted at most once every {}", durations::say(floor)));
    }
    let messages = &result["messages"];
    if let (Some(limit), Some(window), Some(remaining)) =
        (messages["limit"].as_u64(), messages["window_seconds"].as_u64(), messages["remaining"].as_u64())
    {
        lines.push(format!("- Messages to me: {remaining} of {limit} left in any {}", durations::say(window)));
    }
    Some(lines.join("\n"))
}
