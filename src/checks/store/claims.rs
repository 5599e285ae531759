//! The outbox as it is emptied: deliveries claimed by lease, and finished by whoever holds them.

use sqlx::FromRow;

use crate::checks::channels::ChannelKind;
use crate::checks::notice::Notice;
use crate::clock::Millis;
use crate::db::{Db, DbError, On};
use crate::ids::UserId;
use crate::on_db;

/// A delivery that is ours until its lease runs out, with the channel as it is now.
#[derive(Clone, FromRow)]
pub struct Claimed {
    /// Its id, the same at every attempt.
    pub id: String,
    /// Whose it is.
    pub account_id: UserId,
    /// The words.
    #[sqlx(json)]
    pub payload: Notice,
    /// This attempt's number, from 1: what [`finish_delivery`] must name.
    pub attempts: i64,
    /// When it was written.
    pub created_at: Millis,
    /// Where to.
    #[sqlx(try_from = "String")]
    pub kind: ChannelKind,
    /// A URL or a mail address.
    pub target: String,
    /// What a webhook's messages are signed with.
    pub secret: Option<String>,
    /// Whether something newer about its check has arrived on its channel already.
    pub is_overtaken: bool,
}

/// What makes a delivery that is pending free to be claimed at `$1`.
macro_rules! is_free {
    () => {
        "next_attempt_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)"
    };
}

/// That a row with a known id is pending, as no index says it. PostgreSQL, if it last saw nothing pending, would go
/// through all of an index of pending ones rather than by the id.
macro_rules! is_pending {
    () => {
        "status NOT IN ('sent', 'failed')"
    };
}

/// What was written before the clock was set back: no wait is of three hours, no lease of ten minutes.
macro_rules! strays {
    () => {
        "SELECT id FROM deliveries WHERE finished_at IS NULL AND next_attempt_at > $1 + 10800000
        UNION ALL SELECT id FROM deliveries WHERE claimed_until > $1 + 600000"
    };
}

/// Whether anything waits to be sent: asked before a claim, which costs a write.
pub async fn is_any_due(db: &Db, now: Millis) -> Result<bool, DbError> {
    const SQL: &str = concat!(
        "SELECT id FROM deliveries WHERE finished_at IS NULL AND ",
        is_free!(),
        " UNION ALL ",
        strays!(),
        " LIMIT 1"
    );
    let id: Option<String> = on_db!(db.read(), pool => sqlx::query_scalar(SQL).bind(now).fetch_optional(pool).await)?;
    Ok(id.is_some())
}

/// The ids of at most `$3` deliveries that may be sent now. Of each channel the first that is due, and fewer than two
/// of a channel and four of an account are under way at a time: who answers slowly delays nobody else, nor the other
/// channels of the same account. Nor are two about one check under way to one channel, so that they arrive in order.
///
/// `waiting` steps from channel to channel in its index, so a long backlog costs no more than a short one.
macro_rules! choose {
    () => {
        concat!(
            "WITH RECURSIVE busy AS
                (SELECT account_id, channel_id, check_id FROM deliveries WHERE claimed_until > $1),
            waiting (channel_id) AS (SELECT CAST('' AS TEXT) UNION ALL
                SELECT (SELECT d.channel_id FROM deliveries d WHERE d.status = 'pending'
                    AND d.channel_id > w.channel_id ORDER BY d.channel_id LIMIT 1)
                FROM waiting w WHERE w.channel_id IS NOT NULL),
            heads AS (SELECT c.account_id,
                (SELECT count(*) FROM busy b WHERE b.account_id = c.account_id) AS of_account,
                (SELECT count(*) FROM busy b WHERE b.channel_id = c.id) AS of_channel,
                (SELECT d.id FROM deliveries d WHERE d.channel_id = c.id AND d.status = 'pending' AND ",
            is_free!(),
            " AND NOT EXISTS (SELECT 1 FROM busy b WHERE b.channel_id = d.channel_id AND b.check_id = d.check_id)
                    ORDER BY d.next_attempt_at, d.id LIMIT 1) AS id
                FROM waiting w JOIN channels c ON c.id = w.channel_id WHERE c.deleted_at IS NULL),
            ranked AS (SELECT id,
                of_account + row_number() OVER (PARTITION BY account_id ORDER BY of_channel, id) AS nth
                FROM heads WHERE id IS NOT NULL AND of_channel < 2)
            SELECT id FROM ranked WHERE nth <= 4 ORDER BY nth, id LIMIT $3"
        )
    };
}

