//! What a turn keeps in the database: its answer while it grows, its end, and nothing at all if it got none.

use std::time::Duration;

use tokio::time::{Instant, interval, sleep};

use super::live::LiveTurn;
use super::store::Status;
use super::store::running::{checkpoint, delete_begun, finish_message};
use super::transcript::Ending;
use super::turn::Job;
use super::{Chat, LEASE};
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
    let mut last_read = Instant::now();
    tick.tick().await;
    loop {
        tick.tick().await;
        let has_reader = live.has_reader();
        if has_reader {
            last_read = Instant::now();
        } else if last_read.elapsed() >= ABANDONED {
            return;
        }
        let parts = live.view(|transcript| transcript.parts.clone());
        let lease = chat.clock.now().plus(LEASE);
        let kept = checkpoint(&chat.db, &job.conversation, &live.message_id, &parts, lease, has_reader).await;
        match kept {
            Ok(Some(false)) => {}
            Ok(Some(true) | None) => return,
            // The lease outlives a short outage; the end is what must be stored.
            Err(error) => tracing::warn!(%error, "a running answer could not be stored"),
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
        stored = finish_message(&chat.db, &job.conversation, &live.message_id, status, &parts, usage).await;
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
