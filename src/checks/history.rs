//! What happened to a check, as it is stored and shown: pings and flips.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Status;
use super::store::flips::FlipRow;
use super::store::pings::PingRow;
use crate::clock::Millis;

/// What a ping says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The job is done.
    Success,
    /// The job failed.
    Fail,
    /// The job begins.
    Start,
    /// Something to keep; changes no state.
    Log,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Success, Self::Fail, Self::Start, Self::Log];

    /// The word as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Fail => "fail",
            Self::Start => "start",
            Self::Log => "log",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| format!("pings.kind holds {text:?}"))
    }
}

/// Why a check changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its deadline passed without a ping.
    Timeout,
    /// A fail ping.
    Fail,
    /// An exit status other than 0.
    Exit,
    /// A success on a check that was down.
    Recovered,
    /// The first success of a new check.
    FirstPing,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 5] = [Self::Timeout, Self::Fail, Self::Exit, Self::Recovered, Self::FirstPing];

    /// The word as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Fail => "fail",
            Self::Exit => "exit",
            Self::Recovered => "recovered",
            Self::FirstPing => "first_ping",
        }
    }
}

impl TryFrom<String> for Reason {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| format!("flips.reason holds {text:?}"))
    }
}

/// A change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlipView {
    /// When: for a timeout the deadline, not when it was noticed.
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    /// The state before.
    pub from: Status,
    /// The state after.
    pub to: Status,
    /// Why.
    pub reason: Reason,
}

impl From<FlipRow> for FlipView {
    fn from(row: FlipRow) -> Self {
        Self { at: row.at, from: row.from_status, to: row.to_status, reason: row.reason }
    }
}

/// A ping that was kept. One that came too soon is only counted, on the check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PingView {
    /// When it was decided on.
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    /// What it said.
    pub kind: Kind,
    /// Whether it counted: false while the check was paused.
    pub accepted: bool,
    /// As the job reported it.
    #[schema(required)]
    pub exit_status: Option<i64>,
    /// Whole seconds since the start that it ended.
    #[schema(required)]
    pub duration_seconds: Option<i64>,
    /// The sender's address.
    pub remote: String,
    /// The first 10,000 bytes, as text.
    pub body: String,
    /// How many bytes came.
    pub body_length: i64,
}

impl From<PingRow> for PingView {
    fn from(row: PingRow) -> Self {
        Self {
            at: row.at,
            kind: row.kind,
            accepted: row.accepted,
            exit_status: row.exit_status,
            duration_seconds: row.duration_ms.map(|ms| ms / 1000),
            remote: row.remote,
            body: String::from_utf8_lossy(&row.body).into_owned(),
            body_length: row.body_length,
        }
    }
}
