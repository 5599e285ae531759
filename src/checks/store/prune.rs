//! The statements that delete old history, in short batches by an index.

use sqlx::FromRow;

use crate::clock::Millis;
use crate::db::{Db, DbError, On};
use crate::ids::CheckId;
use crate::limits::Tier;
use crate::on_db;

/// A statement deletes at most so many rows.
pub const BATCH: u64 = 1_000;

/// What is kept of the checks of a tier.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Whose.
    pub tier: Tier,
    /// Pings with this id or a greater one; an id is also a time, and the index is by it.
    pub pings_since: String,
    /// So many of the newest whatever their age.
    pub pings_kept_anyway: i64,
    /// Flips of this time or later, and the last one before.
    pub flips_since: Millis,
}

/// What of a check's history is not kept.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Surplus {
    /// The check.
    pub id: CheckId,
    /// The newest ping that is too old.
    outdated: Option<String>,
    /// The newest ping of those that may go for their age.
    outside: Option<String>,
    /// The newest ping that is too many.
    excess: Option<String>,
    /// The oldest flips that stay are of this time; `None` if none is old.
    pub first_flip: Option<Millis>,
}

impl Surplus {
    /// The newest ping that may go; all before it may too.
    pub fn last_ping(&self) -> Option<&str> {
        let by_age = self.outdated.as_deref().zip(self.outside.as_deref()).map(|(old, outside)| old.min(outside));
        by_age.max(self.excess.as_deref())
    }
}

/// The next checks after the id `after` and what of their history is not kept. Reads indexes alone, and of a check no
/// more entries than there may be.
pub async fn list_surplus(db: &Db, bounds: &Bounds, after: &str) -> Result<Vec<Surplus>, DbError> {
    const SQL: &str = "SELECT c.id,
            (SELECT max(p.id) FROM pings p WHERE p.check_id = c.id AND p.id < $3) AS outdated,
            (SELECT p.id FROM pings p WHERE p.check_id = c.id ORDER BY p.id DESC LIMIT 1 OFFSET $4) AS outside,
            (SELECT p.id FROM pings p WHERE p.check_id = c.id ORDER BY p.id DESC LIMIT 1 OFFSET $5) AS excess,
            (SELECT max(f.at) FROM flips f WHERE f.check_id = c.id AND f.at < $6) AS first_flip
        FROM checks c JOIN accounts a ON a.id = c.account_id
        WHERE a.tier = $1 AND c.id > $2 ORDER BY c.id LIMIT 20";
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL)
        .bind(bounds.tier.as_str()).bind(after).bind(&bounds.pings_since).bind(bounds.pings_kept_anyway)
        .bind(bounds.tier.max_pings()).bind(bounds.flips_since)
        .fetch_all(pool).await)?)
}

/// Deletes the first [`BATCH`] rows of a table in the order of an index. On PostgreSQL what another instance deletes is
/// skipped, not waited for, and an array holds the ids: a sub-select that locks may be run again for each row, and then
/// finds more than its limit. SQLite has one writer.
macro_rules! delete {
    ($table:literal, $which:literal, $order:literal, $before:literal, $after:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE id ",
            $before,
            "SELECT id FROM ",
            $table,
            " WHERE ",
            $which,
            " ORDER BY ",
            $order,
            " LIMIT 1000",
            $after
        )
    };
    ($table:literal, $which:literal, $order:literal) => {
        [
            delete!($table, $which, $order, "IN (", ")"),
            delete!($table, $which, $order, "= ANY (ARRAY(", " FOR UPDATE SKIP LOCKED))"),
        ]
    };
}

/// Deletes the oldest of a check's pings up to the id `last`, and returns how many.
pub async fn delete_pings(db: &Db, check: &CheckId, last: &str) -> Result<u64, DbError> {
    const SQL: [&str; 2] = delete!("pings", "check_id = $1 AND id <= $2", "id");
    let [sqlite, postgres] = SQL;
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(sqlite).bind(check).bind(last).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(postgres).bind(check).bind(last).execute(pool).await?.rows_affected(),
    })
}

/// Deletes the oldest of a check's flips before `first_kept`, and returns how many.
pub async fn delete_flips(db: &Db, check: &CheckId, first_kept: Millis) -> Result<u64, DbError> {
    const SQL: [&str; 2] = delete!("flips", "check_id = $1 AND at < $2", "at, id");
    let [sqlite, postgres] = SQL;
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(sqlite).bind(check).bind(first_kept).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(postgres).bind(check).bind(first_kept).execute(pool).await?.rows_affected(),
    })
}

/// Deletes the oldest of our own gaps that ended before `first_kept`, and returns how many.
pub async fn delete_gaps(db: &Db, first_kept: Millis) -> Result<u64, DbError> {
    const SQL: [&str; 2] = delete!("intake_gaps", "to_at < $1", "to_at");
    let [sqlite, postgres] = SQL;
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(sqlite).bind(first_kept).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(postgres).bind(first_kept).execute(pool).await?.rows_affected(),
    })
}

/// Deletes the oldest pauses that ended before `first_kept`, and returns how many.
pub async fn delete_pauses(db: &Db, first_kept: Millis) -> Result<u64, DbError> {
    const SQL: [&str; 2] = delete!("pauses", "to_at < $1", "to_at");
    let [sqlite, postgres] = SQL;
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(sqlite).bind(first_kept).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(postgres).bind(first_kept).execute(pool).await?.rows_affected(),
    })
}
