//! What undoing needs of the rows: executed actions with what takes them back, and which action left a check as it is.

use super::columns;
use crate::actions::{Action, Outcome};
use crate::checks::draft::Preview;
use crate::checks::effect::{Edited, Effect};
use crate::clock::Millis;
use crate::db::{Db, DbError, Tx};
use crate::ids::{ActionId, CheckId, ConversationRef, UserId};
use crate::on_db;

/// An action, and what takes it back if it was executed and can be.
#[derive(Debug, sqlx::FromRow)]
pub(in crate::actions) struct Undoable {
    /// The action.
    #[sqlx(flatten)]
    pub action: Action,
    /// What takes it back.
    #[sqlx(json(nullable))]
    pub inverse: Option<Effect>,
}

/// The owner's action of that number in the conversation, whatever became of it; without a number, the one that was
/// executed last.
pub(in crate::actions) async fn find_undoable(
    db: &Db,
    owner: &UserId,
    conversation: &ConversationRef,
    number: Option<i64>,
) -> Result<Option<Undoable>, DbError> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        ", inverse FROM pending_actions WHERE conversation = $1 AND account_id = $2
        AND (number = $3 OR ($3 IS NULL AND status = 'EXECUTED')) ORDER BY decided_at DESC, number DESC LIMIT 1"
    );
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).bind(owner).bind(number)
        .fetch_optional(pool).await)?)
}

/// Records which checks an action has edited, and in which version it left them.
pub(in crate::actions) async fn insert_edits(tx: &mut Tx, action: &ActionId, edited: &[Edited]) -> Result<(), DbError> {
    let sql = "INSERT INTO action_edits (check_id, config_version, action_id) VALUES ($1, $2, $3)";
    for Edited { check, config_version } in edited {
        on_db!(tx.on(), c => sqlx::query(sql).bind(check).bind(config_version).bind(action).execute(c).await
            .map(|_| ()))?;
    }
    Ok(())
}

/// An executed action as the last edit of a check.
#[derive(Debug, sqlx::FromRow)]
pub(in crate::actions) struct EditRow {
    /// When it was executed.
    pub at: Millis,
    /// How it was confirmed.
    pub via: Option<String>,
    /// What kind of change.
    pub kind: String,
    /// What was done.
    #[sqlx(json(nullable))]
    pub outcome: Option<Outcome>,
    /// What its card showed.
    #[sqlx(json)]
    pub preview: Preview,
}

/// The action that left the owner's check in this version.
pub(in crate::actions) async fn find_edit(
    db: &Db,
    owner: &UserId,
    check: &CheckId,
    config_version: i64,
) -> Result<Option<EditRow>, DbError> {
    let sql = "SELECT l.at, l.via, p.kind, p.outcome, p.preview FROM action_edits e
        JOIN pending_actions p ON p.id = e.action_id
        JOIN audit_log l ON l.action_id = e.action_id AND l.event = 'EXECUTED'
        WHERE e.check_id = $1 AND e.config_version = $2 AND p.account_id = $3";
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(check).bind(config_version).bind(owner)
        .fetch_optional(pool).await)?)
}
