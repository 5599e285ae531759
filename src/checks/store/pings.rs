//! Pings: the statements that decide on one, and their rows.

use sqlx::FromRow;

use super::check_columns;
use crate::checks::Check;
use crate::checks::history::Kind;
use crate::checks::ping::Ping;
use crate::checks::status::Times;
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::{CheckId, UserId};
use crate::limits::Tier;
use crate::on_db;

const FIND: &str = concat!("SELECT ", check_columns!(), " FROM checks WHERE checks.ping_key = $1");

/// The check of a ping key, which is ours until the transaction ends: whoever else pings, edits or sweeps it waits.
pub async fn find_for_ping(tx: &mut Tx, key: &str) -> Result<Option<Check>, DbError> {
    // SQLite has no FOR UPDATE and needs none: a write transaction there is the only one.
    const LOCK: &str =
        concat!("SELECT ", check_columns!(), " FROM checks WHERE checks.ping_key = $1 FOR NO KEY UPDATE");
    Ok(match tx.on() {
        On::Sqlite(connection) => sqlx::query_as(FIND).bind(key).fetch_optional(connection).await?,
        On::Postgres(connection) => sqlx::query_as(LOCK).bind(key).fetch_optional(connection).await?,
    })
}

/// Whether a check has this ping key.
pub async fn is_known(db: &Db, key: &str) -> Result<bool, DbError> {
    const SQL: &str = "SELECT id FROM checks WHERE ping_key = $1";
    let found: Option<CheckId> =
        on_db!(db.read(), pool => sqlx::query_scalar(SQL).bind(key).fetch_optional(pool).await)?;
    Ok(found.is_some())
}

