//! Heartbeat monitoring: a check is a promise that a job pings in time.

pub mod alerts;
pub mod apply;
pub mod badge;
pub mod badge_http;
pub mod bulk_http;
pub mod channels;
pub mod channels_http;
pub mod config;
pub mod create_http;
pub mod draft;
pub mod effect;
pub mod floor;
pub mod history;
pub mod http;
pub mod intake;
mod inverse;
pub mod notice;
pub mod notify;
pub mod ping;
pub mod ping_http;
pub mod preview;
pub mod prune;
pub mod read;
pub mod remind;
pub mod sample;
pub mod schedule;
pub mod snippets;
pub mod snippets_http;
pub mod status;
pub mod store;
pub mod sweep;
pub mod tell;
pub mod tier;
pub mod tools;
pub mod undo;
pub mod upsert;
pub mod uptime;
pub mod uptime_http;
pub mod values;
pub mod view;
pub mod words;

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::schedule::Schedule;
use crate::clock::Millis;
use crate::fields::Misfit;
use crate::ids::{CheckId, UserId};
use crate::limits::Tier;

/// What is stored of a check's state. *late*, *started* and *paused* are derived from the row's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Never pinged.
    New,
    /// Pinged in time.
    Up,
    /// Late beyond its grace, or failed.
    Down,
}

impl Status {
    /// The word as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Status {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        [Self::New, Self::Up, Self::Down]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| format!("checks.status holds {text:?}"))
    }
}

/// A check's row, with the tier of its account.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Check {
    /// Its id.
    pub id: CheckId,
    /// Whose it is.
    pub account_id: UserId,
    /// The account's tier, which decides the floor.
    #[sqlx(try_from = "String")]
    pub tier: Tier,
    /// The secret in its ping URL (uuid v4).
    pub ping_key: String,
    /// The secret in its badge's URL (uuid v4).
    pub badge_key: Option<String>,
    /// Unique within the account.
    pub name: String,
    /// Free words.
    #[sqlx(json)]
    pub tags: Vec<String>,
    /// Free text.
    pub description: String,
    /// When it expects its pings.
    #[sqlx(flatten, try_from = "schedule::Columns")]
    pub schedule: Schedule,
    /// Seconds a ping may be late.
    pub grace_seconds: i64,
    /// Seconds between start and end of a run; the grace if unset.
    pub max_runtime_seconds: Option<i64>,
    /// The stored state.
    #[sqlx(try_from = "String")]
    pub status: Status,
    /// Since when it is paused.
    pub paused_at: Option<Millis>,
    /// When the pause ends by itself.
    pub paused_until: Option<Millis>,
    /// Moves on edits of the configuration only.
    pub config_version: i64,
    /// The last accepted success or fail.
    pub last_ping_at: Option<Millis>,
    /// The last accepted success.
    pub last_success_at: Option<Millis>,
    /// The last accepted fail.
    pub last_fail_at: Option<Millis>,
    /// The last accepted start.
    pub last_start_at: Option<Millis>,
    /// The last accepted log.
    pub last_log_at: Option<Millis>,
    /// A start that nothing has ended yet.
    pub started_at: Option<Millis>,
    /// What the schedule counts from: the last success, or the end of a pause.
    pub counted_from: Option<Millis>,
    /// When the next ping is due.
    pub due_at: Option<Millis>,
    /// When it goes down without one.
    pub deadline_at: Option<Millis>,
    /// The earliest deadline of its runs that have an id and have not ended.
    pub runs_deadline_at: Option<Millis>,
    /// So many fails in a row take it down.
    pub alert_after_failures: i64,
    /// Accepted fails since the last success.
    pub failures_in_row: i64,
    /// While it is down its channels are told again this often.
    pub reminder_seconds: Option<i64>,
    /// Pings refused by the floor.
    pub rejected_count: i64,
    /// The last of them.
    pub last_rejected_at: Option<Millis>,
    /// When it was made.
    pub created_at: Millis,
}

impl Check {
    /// Seconds that a run may take.
    pub fn longest_run(&self) -> i64 {
        self.max_runtime_seconds.unwrap_or(self.grace_seconds)
    }
}

/// Something that a caller may not or cannot do to a check, with a stable code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// `check_not_found`, `check_changed`, `check_limit_reached`, `name_taken`, `invalid_field`, `unknown_field`.
    pub code: String,
    /// A sentence with the numbers that decided.
    pub message: String,
    /// The field at fault, for the last two.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
}

impl Refusal {
    /// A refusal that no single field is at fault for.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), field: None }
    }

    /// `invalid_field`.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self { code: "invalid_field".to_owned(), message: message.into(), field: Some(field.to_owned()) }
    }

    /// `unknown_field`.
    pub fn unknown(field: &str) -> Self {
        let message = format!("The field {field:?} is not known here.");
        Self { code: "unknown_field".to_owned(), message, field: Some(field.to_owned()) }
    }

    /// `check_not_found`: missing, or somebody else's.
    pub fn not_found() -> Self {
        Self::new("check_not_found", "There is no such check.")
    }
}

impl From<Misfit> for Refusal {
    fn from(Misfit { field, is_unknown, message }: Misfit) -> Self {
        if is_unknown { Self::unknown(&field) } else { Self::invalid(&field, message) }
    }
}

/// Why a flow of this slice did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The caller's mistake or bad luck; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The database's failure.
    #[error(transparent)]
    Db(#[from] crate::db::DbError),
}
