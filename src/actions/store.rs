//! The rows of actions. The claim is the one statement that decides; everything after it only writes down.

pub(super) mod undo;

use sqlx::types::Json;

use super::confirm::Decision;
use super::{Action, Outcome, Status};
use crate::checks::draft::Draft;
use crate::checks::effect::Effect;
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::{ActionId, ConversationRef, UserId};
use crate::on_db;

/// The columns of [`Action`].
macro_rules! columns {
    () => {
        "id, account_id, conversation, conversation_id, number, kind, effect, preview, digest, status, created_at,
        expires_at, decided_at, decided_via, outcome"
    };
}
use columns;

/// Lets the proposals of an account come one after another: two conversations must not both count before either
/// inserts. Lock order: the conversation, this, actions. SQLite has one writer anyway.
pub(super) async fn hold_account(tx: &mut Tx, owner: &UserId) -> Result<(), DbError> {
    if let On::Postgres(connection) = tx.on() {
        let sql = "SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE";
        sqlx::query(sql).bind(owner).execute(connection).await?;
    }
    Ok(())
}

/// Claims an action for its owner, once, in time, as it was shown: to CLAIMED, or to REJECTED.
pub(super) async fn claim(
    tx: &mut Tx,
    decision: &Decision,
    to: Status,
    now: Millis,
) -> Result<Option<Action>, DbError> {
    let sql = concat!(
        "UPDATE pending_actions SET status = $6, decided_at = $3, decided_via = $4
        WHERE id = $1 AND account_id = $2 AND status = 'PENDING' AND expires_at > $3 AND digest = coalesce($5, digest)
        RETURNING ",
        columns!()
    );
    Ok(on_db!(tx.on(), c => sqlx::query_as(sql).bind(&decision.action).bind(&decision.owner).bind(now)
        .bind(decision.via.as_str()).bind(decision.digest.as_deref()).bind(to.as_str()).fetch_optional(c).await)?)
}

/// Stores EXPIRED for an action whose claim came too late: a clock set back re-opens nothing.
pub(super) async fn expire_if_late(tx: &mut Tx, decision: &Decision, now: Millis) -> Result<(), DbError> {
    let sql = "UPDATE pending_actions SET status = 'EXPIRED', decided_at = $3
        WHERE id = $1 AND account_id = $2 AND status = 'PENDING' AND expires_at <= $3";
    let expired = on_db!(tx.on(), c => sqlx::query(sql).bind(&decision.action).bind(&decision.owner).bind(now)
        .execute(c).await.map(|done| done.rows_affected()))?;
    if expired == 1 { record_expired(tx, now).await } else { Ok(()) }
}

/// Expires what nobody decided in time; returns how many.
pub(super) async fn expire_late(tx: &mut Tx, now: Millis) -> Result<u64, DbError> {
    const SQLITE: &str = "UPDATE pending_actions SET status = 'EXPIRED', decided_at = $1
        WHERE status = 'PENDING' AND expires_at <= $1";
    // Many rows in no order: what a decision has in hand is skipped, or the two could wait for each other.
    const POSTGRES: &str = "UPDATE pending_actions SET status = 'EXPIRED', decided_at = $1
        WHERE id IN (SELECT id FROM pending_actions WHERE status = 'PENDING' AND expires_at <= $1
            FOR NO KEY UPDATE SKIP LOCKED) AND status = 'PENDING' AND expires_at <= $1";
    let expired = match tx.on() {
        On::Sqlite(connection) => sqlx::query(SQLITE).bind(now).execute(connection).await?.rows_affected(),
        On::Postgres(connection) => sqlx::query(POSTGRES).bind(now).execute(connection).await?.rows_affected(),
    };
    if expired > 0 {
        record_expired(tx, now).await?;
    }
    Ok(expired)
}

