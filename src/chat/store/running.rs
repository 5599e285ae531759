//! The row of a running answer: leased by whoever runs it, closed by one conditional update.

use std::time::Duration;

use sqlx::types::Json;

use super::{Message, Status, message_columns};
use crate::chat::LEASE;
use crate::chat::transcript::Part;
use crate::clock::Millis;
use crate::db::{Db, DbError, Tx};
use crate::ids::{ConversationRef, MessageId};
use crate::llm::Usage;
use crate::on_db;

/// Closes turns whose lease has run out, of one conversation or of all; returns how many.
pub async fn interrupt_stale(db: &Db, now: Millis) -> Result<u64, DbError> {
    let sql = "UPDATE messages SET status = 'interrupted', lease_until = NULL
        WHERE status = 'streaming' AND lease_until <= $1";
    Ok(on_db!(db.autocommit(), pool => sqlx::query(sql).bind(now).execute(pool).await
        .map(|done| done.rows_affected()))?)
}

/// [`interrupt_stale`] for one conversation, before it begins a turn.
pub(in crate::chat) async fn interrupt_stale_in(
    tx: &mut Tx,
    conversation: &ConversationRef,
    now: Millis,
) -> Result<(), DbError> {
    let sql = "UPDATE messages SET status = 'interrupted', lease_until = NULL
        WHERE conversation = $1 AND status = 'streaming' AND lease_until <= $2";
    on_db!(tx.on(), c => sqlx::query(sql).bind(conversation).bind(now).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Closes every running turn: for a process that starts alone on its database.
pub async fn interrupt_all(db: &Db) -> Result<u64, DbError> {
    let sql = "UPDATE messages SET status = 'interrupted', lease_until = NULL WHERE status = 'streaming'";
    Ok(on_db!(db.autocommit(), pool => sqlx::query(sql).execute(pool).await.map(|done| done.rows_affected()))?)
}

/// A reader at another instance says so at least this often.
pub(in crate::chat) const FOLLOWED: Duration = Duration::from_secs(10);

/// What the row told when a running answer was stored.
#[derive(Debug, sqlx::FromRow)]
pub(in crate::chat) struct Kept {
    /// Somebody asked for a stop, maybe at another instance.
    pub stop_requested: bool,
    /// When a reader at another instance last said that it follows.
    pub followed_at: Option<Millis>,
}

/// Stores a running answer so far and renews its lease; `None` if the turn is no longer ours: closed by another
/// instance, or deleted.
pub(in crate::chat) async fn store_running(
    db: &Db,
    conversation: &ConversationRef,
    id: &MessageId,
    parts: &[Part],
    now: Millis,
    has_reader: bool,
) -> Result<Option<Kept>, DbError> {
    let lease_until = now.plus(LEASE);
    let sql = "UPDATE messages SET parts = $3, lease_until = $4,
            has_reader = ($5 OR coalesce(followed_at > $6, false))
        WHERE conversation = $1 AND id = $2 AND status = 'streaming' RETURNING stop_requested, followed_at";
    // All rows, though there is one: SQLite commits when the statement has ended, and its failure must be heard.
    let kept: Vec<Kept> = on_db!(db.autocommit(), pool => sqlx::query_as(sql).bind(conversation).bind(id)
        .bind(Json(parts)).bind(lease_until).bind(has_reader).bind(now.minus(FOLLOWED)).fetch_all(pool).await)?;
    Ok(kept.into_iter().next())
}

/// Says that somebody reads an answer which another instance runs.
pub(in crate::chat) async fn store_follower(
    db: &Db,
    conversation: &ConversationRef,
    id: &MessageId,
    now: Millis,
) -> Result<(), DbError> {
    let sql = "UPDATE messages SET followed_at = $3 WHERE conversation = $1 AND id = $2 AND status = 'streaming'";
    on_db!(db.autocommit(), pool => sqlx::query(sql).bind(conversation).bind(id).bind(now).execute(pool).await
        .map(|_| ()))?;
    Ok(())
}

/// Ends a running answer; `false` if it was no longer running.
pub(in crate::chat) async fn finish_message(
    db: &Db,
    conversation: &ConversationRef,
    id: &MessageId,
    status: Status,
    parts: &[Part],
    usage: Usage,
) -> Result<bool, DbError> {
    let sql = "UPDATE messages SET status = $3, parts = $4, usage = $5, lease_until = NULL
        WHERE conversation = $1 AND id = $2 AND status = 'streaming'";
    let finished = on_db!(db.autocommit(), pool => sqlx::query(sql).bind(conversation).bind(id).bind(status.as_str())
        .bind(Json(parts)).bind(Json(usage)).execute(pool).await.map(|done| done.rows_affected()))?;
    Ok(finished == 1)
}

/// Removes what `begin` wrote for a turn whose provider gave nothing, as if it had never been asked.
pub(in crate::chat) async fn delete_begun(
    tx: &mut Tx,
    conversation: &ConversationRef,
    answer: &MessageId,
    question: Option<&MessageId>,
) -> Result<(), DbError> {
    // The conversation first, as everywhere.
    let lock = "UPDATE conversations SET next_seq = next_seq WHERE ref = $1";
    on_db!(tx.on(), c => sqlx::query(lock).bind(conversation).execute(c).await.map(|_| ()))?;
    let messages = "DELETE FROM messages WHERE conversation = $1 AND (id = $3 OR (id = $2 AND status = 'streaming'))";
    on_db!(tx.on(), c => sqlx::query(messages).bind(conversation).bind(answer).bind(question).execute(c).await
        .map(|_| ()))?;
    let empty = "DELETE FROM conversations WHERE ref = $1 AND next_action_number = 1
        AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation = $1)";
    on_db!(tx.on(), c => sqlx::query(empty).bind(conversation).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Hides the answers that a regenerated one takes the place of.
pub(in crate::chat) async fn replace_answers(
    db: &Db,
    conversation: &ConversationRef,
    question: &MessageId,
    by: &MessageId,
) -> Result<(), DbError> {
    let sql = "UPDATE messages SET replaced = true WHERE conversation = $1 AND reply_to = $2 AND id <> $3";
    on_db!(db.autocommit(), pool => sqlx::query(sql).bind(conversation).bind(question).bind(by).execute(pool).await
        .map(|_| ()))?;
    Ok(())
}

/// Asks whichever instance runs this answer to stop; `false` if it does not run.
pub(in crate::chat) async fn request_stop(
    db: &Db,
    conversation: &ConversationRef,
    id: Option<&MessageId>,
) -> Result<bool, DbError> {
    let sql = "UPDATE messages SET stop_requested = true
        WHERE conversation = $1 AND id = coalesce($2, id) AND status = 'streaming'";
    let asked = on_db!(db.autocommit(), pool => sqlx::query(sql).bind(conversation).bind(id).execute(pool).await
        .map(|done| done.rows_affected()))?;
    Ok(asked > 0)
}

/// The running answer of a conversation.
pub(in crate::chat) async fn find_running(db: &Db, conversation: &ConversationRef) -> Result<Option<Message>, DbError> {
    let sql = concat!("SELECT ", message_columns!(), " FROM messages WHERE conversation = $1 AND status = 'streaming'");
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).fetch_optional(pool).await)?)
}

/// [`find_running`] under the conversation's lock.
pub(in crate::chat) async fn has_running_in(tx: &mut Tx, conversation: &ConversationRef) -> Result<bool, DbError> {
    let sql = "SELECT id FROM messages WHERE conversation = $1 AND status = 'streaming'";
    let running: Option<String> =
        on_db!(tx.on(), c => sqlx::query_scalar(sql).bind(conversation).fetch_optional(c).await)?;
    Ok(running.is_some())
}
