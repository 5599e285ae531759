//! Flips, and the statements of the sweep that makes most of them.

use sqlx::FromRow;

use crate::checks::Status;
use crate::checks::history::Reason;
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::{CheckId, UserId, new_v7};
use crate::on_db;

/// A change of state, to be written in the transaction that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flip {
    /// The state before.
    pub from: Status,
    /// The state after.
    pub to: Status,
    /// Why.
    pub reason: Reason,
    /// When: for a timeout the deadline.
    pub at: Millis,
}

/// Records a flip and returns its id; `now` is when it is written, which lists are ordered by.
pub async fn insert_flip(tx: &mut Tx, check: &CheckId, flip: Flip, now: Millis) -> Result<String, DbError> {
    const SQL: &str =
        "INSERT INTO flips (id, check_id, at, from_status, to_status, reason) VALUES ($1, $2, $3, $4, $5, $6)";
    let id = new_v7(now);
    on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(&id).bind(check).bind(flip.at)
        .bind(flip.from.as_str()).bind(flip.to.as_str()).bind(flip.reason.as_str())
        .execute(c).await.map(|_| ()))?;
    Ok(id)
}

/// A flip's row.
#[derive(Debug, Clone, FromRow)]
pub struct FlipRow {
    /// Its id (uuid v7), which lists are paged by.
    pub id: String,
    /// When.
    pub at: Millis,
    /// The state before.
    #[sqlx(try_from = "String")]
    pub from_status: Status,
    /// The state after.
    #[sqlx(try_from = "String")]
    pub to_status: Status,
    /// Why.
    #[sqlx(try_from = "String")]
    pub reason: Reason,
}

/// The flips of an owner's check, newest first: `limit` of those older than the row `before`.
pub async fn list_flips(
    db: &Db,
    owner: &UserId,
    check: &CheckId,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<FlipRow>, DbError> {
    const SQL: &str = "SELECT f.id, f.at, f.from_status, f.to_status, f.reason
        FROM flips f JOIN checks c ON c.id = f.check_id
        WHERE c.account_id = $1 AND f.check_id = $2 AND ($3 IS NULL OR f.id < $3) ORDER BY f.id DESC LIMIT $4";
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL)
        .bind(owner).bind(check).bind(before).bind(limit).fetch_all(pool).await)?)
}

/// A check's flips since `from`, oldest first, and the last one before; at most `limit`, the newest.
pub async fn list_since(db: &Db, check: &CheckId, from: Millis, limit: i64) -> Result<Vec<Flip>, DbError> {
    const SQL: &str = "SELECT id, at, from_status, to_status, reason FROM flips WHERE check_id = $1
        AND at >= coalesce((SELECT max(at) FROM flips WHERE check_id = $1 AND at < $2), $2)
        ORDER BY at DESC, id DESC LIMIT $3";
    let rows: Vec<FlipRow> = on_db!(db.read(), pool => sqlx::query_as(SQL)
        .bind(check).bind(from).bind(limit).fetch_all(pool).await)?;
    let flip = |row: FlipRow| Flip { from: row.from_status, to: row.to_status, reason: row.reason, at: row.at };
    Ok(rows.into_iter().rev().map(flip).collect())
}

/// A check whose deadline has passed, as it was seen.
#[derive(Debug, Clone, FromRow)]
pub struct Late {
    /// Which.
    pub id: CheckId,
    /// Its status.
    #[sqlx(try_from = "String")]
    pub status: Status,
    /// Its last ping.
    pub last_ping_at: Option<Millis>,
    /// The deadline.
    pub deadline_at: Millis,
}

/// Checks past their deadlines, the longest overdue first: `limit` of those after `last`.
pub async fn list_late(db: &Db, now: Millis, last: Option<&Late>, limit: i64) -> Result<Vec<Late>, DbError> {
    const SQL: &str = "SELECT id, status, last_ping_at, deadline_at FROM checks
        WHERE deadline_at <= $1 AND status <> 'down' AND (paused_at IS NULL OR paused_until <= $1)
        AND (deadline_at, id) > ($2, $3) ORDER BY deadline_at, id LIMIT $4";
    let (deadline, id) = last.map_or((Millis(i64::MIN), ""), |last| (last.deadline_at, last.id.as_str()));
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL)
        .bind(now).bind(deadline).bind(id).bind(limit).fetch_all(pool).await)?)
}

/// What must still be true of a check for it to go down: all that was seen of it, and the deadline at `now`. And pings
/// must have been taken in lately ([`SILENCE`](crate::checks::intake::SILENCE)): otherwise the silence may be ours.
macro_rules! still_late {
    () => {
        " AND status = $2 AND deadline_at = $3 AND last_ping_at IS NOT DISTINCT FROM $4
        AND deadline_at <= $5 AND (paused_at IS NULL OR paused_until <= $5)
        AND NOT EXISTS (SELECT 1 FROM intake WHERE marked_at <= $5 - 150000)"
    };
}

/// Takes a late check down; `false` if it is late no more, or somebody else is at it. An open start stays in the row:
/// the run that hangs may still end, and then has its duration.
pub async fn claim_late(tx: &mut Tx, late: &Late, now: Millis) -> Result<bool, DbError> {
    const SQLITE: &str = concat!("UPDATE checks SET status = 'down', deadline_at = NULL WHERE id = $1", still_late!());
    // Several instances sweep: what one of them, or a ping, has in hand is skipped, not waited for.
    const POSTGRES: &str = concat!(
        "UPDATE checks SET status = 'down', deadline_at = NULL
        WHERE id = (SELECT id FROM checks WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED)",
        still_late!()
    );
    let (status, deadline, seen) = (late.status.as_str(), late.deadline_at, late.last_ping_at);
    let rows = match tx.on() {
        On::Sqlite(connection) => {
            let query = sqlx::query(SQLITE).bind(&late.id).bind(status).bind(deadline).bind(seen).bind(now);
            query.execute(connection).await?.rows_affected()
        }
        On::Postgres(connection) => {
            let query = sqlx::query(POSTGRES).bind(&late.id).bind(status).bind(deadline).bind(seen).bind(now);
            query.execute(connection).await?.rows_affected()
        }
    };
    Ok(rows == 1)
}

/// Clears pauses that have ended by themselves. They were over at their `paused_until` already, and the deadline counts
/// from there: this only tidies.
pub async fn expire_pauses(db: &Db, now: Millis) -> Result<u64, DbError> {
    const SQLITE: &str = "UPDATE checks SET paused_at = NULL, paused_until = NULL WHERE paused_until <= $1";
    // Many rows in no order: waiting for one while holding another could make a deadlock, so none is waited for.
    const POSTGRES: &str = "UPDATE checks SET paused_at = NULL, paused_until = NULL
        WHERE id IN (SELECT id FROM checks WHERE paused_until <= $1 FOR NO KEY UPDATE SKIP LOCKED)
        AND paused_until <= $1";
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(SQLITE).bind(now).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(POSTGRES).bind(now).execute(pool).await?.rows_affected(),
    })
}
