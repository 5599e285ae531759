//! What is read after a first answer: names that were not found are looked for among the caller's checks.

use serde_json::Value;

use super::answers::{Answered, is_missing};
use super::intent::{Aspect, Call, Intent};
use super::phrase;

/// As many checks are looked at for one question.
const MOST: usize = 5;

/// The calls that a first answer leads to; none if there is all that can be had.
pub fn next(text: &str, intent: &Intent, answered: &[Answered]) -> Vec<Call> {
    let [one] = answered else { return Vec::new() };
    let asked = argument(one, "check");
    if let Some(name) = asked.filter(|_| is_missing(&one.result["error"])) {
        let parts = parts(text, name);
        return match (parts.len(), tool(one.tool)) {
            (2..=MOST, Some(tool)) => together(tool, &parts, one),
            // A change is never about what a name may mean.
            (_, Some("get_check" | "get_uptime" | "preview_change")) => vec![Call::new("list_checks")],
            _ => Vec::new(),
        };
    }
    if is_lookup(intent, one) {
        let names = mentioned(text, one.result);
        return names.into_iter().map(|name| in_full(intent).with("check", name)).collect();
    }
    if matches!(intent, Intent::Read(_, Aspect::Told)) && one.tool == "list_checks" {
        return each_told(one.result);
    }
    Vec::new()
}

/// Whether these are the caller's checks, read to find one that the question names.
pub fn is_lookup(intent: &Intent, one: &Answered) -> bool {
    let is_bare = one.arguments.is_some_and(serde_json::Map::is_empty);
    let by_name = matches!(intent, Intent::Open)
        || matches!(intent, Intent::Read(call, _) if ["get_check", "get_uptime", "preview_change"].contains(&call.tool));
    one.tool == "list_checks" && is_bare && by_name && one.result["checks"].is_array()
}

/// The question as it is to be asked once the name is known.
fn in_full(intent: &Intent) -> Call {
    match intent {
        Intent::Read(call, _) => call.clone(),
        _ => Call::new("get_check"),
    }
}

/// After the checks that are down, each of them, if who was told of them is the question.
fn each_told(result: &Value) -> Vec<Call> {
    let names = result["checks"].as_array().into_iter().flatten().filter_map(|check| check["name"].as_str());
    let calls: Vec<Call> = names.map(|name| Call::new("get_check").with("check", name)).collect();
    if calls.len() > MOST { Vec::new() } else { calls }
}

/// "backup and report" in two, unless the person put it in quotes.
fn parts<'n>(text: &str, name: &'n str) -> Vec<&'n str> {
    if phrase::words(text).iter().any(|word| word.quoted && word.text == name) {
        return Vec::new();
    }
    let words = phrase::words(name);
    let pieces = words.split(|word| word.is("and &"));
    let pieces: Vec<&str> = pieces.map(|piece| phrase::written(phrase::name_span(piece))).collect();
    if pieces.iter().any(|piece| piece.is_empty()) { Vec::new() } else { pieces }
}

/// A tool that can be asked of several checks instead of one.
fn tool(name: &str) -> Option<&'static str> {
    [
        "get_check",
        "get_uptime",
        "preview_change",
        "update_check",
        "pause_check",
        "resume_check",
        "delete_check",
        "rotate_ping_key",
    ]
    .into_iter()
    .find(|tool| *tool == name)
}

/// The same for each of these names; a pause of several is one action.
fn together(tool: &'static str, names: &[&str], one: &Answered) -> Vec<Call> {
    let arguments = one.arguments.cloned().unwrap_or_default();
    if tool == "pause_check" {
        let mut call = Call::new("pause_checks").with("checks", names.to_vec());
        call.arguments.extend(arguments.into_iter().filter(|(name, _)| name == "until"));
        return vec![call];
    }
    names.iter().map(|name| Call { tool, arguments: arguments.clone() }.with("check", *name)).collect()
}

/// The checks that a text names, whatever the case and the signs between words: the longest names first, and what
/// belongs to one is no part of another.
fn mentioned<'r>(text: &str, result: &'r Value) -> Vec<&'r str> {
    let mut rest = plain(text);
    let rows = result["checks"].as_array().into_iter().flatten();
    let mut names: Vec<&str> = rows.filter_map(|check| check["name"].as_str()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut found: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let key = plain(name);
        if let Some(at) = rest.find(&key).filter(|_| key.len() > 2) {
            // The space behind it is also the one before the next word.
            rest.replace_range(at..at + key.len() - 1, &"\u{1}".repeat(key.len() - 1));
            found.push((at, name));
        }
    }
    found.sort_unstable();
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// In lower case, with one space around each word and no other signs.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace("'s ", " ").replace("’s ", " ");
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |plain, word| plain + word + " ")
}

/// A check's name as a call was made with it.
pub fn argument<'a>(one: &Answered<'a>, name: &str) -> Option<&'a str> {
    one.arguments?.get(name).and_then(Value::as_str)
}
