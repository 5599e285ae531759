//! What the model is sent of a conversation: the newest messages within a budget, tool results as the rows are now.

use serde_json::{Value, json};

use super::store::{Message as Row, Status};
use super::transcript::{Part, ToolResult, Transcript};
use crate::llm::{Message, ToolCall};

/// Characters of history that one request carries at most.
pub const BUDGET: usize = 24_000;

/// The newest of `rows` (oldest first) that fit the budget; always the last one. Each row goes in whole or not at
/// all, so a tool call is never separated from its result. Begins with a user's message, and an answer ends in words:
/// the templates of some models refuse anything else, and would refuse it for ever.
pub fn messages(rows: Vec<Row>, cards: &Transcript) -> Vec<Message> {
    let mut chosen: Vec<Vec<Message>> = Vec::new();
    let mut spent = 0;
    for row in rows.into_iter().rev() {
        let messages = match row.role.as_str() {
            "user" => vec![Message::User(row.text())],
            _ if row.status == Status::Streaming => continue,
            _ => past_answer(&row.parts, cards),
        };
        spent += messages.iter().map(size).sum::<usize>();
        if spent > BUDGET && !chosen.is_empty() {
            break;
        }
        chosen.push(messages);
    }
    let messages = chosen.into_iter().rev().flatten();
    messages.skip_while(|message| !matches!(message, Message::User(_))).collect()
}

/// An answer of the past. One that ended with a tool's result gets words of ours to end with: how its proposals stand.
fn past_answer(parts: &[Part], cards: &Transcript) -> Vec<Message> {
    let mut messages = answer(parts, cards);
    if let Some(Message::Tool { .. }) = messages.last() {
        let proposed = parts.iter().filter_map(|part| match part {
            Part::Tool { result: Some(ToolResult::Proposed(id) | ToolResult::Awaiting(id)), .. } => {
                cards.actions.get(id)
            }
            Part::Tool { .. } | Part::Step | Part::Text { .. } | Part::Reasoning { .. } | Part::Action { .. } => None,
        });
        let told = proposed.map(|action| action.said().unwrap_or_else(|| action.standing()));
        let told = told.collect::<Vec<_>>().join(" ");
        let text = if told.is_empty() { "The answer broke off here.".to_owned() } else { told };
        messages.push(Message::Assistant { text, tool_calls: Vec::new() });
    }
    messages
}

/// An answer's parts as the model sees them: for each step its words and calls, then the results.
pub fn answer(parts: &[Part], cards: &Transcript) -> Vec<Message> {
    let mut messages = Vec::new();
    for step in parts.split(|part| matches!(part, Part::Step)) {
        let mut said = Vec::new();
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for part in step {
            match part {
                Part::Text { text } => said.push(text.as_str()),
                Part::Tool { call_id, name, input, result } => {
                    calls.push(ToolCall { id: call_id.clone(), name: name.clone(), arguments: input.clone() });
                    let content = content(result.as_ref(), cards);
                    results.push(Message::Tool { call_id: call_id.clone(), name: name.clone(), content });
                }
                // Reasoning is not sent back; a card is what its tool result says.
                Part::Step | Part::Reasoning { .. } | Part::Action { .. } => {}
            }
        }
        if !said.is_empty() || !calls.is_empty() {
            messages.push(Message::Assistant { text: said.join("\n"), tool_calls: calls });
            messages.extend(results);
        }
    }
    messages
}

fn content(result: Option<&ToolResult>, cards: &Transcript) -> Value {
    match result {
        None => json!({"error": {"code": "interrupted", "message": "The answer broke off before this was done."}}),
        Some(ToolResult::Error(message)) => json!({"error": {"code": "refused", "message": message}}),
        Some(ToolResult::Output(output)) => output.clone(),
        Some(ToolResult::Proposed(id) | ToolResult::Awaiting(id)) => cards.proposal(id),
    }
}

fn size(message: &Message) -> usize {
    match message {
        Message::User(text) => text.chars().count(),
        Message::Assistant { text, tool_calls } => {
            text.chars().count()
                + tool_calls
                    .iter()
                    .map(|call| call.name.len() + json!(call.arguments).to_string().chars().count())
                    .sum::<usize>()
        }
        Message::Tool { content, .. } => content.to_string().chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::ids::MessageId;

    fn row(n: usize, role: &str, parts: Vec<Part>) -> Row {
        Row {
            id: MessageId(n.to_string()),
            role: role.to_owned(),
            status: Status::Complete,
            parts,
            reply_to: None,
            lease_until: None,
            has_reader: false,
            created_at: Millis(0),
        }
    }

    fn text(words: &str) -> Vec<Part> {
        vec![Part::Text { text: words.to_owned() }]
    }

    #[test]
    fn the_newest_fit_and_the_last_always_goes() {
        let long = "x".repeat(10_000);
        let asked = |n| [row(n, "user", text(&long)), row(n, "assistant", text("ok"))];
        let rows = (0..5).flat_map(asked).collect();
        assert_eq!(messages(rows, &Transcript::default()).len(), 4);
        let huge = vec![row(0, "user", text("old")), row(1, "user", text(&"x".repeat(BUDGET * 2)))];
        assert_eq!(messages(huge, &Transcript::default()).len(), 1);
    }

    #[test]
    fn it_begins_with_a_user() {
        let thought = vec![Part::Step, Part::Reasoning { text: "hm".to_owned() }];
        let cut = "x".repeat(BUDGET - 100);
        let rows = vec![
            row(0, "user", text(&"x".repeat(200))),
            row(1, "assistant", text(&cut)),
            row(2, "user", text("stopped while you thought")),
            row(3, "assistant", thought),
            row(4, "user", text("again")),
        ];
        let sent = messages(rows, &Transcript::default());
        let [Message::User(first), Message::User(second)] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!((first.as_str(), second.as_str()), ("stopped while you thought", "again"));
    }

    #[test]
    fn a_call_is_never_without_its_result() {
        let call = Part::Tool {
            call_id: "c".to_owned(),
            name: "list_checks".to_owned(),
            input: serde_json::Map::new(),
            result: None,
        };
        let mut parts = vec![Part::Step];
        parts.extend(text("Looking."));
        parts.push(call);
        parts.push(Part::Step);
        parts.extend(text("Done."));
        let sent = messages(vec![row(0, "user", text("list")), row(1, "assistant", parts)], &Transcript::default());
        let [
            Message::User(_),
            Message::Assistant { tool_calls, .. },
            Message::Tool { call_id, content, .. },
            Message::Assistant { text, .. },
        ] = sent.as_slice()
        else {
            panic!("{sent:?}")
        };
        assert_eq!((tool_calls[0].id.as_str(), call_id.as_str(), text.as_str()), ("c", "c", "Done."));
        assert_eq!(content["error"]["code"], "interrupted");
    }

    #[test]
    fn an_answer_that_ended_with_a_tool_gets_words_to_end_with() {
        let call = Part::Tool {
            call_id: "c".to_owned(),
            name: "list_checks".to_owned(),
            input: serde_json::Map::new(),
            result: Some(ToolResult::Output(json!({}))),
        };
        let rows =
            vec![row(0, "user", text("list")), row(1, "assistant", vec![Part::Step, call]), row(2, "user", text("?"))];
        let sent = messages(rows, &Transcript::default());
        let [.., Message::Tool { .. }, Message::Assistant { text, .. }, Message::User(_)] = sent.as_slice() else {
            panic!("{sent:?}")
        };
        assert_eq!(text, "The answer broke off here.");
    }
}