/// Claims what was chosen, with the row's own guard beside it, which is tested again after a wait.
macro_rules! claim {
    ($chosen:expr) => {
        concat!(
            "UPDATE deliveries SET claimed_until = $2, attempts = attempts + 1 WHERE ",
            $chosen,
            " AND ",
            is_pending!(),
            " AND ",
            is_free!(),
            " RETURNING id, account_id, payload, attempts, created_at,
            (SELECT c.kind FROM channels c WHERE c.id = deliveries.channel_id) AS kind,
            (SELECT c.target FROM channels c WHERE c.id = deliveries.channel_id) AS target,
            (SELECT c.secret FROM channels c WHERE c.id = deliveries.channel_id) AS secret,
            EXISTS (SELECT 1 FROM deliveries newer WHERE newer.check_id = deliveries.check_id
                AND newer.id > deliveries.id AND newer.channel_id = deliveries.channel_id
                AND newer.status = 'sent') AS is_overtaken"
        )
    };
}

/// Claims deliveries that are due and in nobody's hands until `lease_until`: at most `limit`, and a few of each account.
/// When it claims some, there may be more. It goes on without its caller.
pub async fn claim_deliveries(db: &Db, now: Millis, lease_until: Millis, limit: i64) -> Result<Vec<Claimed>, DbError> {
    const MEND: &str =
        concat!("UPDATE deliveries SET next_attempt_at = $1, claimed_until = NULL WHERE id IN (", strays!(), ")");
    const SQLITE: &str = claim!(concat!("id IN (", choose!(), ")"));
    // Several instances send: what one of them claims is skipped, not waited for. Arrays, because a sub-select may be
    // run again for each row, and one that locks then finds other rows: more than its limit.
    const POSTGRES: &str = claim!(concat!(
        "id = ANY (ARRAY(SELECT id FROM deliveries WHERE id = ANY (ARRAY(",
        choose!(),
        ")) AND ",
        is_pending!(),
        " AND ",
        is_free!(),
        " FOR NO KEY UPDATE SKIP LOCKED))"
    ));
    let handle = db.clone();
    db.detached(async move {
        on_db!(handle.autocommit(), pool => sqlx::query(MEND).bind(now).execute(pool).await.map(|_| ()))?;
        Ok(match handle.autocommit() {
            On::Sqlite(pool) => sqlx::query_as(SQLITE).bind(now).bind(lease_until).bind(limit).fetch_all(pool).await?,
            On::Postgres(pool) => {
                sqlx::query_as(POSTGRES).bind(now).bind(lease_until).bind(limit).fetch_all(pool).await?
            }
        })
    })
    .await
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
    /// There was no attempt: it has to wait.
    Postponed {
        /// Until when.
        at: Millis,
        /// Why, in our words.
        reason: String,
    },
    /// There was no attempt, and there will be none.
    Skipped {
        /// Why, in our words.
        reason: String,
    },
}

/// Writes how attempt number `attempt` ended; `false` if the delivery is in other hands by now, or gone. It goes on
/// without its caller.
pub async fn finish_delivery(db: &Db, id: &str, attempt: i64, ended: &Ended, now: Millis) -> Result<bool, DbError> {
    const SQL: &str = concat!(
        "UPDATE deliveries SET status = $3, next_attempt_at = coalesce($4, next_attempt_at),
        finished_at = $5, last_error = $6, attempts = attempts - $7, claimed_until = NULL
        WHERE id = $1 AND attempts = $2 AND ",
        is_pending!()
    );
    let (status, next, reason, uncounted) = match ended.clone() {
        Ended::Sent => ("sent", None, None, 0_i64),
        Ended::Retry { at, reason } => ("pending", Some(at), Some(reason), 0),
        Ended::Failed { reason } => ("failed", None, Some(reason), 0),
        Ended::Postponed { at, reason } => ("pending", Some(at), Some(reason), 1),
        Ended::Skipped { reason } => ("failed", None, Some(reason), 1),
    };
    let finished = (status != "pending").then_some(now);
    let (handle, id) = (db.clone(), id.to_owned());
    let rows = db.detached::<_, DbError>(async move {
        Ok(on_db!(handle.autocommit(), pool => sqlx::query(SQL)
            .bind(id).bind(attempt).bind(status).bind(next).bind(finished).bind(reason).bind(uncounted)
            .execute(pool).await.map(|r| r.rows_affected()))?)
    });
    Ok(rows.await? == 1)
}
