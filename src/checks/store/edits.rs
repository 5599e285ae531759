//! The statements behind [`apply`](crate::checks::apply). Each is one decision, and its row count is the answer.

use sqlx::types::Json;
use uuid::Uuid;

use super::check_columns;
use crate::checks::Check;
use crate::checks::config::Settings;
use crate::checks::schedule::{Cron, Zone};
use crate::checks::status::Times;
use crate::checks::values::Seconds;
use crate::clock::Millis;
use crate::db::{DbError, On, Tx};
use crate::ids::{CheckId, UserId};
use crate::limits::Tier;
use crate::on_db;

/// The check that an edit is aimed at: whose, and in which version, if that matters.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Its owner.
    pub owner: &'a UserId,
    /// Its id.
    pub check: &'a CheckId,
    /// Its `config_version` must be this.
    pub version: Option<i64>,
}

/// Claims a check for an edit: returns the row, which is ours until the transaction ends. No ping, sweep or other edit
/// can come between this and the [`update_check`] that follows.
pub async fn claim_check(tx: &mut Tx, target: Target<'_>) -> Result<Option<Check>, DbError> {
    const SQL: &str = concat!(
        "UPDATE checks SET config_version = config_version
        WHERE checks.id = $1 AND checks.account_id = $2 AND ($3 IS NULL OR checks.config_version = $3) RETURNING ",
        check_columns!()
    );
    let Target { owner, check, version } = target;
    Ok(on_db!(tx.on(), c => sqlx::query_as(SQL).bind(check).bind(owner).bind(version).fetch_optional(c).await)?)
}

