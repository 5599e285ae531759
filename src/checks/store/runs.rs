//! Runs that a job gave an id: begun by a start, ended by a success or fail with the same id. One that does not end in
//! time takes its check down, whatever other runs do.

use crate::clock::Millis;
use crate::db::{DbError, Tx};
use crate::ids::CheckId;
use crate::on_db;

/// More open runs of one check than this are not followed: the oldest are forgotten.
const MAX_OPEN: i64 = 100;

/// The earliest deadline of the check's open runs beside `rid`.
pub async fn find_deadline(tx: &mut Tx, check: &CheckId, rid: &str) -> Result<Option<Millis>, DbError> {
    const SQL: &str = "SELECT min(deadline_at) FROM runs WHERE check_id = $1 AND rid <> $2";
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(SQL).bind(check).bind(rid).fetch_one(c).await)?)
}

/// Begins a run, or begins it again.
pub async fn begin_run(
    tx: &mut Tx,
    check: &CheckId,
    rid: &str,
    started_at: Millis,
    deadline_at: Millis,
) -> Result<(), DbError> {
    const SQL: &str = "INSERT INTO runs (check_id, rid, started_at, deadline_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (check_id, rid) DO UPDATE SET started_at = excluded.started_at, deadline_at = excluded.deadline_at";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(check).bind(rid).bind(started_at).bind(deadline_at).execute(c).await
        .map(|_| ()))?;
    Ok(())
}

/// Forgets the oldest runs so that there is room for one more.
pub async fn make_room(tx: &mut Tx, check: &CheckId) -> Result<(), DbError> {
    const SQL: &str = "DELETE FROM runs WHERE check_id = $1 AND rid NOT IN
        (SELECT rid FROM runs WHERE check_id = $1 ORDER BY started_at DESC, rid LIMIT $2)";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(check).bind(MAX_OPEN - 1).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Ends a run.
pub async fn end_run(tx: &mut Tx, check: &CheckId, rid: &str) -> Result<(), DbError> {
    const SQL: &str = "DELETE FROM runs WHERE check_id = $1 AND rid = $2";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(check).bind(rid).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Forgets the runs that are late at `now` and have been told of, all of them if there is no `now`; returns the
/// earliest deadline of those that are left.
pub async fn forget_late(tx: &mut Tx, check: &CheckId, now: Option<Millis>) -> Result<Option<Millis>, DbError> {
    const DELETE: &str = "DELETE FROM runs WHERE check_id = $1 AND deadline_at <= coalesce($2, deadline_at)";
    const LEFT: &str = "SELECT min(deadline_at) FROM runs WHERE check_id = $1";
    on_db!(tx.on(), c => sqlx::query(DELETE).bind(check).bind(now).execute(c).await.map(|_| ()))?;
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(LEFT).bind(check).fetch_one(c).await)?)
}

/// Writes the earliest deadline of the runs that are left.
pub async fn store_deadline(tx: &mut Tx, check: &CheckId, deadline_at: Option<Millis>) -> Result<(), DbError> {
    const SQL: &str = "UPDATE checks SET runs_deadline_at = $2 WHERE id = $1";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(check).bind(deadline_at).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Moves the deadlines of all open runs: their longest time was changed.
pub async fn move_deadlines(tx: &mut Tx, check: &CheckId, by_ms: i64) -> Result<(), DbError> {
    const SQL: &str = "UPDATE runs SET deadline_at = deadline_at + $2 WHERE check_id = $1";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(check).bind(by_ms).execute(c).await.map(|_| ()))?;
    Ok(())
}
