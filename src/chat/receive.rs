//! From a parsed message to the stream that answers it. Every refusal happens before there is a stream.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use serde_json::Value;

use super::begin::{BeginError, begin};
use super::decide::{Decided, decide};
use super::live::{LiveTurn, Opening};
use super::message::Incoming;
use super::stop::{refuse_while_read, stop_unread};
use super::store::running::find_running;
use super::store::{self, Conversation, Status};
use super::streams::Place;
use super::turn::{self, Job};
use super::{Chat, stored, typed};
use crate::accounts;
use crate::db::DbError;
use crate::http::Caller;
use crate::ids::{ConversationRef, MessageId, new_v7};
use crate::limits::{Decision, Standing, give_back, take, withdraw};
use crate::llm::ModelErrorKind;
use crate::telemetry;

/// An answer under way.
pub struct Answer {
    /// Its chunks.
    pub chunks: BoxStream<'static, Value>,
    /// How the caller stands after it, if it was charged.
    pub standings: Vec<Standing>,
    /// The turn, if it runs here and may still wait for its provider.
    pub(super) turn: Option<Arc<LiveTurn>>,
}

impl Answer {
    /// Waits until there is something to stream. Whoever waits counts as a reader: wait where a client that leaves is
    /// noticed, and nowhere else.
    ///
    /// # Errors
    /// The provider gave nothing.
    pub async fn opened(self) -> Result<Self, ReceiveError> {
        match &self.turn {
            Some(turn) => opened(turn.opened().await).map(|()| self),
            None => Ok(self),
        }
    }
}

/// Why there is no answer. Nothing half-done is left.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Somebody still reads the running turn of this conversation.
    #[error("a turn is in progress")]
    TurnInProgress,
    /// The caller has as many streams open as it may.
    #[error("too many streams")]
    TooManyStreams,
    /// A quota refused.
    #[error("quota exceeded")]
    QuotaExceeded(Vec<Standing>),
    /// The provider gave nothing.
    #[error("the model gave nothing")]
    Model(ModelErrorKind),
    /// There is nothing to answer again.
    #[error("nothing to regenerate")]
    NothingToRegenerate,
    /// The message's id was sent before with other words.
    #[error("the message's id was sent with other words")]
    OtherWords,
    /// Another message than the last one is to be answered again.
    #[error("not the last message")]
    NotTheLast,
    /// An approval names no action of this conversation's that awaits one.
    #[error("no such action")]
    ActionNotFound,
    /// The message's id is an answer's.
    #[error("the message's id is an answer's")]
    NotAQuestion,
    /// The database failed.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The turn could not be started.
    #[error("unavailable")]
    Unavailable,
}

impl ReceiveError {
    /// A failure of the database in the middle of several decisions. After the first of them it must not be told as
    /// one that changed nothing.
    pub(super) fn undecided(error: DbError, any_decided: bool) -> Self {
        match error {
            DbError::Sqlx(error) if any_decided => DbError::CommitUnknown(error).into(),
            error => error.into(),
        }
    }
}

/// Answers a message. The answer may still wait for its provider: see [`Answer::opened`].
///
/// # Errors
/// [`ReceiveError`], before any byte of a stream.
pub async fn receive(chat: &Chat, caller: &Caller, incoming: Incoming) -> Result<Answer, ReceiveError> {
    let owner = caller.owner();
    let existing = store::find_conversation(&chat.db, &owner, &incoming.conversation).await?;
    let question = question(chat, existing.as_ref(), &incoming).await?;
    if let (Some(conversation), Question::Known(id)) = (&existing, &question) {
        return replay(chat, caller, conversation.reference.clone(), id).await;
    }
    if let Some(conversation) = &existing {
        refuse_while_read(chat, &conversation.reference).await?;
        if let (Some(user), Question::New(id), Some(word)) = (caller.user(), &question, typed::parse(&incoming.text)) {
            // Its stream's place first: a refusal must have decided nothing.
            let place = chat.streams.enter(caller).ok_or(ReceiveError::TooManyStreams)?;
            stop_unread(chat, &conversation.reference).await?;
            match decide(chat, user, &owner, conversation, id, &incoming.text, word).await? {
                Decided::Answered(answer) => {
                    return Ok(stored_answer(chat, place, conversation.reference.clone(), answer));
                }
                Decided::Known => {
                    drop(place);
                    return replay(chat, caller, conversation.reference.clone(), id).await;
                }
                Decided::NotAboutActions => {}
            }
        }
    }
    let (receipt, standings) =
        match take(&chat.db, chat.clock.as_ref(), accounts::charges(&chat.config, caller)).await? {
            Decision::Admitted { receipt, standings } => (receipt, standings),
            Decision::Refused(standings) => {
                for standing in &standings {
                    metrics::counter!(telemetry::QUOTA_REFUSALS, "policy" => standing.policy.name.clone()).increment(1);
                }
                return Err(ReceiveError::QuotaExceeded(standings));
            }
        };
    let Some(place) = chat.streams.enter(caller) else {
        withdraw(&chat.db, receipt).await?;
        return Err(ReceiveError::TooManyStreams);
    };
    if let Some(conversation) = &existing
        && let Err(error) = stop_unread(chat, &conversation.reference).await
    {
        withdraw(&chat.db, receipt).await?;
        return Err(error);
    }
    let begun = match begin(chat, &owner, &incoming, question.id(), question.is_new()).await {
        Ok(begun) => begun,
        Err(BeginError::Busy) => {
            withdraw(&chat.db, receipt).await?;
            return Err(ReceiveError::TurnInProgress);
        }
        Err(BeginError::Known(conversation)) => {
            // The same message came twice at once and the other was first: it is charged, this one is not.
            drop(place);
            withdraw(&chat.db, receipt).await?;
            return replay(chat, caller, conversation, question.id()).await;
        }
        Err(BeginError::Db(error)) => {
            // Our own failure before the provider was called.
            if let Err(error) = give_back(&chat.db, chat.clock.as_ref(), receipt).await {
                tracing::warn!(%error, "a charge could not be given back");
            }
            return Err(error.into());
        }
    };
    let entered = chat.turns.enter(&begun.conversation, begun.answer, question.id().clone());
    let live = entered.turn.clone();
    let reader = live.join();
    let job = Job {
        caller: caller.clone(),
        conversation: begun.conversation,
        conversation_id: incoming.conversation,
        new_question: match question {
            Question::New(id) => Some(id),
            Question::Again(_) | Question::Known(_) => None,
        },
        native_approvals: incoming.native_approvals,
        timezone: incoming.timezone,
        receipt,
    };
    chat.turns.tasks.spawn(turn::run(chat.clone(), job, entered));
    Ok(Answer { chunks: holding(place, reader.chunks()), standings, turn: Some(live) })
}

