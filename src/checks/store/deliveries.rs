//! The outbox as it is looked at, and what is deleted of it.

use sqlx::FromRow;

use crate::checks::channels::ChannelKind;
use crate::checks::notice::Event;
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::{ChannelId, CheckId, UserId};
use crate::on_db;

/// A delivery's row, with its channel.
#[derive(Debug, Clone, FromRow)]
pub struct DeliveryRow {
    /// Its id (uuid v7), which lists are paged by.
    pub id: String,
    /// What it tells of.
    #[sqlx(try_from = "String")]
    pub event: Event,
    /// Through which channel.
    pub channel_id: ChannelId,
    /// The channel's name.
    pub channel_name: String,
    /// The channel's kind.
    #[sqlx(try_from = "String")]
    pub channel_kind: ChannelKind,
    /// Of which check, unless it is a test.
    pub check_id: Option<CheckId>,
    /// `pending`, `sent` or `failed`.
    pub status: String,
    /// Attempts begun.
    pub attempts: i64,
    /// When the next attempt is due.
    pub next_attempt_at: Millis,
    /// When it was written.
    pub created_at: Millis,
    /// When it was sent, or given up.
    pub finished_at: Option<Millis>,
    /// Why the last attempt failed, or why there was none.
    pub last_error: Option<String>,
}

macro_rules! list {
    ($which:literal) => {
        concat!(
            "SELECT d.id, d.event, d.channel_id, c.name AS channel_name, c.kind AS channel_kind, d.check_id, d.status,
            d.attempts, d.next_attempt_at, d.created_at, d.finished_at, d.last_error
            FROM deliveries d JOIN channels c ON c.id = d.channel_id WHERE d.account_id = $1
            AND c.deleted_at IS NULL AND ",
            $which,
            " AND ($3 IS NULL OR d.id < $3) ORDER BY d.id DESC LIMIT $4"
        )
    };
}

/// The owner's deliveries through a channel, newest first: `limit` of those older than the row `before`.
pub async fn list_of_channel(
    db: &Db,
    owner: &UserId,
    channel: &ChannelId,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<DeliveryRow>, DbError> {
    const SQL: &str = list!("d.channel_id = $2");
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL)
        .bind(owner).bind(channel).bind(before).bind(limit).fetch_all(pool).await)?)
}

/// The owner's deliveries about a check, newest first: who was told.
pub async fn list_of_check(
    db: &Db,
    owner: &UserId,
    check: &CheckId,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<DeliveryRow>, DbError> {
    const SQL: &str = list!("d.check_id = $2");
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL)
        .bind(owner).bind(check).bind(before).bind(limit).fetch_all(pool).await)?)
}

/// One delivery, inside the transaction that wrote it.
pub async fn find_delivery_in(tx: &mut Tx, owner: &UserId, id: &str) -> Result<Option<DeliveryRow>, DbError> {
    const SQL: &str = list!("d.id = $2");
    let none: Option<String> = None;
    Ok(on_db!(tx.on(), c => sqlx::query_as(SQL).bind(owner).bind(id).bind(none).bind(1_i64).fetch_optional(c).await)?)
}

/// Deletes the first `$2` of the deliveries that `$which` names. Several instances tidy on PostgreSQL, and none
/// waits for another; an array holds the ids, because a sub-select that locks may be run again for each row.
macro_rules! delete {
    ($which:literal) => {
        [
            concat!("DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE ", $which, " LIMIT $2)"),
            concat!(
                "DELETE FROM deliveries WHERE id = ANY (ARRAY(SELECT id FROM deliveries WHERE ",
                $which,
                " LIMIT $2 FOR UPDATE SKIP LOCKED))"
            ),
        ]
    };
}

/// Deletes deliveries that ended before `before`, at most `limit`; returns how many.
pub async fn delete_finished(db: &Db, before: Millis, limit: i64) -> Result<u64, DbError> {
    const SQL: [&str; 2] = delete!("finished_at < $1 ORDER BY finished_at");
    let [sqlite, postgres] = SQL;
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(sqlite).bind(before).bind(limit).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(postgres).bind(before).bind(limit).execute(pool).await?.rows_affected(),
    })
}

/// Deletes deliveries of a channel, at most `limit`; returns how many.
pub async fn delete_of_channel(db: &Db, channel: &ChannelId, limit: i64) -> Result<u64, DbError> {
    const SQL: [&str; 2] = delete!("channel_id = $1 ORDER BY id");
    let [sqlite, postgres] = SQL;
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(sqlite).bind(channel).bind(limit).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(postgres).bind(channel).bind(limit).execute(pool).await?.rows_affected(),
    })
}
