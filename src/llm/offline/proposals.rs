//! What became of proposals, in words: the change that each would make, and what its status says.

use serde_json::Value;

use super::answers::Answered;
use super::reports::one_line;

/// Whether a proposal waits for the person.
pub fn is_pending(one: &Answered) -> bool {
    status(one) == Some("PENDING")
}

fn status<'a>(one: &Answered<'a>) -> Option<&'a str> {
    one.result["status"].as_str()
}

/// Kinds that a bare `confirm` does not reach.
fn is_destructive(tool: &str) -> bool {
    // What undoes an action may be a deletion: the number is never wrong.
    matches!(tool, "delete_check" | "rotate_ping_key" | "pause_checks" | "undo_action")
}

/// What became of one proposal, by the status that the server tells.
pub fn one(one: &Answered) -> Option<String> {
    let number = one.result["number"].as_u64()?;
    let summary = summary(one)?;
    if status(one)? == "PENDING" {
        let word = if is_destructive(one.tool) { format!("`confirm {number}`") } else { "confirm".to_owned() };
        // What would follow is said only of what may still be.
        let what = headline(one).map_or_else(|| summary.to_owned(), |headline| format!("{headline}. {summary}"));
        return Some(format!(
            "I have prepared action {number}: {what}. Nothing has changed yet: tap Confirm, or type {word}."
        ));
    }
    let what = headline(one).unwrap_or_else(|| summary.to_owned());
    let text = match status(one)? {
        "EXECUTED" => format!("Action {number} has been confirmed and done: {what}."),
        "FAILED" => format!("Action {number} was confirmed but could not be done, so nothing has changed: {what}."),
        "REJECTED" => format!("Action {number} was cancelled, so nothing has changed: {what}."),
        "EXPIRED" => format!("Action {number} expired before it was confirmed, so nothing has changed: {what}."),
        "SUPERSEDED" => format!("Action {number} was replaced by a newer one and has changed nothing: {what}."),
        other => format!("Action {number} is {other}: {what}."),
    };
    // The note says why.
    match one.result["note"].as_str().filter(|note| !note.is_empty()) {
        Some(note) => Some(format!("{text} {note}")),
        None => Some(text),
    }
}

/// Several that wait.
pub fn several(pending: &[&Answered]) -> String {
    let mut lines = vec![format!("I have prepared {} actions. Nothing has changed yet:", pending.len())];
    for one in pending {
        let number = one.result["number"].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
        let what = headline(one).unwrap_or_else(|| summary(one).unwrap_or_default().to_owned());
        lines.push(format!("- action {number}: {what}"));
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

/// Changes that a sentence names; the card shows all of them.
const MOST_CHANGES: usize = 6;

/// "Change X: grace: 30 minutes → 10 minutes", where the result names it.
fn headline(one: &Answered) -> Option<String> {
    let title = one_line(one.result["title"].as_str()?);
    let changes = one.result["changes"].as_array().into_iter().flatten();
    // "Pause X until 14:00" has said it.
    let is_said = |change: &Value| {
        change["field"] == "pause" && change["after"].as_str().is_some_and(|after| title.ends_with(after))
    };
    let changes = changes.filter(|change| !is_said(change));
    let mut changes: Vec<String> = changes.filter_map(|change| difference(change, one.tool)).collect();
    if changes.is_empty() {
        return Some(title);
    }
    let more = changes.len().saturating_sub(MOST_CHANGES);
    changes.truncate(MOST_CHANGES);
    let more = if more > 0 { format!("; and {more} more, on the card") } else { String::new() };
    Some(format!("{title}: {}{more}", changes.join("; ")))
}

/// One field, before and after; nothing for what the title says or a sentence has no room for.
fn difference(change: &Value, tool: &str) -> Option<String> {
    let field = one_line(change["field"].as_str()?);
    let is_new = tool == "create_check";
    if tool == "delete_check" || field == "next runs" || (is_new && field == "name") {
        return None;
    }
    let side = |side: &str| change[side].as_str().map_or_else(|| "none".to_owned(), one_line);
    // Of a new check there is nothing before.
    let is_first = is_new && change["before"].is_null();
    Some(if is_first {
        format!("{field}: {}", side("after"))
    } else {
        format!("{field}: {} → {}", side("before"), side("after"))
    })
}