/// Audit rows for what this transaction expired.
async fn record_expired(tx: &mut Tx, now: Millis) -> Result<(), DbError> {
    let sql = "INSERT INTO audit_log (action_id, event, at, actor, digest)
        SELECT id, 'EXPIRED', $1, 'system', digest FROM pending_actions WHERE status = 'EXPIRED' AND decided_at = $1
        ON CONFLICT DO NOTHING";
    on_db!(tx.on(), c => sqlx::query(sql).bind(now).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Writes the end of a claimed action down, and what takes it back.
pub(super) async fn finish(
    tx: &mut Tx,
    claimed: Action,
    status: Status,
    outcome: Outcome,
    inverse: Option<&Effect>,
) -> Result<Action, DbError> {
    let sql = "UPDATE pending_actions SET status = $2, outcome = $3, inverse = $4 WHERE id = $1 AND status = 'CLAIMED'";
    let finished = on_db!(tx.on(), c => sqlx::query(sql).bind(&claimed.id).bind(status.as_str()).bind(Json(&outcome))
        .bind(inverse.map(Json)).execute(c).await.map(|done| done.rows_affected()))?;
    if finished != 1 {
        let (table, column) = ("pending_actions", "status");
        return Err(DbError::Corrupt { table, column, row: claimed.id.0, value: "not CLAIMED".to_owned() });
    }
    Ok(Action { status, outcome: Some(outcome), ..claimed })
}

/// Makes a second effect of one action impossible: its key is the action.
pub(super) async fn insert_effect(tx: &mut Tx, action: &ActionId, now: Millis) -> Result<(), DbError> {
    let sql = "INSERT INTO action_effects (action_id, at) VALUES ($1, $2)";
    on_db!(tx.on(), c => sqlx::query(sql).bind(action).bind(now).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// An audit row for the transition to the action's present state.
pub(super) async fn record(tx: &mut Tx, action: &Action, actor: &str, now: Millis) -> Result<(), DbError> {
    let event = if action.status == Status::Pending { "PROPOSED" } else { action.status.as_str() };
    let sql = "INSERT INTO audit_log (action_id, event, at, actor, via, digest) VALUES ($1, $2, $3, $4, $5, $6)";
    on_db!(tx.on(), c => sqlx::query(sql).bind(&action.id).bind(event).bind(now).bind(actor)
        .bind(action.decided_via.as_deref()).bind(&action.digest).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Locks the conversation and takes its next action number.
pub(super) async fn take_number(tx: &mut Tx, conversation: &ConversationRef) -> Result<Option<i64>, DbError> {
    let sql = "UPDATE conversations SET next_action_number = next_action_number + 1 WHERE ref = $1
        RETURNING next_action_number - 1";
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(sql).bind(conversation).fetch_optional(c).await)?)
}

/// Supersedes the open action of the same kind for the same check in the same conversation.
pub(super) async fn supersede(
    tx: &mut Tx,
    conversation: &ConversationRef,
    draft: &Draft,
    now: Millis,
) -> Result<(), DbError> {
    let sql = concat!(
        "UPDATE pending_actions SET status = 'SUPERSEDED', decided_at = $4
        WHERE conversation = $1 AND kind = $2 AND check_id = $3 AND status = 'PENDING' AND expires_at > $4 RETURNING ",
        columns!()
    );
    let superseded: Vec<Action> = on_db!(tx.on(), c => sqlx::query_as(sql).bind(conversation).bind(draft.kind)
        .bind(&draft.check_id).bind(now).fetch_all(c).await)?;
    // The rule itself leaves one at most.
    for action in superseded {
        record(tx, &action, "system", now).await?;
    }
    Ok(())
}

/// Inserts a proposal while its owner, who is held, has fewer than `max_open` open ones; `false` if not.
pub(super) async fn insert_action(tx: &mut Tx, action: &Action, draft: &Draft, max_open: i64) -> Result<bool, DbError> {
    let sql = "INSERT INTO pending_actions (id, account_id, conversation, conversation_id, number, kind, effect, preview,
            check_id, config_version, digest, status, created_at, expires_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'PENDING', $12, $13
        WHERE (SELECT count(*) FROM pending_actions WHERE account_id = $2 AND status = 'PENDING' AND expires_at > $12) < $14";
    let inserted = on_db!(tx.on(), c => sqlx::query(sql).bind(&action.id).bind(&action.account_id)
        .bind(&action.conversation).bind(&action.conversation_id).bind(action.number).bind(&action.kind)
        .bind(Json(&action.effect)).bind(Json(&action.preview)).bind(&draft.check_id).bind(draft.config_version)
        .bind(&action.digest).bind(action.created_at).bind(action.expires_at).bind(max_open)
        .execute(c).await.map(|done| done.rows_affected()))?;
    Ok(inserted == 1)
}

/// One of the owner's actions.
pub async fn find_action(db: &Db, owner: &UserId, id: &ActionId) -> Result<Option<Action>, DbError> {
    let sql = concat!("SELECT ", columns!(), " FROM pending_actions WHERE id = $1 AND account_id = $2");
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(id).bind(owner).fetch_optional(pool).await)?)
}

/// [`find_action`] inside a transaction.
pub(super) async fn find_action_in(tx: &mut Tx, owner: &UserId, id: &ActionId) -> Result<Option<Action>, DbError> {
    let sql = concat!("SELECT ", columns!(), " FROM pending_actions WHERE id = $1 AND account_id = $2");
    Ok(on_db!(tx.on(), c => sqlx::query_as(sql).bind(id).bind(owner).fetch_optional(c).await)?)
}

/// What a list is asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this state, as of now.
    pub status: Option<Status>,
    /// Only this conversation, by the client's id.
    pub conversation: Option<String>,
    /// Only older than this action.
    pub before: Option<String>,
    /// At most this many.
    pub limit: i64,
}

/// The owner's actions, newest first.
pub async fn list_actions(db: &Db, owner: &UserId, filter: &Filter, now: Millis) -> Result<Vec<Action>, DbError> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM pending_actions WHERE account_id = $1 AND conversation_id = coalesce($2, conversation_id)
        AND id < coalesce($3, 'g')
        AND ($4 IS NULL OR $4 = CASE WHEN status = 'PENDING' AND expires_at <= $5 THEN 'EXPIRED' ELSE status END)
        ORDER BY id DESC LIMIT $6"
    );
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(owner).bind(filter.conversation.as_deref())
        .bind(filter.before.as_deref()).bind(filter.status.map(Status::as_str)).bind(now).bind(filter.limit)
        .fetch_all(pool).await)?)
}

