//! The offline assistant, asked as the chat asks it: through `ChatModel::open`.

use std::sync::{Arc, LazyLock};

use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::Offline;
use crate::llm::{ChatModel, Delta, Finish, Message, ModelRequest, ToolCall, ToolSpec};

mod alerts;
mod context;
mod edge;
mod inquiries;
mod lookups;
mod phrases;
mod questions;
mod records;
mod results;
mod table;
mod visitors;
mod wordings;
mod zones;

/// A Monday.
const NOW: &str = "2026-07-06T12:00:00.5Z";

const TOOLS: &[&str] = &[
    "list_checks",
    "get_check",
    "get_account",
    "get_uptime",
    "preview_change",
    "preview_schedule",
    "create_check",
    "update_check",
    "pause_check",
    "resume_check",
    "pause_checks",
    "delete_check",
    "rotate_ping_key",
    "undo_action",
];

/// What came out of one answer.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    text: String,
    pieces: usize,
    calls: Vec<ToolCall>,
}

static ASSISTANT: LazyLock<Offline> = LazyLock::new(|| at(NOW));

/// An assistant whose clock stands still.
fn at(now: &str) -> Offline {
    let now: Timestamp = now.parse().unwrap();
    Offline::new(include_str!("../../../prompts/product.md"), Arc::new(move || now))
}

fn ask(messages: Vec<Message>, signed_in: bool) -> Answer {
    ask_in(&ASSISTANT, TimeZone::UTC, messages, signed_in)
}

/// Asks from a zone.
fn ask_in(assistant: &Offline, zone: TimeZone, messages: Vec<Message>, signed_in: bool) -> Answer {
    let tool = |name| ToolSpec { name, description: String::new(), parameters: json!({}) };
    let tools = if signed_in { TOOLS.iter().copied().map(tool).collect() } else { Vec::new() };
    let request = ModelRequest { system: String::new(), messages, tools, zone };
    let stream = assistant.open(&request).now_or_never().unwrap().unwrap();
    let deltas: Vec<Delta> = stream.map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap();
    let (last, before) = deltas.split_last().unwrap();
    assert_eq!(*last, Delta::Finished(Finish::Complete));
    let mut answer = Answer::default();
    for delta in before {
        match delta {
            Delta::Text(piece) => {
                answer.text.push_str(piece);
                answer.pieces += 1;
            }
            Delta::ToolCall(call) => answer.calls.push(call.clone()),
            other => panic!("unexpected {other:?}"),
        }
    }
    assert!(answer.text.is_empty() != answer.calls.is_empty(), "either text or calls: {answer:?}");
    answer
}

/// Asks as a signed-in user.
fn user(text: &str) -> Answer {
    ask(vec![Message::User(text.to_owned())], true)
}

/// The calls that a phrase becomes: each tool with its arguments.
fn calls(text: &str) -> Value {
    user(text).calls.into_iter().map(|call| json!([call.name, call.arguments])).collect()
}

/// That each phrase becomes one call of that tool with those arguments.
#[track_caller]
fn check(table: &[(&str, &str, Value)]) {
    for (phrase, tool, arguments) in table {
        assert_eq!(calls(phrase), json!([[tool, arguments]]), "{phrase}");
    }
}

/// A whole answer: each round's calls, all of them answered by `respond`, and the text after the last.
fn talk(text: &str, respond: impl Fn(&ToolCall) -> Value) -> (Vec<Value>, String) {
    let mut messages = vec![Message::User(text.to_owned())];
    let mut rounds = Vec::new();
    loop {
        let answer = ask(messages.clone(), true);
        if answer.calls.is_empty() {
            return (rounds, answer.text);
        }
        rounds.push(answer.calls.iter().map(|call| json!([call.name, call.arguments])).collect());
        messages.push(Message::Assistant { text: String::new(), tool_calls: answer.calls.clone() });
        messages.extend(answer.calls.iter().map(|call| Message::Tool {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: respond(call),
        }));
        assert!(rounds.len() < 6, "{text}: a turn has six calls of the model: {rounds:?}");
    }
}

/// The text for a signed-in user without checks; fails if tools were called, other than to look whether the question
/// names a check.
fn said(text: &str) -> String {
    let answer = user(text);
    if answer.calls.iter().any(|call| call.name == "list_checks" && call.arguments.is_empty()) {
        return told(text, &[json!({"checks": [], "used": 0, "limit": 20})]);
    }
    assert!(answer.calls.is_empty(), "{text}: {:?}", answer.calls);
    answer.text
}

/// Asks, lets every call be answered with the next of `results`, and gives the final text.
fn told(text: &str, results: &[Value]) -> String {
    let first = user(text);
    assert_eq!(first.calls.len(), results.len(), "{text}: {first:?}");
    let mut messages = vec![
        Message::User(text.to_owned()),
        Message::Assistant { text: String::new(), tool_calls: first.calls.clone() },
    ];
    for (call, result) in first.calls.iter().zip(results) {
        messages.push(Message::Tool { call_id: call.id.clone(), name: call.name.clone(), content: result.clone() });
    }
    let answer = ask(messages, true);
    assert!(answer.calls.is_empty(), "{text}: {answer:?}");
    answer.text
}
