//! The beginning of a turn: the message and its running answer, stored together or not at all.

use super::message::Incoming;
use super::store::running::interrupt_stale_in;
use super::store::{self, NewMessage, Status};
use super::{Chat, LEASE};
use crate::db::DbError;
use crate::ids::{ConversationRef, MessageId, new_v7};

/// Characters of a conversation's title.
const TITLE_CHARS: usize = 60;

/// What was stored.
pub(super) struct Begun {
    /// The conversation's row.
    pub conversation: ConversationRef,
    /// The running answer.
    pub answer: MessageId,
}

/// Why a turn did not begin; nothing was stored.
pub(super) enum BeginError {
    /// The same message is there already.
    Known(ConversationRef),
    /// Another turn runs in the conversation.
    Busy,
    /// The database failed.
    Db(DbError),
}

impl From<DbError> for BeginError {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

/// Stores the user's message (unless it was there before) and a streaming answer in one transaction: durable before
/// response headers.
pub(super) async fn begin(
    chat: &Chat,
    owner: &str,
    incoming: &Incoming,
    question: &MessageId,
    is_new: bool,
) -> Result<Begun, BeginError> {
    let (clock, asker, id) = (chat.clock.clone(), owner.to_owned(), incoming.conversation.clone());
    let (text, question) = (incoming.text.clone(), question.clone());
    let (model, prompt_hash) = (chat.model.name().to_owned(), chat.prompts.hash().to_owned());
    let new_answer = MessageId(new_v7(clock.now()));
    let answer = new_answer.clone();
    let begun = chat
        .db
        .write::<_, BeginError, _>(move |tx| {
            Box::pin(async move {
                let now = clock.now();
                let (conversation, seq) =
                    store::lock_conversation(tx, &asker, &id, &new_v7(now), &title(&text), now).await?;
                interrupt_stale_in(tx, &conversation, now).await?;
                let message = NewMessage::of_user(&conversation, &question, seq, &text, now);
                if is_new && !store::insert_message(tx, &message).await? {
                    return Err(BeginError::Known(conversation));
                }
                let streaming = NewMessage {
                    conversation: &conversation,
                    id: &answer,
                    seq: seq + 1,
                    role: "assistant",
                    status: Status::Streaming,
                    parts: Vec::new(),
                    reply_to: Some(&question),
                    lease_until: Some(now.plus(LEASE)),
                    model: Some(&model),
                    prompt_hash: Some(&prompt_hash),
                    now,
                };
                // The unique index on running answers is what says no.
                if !store::insert_message(tx, &streaming).await? {
                    return Err(BeginError::Busy);
                }
                Ok(Begun { conversation, answer })
            })
        })
        .await;
    match begun {
        // The reply to COMMIT was lost: the row tells.
        Err(BeginError::Db(DbError::CommitUnknown(error))) => {
            match find_begun(chat, owner, incoming, new_answer).await? {
                Some(begun) => Ok(begun),
                None => Err(DbError::CommitUnknown(error).into()),
            }
        }
        begun => begun,
    }
}

async fn find_begun(
    chat: &Chat,
    owner: &str,
    incoming: &Incoming,
    answer: MessageId,
) -> Result<Option<Begun>, DbError> {
    let Some(conversation) = store::find_conversation(&chat.db, owner, &incoming.conversation).await? else {
        return Ok(None);
    };
    let conversation = conversation.reference;
    let stored = store::find_message(&chat.db, &conversation, &answer).await?;
    Ok(stored.map(|_| Begun { conversation, answer }))
}

/// The beginning of the first message names the conversation.
pub(super) fn title(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE_CHARS).collect()
}
