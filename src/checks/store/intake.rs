//! The mark that says until when pings were taken in, the gaps between two marks, and the checks held after one.

use crate::checks::intake::Gap;
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::new_v7;
use crate::on_db;

/// Where the mark stands; `None` before the first instance has set it.
pub async fn find_mark(db: &Db) -> Result<Option<Millis>, DbError> {
    const SQL: &str = "SELECT marked_at FROM intake WHERE id = 1";
    Ok(on_db!(db.read(), pool => sqlx::query_scalar(SQL).fetch_one(pool).await)?)
}

/// Moves the mark from where it was `seen`; `false` if another instance has moved it. Holds it until the transaction
/// ends.
pub async fn move_mark(tx: &mut Tx, seen: Option<Millis>, now: Millis) -> Result<bool, DbError> {
    const SQL: &str = "UPDATE intake SET marked_at = $2 WHERE id = 1 AND marked_at IS NOT DISTINCT FROM $1";
    let rows = on_db!(tx.on(), c => sqlx::query(SQL).bind(seen).bind(now).execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

/// Records a gap.
pub async fn insert_gap(tx: &mut Tx, gap: Gap) -> Result<(), DbError> {
    const SQL: &str = "INSERT INTO intake_gaps (id, from_at, to_at) VALUES ($1, $2, $3)";
    on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(new_v7(gap.to)).bind(gap.from).bind(gap.to).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Which checks a gap from `$1` to `$2` may have swallowed a ping of: those that would have gone down in it, and those
/// whose ping was due by its end and that would go down soon after. Not those that are down, paused, or were past their
/// deadline before it.
macro_rules! concerned {
    () => {
        "status <> 'down' AND deadline_at > $1 AND deadline_at < $2 + grace_seconds * 1000
        AND (deadline_at <= $2 OR due_at <= $2) AND (paused_at IS NULL OR paused_until <= $2)"
    };
}

/// What was due in the gap is due at its end, and has its whole grace from there.
macro_rules! hold {
    () => {
        "UPDATE checks SET due_at = CASE WHEN due_at < $2 THEN $2 ELSE due_at END,
        deadline_at = $2 + grace_seconds * 1000,
        runs_deadline_at = CASE WHEN runs_deadline_at > $1 AND runs_deadline_at <= $2
            THEN $2 + grace_seconds * 1000 ELSE runs_deadline_at END WHERE "
    };
}

/// Holds the checks that `gap` concerned until its end plus their grace, and returns how many.
pub async fn hold_checks(tx: &mut Tx, gap: Gap) -> Result<u64, DbError> {
    const HOLD: &str = concat!(hold!(), concerned!());
    // The ends of their runs may have been swallowed too: of those that were just held for one.
    const RUNS: &str = "UPDATE runs SET deadline_at = $2 +
            1000 * (SELECT c.grace_seconds FROM checks c WHERE c.id = runs.check_id)
        WHERE deadline_at > $1 AND deadline_at <= $2 AND EXISTS (SELECT 1 FROM checks c WHERE c.id = runs.check_id
            AND c.status <> 'down' AND c.runs_deadline_at = $2 + c.grace_seconds * 1000)";
    if let On::Postgres(connection) = tx.on() {
        // All checks of all accounts may be concerned, and until they are held nothing is swept: this must not fail
        // again and again for being many.
        sqlx::query("SELECT set_config('statement_timeout', '60000', true)").execute(&mut *connection).await?;
        // Locked in the order of their ids, as everywhere, so that nothing deadlocks. None is skipped: a ping that has
        // one in hand may be refused, and then nothing else would hold that check. A statement of its own: inside the
        // other one it may be run once for each row.
        let lock = concat!(
            "SELECT count(*) FROM (SELECT id FROM checks WHERE ",
            concerned!(),
            r#" ORDER BY id COLLATE "C" FOR NO KEY UPDATE) concerned"#
        );
        sqlx::query(lock).bind(gap.from).bind(gap.to).execute(connection).await?;
    }
    let held = on_db!(tx.on(), c => sqlx::query(HOLD)
        .bind(gap.from).bind(gap.to).execute(c).await.map(|done| done.rows_affected()))?;
    on_db!(tx.on(), c => sqlx::query(RUNS).bind(gap.from).bind(gap.to).execute(c).await.map(|_| ()))?;
    Ok(held)
}

/// The gaps that reach into the span, oldest first.
pub async fn list_gaps(db: &Db, from: Millis, to: Millis) -> Result<Vec<Gap>, DbError> {
    const SQL: &str = "SELECT from_at, to_at FROM intake_gaps WHERE to_at > $1 AND from_at < $2 ORDER BY to_at";
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL).bind(from).bind(to).fetch_all(pool).await)?)
}
