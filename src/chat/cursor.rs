//! A reader's place in an answer: the stream's chunks, from the first one on and as they come.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::awaiting::{outcome_chunk, request_chunk, sentence_chunks};
use super::transcript::{Ending, FAILURE, Part, ToolResult, Transcript};
use crate::actions::Status;
use crate::ids::ActionId;

/// A reader's place in a transcript: what it has been sent.
#[derive(Debug, Default)]
pub struct Cursor {
    started: bool,
    /// The part at which the reader is.
    index: usize,
    /// What it has seen of that part.
    seen: Seen,
    in_step: bool,
    /// The cards that were sent, as they stood then.
    shown: BTreeMap<ActionId, Status>,
    /// The calls that were sent while they awaited their approval.
    open: Vec<(String, ActionId)>,
    ended: bool,
}

/// How much of one part was sent.
#[derive(Debug, Default, PartialEq)]
enum Seen {
    #[default]
    Nothing,
    /// Its beginning, and this many bytes of its text.
    Begun(usize),
}

impl Cursor {
    /// Whether everything was sent.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The chunks that are new since the last call. Text that came in many pieces since goes out in one, so a slow
    /// reader gets fewer and larger chunks and costs no memory.
    pub fn advance(&mut self, transcript: &Transcript) -> Vec<Value> {
        let mut chunks = Vec::new();
        if self.ended {
            return chunks;
        }
        if !self.started {
            self.started = true;
            chunks.push(json!({"type": "start", "messageId": transcript.message_id}));
        }
        while let Some(part) = transcript.parts.get(self.index) {
            // Only the last part of an unfinished answer can still grow.
            let is_whole = self.index + 1 < transcript.parts.len() || transcript.ending.is_some();
            if !self.send(part, is_whole, transcript, &mut chunks) {
                return chunks;
            }
            self.index += 1;
            self.seen = Seen::Nothing;
        }
        if let Some(ending) = transcript.ending {
            self.ended = true;
            self.send_changes(transcript, &mut chunks);
            chunks.extend(transcript.verdicts().flat_map(|(id, action)| sentence_chunks(id, action)));
            if std::mem::take(&mut self.in_step) {
                chunks.push(json!({"type": "finish-step"}));
            }
            chunks.push(match ending {
                Ending::Complete => json!({"type": "finish"}),
                Ending::Interrupted => json!({"type": "abort"}),
                Ending::Failed => json!({"type": "error", "errorText": FAILURE}),
            });
        }
        chunks
    }

    /// Sends what is new of `part`; `false` if the reader must wait there.
    fn send(&mut self, part: &Part, is_whole: bool, transcript: &Transcript, chunks: &mut Vec<Value>) -> bool {
        match part {
            Part::Step => {
                if std::mem::replace(&mut self.in_step, true) {
                    chunks.push(json!({"type": "finish-step"}));
                }
                chunks.push(json!({"type": "start-step"}));
                true
            }
            Part::Text { text } => self.send_span("text", text, is_whole, chunks),
            Part::Reasoning { text } => self.send_span("reasoning", text, is_whole, chunks),
            Part::Tool { call_id, name, input, result } => {
                if self.seen == Seen::Nothing {
                    self.seen = Seen::Begun(0);
                    chunks.push(json!({"type": "tool-input-start", "toolCallId": call_id, "toolName": name}));
                    chunks.push(json!({"type": "tool-input-available", "toolCallId": call_id, "toolName": name,
                        "input": input}));
                }
                match result {
                    // An answer that broke off leaves the call without an output; `abort` or `error` follows.
                    None => return transcript.ending.is_some(),
                    Some(ToolResult::Error(error)) => {
                        chunks.push(json!({"type": "tool-output-error", "toolCallId": call_id, "errorText": error}));
                    }
                    Some(ToolResult::Output(output)) => {
                        chunks.push(json!({"type": "tool-output-available", "toolCallId": call_id, "output": output}));
                    }
                    Some(ToolResult::Proposed(id)) => {
                        chunks.push(json!({"type": "tool-output-available", "toolCallId": call_id,
                            "output": transcript.proposal(id)}));
                    }
                    Some(ToolResult::Awaiting(id)) => {
                        chunks.push(request_chunk(call_id, id));
                        match outcome_chunk(call_id, transcript.actions.get(id)) {
                            Some(outcome) => chunks.push(outcome),
                            None => self.open.push((call_id.clone(), id.clone())),
                        }
                    }
                }
                true
            }
            Part::Action { id } => {
                if let Some(action) = transcript.actions.get(id) {
                    self.shown.insert(id.clone(), action.status());
                    chunks.push(json!({"type": "data-action", "id": id, "data": action}));
                }
                true
            }
        }
    }

