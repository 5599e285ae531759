//! Confirmable actions: a model proposes a row, a person's confirmation claims it, the claim runs it once (actions.md).

pub mod confirm;
pub mod expire;
pub mod http;
pub mod propose;
pub mod store;
pub mod undo;
mod words;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::checks::draft::{Change, Preview};
use crate::checks::effect::Effect;
use crate::clock::Millis;
use crate::ids::{ActionId, CheckId, ConversationId, ConversationRef, UserId};

/// At most this many new actions in one turn.
pub const MAX_PER_TURN: usize = 5;
/// At most this many open actions of one caller.
pub const MAX_OPEN: i64 = 20;

/// Where an action stands. `PENDING → CLAIMED → EXECUTED | FAILED`, `PENDING → REJECTED | EXPIRED | SUPERSEDED`;
/// the last ones never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schema(as = ActionStatus)]
pub enum Status {
    /// Waits for its owner.
    Pending,
    /// Runs; only ever seen inside its transaction.
    Claimed,
    /// Ran.
    Executed,
    /// Was confirmed, and its guards refused.
    Failed,
    /// Its owner said no.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// A newer proposal took its place.
    Superseded,
}

impl Status {
    const ALL: [Self; 7] =
        [Self::Pending, Self::Claimed, Self::Executed, Self::Failed, Self::Rejected, Self::Expired, Self::Superseded];

    /// The word as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Claimed => "CLAIMED",
            Self::Executed => "EXECUTED",
            Self::Failed => "FAILED",
            Self::Rejected => "REJECTED",
            Self::Expired => "EXPIRED",
            Self::Superseded => "SUPERSEDED",
        }
    }
}

impl TryFrom<String> for Status {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let known = Self::ALL.into_iter().find(|status| status.as_str() == text);
        known.ok_or_else(|| format!("pending_actions.status holds {text:?}"))
    }
}

/// How a decision reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The card's button, which sends the digest that it showed.
    Button,
    /// The typed word.
    Typed,
    /// The API.
    Api,
}

impl Via {
    /// The word as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Button => "button",
            Self::Typed => "typed",
            Self::Api => "api",
        }
    }
}

/// What became of a confirmed action: `done`, or the code of the guard that refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Outcome {
    /// `done`, `check_changed`, `check_limit_reached`, `check_not_found` …
    pub code: String,
    /// A server sentence that names what was done, or why not.
    pub message: String,
    /// The check that it was done to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub check_id: Option<CheckId>,
}

/// An action's row.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Action {
    /// Its id.
    pub id: ActionId,
    /// Who may decide.
    pub account_id: UserId,
    /// Where it was proposed.
    pub conversation: ConversationRef,
    /// The same, as the client calls it.
    pub conversation_id: ConversationId,
    /// 1, 2, 3 … within the conversation.
    pub number: i64,
    /// What kind of change.
    pub kind: String,
    /// Exactly what will run.
    #[sqlx(json)]
    pub effect: Effect,
    /// What the person is shown.
    #[sqlx(json)]
    pub preview: Preview,
    /// Of effect and preview; see [`digest`].
    pub digest: String,
    /// Where it stands.
    #[sqlx(try_from = "String")]
    pub status: Status,
    /// When it was proposed.
    pub created_at: Millis,
    /// When it can no longer be decided.
    pub expires_at: Millis,
    /// When it was decided.
    pub decided_at: Option<Millis>,
    /// How.
    pub decided_via: Option<String>,
    /// What became of it.
    #[sqlx(json(nullable))]
    pub outcome: Option<Outcome>,
}

impl Action {
    /// Where it stands at `now`: a row that nobody has tidied yet is expired all the same.
    pub fn status_at(&self, now: Millis) -> Status {
        match self.status {
            Status::Pending if self.expires_at <= now => Status::Expired,
            status => status,
        }
    }

    /// Whether it can still be decided.
    pub fn is_open(&self, now: Millis) -> bool {
        self.status_at(now) == Status::Pending
    }
}

/// SHA-256, in hex, of what will run and what is shown for it. The button sends it back.
pub fn digest(effect: &Effect, preview: &Preview) -> String {
    // Keys come in the order of the types, so equal values have equal texts.
    let canonical = serde_json::json!([effect, preview]).to_string();
    crate::ids::hex(&Sha256::digest(canonical.as_bytes()))
}

/// An action as the API and the stream show it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ActionView {
    id: ActionId,
    number: i64,
    conversation_id: ConversationId,
    kind: String,
    title: String,
    summary: String,
    changes: Vec<Change>,
    warnings: Vec<String>,
    destructive: bool,
    status: Status,
    created_at: Millis,
    expires_at: Millis,
    #[schema(required)]
    decided_at: Option<Millis>,
    #[schema(required)]
    decided_via: Option<String>,
    #[schema(required)]
    outcome: Option<Outcome>,
    digest: String,
}

impl ActionView {
    /// The action as it stands at `now`.
    pub fn new(action: Action, now: Millis) -> Self {
        let status = action.status_at(now);
        Self {
            id: action.id,
            number: action.number,
            conversation_id: action.conversation_id,
            kind: action.kind,
            title: action.preview.title,
            summary: action.preview.summary,
            changes: action.preview.changes,
            warnings: action.preview.warnings,
            destructive: action.preview.destructive,
            status,
            created_at: action.created_at,
            expires_at: action.expires_at,
            decided_at: action.decided_at,
            decided_via: action.decided_via,
            outcome: action.outcome,
            digest: action.digest,
        }
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether it could still be decided then.
    pub fn is_open(&self) -> bool {
        self.status == Status::Pending
    }

    /// What the proposing tool's call is answered with, from the row as it is now.
    pub fn tool_result(&self) -> serde_json::Value {
        let note = match self.status {
            Status::Pending => "Nothing has changed yet. The user must confirm.",
            Status::Claimed => "It is being carried out.",
            Status::Executed => "The user confirmed it and it was done.",
            Status::Failed => "The user confirmed it, but it could not be done. Nothing has changed.",
            Status::Rejected => "The user cancelled it. Nothing has changed.",
            Status::Expired => "Nobody confirmed it in time. Nothing has changed.",
            Status::Superseded => "A newer proposal took its place. Nothing has changed.",
        };
        let note =
            self.outcome.as_ref().map_or_else(|| note.to_owned(), |outcome| format!("{note} {}", outcome.message));
        serde_json::json!({"status": self.status, "number": self.number, "title": self.title, "summary": self.summary,
            "changes": self.changes, "note": note})
    }
}
