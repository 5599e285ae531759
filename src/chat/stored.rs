//! Answers as the database has them: replayed, followed while another instance writes them, and listed as history.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Chat;
use super::cursor::Cursor;
use super::store::{self, Message, Status, running};
use super::transcript::{Ending, Part, Transcript};
use crate::actions::{self, ActionView};
use crate::clock::Millis;
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

/// The chunks of a stored answer; of one that another instance runs, as it grows, until this process stops.
pub fn chunks(chat: &Chat, conversation: ConversationRef, id: MessageId) -> impl Stream<Item = Value> + Send + 'static {
    let (chat, seen) = (chat.clone(), Transcript { message_id: Some(id.clone()), ..Transcript::default() });
    let start = (chat, conversation, id, seen, Cursor::default());
    let batches = stream::unfold(start, |(chat, conversation, id, mut seen, mut cursor)| async move {
        while !cursor.is_ended() {
            match find_transcript(&chat.db, &conversation, &id, chat.clock.now()).await {
                Ok(Some(found)) => seen = found,
                // Deleted while it was followed: what was sent stands, and it ends here.
                Ok(None) => seen.ending = Some(Ending::Interrupted),
                Err(error) => {
                    tracing::warn!(%error, "a stored answer could not be read");
                    seen.ending = Some(Ending::Failed);
                }
            }
            if chat.turns.stop.is_cancelled() {
                seen.ending.get_or_insert(Ending::Interrupted);
            }
            let chunks = cursor.advance(&seen);
            if seen.ending.is_none() {
                let told = running::store_follower(&chat.db, &conversation, &id, chat.clock.now()).await;
                if let Err(error) = told {
                    tracing::warn!(%error, "the instance that runs an answer was not told of its reader");
                }
            }
            if !chunks.is_empty() {
                return Some((stream::iter(chunks), (chat, conversation, id, seen, cursor)));
            }
            let _ = timeout(FOLLOW_EVERY, chat.turns.stop.cancelled()).await;
        }
        None
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

/// The answer in which all these actions await an approval, or did; without their cards.
pub(super) async fn find_awaiting(
    db: &Db,
    conversation: &ConversationRef,
    actions: &[ActionId],
) -> Result<Option<Transcript>, DbError> {
    let Some(first) = actions.first() else { return Ok(None) };
    let answers = store::list_answers_naming(db, conversation, first).await?;
    let mut answers = answers.into_iter().map(|message| transcript(message, BTreeMap::new(), Millis(0)));
    Ok(answers.find(|answer| {
        let awaiting: HashSet<&ActionId> = answer.awaiting().map(|(_, id)| id).collect();
        actions.iter().all(|id| awaiting.contains(id))
    }))
}

/// The UI messages of a conversation, oldest first, each action with its state of now.
pub async fn history(db: &Db, conversation: &ConversationRef, now: Millis) -> Result<Vec<Value>, DbError> {
    let messages = store::list_messages(db, conversation, HISTORY).await?;
    let mut shown = Transcript { actions: find_cards(db, conversation, now).await?, ..Transcript::default() };
    let last_answer = messages.iter().rposition(|message| message.role != "user");
    let mut unnamed = unnamed_cards(&messages, &shown, last_answer);
    let mut ui_messages = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let metadata = json!({"status": message.status_at(now), "created_at": message.created_at});
        shown.parts = message.parts;
        if Some(index) == last_answer {
            shown.parts.append(&mut unnamed);
        }
        let parts = shown.ui_parts();
        ui_messages.push(json!({"id": message.id, "role": message.role, "parts": parts, "metadata": metadata}));
    }
    Ok(ui_messages)
}

/// Open actions that no message names, because whoever made them was killed before it could write that down: nobody
/// may be left with an action that a typed word can reach and no card shows.
fn unnamed_cards(messages: &[Message], shown: &Transcript, last_answer: Option<usize>) -> Vec<Part> {
    if last_answer.is_none() {
        return Vec::new();
    }
    let parts = messages.iter().flat_map(|message| &message.parts);
    let named: HashSet<&ActionId> =
        parts.filter_map(|part| if let Part::Action { id } = part { Some(id) } else { None }).collect();
    let open = shown.actions.iter().filter(|(id, action)| action.is_open() && !named.contains(id));
    open.map(|(id, _)| Part::Action { id: id.clone() }).collect()
}
