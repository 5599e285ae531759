//! An answer as it grows, in one form for a running turn, a stored one and one that another instance runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::awaiting;
use crate::actions::ActionView;
use crate::ids::{ActionId, MessageId};
use crate::llm::Usage;

/// One part of an answer, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// A model call begins.
    Step,
    /// What the model said.
    Text {
        /// The words so far.
        text: String,
    },
    /// What the model thought, where the provider tells.
    Reasoning {
        /// The words so far.
        text: String,
    },
    /// A tool call and its result.
    Tool {
        /// Our own id, unique in the conversation.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Map<String, Value>,
        /// `None` while it runs.
        result: Option<ToolResult>,
    },
    /// An action's card.
    Action {
        /// Which one; its state is read when it is shown.
        id: ActionId,
    },
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResult {
    /// Data, for the model and the stream.
    Output(Value),
    /// It refused; a sentence.
    Error(String),
    /// It proposed this action. What the model reads is rendered from the row as it is then.
    Proposed(ActionId),
    /// The same, for a client with approvals of its own: the call awaits one whose id is the action's.
    Awaiting(ActionId),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All was said.
    Complete,
    /// Stopped by its reader, its reader's absence, a restart or a crash.
    Interrupted,
    /// The provider or we failed on the way.
    Failed,
}

/// What a reader of a failed answer is told; never a cause.
pub const FAILURE: &str = "The answer broke off because of a problem on our side. What was said so far is kept.";

/// An answer so far.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    /// Its id.
    pub message_id: Option<MessageId>,
    /// Its parts.
    pub parts: Vec<Part>,
    /// The actions that its parts name, as they are shown.
    pub actions: BTreeMap<ActionId, ActionView>,
    /// Set when it is over.
    pub ending: Option<Ending>,
    /// Tokens used, as far as told.
    pub usage: Usage,
}

impl Transcript {
    /// Appends answer text.
    pub fn push_text(&mut self, more: &str) {
        let more = without_nul(more);
        match self.parts.last_mut() {
            _ if more.is_empty() => {}
            Some(Part::Text { text }) => text.push_str(&more),
            _ => self.parts.push(Part::Text { text: more.into_owned() }),
        }
    }

    /// Appends reasoning text.
    pub fn push_reasoning(&mut self, more: &str) {
        let more = without_nul(more);
        match self.parts.last_mut() {
            _ if more.is_empty() => {}
            Some(Part::Reasoning { text }) => text.push_str(&more),
            _ => self.parts.push(Part::Reasoning { text: more.into_owned() }),
        }
    }

    /// Appends a tool call that now runs.
    pub fn push_call(&mut self, call_id: String, name: String, input: Map<String, Value>) {
        let mut cleaned = Value::Object(input);
        strip_nul(&mut cleaned);
        let input = if let Value::Object(input) = cleaned { input } else { Map::new() };
        self.parts.push(Part::Tool { call_id, name, input, result: None });
    }

    /// Sets the result of the last call.
    pub fn answer_call(&mut self, mut answer: ToolResult) {
        match &mut answer {
            ToolResult::Output(output) => strip_nul(output),
            ToolResult::Error(error) => *error = without_nul(error).into_owned(),
            ToolResult::Proposed(_) | ToolResult::Awaiting(_) => {}
        }
        if let Some(Part::Tool { result, .. }) = self.parts.last_mut() {
            *result = Some(answer);
        }
    }

    /// Whether it holds anything for its reader: words or a card.
    pub fn says_anything(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Text { .. } | Part::Action { .. }))
    }

    /// The cards as they stand now, of the actions that it knows.
    pub fn refresh(&mut self, cards: &BTreeMap<ActionId, ActionView>) {
        for (id, action) in &mut self.actions {
            if let Some(now) = cards.get(id) {
                action.clone_from(now);
            }
        }
    }

    /// As much of `text` as fits in with the rest, if there may be `limit` bytes of text and reasoning.
    pub fn fitting<'a>(&self, text: &'a str, limit: usize) -> &'a str {
        &text[..text.floor_char_boundary(limit.saturating_sub(self.text_len()))]
    }

    /// Whether not every character would fit in any more.
    pub fn is_full(&self, limit: usize) -> bool {
        self.text_len() + char::MAX.len_utf8() > limit
    }

    /// Bytes of text and reasoning.
    fn text_len(&self) -> usize {
        let length = |part: &Part| match part {
            Part::Text { text } | Part::Reasoning { text } => text.len(),
            Part::Step | Part::Tool { .. } | Part::Action { .. } => 0,
        };
        self.parts.iter().map(length).sum()
    }

    /// The parts of a UI message, for history.
    pub fn ui_parts(&self) -> Vec<Value> {
        let said = self.verdicts().filter_map(|(_, action)| action.said());
        let said = said.map(|sentence| json!({"type": "text", "text": sentence, "state": "done"}));
        self.parts.iter().filter_map(|part| self.ui_part(part)).chain(said).collect()
    }

    fn ui_part(&self, part: &Part) -> Option<Value> {
        Some(match part {
            Part::Step => json!({"type": "step-start"}),
            Part::Text { text } => json!({"type": "text", "text": text, "state": "done"}),
            Part::Reasoning { text } => json!({"type": "reasoning", "text": text, "state": "done"}),
            Part::Tool { call_id, name, input, result } => {
                let mut part = json!({"type": format!("tool-{name}"), "toolCallId": call_id, "input": input});
                let (state, key, value) = match result {
                    Some(ToolResult::Awaiting(id)) => {
                        awaiting::describe(&mut part, id, self.actions.get(id));
                        return Some(part);
                    }
                    None => ("output-error", "errorText", "The answer broke off before this was done.".into()),
                    Some(ToolResult::Error(error)) => ("output-error", "errorText", error.as_str().into()),
                    Some(ToolResult::Output(output)) => ("output-available", "output", output.clone()),
                    Some(ToolResult::Proposed(id)) => ("output-available", "output", self.proposal(id)),
                };
                part["state"] = state.into();
                part[key] = value;
                part
            }
            Part::Action { id } => json!({"type": "data-action", "id": id, "data": self.actions.get(id)?}),
        })
    }

    /// What a proposing tool answers, from the row as it is now.
    pub fn proposal(&self, id: &ActionId) -> Value {
        self.actions.get(id).map_or_else(|| json!({"status": "DELETED"}), ActionView::tool_result)
    }
}

/// PostgreSQL's JSON holds no NUL, and nobody can see one: models and ping bodies may send it all the same.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

fn strip_nul(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = without_nul(text) {
                *text = clean;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(strip_nul),
        Value::Object(members) => {
            if members.keys().any(|key| key.contains('\0')) {
                members.retain(|key, _| !key.contains('\0'));
            }
            members.values_mut().for_each(strip_nul);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
