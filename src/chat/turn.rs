//! A turn: the model's calls and tools until the answer is whole. A tracked task that owns persistence; readers come
//! and go without its notice.

use std::pin::Pin;

use futures::StreamExt;
use rand::RngExt;
use rand::distr::Alphanumeric;
use serde_json::Value;
use tokio::time::sleep;

use super::keep::{checkpoint, finish, keep, undo};
use super::live::{Entered, LiveTurn, Opening};
use super::store::running::replace_answers;
use super::stored::find_cards;
use super::tools::{Executed, Toolbox, holds_foreign_text};
use super::transcript::{Ending, Part, ToolResult, Transcript};
use super::{Chat, history, request};
use crate::actions::ActionView;
use crate::checks::schedule::Zone;
use crate::http::Caller;
use crate::ids::{ConversationId, ConversationRef, MessageId};
use crate::limits::Receipt;
use crate::llm::{Delta, DeltaStream, ModelError, ModelErrorKind, ToolCall, Usage};
use crate::telemetry;

/// Model calls in one turn.
const MAX_CALLS: usize = 6;
/// Tool calls in one turn.
const MAX_TOOLS: usize = 8;
/// One answer's text in bytes; then it ends as if the model had reached its own limit.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Arguments nested deeper than this are not acted on.
const MAX_DEPTH: usize = 16;
/// What is said for a model that said nothing: a thinking one may have spent all that it may say on its thoughts.
const NO_ANSWER: &str = "The model gave no answer. Please ask again, or ask for less at a time.";
/// What a turn that reached a bound says last.
const CLOSING: &str = "I stop here: one message may only take so many steps. Ask again to go on.";

/// A turn that the database has let begin.
pub struct Job {
    /// Who asks.
    pub caller: Caller,
    /// Where.
    pub conversation: ConversationRef,
    /// The same, as the client calls it.
    pub conversation_id: ConversationId,
    /// The user message, if this turn stored it; a regenerated answer's question was there before.
    pub new_question: Option<MessageId>,
    /// Whether the client has approvals of its own.
    pub native_approvals: bool,
    /// The zone of the person's clock, if it is known.
    pub timezone: Option<Zone>,
    /// What it was charged.
    pub receipt: Receipt,
}

/// Why the model's part of a turn ended.
enum End {
    Over(Ending),
    /// The provider gave nothing at all.
    Refused(ModelErrorKind),
    /// The database failed before the provider was asked.
    Unavailable,
}

/// Runs a turn to its end and persists it.
pub(super) async fn run(chat: Chat, job: Job, entered: Entered) {
    let live = entered.turn.clone();
    let halt = async {
        tokio::select! {
            () = live.stop.cancelled() => Ending::Interrupted,
            () = keep(&chat, &job, &live) => Ending::Interrupted,
            () = sleep(chat.config.model_timeouts.turn) => {
                tracing::warn!("a turn took too long");
                Ending::Failed
            }
        }
    };
    let end = {
        // Gone before the end is stored: what it had begun would hold SQLite's one writer.
        tokio::pin!(halt);
        converse(&chat, &job, &live, halt).await
    };
    match end {
        End::Over(ending) => {
            live.set_opening(Opening::Open);
            finish(&chat, &job, &live, ending).await;
        }
        End::Refused(kind) => {
            undo(&chat, &job, &live).await;
            live.set_opening(Opening::Refused(kind));
        }
        End::Unavailable => {
            undo(&chat, &job, &live).await;
            live.set_opening(Opening::Unavailable);
        }
    }
}

/// The model's calls, one after another, each with the results of the tools it called before.
///
/// `halt` ends it while it waits for the provider, whose connection is dropped with the wait. Never while a tool runs:
/// a proposal must not be made without its card.
async fn converse(chat: &Chat, job: &Job, live: &LiveTurn, mut halt: Pin<&mut impl Future<Output = Ending>>) -> End {
    let (mut request, base) = match request::first(chat, job).await {
        Ok(request) => request,
        Err(error) => {
            tracing::error!(%error, "history could not be read");
            return End::Unavailable;
        }
    };
    let read_foreign_text = holds_foreign_text(&request.messages);
    let mut toolbox = Toolbox::new(job, read_foreign_text);
    let mut tools_used = 0;
    for call_number in 0..MAX_CALLS {
        let opened = tokio::select! {
            opened = chat.model.open(&request) => opened,
            ending = halt.as_mut() => return End::Over(ending),
        };
        let stream = match opened {
            Ok(stream) => stream,
            Err(error) => {
                report(&error);
                return if call_number == 0 { End::Refused(error.kind) } else { End::Over(Ending::Failed) };
            }
        };
        live.update(Transcript::begin_step);
        if call_number == 0 {
            begin_answer(chat, job, live).await;
        }
        let relayed = tokio::select! {
            relayed = relay(stream, live) => relayed,
            ending = halt.as_mut() => return End::Over(ending),
        };
        let called = match relayed {
            Ok(called) => called,
            Err(error) => {
                report(&error);
                return End::Over(Ending::Failed);
            }
        };
        if called.is_empty() {
            live.update(|transcript| {
                if !transcript.says_anything() {
                    transcript.push_text(NO_ANSWER);
                }
            });
            return End::Over(Ending::Complete);
        }
        for call in called {
            tools_used += 1;
            run_tool(chat, &job.conversation, live, &mut toolbox, call, tools_used <= MAX_TOOLS).await;
        }
        // A card is stored before anything else happens.
        if !checkpoint(chat, job, live).await {
            return End::Over(Ending::Interrupted);
        }
        // All that was called awaits the user, who is asked by it: as with stock servers no further words are needed.
        if live.view(Transcript::only_awaits) {
            return End::Over(Ending::Complete);
        }
        // One that asks for more after the last allowed call has its results and had its say.
        if tools_used > MAX_TOOLS {
            break;
        }
        request.messages.truncate(base);
        request.messages.extend(live.view(|transcript| history::answer(&transcript.parts, transcript)));
    }
    live.update(|transcript| {
        transcript.begin_step();
        transcript.push_text(CLOSING);
    });
    End::Over(Ending::Complete)
}

