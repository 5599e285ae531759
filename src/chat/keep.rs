//! What a turn keeps in the database: its answer while it grows, its end, and nothing at all if it got none.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use super::Chat;
use super::live::LiveTurn;
use super::store::Status;
use super::store::find_message;
use super::store::running::{FOLLOWED, delete_begun, finish_message, store_running};
use super::transcript::Ending;
use super::turn::Job;
use crate::db::DbError;
use crate::limits::give_back;
use crate::llm::Usage;
use crate::telemetry;

/// A running answer is stored this often.
const CHECKPOINT: Duration = Duration::from_secs(1);
/// A turn that nobody has read for this long is stopped.
const ABANDONED: Duration = Duration::from_secs(30);

/// Stores the answer each second, and ends when it must not go on: a stop was asked for at another instance, nobody
/// has read it for 30 s, or its row is no longer ours.
pub(super) async fn keep(chat: &Chat, job: &Job, live: &LiveTurn) {
    let mut tick = interval(CHECKPOINT);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unread = Duration::ZERO;
    tick.tick().await;
    loop {
        tick.tick().await;
        if !checkpoint(chat, job, live).await {
            return;
        }
        // Counted in looks. The first that finds nobody may come right after the reader left, so it does not count.
        unread = if live.has_reader() || live.is_followed() { Duration::ZERO } else { unread + CHECKPOINT };
        if unread > ABANDONED {
            return;
        }
    }
}

/// Stores the answer so far and renews its lease; `false` if it must not go on.
pub(super) async fn checkpoint(chat: &Chat, job: &Job, live: &LiveTurn) -> bool {
    let parts = live.view(|transcript| transcript.parts.clone());
    let now = chat.clock.now();
    let (db, conversation, id) = (chat.db.clone(), job.conversation.clone(), live.message_id.clone());
    let has_reader = live.has_reader();
    // Detached: whoever waits for it may be set aside while a tool runs, and must not hold SQLite's one writer then.
    let storing = async move { store_running(&db, &conversation, &id, &parts, now, has_reader).await };
    match chat.db.detached::<_, DbError>(storing).await {
        Ok(Some(kept)) => {
            live.set_followed(kept.followed_at.is_some_and(|at| now.since(at) < FOLLOWED));
            !kept.stop_requested
        }
        Ok(None) => false,
        Err(error) => {
            // The lease outlives a short outage; the end is what must be stored.
            tracing::warn!(%error, "a running answer could not be stored");
            true
        }
    }
}

/// Stores the end first and tells readers then: what they were told is kept.
pub(super) async fn finish(chat: &Chat, job: &Job, live: &LiveTurn, ending: Ending) {
    let status = match ending {
        Ending::Complete => Status::Complete,
        Ending::Interrupted => Status::Interrupted,
        Ending::Failed => Status::Failed,
    };
    let (parts, usage) = live.view(|transcript| (transcript.parts.clone(), transcript.usage));
    let mut stored = Ok(false);
    for pause in [0, 1, 2] {
        sleep(Duration::from_secs(pause)).await;
        let had_failed = stored.is_err();
        stored = finish_message(&chat.db, &job.conversation, &live.message_id, status, &parts, usage).await;
        if matches!(stored, Ok(false)) && had_failed {
            // The try before may have been stored and only its reply lost.
            let row = find_message(&chat.db, &job.conversation, &live.message_id).await;
            stored = row.map(|row| row.is_some_and(|row| row.status == status));
        }
        if stored.is_ok() {
            break;
        }
    }
    let ending = match stored {
        Ok(true) => ending,
        // Closed by another instance, or deleted with its conversation.
        Ok(false) => Ending::Interrupted,
        Err(error) => {
            tracing::error!(%error, "an answer's end could not be stored");
            Ending::Failed
        }
    };
    count(status, usage);
    live.update(|transcript| transcript.ending = Some(ending));
}

/// Takes everything back: nobody got anything for it.
pub(super) async fn undo(chat: &Chat, job: &Job, live: &LiveTurn) {
    let (conversation, answer) = (job.conversation.clone(), live.message_id.clone());
    let question = job.new_question.clone();
    let deleted = chat
        .db
        .write::<_, DbError, _>(move |tx| {
            Box::pin(async move { delete_begun(tx, &conversation, &answer, question.as_ref()).await })
        })
        .await;
    let returned = give_back(&chat.db, chat.clock.as_ref(), job.receipt.clone()).await;
    for error in [deleted.err(), returned.err()].into_iter().flatten() {
        tracing::warn!(%error, "a turn that got no answer could not be undone");
    }
}

fn count(status: Status, usage: Usage) {
    metrics::counter!(telemetry::TURNS, "status" => status.as_str()).increment(1);
    metrics::counter!(telemetry::TOKENS, "direction" => "prompt").increment(usage.prompt_tokens.unwrap_or(0));
    metrics::counter!(telemetry::TOKENS, "direction" => "completion").increment(usage.completion_tokens.unwrap_or(0));
}
