//! Channels, and which checks tell which of them.

use std::collections::HashMap;

use sqlx::FromRow;

use crate::checks::channels::ChannelKind;
use crate::clock::Millis;
use crate::db::{Db, DbError, Tx};
use crate::ids::{ChannelId, CheckId, UserId};
use crate::on_db;

/// A channel's row, without its secret: nobody reads that again but the sender.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Channel {
    /// Its id.
    pub id: ChannelId,
    /// What kind.
    #[sqlx(try_from = "String")]
    pub kind: ChannelKind,
    /// Unique within the account.
    pub name: String,
    /// A URL or a mail address.
    pub target: String,
    /// When it was made.
    pub created_at: Millis,
}

impl Channel {
    /// What an account has once: the mailbox, since hardly any server tells `Ann` from `ann`.
    fn mailbox(&self) -> Option<String> {
        match self.kind {
            ChannelKind::Email => Some(self.target.to_lowercase()),
            ChannelKind::Webhook | ChannelKind::Slack => None,
        }
    }
}

const LIST: &str = "SELECT id, kind, name, target, created_at FROM channels
    WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id";
const FIND: &str = "SELECT id, kind, name, target, created_at FROM channels
    WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL";

/// All the owner's channels, oldest first.
pub async fn list_channels(db: &Db, owner: &UserId) -> Result<Vec<Channel>, DbError> {
    Ok(on_db!(db.read(), pool => sqlx::query_as(LIST).bind(owner).fetch_all(pool).await)?)
}

/// [`list_channels`] inside a transaction.
pub async fn list_channels_in(tx: &mut Tx, owner: &UserId) -> Result<Vec<Channel>, DbError> {
    Ok(on_db!(tx.on(), c => sqlx::query_as(LIST).bind(owner).fetch_all(c).await)?)
}

/// The owner's channel of that id.
pub async fn find_channel(db: &Db, owner: &UserId, id: &ChannelId) -> Result<Option<Channel>, DbError> {
    Ok(on_db!(db.read(), pool => sqlx::query_as(FIND).bind(id).bind(owner).fetch_optional(pool).await)?)
}

/// [`find_channel`] inside a transaction.
pub async fn find_channel_in(tx: &mut Tx, owner: &UserId, id: &ChannelId) -> Result<Option<Channel>, DbError> {
    Ok(on_db!(tx.on(), c => sqlx::query_as(FIND).bind(id).bind(owner).fetch_optional(c).await)?)
}

/// How many channels the account has. True until the transaction ends if the account is held.
pub async fn count_channels(tx: &mut Tx, owner: &UserId) -> Result<i64, DbError> {
    const SQL: &str = "SELECT count(*) FROM channels WHERE account_id = $1 AND deleted_at IS NULL";
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(SQL).bind(owner).fetch_one(c).await)?)
}

/// Whether another channel of the owner is the same mailbox. True until the transaction ends if the account is held.
pub async fn is_mailbox_taken(tx: &mut Tx, owner: &UserId, channel: &Channel) -> Result<bool, DbError> {
    const SQL: &str = "SELECT id FROM channels WHERE account_id = $1 AND mailbox = $2 AND id <> $3";
    let taken: Option<String> = on_db!(tx.on(), c => sqlx::query_scalar(SQL)
        .bind(owner).bind(channel.mailbox()).bind(&channel.id).fetch_optional(c).await)?;
    Ok(taken.is_some())
}

