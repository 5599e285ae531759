//! Answers as the database has them: replayed, followed while another instance writes them, and listed as history.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use super::cursor::Cursor;
use super::store::{self, Message, Status, running};
use super::transcript::{Ending, Transcript};
use crate::actions::{self, ActionView};
use crate::clock::{Millis, SharedClock};
use crate::db::{Db, DbError};
use crate::ids::{ActionId, ConversationRef, MessageId};

/// How often a turn of another instance is looked at: its text is stored once a second.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);
/// A conversation's history shows its last messages, this many.
const HISTORY: i64 = 400;

/// The cards of a conversation, as they stand now.
pub async fn find_cards(
    db: &Db,
    conversation: &ConversationRef,
    now: Millis,
) -> Result<BTreeMap<ActionId, ActionView>, DbError> {
    let actions = actions::store::list_of_conversation(db, conversation).await?;
    Ok(actions.into_iter().map(|action| (action.id.clone(), ActionView::new(action, now))).collect())
}

fn transcript(message: Message, cards: BTreeMap<ActionId, ActionView>, now: Millis) -> Transcript {
    let ending = match message.status_at(now) {
        Status::Streaming => None,
        Status::Complete => Some(Ending::Complete),
        Status::Interrupted => Some(Ending::Interrupted),
        Status::Failed => Some(Ending::Failed),
    };
    Transcript { message_id: Some(message.id), parts: message.parts, actions: cards, ending, ..Transcript::default() }
}

/// The chunks of a stored answer; of one that another instance runs, as it grows.
pub fn chunks(
    db: Db,
    clock: SharedClock,
    conversation: ConversationRef,
    id: MessageId,
) -> impl Stream<Item = Value> + Send + 'static {
    let start = (db, clock, conversation, id, Cursor::default());
    let batches = stream::unfold(start, |(db, clock, conversation, id, mut cursor)| async move {
        loop {
            if cursor.is_ended() {
                return None;
            }
            let now = clock.now();
            let found = match find_transcript(&db, &conversation, &id, now).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(%error, "a stored answer could not be read");
                    Some(Transcript { ending: Some(Ending::Failed), ..Transcript::default() })
                }
            };
            // Deleted while it was followed: what was sent stands, and it ends here.
            let gone = || Transcript { ending: Some(Ending::Interrupted), ..Transcript::default() };
            let chunks = cursor.advance(&found.unwrap_or_else(gone));
            if !chunks.is_empty() {
                return Some((stream::iter(chunks), (db, clock, conversation, id, cursor)));
            }
            tokio::time::sleep(FOLLOW_EVERY).await;
        }
    });
    batches.flatten()
}

async fn find_transcript(
    db: &Db,
    conversation: &ConversationRef,
    id: &MessageId,
    now: Millis,
) -> Result<Option<Transcript>, DbError> {
    let Some(message) = store::find_message(db, conversation, id).await? else { return Ok(None) };
    let cards = find_cards(db, conversation, now).await?;
    Ok(Some(transcript(message, cards, now)))
}

/// Waits until no answer runs in the conversation; `false` if one still does after `patience`.
pub async fn wait_until_idle(db: &Db, conversation: &ConversationRef, patience: Duration) -> Result<bool, DbError> {
    let idle = async {
        while running::find_running(db, conversation).await?.is_some() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(true)
    };
    tokio::time::timeout(patience, idle).await.unwrap_or(Ok(false))
}

/// The UI messages of a conversation, oldest first, each action with its state of now.
pub async fn history(db: &Db, conversation: &ConversationRef, now: Millis) -> Result<Vec<Value>, DbError> {
    let messages = store::list_messages(db, conversation, HISTORY).await?;
    let cards = find_cards(db, conversation, now).await?;
    let ui = |message: Message| {
        let metadata = json!({"status": message.status_at(now), "created_at": message.created_at});
        let (id, role) = (message.id.clone(), message.role.clone());
        let parts = transcript(message, cards.clone(), now).ui_parts();
        json!({"id": id, "role": role, "parts": parts, "metadata": metadata})
    };
    Ok(messages.into_iter().map(ui).collect())
}