/// Writes what an edit may change of a claimed check and moves its version; `false` if another check has its name.
pub async fn update_check(tx: &mut Tx, check: &Check) -> Result<bool, DbError> {
    const SQL: &str =
        "UPDATE checks SET name = $3, tags = $4, description = $5, period_seconds = $6, grace_seconds = $7,
        max_runtime_seconds = $8, ping_key = $9, paused_at = $10, paused_until = $11, started_at = $12, due_at = $13,
        deadline_at = $14, cron = $15, timezone = $16, counted_from = $17, runs_deadline_at = $18, config_version = config_version + 1
        WHERE id = $1 AND account_id = $2
        AND NOT EXISTS (SELECT 1 FROM checks o WHERE o.account_id = $2 AND o.name = $3 AND o.id <> $1)";
    let rows = on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(&check.id).bind(&check.account_id).bind(&check.name).bind(Json(&check.tags)).bind(&check.description)
        .bind(check.schedule.period_seconds()).bind(check.grace_seconds).bind(check.max_runtime_seconds).bind(&check.ping_key)
        .bind(check.paused_at).bind(check.paused_until).bind(check.started_at)
        .bind(check.due_at).bind(check.deadline_at).bind(check.schedule.cron()).bind(check.schedule.zone())
        .bind(check.counted_from).bind(check.runs_deadline_at)
        .execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

/// All checks of an account, which are ours until the transaction ends, taken in the order of their ids.
pub async fn hold_checks(tx: &mut Tx, owner: &UserId) -> Result<Vec<Check>, DbError> {
    const SQLITE: &str = concat!("SELECT ", check_columns!(), " FROM checks WHERE checks.account_id = $1");
    const POSTGRES: &str = concat!(
        "SELECT ",
        check_columns!(),
        r#" FROM checks WHERE checks.account_id = $1 ORDER BY checks.id COLLATE "C" FOR NO KEY UPDATE"#
    );
    Ok(match tx.on() {
        On::Sqlite(connection) => sqlx::query_as(SQLITE).bind(owner).fetch_all(connection).await?,
        On::Postgres(connection) => sqlx::query_as(POSTGRES).bind(owner).fetch_all(connection).await?,
    })
}

/// Writes when a held check is due and goes down; no edit of its configuration.
pub async fn store_times(tx: &mut Tx, check: &CheckId, times: Times) -> Result<(), DbError> {
    const SQL: &str = "UPDATE checks SET counted_from = $2, due_at = $3, deadline_at = $4 WHERE id = $1";
    on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(check).bind(times.counted_from).bind(times.due_at).bind(times.deadline_at)
        .execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Takes one place of the account's tier, if one is free, and returns the tier. Holds the row like [`hold_account`].
pub async fn take_place(tx: &mut Tx, owner: &UserId) -> Result<Option<Tier>, DbError> {
    const SQL: &str = "UPDATE accounts SET check_count = check_count + 1
        WHERE id = $1 AND check_count < CASE tier WHEN 'free' THEN $2 WHEN 'pro' THEN $3 ELSE $4 END RETURNING tier";
    let [free, pro, business] = Tier::ALL.map(Tier::max_checks);
    let tier: Option<String> = on_db!(tx.on(), c => sqlx::query_scalar(SQL)
        .bind(owner).bind(free).bind(pro).bind(business).fetch_optional(c).await)?;
    tier.map(|tier| parse_tier(owner, tier)).transpose()
}

fn parse_tier(owner: &UserId, value: String) -> Result<Tier, DbError> {
    value.parse().map_err(|_| DbError::Corrupt { table: "accounts", column: "tier", row: owner.to_string(), value })
}

/// Gives a place back; `false` if the account has none taken.
pub async fn release_place(tx: &mut Tx, owner: &UserId) -> Result<bool, DbError> {
    const SQL: &str = "UPDATE accounts SET check_count = check_count - 1 WHERE id = $1 AND check_count > 0";
    let rows = on_db!(tx.on(), c => sqlx::query(SQL).bind(owner).execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

/// Holds the account's row until the transaction ends, so that neither its tier nor a name in it changes beside us.
/// Two renames to one name would else both find it free, and the unique index would abort one transaction midway.
pub async fn hold_account(tx: &mut Tx, owner: &UserId) -> Result<(), DbError> {
    const SQL: &str = "UPDATE accounts SET check_count = check_count WHERE id = $1";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(owner).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Inserts a new check; `false` if its name is taken.
pub async fn insert_check(tx: &mut Tx, new: &NewCheck<'_>, now: Millis) -> Result<bool, DbError> {
    const SQL: &str =
        "INSERT INTO checks (id, account_id, ping_key, name, tags, description, period_seconds, cron, timezone,
        grace_seconds, max_runtime_seconds, status, created_at, badge_key)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'new', $12, $13)
        ON CONFLICT (account_id, name) DO NOTHING";
    let NewCheck { owner, id, ping_key, settings } = new;
    let rows = on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(id).bind(owner).bind(ping_key)
        .bind(settings.name.as_str()).bind(Json(&settings.tags)).bind(settings.description.as_str())
        .bind(settings.period_seconds.map(Seconds::get))
        .bind(settings.cron.as_ref().map(Cron::as_str)).bind(settings.timezone.as_ref().map(Zone::as_str))
        .bind(settings.grace_seconds.get())
        .bind(settings.max_runtime_seconds.map(Seconds::get)).bind(now).bind(Uuid::new_v4().to_string())
        .execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

/// A check about to be inserted.
#[derive(Debug, Clone, Copy)]
pub struct NewCheck<'a> {
    /// Whose.
    pub owner: &'a UserId,
    /// Its id.
    pub id: &'a CheckId,
    /// The secret in its ping URL.
    pub ping_key: &'a str,
    /// What it is to be.
    pub settings: &'a Settings,
}

/// Deletes the check with its pings and flips, and returns its name.
pub async fn delete_check(tx: &mut Tx, target: Target<'_>) -> Result<Option<String>, DbError> {
    const SQL: &str = "DELETE FROM checks WHERE id = $1 AND account_id = $2 AND ($3 IS NULL OR config_version = $3)
        RETURNING name";
    let Target { owner, check, version } = target;
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(SQL).bind(check).bind(owner).bind(version).fetch_optional(c).await)?)
}