    /// What became of cards and calls since they were sent: a proposal may take the place of another in one answer.
    fn send_changes(&mut self, transcript: &Transcript, chunks: &mut Vec<Value>) {
        for (call_id, id) in self.open.drain(..) {
            chunks.extend(outcome_chunk(&call_id, transcript.actions.get(&id)));
        }
        for (id, status) in &self.shown {
            if let Some(action) = transcript.actions.get(id).filter(|action| action.status() != *status) {
                chunks.push(json!({"type": "data-action", "id": id, "data": action}));
            }
        }
    }

    fn send_span(&mut self, kind: &str, text: &str, is_whole: bool, chunks: &mut Vec<Value>) -> bool {
        let id = format!("{kind}-{}", self.index);
        let sent = match self.seen {
            Seen::Nothing => {
                chunks.push(json!({"type": format!("{kind}-start"), "id": id}));
                0
            }
            Seen::Begun(sent) => sent,
        };
        if let Some(new) = text.get(sent..).filter(|new| !new.is_empty()) {
            chunks.push(json!({"type": format!("{kind}-delta"), "id": id, "delta": new}));
        }
        self.seen = Seen::Begun(text.len().max(sent));
        if is_whole {
            chunks.push(json!({"type": format!("{kind}-end"), "id": id}));
        }
        is_whole
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::ids::MessageId;

    fn kinds(chunks: &[Value]) -> Vec<String> {
        chunks.iter().map(|chunk| chunk["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn answer() -> Transcript {
        let mut transcript = Transcript { message_id: Some(MessageId("m".to_owned())), ..Transcript::default() };
        transcript.parts.push(Part::Step);
        transcript.push_reasoning("hm");
        transcript.push_text("Let me ");
        transcript.push_text("look.");
        let result = Some(ToolResult::Output(json!({"checks": []})));
        transcript.parts.push(Part::Tool {
            call_id: "c".to_owned(),
            name: "list_checks".to_owned(),
            input: Map::new(),
            result,
        });
        transcript.parts.push(Part::Step);
        transcript.push_text("None.");
        transcript.ending = Some(Ending::Complete);
        transcript
    }

    #[test]
    fn a_stored_answer_is_replayed_whole_and_in_order() {
        let mut cursor = Cursor::default();
        let chunks = cursor.advance(&answer());
        assert_eq!(
            kinds(&chunks),
            [
                "start",
                "start-step",
                "reasoning-start",
                "reasoning-delta",
                "reasoning-end",
                "text-start",
                "text-delta",
                "text-end",
                "tool-input-start",
                "tool-input-available",
                "tool-output-available",
                "finish-step",
                "start-step",
                "text-start",
                "text-delta",
                "text-end",
                "finish-step",
                "finish"
            ]
        );
        assert!(cursor.is_ended() && cursor.advance(&answer()).is_empty());
    }

    #[test]
    fn a_reader_that_looks_after_every_step_gets_the_same_words() {
        let whole = answer();
        let mut growing = Transcript { message_id: whole.message_id.clone(), ..Transcript::default() };
        let mut cursor = Cursor::default();
        let mut chunks = cursor.advance(&growing);
        for part in &whole.parts {
            match part {
                Part::Text { text } => {
                    for letter in text.chars() {
                        growing.push_text(&letter.to_string());
                        chunks.extend(cursor.advance(&growing));
                    }
                }
                Part::Tool { call_id, name, input, result } => {
                    let (call_id, name, input) = (call_id.clone(), name.clone(), input.clone());
                    growing.parts.push(Part::Tool { call_id, name, input, result: None });
                    chunks.extend(cursor.advance(&growing));
                    if let Some(Part::Tool { result: slot, .. }) = growing.parts.last_mut() {
                        slot.clone_from(result);
                    }
                    chunks.extend(cursor.advance(&growing));
                }
                other => growing.parts.push(other.clone()),
            }
            chunks.extend(cursor.advance(&growing));
        }
        growing.ending = Some(Ending::Interrupted);
        chunks.extend(cursor.advance(&growing));
        let words: String =
            chunks.iter().filter(|c| c["type"] == "text-delta").filter_map(|c| c["delta"].as_str()).collect();
        assert_eq!(words, "Let me look.None.");
        let mut once = kinds(&chunks);
        once.dedup();
        let expected: Vec<String> = kinds(&Cursor::default().advance(&whole));
        assert_eq!(once[..once.len() - 1], expected[..expected.len() - 1]);
        assert_eq!(once.last().map(String::as_str), Some("abort"));
    }

    #[test]
    fn text_is_closed_before_an_error_ends_the_stream() {
        let mut transcript = answer();
        transcript.parts.truncate(2);
        transcript.push_text("half");
        transcript.ending = Some(Ending::Failed);
        let kinds = kinds(&Cursor::default().advance(&transcript));
        assert_eq!(kinds[kinds.len() - 3..], ["text-end", "finish-step", "error"]);
    }
}
