//! What a model is to us: a trait that opens a stream of deltas, and the words for how it can fail.

pub mod chunks;
pub mod failure;
pub mod nesting;
pub mod offline;
pub mod openai;
pub mod reading;
pub mod retry;
pub mod sse;
pub mod tool_calls;

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Output tokens that one model call may produce at most.
pub const MAX_OUTPUT_TOKENS: u32 = 1_024;

/// How long we wait for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, each time one is tried.
    pub connect: Duration,
    /// For the first delta, over all tries and the waits between them: what a person waits before an answer or a
    /// failure shows.
    pub first: Duration,
    /// Between two pieces of the body after the first delta.
    pub idle: Duration,
    /// For a whole turn with all its calls; the turn itself keeps it.
    pub turn: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            turn: Duration::from_mins(3),
        }
    }
}

/// One call to a model: everything it may know and do.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The system prompt. Never holds anything that a user or a ping wrote.
    pub system: String,
    /// The conversation, oldest first; a tool call is always followed by its result.
    pub messages: Vec<Message>,
    /// The tools on offer; empty for anonymous callers.
    pub tools: Vec<ToolSpec>,
    /// The zone of the person's clock; UTC if it is not known. The system prompt says so too, in words.
    pub zone: TimeZone,
}

/// One entry of the conversation as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the person wrote.
    User(String),
    /// What the model said and called.
    Assistant {
        /// Its text, possibly empty.
        text: String,
        /// Its calls, in order.
        tool_calls: Vec<ToolCall>,
    },
    /// The answer to one call.
    Tool {
        /// The call that this answers.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The result as JSON.
        content: Value,
    },
}

/// A tool as offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Unique name.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, closed.
    pub parameters: Value,
}

/// A complete call that may be acted on.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id, unique within the answer.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments: one complete JSON object.
    pub arguments: serde_json::Map<String, Value>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// More answer text.
    Text(String),
    /// More reasoning text.
    Reasoning(String),
    /// A call has begun; its arguments are still arriving.
    ToolCallBegun {
        /// The tool's name.
        name: String,
    },
    /// A call that is whole and may be acted on. Comes only after everything else was read.
    ToolCall(ToolCall),
    /// A call that was seen and must not be acted on: its arguments are not one JSON object, or the answer was cut.
    RejectedToolCall {
        /// The tool's name.
        name: String,
    },
    /// Tokens used so far; a later one replaces an earlier one.
    Usage(Usage),
    /// The answer is over; the last delta of every stream that did not fail.
    Finished(Finish),
}

/// Tokens that a call used, as far as the provider told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: Option<u64>,
    /// Tokens written.
    pub completion_tokens: Option<u64>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model had said all.
    Complete,
    /// The output limit cut it.
    Length,
    /// The provider's filter cut it.
    Filter,
}

/// How a model call failed. Carries no text of the provider's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ModelError {
    /// What kind of failure.
    pub kind: ModelErrorKind,
    /// The HTTP status, when there was an answer; for an error inside a 200, the status that the error names.
    pub status: Option<u16>,
    /// `Retry-After` of the answer.
    pub retry_after: Option<Duration>,
    /// A short reason in our own words, for the log.
    pub reason: String,
}

/// Kinds of failure, as far as anybody acts differently on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No connection, or it broke.
    Unreachable,
    /// The provider refused the key (401, 403).
    KeyRefused,
    /// Too many requests (429) that may pass later.
    RateLimited,
    /// The provider refused the request for good (other 4xx, used-up quota).
    Refused,
    /// The provider failed (5xx, or an error in the body).
    Failed,
    /// Nothing came in time.
    Timeout,
    /// The answer is not what a chat completion looks like, or ended without an end.
    Malformed,
}

/// The deltas of one answer. Ends after `Finished` or after the first error.
pub type DeltaStream = BoxStream<'static, Result<Delta, ModelError>>;

/// Something that answers. `open` returns only when the first delta, or the failure, is known.
pub trait ChatModel: Send + Sync {
    /// Asks the model. Dropping the stream cancels the request.
    fn open<'a>(&'a self, request: &'a ModelRequest) -> BoxFuture<'a, Result<DeltaStream, ModelError>>;
    /// The model's name, as shown to people.
    fn name(&self) -> &str;
    /// Whether this is the built-in assistant.
    fn is_offline(&self) -> bool {
        false
    }
}
