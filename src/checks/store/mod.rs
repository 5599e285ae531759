//! The rows of checks as their owners read them. [`edits`] holds what owners write, [`pings`] what pings and time do.

pub mod channels;
pub mod claims;
pub mod deliveries;
pub mod edits;
pub mod flips;
pub mod intake;
pub mod outbox;
pub mod pauses;
pub mod pings;
pub mod prune;
pub mod runs;

use sqlx::FromRow;

use super::Check;
use super::values::Tag;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::{CheckId, UserId};
use crate::limits::Tier;
use crate::on_db;

/// The columns of a [`Check`], for `SELECT … FROM checks` and for `RETURNING` of a statement on `checks`.
///
/// The tier is a sub-select because SQLite's RETURNING cannot name a joined table. SQL texts must be `&'static str`,
/// and only literals can be joined at compile time, hence a macro and no constant.
macro_rules! check_columns {
    () => {
        "checks.id, checks.account_id, \
         (SELECT owner.tier FROM accounts owner WHERE owner.id = checks.account_id) AS tier, \
         checks.ping_key, checks.name, checks.tags, checks.description, checks.period_seconds, checks.cron, \
         checks.timezone, checks.grace_seconds, \
         checks.max_runtime_seconds, checks.status, checks.paused_at, checks.paused_until, checks.config_version, \
         checks.last_ping_at, checks.last_success_at, checks.last_fail_at, checks.last_start_at, checks.last_log_at, \
         checks.started_at, checks.counted_from, checks.due_at, checks.deadline_at, checks.runs_deadline_at, \
         checks.rejected_count, checks.last_rejected_at, \
         checks.created_at, checks.badge_key, \
         checks.alert_after_failures, checks.failures_in_row, checks.reminder_seconds"
    };
}
pub(super) use check_columns;

const FIND: &str = concat!("SELECT ", check_columns!(), " FROM checks WHERE checks.id = $1 AND checks.account_id = $2");
const FIND_BY_NAME: &str =
    concat!("SELECT ", check_columns!(), " FROM checks WHERE checks.name = $1 AND checks.account_id = $2");

/// The owner's check of that id.
pub async fn find_check(db: &Db, owner: &UserId, id: &CheckId) -> Result<Option<Check>, DbError> {
    Ok(on_db!(db.read(), pool => sqlx::query_as(FIND).bind(id).bind(owner).fetch_optional(pool).await)?)
}

/// [`find_check`] inside a transaction.
pub async fn find_check_in(tx: &mut Tx, owner: &UserId, id: &CheckId) -> Result<Option<Check>, DbError> {
    Ok(on_db!(tx.on(), c => sqlx::query_as(FIND).bind(id).bind(owner).fetch_optional(c).await)?)
}

/// The check of a badge key.
pub async fn find_by_badge(db: &Db, key: &str) -> Result<Option<Check>, DbError> {
    const SQL: &str = concat!("SELECT ", check_columns!(), " FROM checks WHERE checks.badge_key = $1");
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL).bind(key).fetch_optional(pool).await)?)
}

/// The owner's check of that exact name.
pub async fn find_by_name(db: &Db, owner: &UserId, name: &str) -> Result<Option<Check>, DbError> {
    Ok(on_db!(db.read(), pool => sqlx::query_as(FIND_BY_NAME).bind(name).bind(owner).fetch_optional(pool).await)?)
}

/// [`find_by_name`] inside a transaction.
pub async fn find_by_name_in(tx: &mut Tx, owner: &UserId, name: &str) -> Result<Option<Check>, DbError> {
    Ok(on_db!(tx.on(), c => sqlx::query_as(FIND_BY_NAME).bind(name).bind(owner).fetch_optional(c).await)?)
}

/// Which checks a list is to hold.
#[derive(Debug, Clone, Default)]
pub struct Listing<'a> {
    /// Only those with this tag.
    pub tag: Option<&'a Tag>,
    /// Only those older than this id.
    pub before: Option<&'a str>,
    /// At most so many.
    pub limit: i64,
}

/// The owner's checks, newest first.
pub async fn list_checks(db: &Db, owner: &UserId, listing: &Listing<'_>) -> Result<Vec<Check>, DbError> {
    // A JSON text's elements are spelled differently in the two databases: that is all the two texts differ in.
    const SQLITE: &str = concat!(
        "SELECT ",
        check_columns!(),
        " FROM checks WHERE checks.account_id = $1 AND ($2 IS NULL OR checks.id < $2)
        AND ($3 IS NULL OR EXISTS (SELECT 1 FROM json_each(checks.tags) t WHERE t.value = $3))
        ORDER BY checks.id DESC LIMIT $4"
    );
    const POSTGRES: &str = concat!(
        "SELECT ",
        check_columns!(),
        " FROM checks WHERE checks.account_id = $1 AND ($2 IS NULL OR checks.id < $2)
        AND ($3 IS NULL OR checks.tags @> jsonb_build_array($3))
        ORDER BY checks.id DESC LIMIT $4"
    );
    let Listing { before, limit, .. } = listing;
    let tag = listing.tag.map(Tag::as_str);
    let rows = match db.read() {
        On::Sqlite(pool) => {
            sqlx::query_as(SQLITE).bind(owner).bind(before).bind(tag).bind(limit).fetch_all(pool).await?
        }
        On::Postgres(pool) => {
            sqlx::query_as(POSTGRES).bind(owner).bind(before).bind(tag).bind(limit).fetch_all(pool).await?
        }
    };
    Ok(rows)
}

/// An account as this slice sees it.
#[derive(Debug, Clone, FromRow)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its tier: how many checks, and the floor.
    #[sqlx(try_from = "String")]
    pub tier: Tier,
    /// How many checks it has.
    pub check_count: i64,
}

const FIND_ACCOUNT: &str = "SELECT name, tier, check_count FROM accounts WHERE id = $1";

/// The owner's account.
pub async fn find_account(db: &Db, owner: &UserId) -> Result<Option<Account>, DbError> {
    Ok(on_db!(db.read(), pool => sqlx::query_as(FIND_ACCOUNT).bind(owner).fetch_optional(pool).await)?)
}

/// [`find_account`] inside a transaction.
pub async fn find_account_in(tx: &mut Tx, owner: &UserId) -> Result<Option<Account>, DbError> {
    Ok(on_db!(tx.on(), c => sqlx::query_as(FIND_ACCOUNT).bind(owner).fetch_optional(c).await)?)
}
