//! A proposal as clients with approvals of their own see it: a tool call that awaits one, and what it came to. All of
//! it is rendered from the action's row, so that a stream, a replay and the history tell the same.

use serde_json::{Value, json};

use super::transcript::{Part, ToolResult, Transcript};
use crate::actions::{ActionView, Status};
use crate::ids::ActionId;

/// What became of a call that awaited its approval.
enum Outcome {
    Open,
    Done(Value),
    Denied,
    /// It can no longer be done, or could not; a sentence.
    Failed(String),
}

fn outcome(action: Option<&ActionView>) -> Outcome {
    let Some(action) = action else { return Outcome::Failed("There is no such action any more.".to_owned()) };
    match action.status() {
        Status::Pending | Status::Claimed => Outcome::Open,
        Status::Executed => Outcome::Done(action.tool_result()),
        Status::Rejected => Outcome::Denied,
        Status::Failed | Status::Expired | Status::Superseded => {
            Outcome::Failed(action.said().unwrap_or_else(|| action.standing()))
        }
    }
}

/// The chunk that asks for the approval.
pub(super) fn request_chunk(call_id: &str, id: &ActionId) -> Value {
    json!({"type": "tool-approval-request", "approvalId": id, "toolCallId": call_id})
}

/// The chunk that answers the call; none while the action is open.
pub(super) fn outcome_chunk(call_id: &str, action: Option<&ActionView>) -> Option<Value> {
    match outcome(action) {
        Outcome::Open => None,
        Outcome::Done(output) => {
            Some(json!({"type": "tool-output-available", "toolCallId": call_id, "output": output}))
        }
        Outcome::Denied => Some(json!({"type": "tool-output-denied", "toolCallId": call_id})),
        Outcome::Failed(error) => Some(json!({"type": "tool-output-error", "toolCallId": call_id, "errorText": error})),
    }
}

/// The chunks of the sentence about a decided action.
pub(super) fn sentence_chunks(id: &ActionId, action: &ActionView) -> Vec<Value> {
    let Some(sentence) = action.said() else { return Vec::new() };
    let span = format!("text-{id}");
    vec![
        json!({"type": "text-start", "id": span}),
        json!({"type": "text-delta", "id": span, "delta": sentence}),
        json!({"type": "text-end", "id": span}),
    ]
}

/// Completes the part of a UI message.
pub(super) fn describe(part: &mut Value, id: &ActionId, action: Option<&ActionView>) {
    let was_confirmed = action.is_some_and(|action| matches!(action.status(), Status::Executed | Status::Failed));
    let approval = match outcome(action) {
        Outcome::Open => {
            part["state"] = "approval-requested".into();
            Some(json!({"id": id}))
        }
        Outcome::Done(output) => {
            part["state"] = "output-available".into();
            part["output"] = output;
            Some(json!({"id": id, "approved": true}))
        }
        Outcome::Denied => {
            part["state"] = "output-denied".into();
            Some(json!({"id": id, "approved": false}))
        }
        Outcome::Failed(error) => {
            part["state"] = "output-error".into();
            part["errorText"] = error.into();
            // Clients know an approval of a failed call only if it was given.
            was_confirmed.then(|| json!({"id": id, "approved": true}))
        }
    };
    if let Some(approval) = approval {
        part["approval"] = approval;
    }
}

impl Transcript {
    /// The calls that await an approval, or did: their ids and their actions'.
    pub fn awaiting(&self) -> impl Iterator<Item = (&str, &ActionId)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Tool { call_id, result: Some(ToolResult::Awaiting(id)), .. } => Some((call_id.as_str(), id)),
            Part::Tool { .. } | Part::Step | Part::Text { .. } | Part::Reasoning { .. } | Part::Action { .. } => None,
        })
    }

    /// A model call begins. A stock client sends its approvals of the last step alone, so what follows a call that
    /// awaits one stands in the same step.
    pub(super) fn begin_step(&mut self) {
        if self.awaiting().next().is_none() {
            self.parts.push(Part::Step);
        }
    }

    /// Whether there are such calls and no others in the last step.
    pub(super) fn only_awaits(&self) -> bool {
        let step = self.parts.rsplit(|part| matches!(part, Part::Step)).next().unwrap_or_default();
        let mut calls = step.iter().filter_map(|part| match part {
            Part::Tool { result, .. } => Some(matches!(result, Some(ToolResult::Awaiting(_)))),
            Part::Step | Part::Text { .. } | Part::Reasoning { .. } | Part::Action { .. } => None,
        });
        calls.next().is_some_and(|first| first && calls.all(|awaits| awaits))
    }

    /// What their decisions came to, in sentences.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = (&ActionId, &ActionView)> {
        self.awaiting().filter_map(|(_, id)| Some((id, self.actions.get(id)?)))
    }
}