/// The statement that accepts a ping of one kind: it passes on a check that is not paused, if it changes the state
/// (`$passes`) or its kind's slot has been free for the floor.
macro_rules! accept {
    ($sets:literal, $passes:literal, $slot:literal) => {
        concat!(
            "UPDATE checks SET due_at = $3, deadline_at = $4, counted_from = $9, runs_deadline_at = $10,
            started_at = $11, ",
            $sets,
            " FROM accounts a WHERE checks.id = $1 AND a.id = checks.account_id AND checks.status = $5
            AND checks.failures_in_row = $12
            AND (checks.paused_at IS NULL OR checks.paused_until <= $2) AND (",
            $passes,
            " checks.",
            $slot,
            " IS NULL OR checks.",
            $slot,
            " + CASE a.tier WHEN 'free' THEN $6 WHEN 'pro' THEN $7 ELSE $8 END <= $2 OR checks.",
            $slot,
            // A stamp this far ahead was written before the clock was set back: it must not silence the check.
            " > $2 + 60000)"
        )
    };
}

const SUCCESS: &str = accept!(
    "status = 'up', last_ping_at = $2, last_success_at = $2, failures_in_row = 0",
    "checks.status = 'down' OR",
    "last_success_at"
);
// Where it takes several fails, each of them must keep the floor: a job that fails twice in a second has failed once.
const FAIL: &str = accept!(
    "status = CASE WHEN checks.failures_in_row + 1 < checks.alert_after_failures THEN checks.status ELSE 'down' END,
    last_ping_at = $2, last_fail_at = $2, failures_in_row = checks.failures_in_row + 1",
    "checks.status <> 'down' AND checks.alert_after_failures = 1 OR",
    "last_fail_at"
);
const START: &str = accept!("last_start_at = $2", "", "last_start_at");
const LOG: &str = accept!("last_log_at = $2", "", "last_log_at");

/// What a ping leaves behind in its check's row, if it is accepted.
#[derive(Debug, Clone, Copy)]
pub struct After {
    /// What it waits for next.
    pub times: Times,
    /// The earliest deadline of the runs that go on.
    pub runs_deadline_at: Option<Millis>,
    /// The start without an id that goes on.
    pub started_at: Option<Millis>,
}

/// Accepts a ping of `kind` on `check`, which [`find_for_ping`] returned, and writes `after`; `false`: paused or too
/// soon. That the status was still `check`'s is part of it, so one row is also one change of state, if it is one.
pub async fn accept(tx: &mut Tx, kind: Kind, check: &Check, after: After, now: Millis) -> Result<bool, DbError> {
    let After { times, runs_deadline_at, started_at } = after;
    let sql = match kind {
        Kind::Success => SUCCESS,
        Kind::Fail => FAIL,
        Kind::Start => START,
        Kind::Log => LOG,
    };
    let [free, pro, business] = Tier::ALL.map(|tier| i64::try_from(tier.floor().as_millis()).unwrap_or(i64::MAX));
    let rows = on_db!(tx.on(), c => sqlx::query(sql)
        .bind(&check.id).bind(now).bind(times.due_at).bind(times.deadline_at).bind(check.status.as_str())
        .bind(free).bind(pro).bind(business).bind(times.counted_from).bind(runs_deadline_at).bind(started_at)
        .bind(check.failures_in_row)
        .execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

const COUNT_REJECTED: &str =
    "UPDATE checks SET rejected_count = rejected_count + 1, last_rejected_at = $2 WHERE id = $1";

/// Counts a ping that came too soon; nothing else of the check moves.
pub async fn count_rejected_in(tx: &mut Tx, check: &CheckId, now: Millis) -> Result<(), DbError> {
    on_db!(tx.on(), c => sqlx::query(COUNT_REJECTED).bind(check).bind(now).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// [`count_rejected_in`] by itself.
pub async fn count_rejected(db: &Db, check: &CheckId, now: Millis) -> Result<(), DbError> {
    on_db!(db.autocommit(), c => sqlx::query(COUNT_REJECTED).bind(check).bind(now).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// When the run `rid` started last: a job may send the same id every time.
pub async fn find_start(tx: &mut Tx, check: &CheckId, rid: &str) -> Result<Option<Millis>, DbError> {
    const SQL: &str = "SELECT at FROM pings WHERE check_id = $1 AND rid = $2 AND kind = 'start' AND accepted
        ORDER BY id DESC LIMIT 1";
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(SQL).bind(check).bind(rid).fetch_optional(c).await)?)
}

/// What became of a ping, for its row.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'a> {
    /// The new row's id (uuid v7).
    pub id: &'a str,
    /// The check.
    pub check: &'a CheckId,
    /// When it was decided.
    pub at: Millis,
    /// Whether it counted.
    pub accepted: bool,
    /// How long the run took that it ended.
    pub duration_ms: Option<i64>,
}

/// Keeps a ping.
pub async fn insert_ping(tx: &mut Tx, verdict: Verdict<'_>, ping: &Ping) -> Result<(), DbError> {
    const SQL: &str =
        "INSERT INTO pings (id, check_id, at, accepted, duration_ms, kind, exit_status, rid, remote, body,
        body_length) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(verdict.id).bind(verdict.check).bind(verdict.at).bind(verdict.accepted).bind(verdict.duration_ms)
        .bind(ping.kind.as_str()).bind(ping.exit_status.map(i64::from)).bind(&ping.rid).bind(&ping.remote)
        .bind(&ping.body).bind(ping.body_length)
        .execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Whether a ping was kept and accepted: asked when the answer to a commit was lost.
pub async fn is_accepted(db: &Db, id: &str) -> Result<bool, DbError> {
    const SQL: &str = "SELECT count(*) FROM pings WHERE id = $1 AND accepted";
    let rows: i64 = on_db!(db.read(), pool => sqlx::query_scalar(SQL).bind(id).fetch_one(pool).await)?;
    Ok(rows == 1)
}

/// A ping's row.
#[derive(Debug, Clone, FromRow)]
pub struct PingRow {
    /// Its id (uuid v7), which lists are paged by.
    pub id: String,
    /// When it was decided on.
    pub at: Millis,
    /// What it said.
    #[sqlx(try_from = "String")]
    pub kind: Kind,
    /// Whether it counted.
    pub accepted: bool,
    /// As the job reported it.
    pub exit_status: Option<i64>,
    /// Since the start that it ended.
    pub duration_ms: Option<i64>,
    /// The sender's address.
    pub remote: String,
    /// The first 10,000 bytes.
    pub body: Vec<u8>,
    /// How many bytes came.
    pub body_length: i64,
}

/// The kept pings of an owner's check, newest first: `limit` of those older than the row `before`.
pub async fn list_pings(
    db: &Db,
    owner: &UserId,
    check: &CheckId,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<PingRow>, DbError> {
    const SQL: &str =
        "SELECT p.id, p.at, p.kind, p.accepted, p.exit_status, p.duration_ms, p.remote, p.body, p.body_length
        FROM pings p JOIN checks c ON c.id = p.check_id
        WHERE c.account_id = $1 AND p.check_id = $2 AND ($3 IS NULL OR p.id < $3) ORDER BY p.id DESC LIMIT $4";
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL)
        .bind(owner).bind(check).bind(before).bind(limit).fetch_all(pool).await)?)
}

/// The owner's check's last success or fail that counted, as far back as pings are kept.
pub async fn find_last_result(db: &Db, owner: &UserId, check: &CheckId) -> Result<Option<PingRow>, DbError> {
    const SQL: &str =
        "SELECT p.id, p.at, p.kind, p.accepted, p.exit_status, p.duration_ms, p.remote, p.body, p.body_length
        FROM pings p JOIN checks c ON c.id = p.check_id
        WHERE c.account_id = $1 AND p.check_id = $2 AND p.accepted AND p.kind IN ('success', 'fail')
        ORDER BY p.id DESC LIMIT 1";
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL).bind(owner).bind(check).fetch_optional(pool).await)?)
}

/// When those runs of a check started that have an id and no end, the last ones before `before` first.
pub async fn list_open_starts(db: &Db, check: &CheckId, before: Millis, limit: i64) -> Result<Vec<Millis>, DbError> {
    const SQL: &str = "SELECT s.at FROM pings s
        WHERE s.check_id = $1 AND s.rid IS NOT NULL AND s.kind = 'start' AND s.accepted AND s.at < $2
        AND NOT EXISTS (SELECT 1 FROM pings e WHERE e.check_id = $1 AND e.rid = s.rid
            AND e.kind IN ('success', 'fail') AND e.accepted AND e.id > s.id)
        ORDER BY s.id DESC LIMIT $3";
    Ok(on_db!(db.read(), pool => sqlx::query_scalar(SQL).bind(check).bind(before).bind(limit).fetch_all(pool).await)?)
}