/// All actions of a conversation, oldest first.
pub async fn list_of_conversation(db: &Db, conversation: &ConversationRef) -> Result<Vec<Action>, DbError> {
    let sql = concat!("SELECT ", columns!(), " FROM pending_actions WHERE conversation = $1 ORDER BY number");
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).fetch_all(pool).await)?)
}

/// [`list_of_conversation`] inside a transaction, open ones and the latest.
pub async fn list_of_conversation_in(tx: &mut Tx, conversation: &ConversationRef) -> Result<Vec<Action>, DbError> {
    let sql = concat!("SELECT ", columns!(), " FROM pending_actions WHERE conversation = $1 ORDER BY number");
    Ok(on_db!(tx.on(), c => sqlx::query_as(sql).bind(conversation).fetch_all(c).await)?)
}

/// Cancels what is still open in a conversation that its owner deletes.
pub async fn reject_open_of_conversation(
    tx: &mut Tx,
    conversation: &ConversationRef,
    now: Millis,
) -> Result<(), DbError> {
    let sql = concat!(
        "UPDATE pending_actions SET status = 'REJECTED', decided_at = $2, decided_via = 'api'
        WHERE conversation = $1 AND status = 'PENDING' AND expires_at > $2 RETURNING ",
        columns!()
    );
    let rejected: Vec<Action> =
        on_db!(tx.on(), c => sqlx::query_as(sql).bind(conversation).bind(now).fetch_all(c).await)?;
    // At most the 20 that a caller may have open.
    for action in rejected {
        record(tx, &action, action.account_id.as_str(), now).await?;
    }
    Ok(())
}

/// Marks the point to which a refused effect is undone.
pub(super) async fn savepoint(tx: &mut Tx) -> Result<(), DbError> {
    execute(tx, "SAVEPOINT effect").await
}

/// Keeps what was done since the savepoint.
pub(super) async fn release_savepoint(tx: &mut Tx) -> Result<(), DbError> {
    execute(tx, "RELEASE SAVEPOINT effect").await
}

/// Undoes what was done since the savepoint, and only that.
pub(super) async fn rollback_to_savepoint(tx: &mut Tx) -> Result<(), DbError> {
    execute(tx, "ROLLBACK TO SAVEPOINT effect").await?;
    release_savepoint(tx).await
}

async fn execute(tx: &mut Tx, sql: &'static str) -> Result<(), DbError> {
    on_db!(tx.on(), c => sqlx::query(sql).execute(c).await.map(|_| ()))?;
    Ok(())
}
