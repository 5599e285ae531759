//! The outbox as it is emptied and looked at: deliveries claimed by lease, finished by whoever holds it, listed.

use sqlx::FromRow;

use crate::checks::channels::ChannelKind;
use crate::checks::notice::{Event, Notice};
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::{ChannelId, CheckId, UserId};
use crate::on_db;

/// A delivery that is ours until its lease runs out, with the channel as it is now.
#[derive(Clone, FromRow)]
pub struct Claimed {
    /// Its id, the same at every attempt.
    pub id: String,
    /// The words.
    #[sqlx(json)]
    pub payload: Notice,
    /// This attempt's number, from 1: what [`finish_delivery`] must name.
    pub attempts: i64,
    /// Where to.
    #[sqlx(try_from = "String")]
    pub kind: ChannelKind,
    /// A URL or a mail address.
    pub target: String,
    /// What a webhook's messages are signed with.
    pub secret: Option<String>,
}

/// Whether anything waits to be sent: asked before a claim, which costs a write transaction.
pub async fn is_any_due(db: &Db, now: Millis) -> Result<bool, DbError> {
    const SQL: &str = "SELECT id FROM deliveries WHERE status = 'pending' AND next_attempt_at <= $1
        AND (claimed_until IS NULL OR claimed_until <= $1) LIMIT 1";
    let id: Option<String> = on_db!(db.read(), pool => sqlx::query_scalar(SQL).bind(now).fetch_optional(pool).await)?;
    Ok(id.is_some())
}

/// What makes a delivery free to be claimed at `$1`.
macro_rules! is_due {
    () => {
        "status = 'pending' AND next_attempt_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)"
    };
}

/// Claims due deliveries, with the row's own guard outside of the sub-select, which is not tested again after a wait.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "UPDATE deliveries SET claimed_until = $2, attempts = attempts + 1 WHERE id IN (SELECT id FROM deliveries
            WHERE ",
            is_due!(),
            " ORDER BY next_attempt_at, id LIMIT $3 ",
            $lock,
            ") AND ",
            is_due!(),
            " RETURNING id, payload, attempts,
            (SELECT c.kind FROM channels c WHERE c.id = deliveries.channel_id) AS kind,
            (SELECT c.target FROM channels c WHERE c.id = deliveries.channel_id) AS target,
            (SELECT c.secret FROM channels c WHERE c.id = deliveries.channel_id) AS secret"
        )
    };
}

/// Claims at most `limit` deliveries that are due and in nobody's hands, until `lease_until`.
pub async fn claim_deliveries(db: &Db, now: Millis, lease_until: Millis, limit: i64) -> Result<Vec<Claimed>, DbError> {
    const SQLITE: &str = claim!("");
    // Several instances send: what one of them claims is skipped, not waited for.
    const POSTGRES: &str = claim!("FOR NO KEY UPDATE SKIP LOCKED");
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query_as(SQLITE).bind(now).bind(lease_until).bind(limit).fetch_all(pool).await?,
        On::Postgres(pool) => sqlx::query_as(POSTGRES).bind(now).bind(lease_until).bind(limit).fetch_all(pool).await?,
    })
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The other side took it.
    Sent,
    /// It did not; another attempt follows.
    Retry {
        /// When.
        at: Millis,
        /// Why, in our words.
        reason: String,
    },
    /// It did not, and that was the last attempt.
    Failed {
        /// Why, in our words.
        reason: String,
    },
}

/// Writes how attempt number `attempt` ended; `false` if the delivery is in other hands by now, or gone.
pub async fn finish_delivery(db: &Db, id: &str, attempt: i64, ended: &Ended, now: Millis) -> Result<bool, DbError> {
    const SQL: &str = "UPDATE deliveries SET status = $3, next_attempt_at = coalesce($4, next_attempt_at),
        finished_at = $5, last_error = $6, claimed_until = NULL
        WHERE id = $1 AND status = 'pending' AND attempts = $2";
    let (status, next, finished, reason) = match ended {
        Ended::Sent => ("sent", None, Some(now), None),
        Ended::Retry { at, reason } => ("pending", Some(*at), None, Some(reason)),
        Ended::Failed { reason } => ("failed", None, Some(now), Some(reason)),
    };
    let rows = on_db!(db.autocommit(), pool => sqlx::query(SQL)
        .bind(id).bind(attempt).bind(status).bind(next).bind(finished).bind(reason)
        .execute(pool).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

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
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

macro_rules! list {
    ($which:literal) => {
        concat!(
            "SELECT d.id, d.event, d.channel_id, c.name AS channel_name, c.kind AS channel_kind, d.check_id, d.status,
            d.attempts, d.next_attempt_at, d.created_at, d.finished_at, d.last_error
            FROM deliveries d JOIN channels c ON c.id = d.channel_id WHERE d.account_id = $1 AND ",
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

/// Deletes deliveries that ended before `before`, at most `limit`; returns how many.
pub async fn delete_finished(db: &Db, before: Millis, limit: i64) -> Result<u64, DbError> {
    const SQLITE: &str = "DELETE FROM deliveries WHERE id IN
        (SELECT id FROM deliveries WHERE finished_at < $1 ORDER BY finished_at LIMIT $2)";
    // Several instances tidy: none waits for another.
    const POSTGRES: &str = "DELETE FROM deliveries WHERE id IN
        (SELECT id FROM deliveries WHERE finished_at < $1 ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)";
    Ok(match db.autocommit() {
        On::Sqlite(pool) => sqlx::query(SQLITE).bind(before).bind(limit).execute(pool).await?.rows_affected(),
        On::Postgres(pool) => sqlx::query(POSTGRES).bind(before).bind(limit).execute(pool).await?.rows_affected(),
    })
}