/// The provider has answered: from here on the turn is a stream.
async fn begin_answer(chat: &Chat, job: &Job, live: &LiveTurn) {
    if job.new_question.is_none() {
        let replaced = replace_answers(&chat.db, &job.conversation, &live.reply_to, &live.message_id).await;
        if let Err(error) = replaced {
            tracing::warn!(%error, "the answer before could not be hidden");
        }
    }
    live.set_opening(Opening::Open);
}

/// A call of the model's: one to act on, or one that must not be.
enum Called {
    Whole(ToolCall),
    Broken { name: String },
}

/// Passes an answer's deltas on; returns the calls it made.
async fn relay(mut stream: DeltaStream, live: &LiveTurn) -> Result<Vec<Called>, ModelError> {
    let mut called = Vec::new();
    let before = live.view(|transcript| transcript.usage);
    while let Some(delta) = stream.next().await {
        match delta? {
            Delta::Text(text) => live.update(|answer| answer.push_text(answer.fitting(&text, MAX_TEXT))),
            Delta::Reasoning(text) => live.update(|answer| answer.push_reasoning(answer.fitting(&text, MAX_TEXT))),
            Delta::ToolCallBegun { .. } => {}
            Delta::ToolCall(call) => called.push(Called::Whole(call)),
            Delta::RejectedToolCall { name } => called.push(Called::Broken { name }),
            // Each replaces the one before; calls add up. Kept at once: the turn may be stopped.
            Delta::Usage(told) => live.update(|transcript| transcript.usage = sum(before, told)),
            Delta::Finished(_) => return Ok(called),
        }
        if live.view(|transcript| transcript.is_full(MAX_TEXT)) {
            return Ok(Vec::new());
        }
    }
    Err(ModelError {
        kind: ModelErrorKind::Malformed,
        status: None,
        retry_after: None,
        reason: "the stream ended without an end".to_owned(),
    })
}

async fn run_tool(
    chat: &Chat,
    conversation: &ConversationRef,
    live: &LiveTurn,
    toolbox: &mut Toolbox,
    called: Called,
    is_allowed: bool,
) {
    let call_id = new_call_id();
    let called = match called {
        // Deeper than any tool's arguments, and nearly too deep to be read back from storage.
        Called::Whole(call) if call.arguments.values().map(depth).max() > Some(MAX_DEPTH) => {
            Called::Broken { name: call.name }
        }
        called => called,
    };
    let (name, input) = match &called {
        Called::Whole(call) => (call.name.clone(), call.arguments.clone()),
        Called::Broken { name } => (name.clone(), serde_json::Map::new()),
    };
    live.update(|transcript| transcript.push_call(call_id, tool_name(&name), input));
    let executed = match called {
        _ if !is_allowed => refused(&format!("At most {MAX_TOOLS} tool calls can be made for one message.")),
        Called::Whole(call) => toolbox.execute(chat, &call).await,
        Called::Broken { .. } => refused("The call's arguments were not one complete JSON object. Nothing was done."),
    };
    let (now, is_proposal) = (chat.clock.now(), executed.action.is_some());
    live.update(|transcript| {
        transcript.answer_call(executed.result);
        if let Some(action) = executed.action {
            let id = action.id.clone();
            transcript.actions.insert(id.clone(), ActionView::new(action, now));
            transcript.parts.push(Part::Action { id });
        }
    });
    // It may have taken the place of an earlier one of this very turn.
    if is_proposal && live.view(|transcript| transcript.actions.len() > 1) {
        match find_cards(&chat.db, conversation, now).await {
            Ok(cards) => live.update(|transcript| transcript.refresh(&cards)),
            Err(error) => tracing::warn!(%error, "the cards of a turn could not be read again"),
        }
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Our own id: a provider's may repeat, and is its text. Nine letters and digits, which is all that Mistral's models
/// take when it is sent back to them.
fn new_call_id() -> String {
    rand::rng().sample_iter(Alphanumeric).take(9).map(char::from).collect()
}

fn refused(message: &str) -> Executed {
    Executed { result: ToolResult::Error(message.to_owned()), action: None }
}

/// A name becomes part of a chunk's type at the client: only what can be a tool's name passes.
fn tool_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let plain: String = name.chars().filter(|c| is_plain(*c)).take(64).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

fn sum(before: Usage, more: Usage) -> Usage {
    let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    Usage {
        prompt_tokens: add(before.prompt_tokens, more.prompt_tokens),
        completion_tokens: add(before.completion_tokens, more.completion_tokens),
    }
}

/// One line in the log and one count; never the provider's text.
fn report(error: &ModelError) {
    let status = error.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
    let kind = format!("{:?}", error.kind);
    metrics::counter!(telemetry::MODEL_ERRORS, "kind" => kind.clone(), "status" => status.clone()).increment(1);
    if error.kind == ModelErrorKind::KeyRefused {
        tracing::error!(status, reason = error.reason, "the provider refuses our key: check OPENAI_API_KEY");
    } else {
        tracing::warn!(kind, status, reason = error.reason, "the model failed");
    }
}
