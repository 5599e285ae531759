//! When checks were paused, which is no part of their uptime.

use crate::checks::intake::Gap;
use crate::clock::Millis;
use crate::db::{Db, DbError, Tx};
use crate::ids::{CheckId, new_v7};
use crate::on_db;

/// Begins a pause of a held check at `now`, which ends by itself at `until`, or never. One that is on ends there.
pub async fn begin_pause(tx: &mut Tx, check: &CheckId, now: Millis, until: Option<Millis>) -> Result<(), DbError> {
    const SQL: &str = "INSERT INTO pauses (id, check_id, from_at, to_at) VALUES ($1, $2, $3, $4)";
    end_pause(tx, check, now).await?;
    on_db!(tx.on(), c => sqlx::query(SQL).bind(new_v7(now)).bind(check).bind(now).bind(until).execute(c).await
        .map(|_| ()))?;
    Ok(())
}

/// Ends the pause of a held check at `now`, if it has one.
pub async fn end_pause(tx: &mut Tx, check: &CheckId, now: Millis) -> Result<(), DbError> {
    const SQL: &str = "UPDATE pauses SET to_at = $2 WHERE check_id = $1 AND (to_at IS NULL OR to_at > $2)";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(check).bind(now).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// A check's pauses that reach into the span, oldest first; one that goes on ends with it.
pub async fn list_pauses(db: &Db, check: &CheckId, from: Millis, to: Millis) -> Result<Vec<Gap>, DbError> {
    const SQL: &str = "SELECT from_at, coalesce(to_at, $3) AS to_at FROM pauses
        WHERE check_id = $1 AND (to_at IS NULL OR to_at > $2) AND from_at < $3 ORDER BY from_at";
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL).bind(check).bind(from).bind(to).fetch_all(pool).await)?)
}
