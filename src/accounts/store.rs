//! The rows of accounts, tokens, sessions and settings.

use super::Account;
use crate::clock::Millis;
use crate::db::{Db, DbError, Tx};
use crate::ids::UserId;
use crate::limits::Tier;
use crate::on_db;

/// Makes the account; `false` if the name is taken.
pub async fn insert_account(db: &Db, account: &Account, now: Millis) -> Result<bool, DbError> {
    let sql = "INSERT INTO accounts (id, name, tier, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    let inserted = on_db!(db.autocommit(), pool => sqlx::query(sql).bind(&account.id).bind(&account.name)
        .bind(account.tier.as_str()).bind(now).execute(pool).await.map(|done| done.rows_affected()))?;
    Ok(inserted == 1)
}

/// The account called `name`.
pub async fn find_account_by_name(db: &Db, name: &str) -> Result<Option<Account>, DbError> {
    let sql = "SELECT id, name, tier FROM accounts WHERE name = $1";
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(name).fetch_optional(pool).await)?)
}

/// The account with that id.
pub async fn find_account(db: &Db, id: &UserId) -> Result<Option<Account>, DbError> {
    let sql = "SELECT id, name, tier FROM accounts WHERE id = $1";
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(id).fetch_optional(pool).await)?)
}

/// Holds the row of the account called `name` until the transaction ends; `None` if there is none.
pub async fn hold_account(tx: &mut Tx, name: &str) -> Result<Option<UserId>, DbError> {
    let sql = "UPDATE accounts SET check_count = check_count WHERE name = $1 RETURNING id";
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(sql).bind(name).fetch_optional(c).await)?)
}

/// Sets an account's tier.
pub async fn update_tier(tx: &mut Tx, id: &UserId, tier: Tier) -> Result<(), DbError> {
    let sql = "UPDATE accounts SET tier = $2 WHERE id = $1";
    on_db!(tx.on(), c => sqlx::query(sql).bind(id).bind(tier.as_str()).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// A token as listed: never the token.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct TokenRow {
    /// What `token revoke` takes.
    pub id: String,
    /// The operator's word for it.
    pub label: String,
    /// When it was made.
    pub created_at: Millis,
    /// When it stopped working.
    pub revoked_at: Option<Millis>,
}

/// Stores a token's hash.
pub async fn insert_token(
    db: &Db,
    id: &str,
    user: &UserId,
    label: &str,
    hash: &str,
    now: Millis,
) -> Result<(), DbError> {
    let sql = "INSERT INTO api_tokens (id, account_id, label, hash, created_at) VALUES ($1, $2, $3, $4, $5)";
    on_db!(db.autocommit(), pool => sqlx::query(sql).bind(id).bind(user).bind(label).bind(hash).bind(now)
        .execute(pool).await.map(|_| ()))?;
    Ok(())
}

/// A user's tokens, newest first.
pub async fn list_tokens(db: &Db, user: &UserId) -> Result<Vec<TokenRow>, DbError> {
    let sql = "SELECT id, label, created_at, revoked_at FROM api_tokens WHERE account_id = $1 ORDER BY id DESC";
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(user).fetch_all(pool).await)?)
}

/// Revokes by id or hash; `false` if none in use matches.
pub async fn revoke_token(db: &Db, id: &str, hash: &str, now: Millis) -> Result<bool, DbError> {
    let sql = "UPDATE api_tokens SET revoked_at = $3 WHERE (id = $1 OR hash = $2) AND revoked_at IS NULL";
    let revoked = on_db!(db.autocommit(), pool => sqlx::query(sql).bind(id).bind(hash).bind(now).execute(pool).await
        .map(|done| done.rows_affected()))?;
    Ok(revoked == 1)
}

/// Whose API token has this hash.
pub async fn find_token_user(db: &Db, hash: &str) -> Result<Option<UserId>, DbError> {
    let sql = "SELECT account_id FROM api_tokens WHERE hash = $1 AND revoked_at IS NULL";
    Ok(on_db!(db.read(), pool => sqlx::query_scalar(sql).bind(hash).fetch_optional(pool).await)?)
}

/// Stores a sign-in link's hash.
pub async fn insert_link(db: &Db, hash: &str, user: &UserId, now: Millis, expires_at: Millis) -> Result<(), DbError> {
    let sql = "INSERT INTO login_links (hash, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    on_db!(db.autocommit(), pool => sqlx::query(sql).bind(hash).bind(user).bind(now).bind(expires_at).execute(pool)
        .await.map(|_| ()))?;
    Ok(())
}

/// Uses a link up: single use is this statement's row count.
pub async fn claim_link(tx: &mut Tx, hash: &str, now: Millis) -> Result<Option<UserId>, DbError> {
    let sql = "UPDATE login_links SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND expires_at > $2
        RETURNING account_id";
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(sql).bind(hash).bind(now).fetch_optional(c).await)?)
}

/// Stores a session's hash.
pub async fn insert_session(
    tx: &mut Tx,
    hash: &str,
    user: &UserId,
    now: Millis,
    expires_at: Millis,
) -> Result<(), DbError> {
    let sql = "INSERT INTO sessions (hash, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    on_db!(tx.on(), c => sqlx::query(sql).bind(hash).bind(user).bind(now).bind(expires_at).execute(c).await
        .map(|_| ()))?;
    Ok(())
}

/// Whose session has this hash.
pub async fn find_session_user(db: &Db, hash: &str, now: Millis) -> Result<Option<UserId>, DbError> {
    let sql = "SELECT account_id FROM sessions WHERE hash = $1 AND expires_at > $2";
    Ok(on_db!(db.read(), pool => sqlx::query_scalar(sql).bind(hash).bind(now).fetch_optional(pool).await)?)
}

/// Ends a session.
pub async fn delete_session(db: &Db, hash: &str) -> Result<(), DbError> {
    let sql = "DELETE FROM sessions WHERE hash = $1";
    on_db!(db.autocommit(), pool => sqlx::query(sql).bind(hash).execute(pool).await.map(|_| ()))?;
    Ok(())
}

/// Deletes links and sessions that are over.
pub async fn delete_expired(db: &Db, now: Millis) -> Result<(), DbError> {
    for sql in ["DELETE FROM login_links WHERE expires_at <= $1", "DELETE FROM sessions WHERE expires_at <= $1"] {
        on_db!(db.autocommit(), pool => sqlx::query(sql).bind(now).execute(pool).await.map(|_| ()))?;
    }
    Ok(())
}

/// A setting that is made once: whoever comes second reads what the first wrote.
pub async fn find_or_insert_setting(db: &Db, name: &str, value: &str) -> Result<String, DbError> {
    let insert = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    on_db!(db.autocommit(), pool => sqlx::query(insert).bind(name).bind(value).execute(pool).await.map(|_| ()))?;
    let sql = "SELECT value FROM settings WHERE name = $1";
    Ok(on_db!(db.autocommit(), pool => sqlx::query_scalar(sql).bind(name).fetch_one(pool).await)?)
}
