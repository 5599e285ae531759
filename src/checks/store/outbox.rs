//! The outbox as it is written: what is to be sent because of a flip, a reminder or a test, in the caller's transaction.

use sqlx::FromRow;
use sqlx::types::Json;

use super::flips::FlipRow;
use crate::checks::Status;
use crate::checks::alerts::MAX_CHANNELS;
use crate::checks::notice::Notice;
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};
use crate::ids::{ChannelId, CheckId, UserId, new_v7};
use crate::on_db;

/// A check as far as a notice tells of it.
#[derive(Debug, Clone, FromRow)]
pub struct Subject {
    /// Its id.
    pub id: CheckId,
    /// Whose it is.
    pub account_id: UserId,
    /// Its name.
    pub name: String,
    /// Its tags.
    #[sqlx(json)]
    pub tags: Vec<String>,
    /// Its state.
    #[sqlx(try_from = "String")]
    pub status: Status,
    /// When its ping was or is due.
    pub due_at: Option<Millis>,
    /// Its last accepted success or fail.
    pub last_ping_at: Option<Millis>,
    paused_at: Option<Millis>,
    paused_until: Option<Millis>,
}

impl Subject {
    /// Whether a pause is in force.
    pub fn is_paused(&self, now: Millis) -> bool {
        self.paused_at.is_some() && self.paused_until.is_none_or(|until| until > now)
    }
}

/// The columns of a [`Subject`].
macro_rules! subject_columns {
    () => {
        "id, account_id, name, tags, status, due_at, last_ping_at, paused_at, paused_until"
    };
}

/// Sets when a check that went down is told of again, or takes that away when it came up; returns the check as it is.
pub async fn set_reminder(
    tx: &mut Tx,
    check: &CheckId,
    status: Status,
    now: Millis,
) -> Result<Option<Subject>, DbError> {
    const SQL: &str = concat!(
        "UPDATE checks SET remind_at = CASE WHEN $2 = 'down' THEN $3 + reminder_seconds * 1000 END
        WHERE id = $1 RETURNING ",
        subject_columns!()
    );
    Ok(on_db!(tx.on(), c => sqlx::query_as(SQL)
        .bind(check).bind(status.as_str()).bind(now).fetch_optional(c).await)?)
}

/// What makes a reminder due at `$1`: its time, or one further ahead than it is ever set, from before the clock was set
/// back.
macro_rules! is_due {
    () => {
        "(remind_at <= $1 OR remind_at > $1 + reminder_seconds * 1000 + 600000)"
    };
}

/// Checks whose reminders are due, each with when that was.
pub async fn list_reminders(db: &Db, now: Millis, limit: i64) -> Result<Vec<(CheckId, Millis)>, DbError> {
    const SQL: &str = concat!(
        "SELECT id, remind_at FROM checks WHERE remind_at IS NOT NULL AND ",
        is_due!(),
        " ORDER BY remind_at LIMIT $2"
    );
    Ok(on_db!(db.read(), pool => sqlx::query_as(SQL).bind(now).bind(limit).fetch_all(pool).await)?)
}

/// Moves a reminder that was due at `due` on; `None` if somebody else has, or there is nothing to be reminded of.
pub async fn claim_reminder(
    tx: &mut Tx,
    check: &CheckId,
    due: Millis,
    now: Millis,
) -> Result<Option<Subject>, DbError> {
    const SQL: &str = concat!(
        "UPDATE checks SET remind_at = $1 + reminder_seconds * 1000
        WHERE id = $2 AND remind_at = $3 AND status = 'down' AND ",
        is_due!(),
        " RETURNING ",
        subject_columns!()
    );
    Ok(on_db!(tx.on(), c => sqlx::query_as(SQL).bind(now).bind(check).bind(due).fetch_optional(c).await)?)
}

/// The flip that took a check down last.
pub async fn find_last_down(tx: &mut Tx, check: &CheckId) -> Result<Option<FlipRow>, DbError> {
    const SQL: &str = "SELECT id, at, from_status, to_status, reason FROM flips
        WHERE check_id = $1 AND to_status = 'down' ORDER BY id DESC LIMIT 1";
    Ok(on_db!(tx.on(), c => sqlx::query_as(SQL).bind(check).fetch_optional(c).await)?)
}

/// What a check's channels are to be told.
#[derive(Debug, Clone, Copy)]
pub struct Telling<'a> {
    /// Whose check it is.
    pub owner: &'a UserId,
    /// Which.
    pub check: &'a CheckId,
    /// The flip that it is about.
    pub flip_id: &'a str,
    /// When the reminder was due, if it is one; else 0.
    pub reminder: Millis,
    /// The words.
    pub notice: &'a Notice,
}

/// One delivery for each of the rows of `told`: its id is the nth of the ids in `$1`, which are 36 characters each.
macro_rules! insert {
    ($told:literal) => {
        concat!(
            "INSERT INTO deliveries
                (id, account_id, channel_id, check_id, flip_id, reminder, event, payload, next_attempt_at, created_at)
            SELECT substr($1, CAST(1 + 36 * (row_number() OVER (ORDER BY told.channel_id) - 1) AS INTEGER), 36),
                $2, told.channel_id, $3, $4, $5, $6, $7, $8, $8 FROM (",
            $told,
            ") told WHERE true ON CONFLICT (flip_id, channel_id, reminder) DO NOTHING"
        )
    };
}

/// Writes one delivery for each channel of the check; returns how many. Once for each flip, channel and reminder,
/// whatever the code believes.
pub async fn insert_deliveries(tx: &mut Tx, telling: &Telling<'_>, now: Millis) -> Result<u64, DbError> {
    const SQLITE: &str = insert!("SELECT channel_id FROM check_channels WHERE check_id = $3");
    // A channel that is being deleted is waited for, and then it is no row here; its foreign key would else fail, and
    // with it the flip.
    const POSTGRES: &str = insert!(
        "SELECT cc.channel_id FROM check_channels cc JOIN channels c ON c.id = cc.channel_id
        WHERE cc.check_id = $3 AND c.deleted_at IS NULL FOR KEY SHARE OF c"
    );
    let ids: String = (0..MAX_CHANNELS).map(|_| new_v7(now)).collect();
    let Telling { owner, check, flip_id, reminder, notice } = telling;
    let event = notice.event.as_str();
    Ok(match tx.on() {
        On::Sqlite(connection) => {
            let query = sqlx::query(SQLITE).bind(ids).bind(owner).bind(check).bind(flip_id).bind(reminder).bind(event);
            query.bind(Json(notice)).bind(now).execute(connection).await?.rows_affected()
        }
        On::Postgres(connection) => {
            let query =
                sqlx::query(POSTGRES).bind(ids).bind(owner).bind(check).bind(flip_id).bind(reminder).bind(event);
            query.bind(Json(notice)).bind(now).execute(connection).await?.rows_affected()
        }
    })
}

/// Writes one delivery of a test and returns its id. The caller holds the account, so the channel stays.
pub async fn insert_test(
    tx: &mut Tx,
    owner: &UserId,
    channel: &ChannelId,
    notice: &Notice,
    now: Millis,
) -> Result<String, DbError> {
    const SQL: &str = "INSERT INTO deliveries (id, account_id, channel_id, event, payload, next_attempt_at, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $6)";
    let id = new_v7(now);
    on_db!(tx.on(), c => sqlx::query(SQL)
        .bind(&id).bind(owner).bind(channel).bind(notice.event.as_str()).bind(Json(notice)).bind(now)
        .execute(c).await.map(|_| ()))?;
    Ok(id)
}