/// Inserts a channel; `false` if its name is taken.
pub async fn insert_channel(
    tx: &mut Tx,
    owner: &UserId,
    channel: &Channel,
    secret: Option<&str>,
) -> Result<bool, DbError> {
    const SQL: &str = "INSERT INTO channels (id, account_id, kind, name, target, mailbox, secret, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (account_id, name) DO NOTHING";
    let rows = on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(&channel.id).bind(owner).bind(channel.kind.as_str()).bind(&channel.name).bind(&channel.target)
        .bind(channel.mailbox()).bind(secret).bind(channel.created_at)
        .execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

/// Writes a channel's name and target; `false` if another one has the name. The account is held.
pub async fn update_channel(tx: &mut Tx, owner: &UserId, channel: &Channel) -> Result<bool, DbError> {
    const SQL: &str = "UPDATE channels SET name = $3, target = $4,
        mailbox = CASE WHEN target = $4 THEN mailbox ELSE $5 END
        WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM channels o WHERE o.account_id = $2 AND o.name = $3 AND o.id <> $1)";
    let rows = on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(&channel.id).bind(owner).bind(&channel.name).bind(&channel.target).bind(channel.mailbox())
        .execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

/// Takes a channel away from its owner and from every check; `false` if there is none. The account is held. What was
/// sent there is left to [`delete_of_channel`](super::deliveries::delete_of_channel).
pub async fn mark_deleted(tx: &mut Tx, owner: &UserId, id: &ChannelId, now: Millis) -> Result<bool, DbError> {
    // Its name is free again: none begins with a space. The name stands in a key, so this waits for who is writing
    // deliveries for the channel, and who comes after it finds it deleted.
    const MARK: &str = "UPDATE channels SET deleted_at = $3, name = ' ' || id, mailbox = NULL
        WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL";
    const DETACH: &str = "DELETE FROM check_channels WHERE channel_id = $1";
    let rows = on_db!(tx.on(), c => sqlx::query(MARK)
        .bind(id).bind(owner).bind(now).execute(c).await.map(|r| r.rows_affected()))?;
    on_db!(tx.on(), c => sqlx::query(DETACH).bind(id).execute(c).await.map(|_| ()))?;
    Ok(rows == 1)
}

/// Channels whose rows are still there although they are deleted.
pub async fn list_deleted(db: &Db) -> Result<Vec<ChannelId>, DbError> {
    const SQL: &str = "SELECT id FROM channels WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT 1000";
    Ok(on_db!(db.read(), pool => sqlx::query_scalar(SQL).fetch_all(pool).await)?)
}

/// Deletes the row of a deleted channel, unless deliveries hang on it.
pub async fn delete_emptied(db: &Db, id: &ChannelId) -> Result<(), DbError> {
    const SQL: &str = "DELETE FROM channels WHERE id = $1 AND deleted_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.channel_id = $1)";
    on_db!(db.autocommit(), pool => sqlx::query(SQL).bind(id).execute(pool).await.map(|_| ()))?;
    Ok(())
}

/// Lets every check of the owner tell this channel.
pub async fn attach_to_all_checks(tx: &mut Tx, owner: &UserId, channel: &ChannelId) -> Result<(), DbError> {
    const SQL: &str = "INSERT INTO check_channels (check_id, channel_id)
        SELECT id, $2 FROM checks WHERE account_id = $1 ON CONFLICT DO NOTHING";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(owner).bind(channel).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Lets a new check tell every channel of its owner.
pub async fn attach_all_channels(tx: &mut Tx, owner: &UserId, check: &CheckId) -> Result<(), DbError> {
    const SQL: &str = "INSERT INTO check_channels (check_id, channel_id)
        SELECT $2, id FROM channels WHERE account_id = $1 AND deleted_at IS NULL ON CONFLICT DO NOTHING";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(owner).bind(check).execute(c).await.map(|_| ()))?;
    Ok(())
}

/// Lets a check tell one channel; `false` if that is not its owner's. The account is held, so the channel stays.
pub async fn attach(tx: &mut Tx, owner: &UserId, check: &CheckId, channel: &ChannelId) -> Result<bool, DbError> {
    const SQL: &str = "INSERT INTO check_channels (check_id, channel_id)
        SELECT $2, id FROM channels WHERE account_id = $1 AND id = $3 AND deleted_at IS NULL";
    let rows = on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(owner).bind(check).bind(channel).execute(c).await.map(|r| r.rows_affected()))?;
    Ok(rows == 1)
}

/// Lets a check tell nobody.
pub async fn detach_all(tx: &mut Tx, check: &CheckId) -> Result<(), DbError> {
    const SQL: &str = "DELETE FROM check_channels WHERE check_id = $1";
    on_db!(tx.on(), c => sqlx::query(SQL).bind(check).execute(c).await.map(|_| ()))?;
    Ok(())
}

const CHANNELS_OF_CHECK: &str = "SELECT channel_id FROM check_channels WHERE check_id = $1 ORDER BY channel_id";

/// The channels that a check tells.
pub async fn channels_of_check(db: &Db, check: &CheckId) -> Result<Vec<ChannelId>, DbError> {
    Ok(on_db!(db.read(), pool => sqlx::query_scalar(CHANNELS_OF_CHECK).bind(check).fetch_all(pool).await)?)
}

/// [`channels_of_check`] inside a transaction.
pub async fn channels_of_check_in(tx: &mut Tx, check: &CheckId) -> Result<Vec<ChannelId>, DbError> {
    Ok(on_db!(tx.on(), c => sqlx::query_scalar(CHANNELS_OF_CHECK).bind(check).fetch_all(c).await)?)
}

/// The channels of each of the owner's checks: all in one look, however many checks there are.
pub async fn channels_by_check(db: &Db, owner: &UserId) -> Result<HashMap<CheckId, Vec<ChannelId>>, DbError> {
    const SQL: &str = "SELECT cc.check_id, cc.channel_id FROM channels c JOIN check_channels cc ON cc.channel_id = c.id
        WHERE c.account_id = $1 ORDER BY cc.channel_id";
    let pairs: Vec<(CheckId, ChannelId)> =
        on_db!(db.read(), pool => sqlx::query_as(SQL).bind(owner).fetch_all(pool).await)?;
    let mut by_check: HashMap<CheckId, Vec<ChannelId>> = HashMap::new();
    for (check, channel) in pairs {
        by_check.entry(check).or_default().push(channel);
    }
    Ok(by_check)
}

/// Writes how a check's fails and its being down are told of; `None` stays. Its reminder counts from `now`.
pub async fn set_alerts(
    tx: &mut Tx,
    check: &CheckId,
    alert_after_failures: Option<i64>,
    reminder_seconds: Option<Option<i64>>,
    now: Millis,
) -> Result<(), DbError> {
    const AFTER: &str = "UPDATE checks SET alert_after_failures = $2 WHERE id = $1";
    const REMINDER: &str = "UPDATE checks SET reminder_seconds = $2,
        remind_at = CASE WHEN status = 'down' THEN $3 + $2 * 1000 END WHERE id = $1";
    if let Some(after) = alert_after_failures {
        on_db!(tx.on(), c => sqlx::query(AFTER).bind(check).bind(after).execute(c).await.map(|_| ()))?;
    }
    if let Some(seconds) = reminder_seconds {
        on_db!(tx.on(), c => sqlx::query(REMINDER).bind(check).bind(seconds).bind(now).execute(c).await.map(|_| ()))?;
    }
    Ok(())
}
