//! Running turns that must give way: stopped by their caller, or left by their reader when a new message comes.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::Chat;
use super::receive::ReceiveError;
use super::store::Status;
use super::store::running::{find_running, request_stop};
use crate::db::DbError;
use crate::ids::{ConversationRef, MessageId};

/// A turn that was stopped has this long to be stored before whoever waits gives up.
const PATIENCE: Duration = Duration::from_secs(4);
/// Another instance writes down once a second whether its turn is read; this is long enough to hear of it.
const HEARING: Duration = Duration::from_millis(1_500);
/// How often a row is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// Refuses while somebody reads the conversation's running turn.
pub(super) async fn refuse_while_read(chat: &Chat, conversation: &ConversationRef) -> Result<(), ReceiveError> {
    if let Some(live) = chat.turns.find(conversation) {
        let is_read = live.has_reader() || live.is_followed();
        return if is_read { Err(ReceiveError::TurnInProgress) } else { Ok(()) };
    }
    // What the row says is up to a second old: a client that has just stopped reading must not be refused for it.
    let asked = Instant::now();
    loop {
        let running = find_running(&chat.db, conversation).await?;
        let now = chat.clock.now();
        match running.filter(|running| running.has_reader && running.status_at(now) == Status::Streaming) {
            Some(_) if asked.elapsed() >= HEARING => return Err(ReceiveError::TurnInProgress),
            Some(_) => sleep(LOOK).await,
            None => return Ok(()),
        }
    }
}

/// Stops the conversation's running turn, wherever it runs, if its reader has left.
pub(super) async fn stop_unread(chat: &Chat, conversation: &ConversationRef) -> Result<(), ReceiveError> {
    if let Some(live) = chat.turns.find(conversation) {
        if live.has_reader() || live.is_followed() {
            return Err(ReceiveError::TurnInProgress);
        }
        live.stop.cancel();
        return timeout(PATIENCE, live.ended()).await.map_err(|_| ReceiveError::TurnInProgress);
    }
    let now = chat.clock.now();
    match find_running(&chat.db, conversation).await? {
        Some(running) if running.status_at(now) == Status::Streaming => {
            request_stop(&chat.db, conversation, Some(&running.id)).await?;
            if is_idle_in_time(chat, conversation).await? { Ok(()) } else { Err(ReceiveError::TurnInProgress) }
        }
        Some(_) | None => Ok(()),
    }
}

/// Stops the turn `message`, or whichever runs if none is named; a newer one is left alone. Waits a little for it to
/// be stored, wherever it runs.
pub async fn stop(
    chat: &Chat,
    conversation: &ConversationRef,
    message: Option<&MessageId>,
) -> Result<(), ReceiveError> {
    match chat.turns.find(conversation) {
        Some(live) if message.is_none_or(|id| *id == live.message_id) => {
            live.stop.cancel();
            let _ = timeout(PATIENCE, live.ended()).await;
        }
        Some(_) => {}
        None => {
            if request_stop(&chat.db, conversation, message).await? {
                is_idle_in_time(chat, conversation).await?;
            }
        }
    }
    Ok(())
}

async fn is_idle_in_time(chat: &Chat, conversation: &ConversationRef) -> Result<bool, DbError> {
    let idle = async {
        while find_running(&chat.db, conversation).await?.is_some() {
            sleep(LOOK).await;
        }
        Ok(true)
    };
    timeout(PATIENCE, idle).await.unwrap_or(Ok(false))
}
