//! What a conversation was about before: the check that "it" means in a question.

use serde_json::Value;

use super::intent::{Aspect, Call, Intent};
use super::{Message, ToolCall, phrase};

/// A question about one check that names none is about the one spoken of last. "Who was told?" without any is about
/// what is down.
pub fn complete(intent: Intent, messages: &[Message]) -> Intent {
    let Intent::Read(call, aspect) = intent else { return intent };
    let needs_check = matches!(call.tool, "get_check" | "get_uptime" | "preview_change");
    if !needs_check || call.arguments.contains_key("check") {
        return Intent::Read(call, aspect);
    }
    match (spoken_of(messages), aspect) {
        (Some(name), _) => Intent::Read(call.with("check", name), aspect),
        (None, Aspect::Told) => Intent::Read(Call::new("list_checks").with("state", "down"), aspect),
        (None, _) => Intent::Unclear(phrase::WHICH.to_owned()),
    }
}

/// The check that was looked up or meant to be changed last, by name. Only what the server had an answer to counts.
fn spoken_of(messages: &[Message]) -> Option<String> {
    messages.iter().enumerate().rev().find_map(|(at, message)| match message {
        Message::Tool { call_id, content, .. } => {
            named(content).or_else(|| asked(call(&messages[..at], call_id)?, content)).map(str::to_owned)
        }
        Message::User(_) | Message::Assistant { .. } => None,
    })
}

/// The one check that a result tells of.
fn named(content: &Value) -> Option<&str> {
    match content["checks"].as_array().map(Vec::as_slice) {
        Some([only]) => only["name"].as_str(),
        _ => content["check"]["name"].as_str().or_else(|| content["check"].as_str()),
    }
}

/// The check that a call was made with, unless it was refused.
fn asked<'a>(call: &'a ToolCall, content: &Value) -> Option<&'a str> {
    let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let is_done = content["status"] == "EXECUTED";
    content.get("error").is_none().then_some(())?;
    match call.name.as_str() {
        "create_check" => argument("name").filter(|_| is_done),
        "update_check" if is_done => argument("name").or_else(|| argument("check")),
        _ => argument("check"),
    }
}

fn call<'a>(before: &'a [Message], id: &str) -> Option<&'a ToolCall> {
    let calls = before.iter().rev().find_map(|message| match message {
        Message::Assistant { tool_calls, .. } => Some(tool_calls),
        Message::User(_) | Message::Tool { .. } => None,
    })?;
    calls.iter().find(|call| call.id == id)
}