/// What a message asks for.
enum Question {
    /// A message that was not seen before.
    New(MessageId),
    /// The same message again: its stored answer, or the running one.
    Known(MessageId),
    /// The last message, to be answered once more.
    Again(MessageId),
}

impl Question {
    fn id(&self) -> &MessageId {
        match self {
            Self::New(id) | Self::Known(id) | Self::Again(id) => id,
        }
    }

    fn is_new(&self) -> bool {
        matches!(self, Self::New(_))
    }
}

async fn question(
    chat: &Chat,
    conversation: Option<&Conversation>,
    incoming: &Incoming,
) -> Result<Question, ReceiveError> {
    let id = incoming.id.clone().unwrap_or_else(|| MessageId(new_v7(chat.clock.now())));
    let Some(conversation) = conversation else { return Ok(Question::New(id)) };
    let known = store::find_message(&chat.db, &conversation.reference, &id).await?;
    match known {
        // A message whose turn was undone is new again.
        None => Ok(Question::New(id)),
        Some(known) if known.role != "user" => Err(ReceiveError::NotAQuestion),
        // A client that lets its user edit a message sends other words under the old id: no answer there is to those.
        Some(known) if known.text() != incoming.text => Err(ReceiveError::OtherWords),
        Some(_) if !incoming.regenerate => Ok(Question::Known(id)),
        Some(known) => {
            let last = store::find_last_question(&chat.db, &conversation.reference).await?;
            let last = last.ok_or(ReceiveError::NothingToRegenerate)?;
            if last.id != known.id {
                return Err(ReceiveError::NotTheLast);
            }
            // What the server said to a typed word is no model's answer, and there is no other.
            let is_word = typed::parse(&last.text()).is_some();
            Ok(if is_word { Question::Known(last.id) } else { Question::Again(last.id) })
        }
    }
}

/// The stored turn of a message that came before: live if it runs, else replayed. Costs nothing.
async fn replay(
    chat: &Chat,
    caller: &Caller,
    conversation: ConversationRef,
    question: &MessageId,
) -> Result<Answer, ReceiveError> {
    if let Some(live) = chat.turns.find(&conversation).filter(|live| live.reply_to == *question) {
        let place = chat.streams.enter(caller).ok_or(ReceiveError::TooManyStreams)?;
        return Ok(join(place, live));
    }
    let answer = store::find_answer(&chat.db, &conversation, question).await?;
    // An answer that is not there was undone between two reads: the provider gave nothing.
    let answer = answer.ok_or(ReceiveError::Model(ModelErrorKind::Unreachable))?;
    let place = chat.streams.enter(caller).ok_or(ReceiveError::TooManyStreams)?;
    Ok(stored_answer(chat, place, conversation, answer.id))
}

fn stored_answer(chat: &Chat, place: Place, conversation: ConversationRef, answer: MessageId) -> Answer {
    let chunks = stored::chunks(chat, conversation, answer);
    Answer { chunks: holding(place, chunks), standings: Vec::new(), turn: None }
}

/// Another reader of a running turn.
fn join(place: Place, turn: Arc<LiveTurn>) -> Answer {
    Answer { chunks: holding(place, turn.join().chunks()), standings: Vec::new(), turn: Some(turn) }
}

/// The turn in progress from its first chunk, from any instance; `None` if none runs.
pub async fn resume(
    chat: &Chat,
    caller: &Caller,
    conversation: &ConversationRef,
) -> Result<Option<Answer>, ReceiveError> {
    if let Some(live) = chat.turns.find(conversation) {
        let place = chat.streams.enter(caller).ok_or(ReceiveError::TooManyStreams)?;
        return Ok(Some(join(place, live)));
    }
    let now = chat.clock.now();
    let running = find_running(&chat.db, conversation).await?;
    match running.filter(|running| running.status_at(now) == Status::Streaming) {
        Some(running) => {
            let place = chat.streams.enter(caller).ok_or(ReceiveError::TooManyStreams)?;
            Ok(Some(stored_answer(chat, place, conversation.clone(), running.id)))
        }
        None => Ok(None),
    }
}

fn opened(opening: Opening) -> Result<(), ReceiveError> {
    match opening {
        Opening::Open => Ok(()),
        Opening::Refused(kind) => Err(ReceiveError::Model(kind)),
        Opening::Unavailable | Opening::Waiting => Err(ReceiveError::Unavailable),
    }
}

/// Keeps the stream's place for as long as it is open.
fn holding(place: Place, chunks: impl Stream<Item = Value> + Send + 'static) -> BoxStream<'static, Value> {
    chunks
        .map(move |chunk| {
            let _held = &place;
            chunk
        })
        .boxed()
}
