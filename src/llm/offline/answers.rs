//! Sentences from tool results. They say what the result says, and nothing else.

use jiff::ZonedDateTime;
use serde_json::{Map, Value};

use super::intent::Aspect;
use super::proposals::{self, is_pending};
use super::{durations, forecasts, lists, notices, reports, uptimes};

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
pub fn render(answered: &[Answered], aspect: Aspect, now: &ZonedDateTime) -> String {
    let pending: Vec<&Answered> = answered.iter().filter(|one| is_pending(one)).collect();
    let mut parts: Vec<String> = answered
        .iter()
        .filter(|one| pending.len() < 2 || !is_pending(one))
        .map(|one| render_one(one, aspect, now))
        .collect();
    if pending.len() >= 2 {
        parts.push(proposals::several(&pending));
    }
    parts.join("\n\n")
}

fn render_one(one: &Answered, aspect: Aspect, now: &ZonedDateTime) -> String {
    if let Some(error) = one.result.get("error") {
        return refusal(error, one.tool);
    }
    let rendered = match one.tool {
        "list_checks" => lists::list(one.result, one.arguments, aspect, now),
        "get_check" => reports::check(one.result, aspect, now),
        "get_uptime" => uptimes::report(one.result, now),
        "preview_change" => forecasts::change(one.result, now),
        "preview_schedule" => forecasts::schedule(one.result, now),
        "get_account" => account(one.result, aspect),
        _ => proposals::one(one),
    };
    rendered.unwrap_or_else(|| "I got an answer that I cannot read, so I would rather say nothing about it.".to_owned())
}

/// An error's message as it came; for a name that was not found also how names are written.
fn refusal(error: &Value, tool: &str) -> String {
    let message = error["message"].as_str().unwrap_or("That did not work.");
    let mut text = message.to_owned();
    if is_missing(error) {
        text.push_str(NAMES);
    }
    if !is_read(tool) {
        text.push_str("\n\nNothing has changed.");
    }
    text
}

const NAMES: &str = "\n\nI match names exactly. Quotes show where a name begins and ends (pause \"nightly backup\"), commas \
    part several names, and list shows them all.";

/// Whether an error says that there is no check of that name.
pub fn is_missing(error: &Value) -> bool {
    error["code"] == "check_not_found"
        || error["message"].as_str().is_some_and(|message| message.starts_with("There is no check "))
}

/// What is said of a name that none of the caller's checks has.
pub fn missing(name: &str) -> String {
    format!("There is no check “{}”.{NAMES}", reports::one_line(name))
}

fn is_read(tool: &str) -> bool {
    ["list_", "get_", "preview_"].iter().any(|verb| tool.starts_with(verb))
}

/// The caller's plan; of `Aspect::Told` the channels alone.
fn account(result: &Value, aspect: Aspect) -> Option<String> {
    let channels = channels(result);
    if aspect == Aspect::Told {
        return Some(channels.unwrap_or_else(|| {
            "I see channels one check at a time: ask me, for example, who is told about \"nightly backup\".".to_owned()
        }));
    }
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
    lines.extend(channels.map(|channels| format!("- {channels}")));
    Some(lines.join("\n"))
}

/// The channels of the account, if the result names them.
fn channels(result: &Value) -> Option<String> {
    let named: Vec<String> = result["channels"].as_array()?.iter().map(notices::described).collect();
    Some(match named.len() {
        0 => "You have no channels yet: nobody is told when a check goes down.".to_owned(),
        1 => format!("You have 1 channel: {}", named[0]),
        many => format!("You have {many} channels: {}", named.join(", ")),
    })
}
