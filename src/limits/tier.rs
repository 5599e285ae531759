//! What each tier may: how many checks, and how often a check may be pinged (checks.md).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An account's tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// 20 checks, a ping of one kind each 300 s.
    Free,
    /// 100 checks, a ping of one kind each 60 s.
    Pro,
    /// 1,000 checks, a ping of one kind each 60 s.
    Business,
}

impl Tier {
    /// All tiers, smallest first.
    pub const ALL: [Self; 3] = [Self::Free, Self::Pro, Self::Business];

    /// How many checks the account may have.
    pub fn max_checks(self) -> i64 {
        match self {
            Self::Free => 20,
            Self::Pro => 100,
            Self::Business => 1_000,
        }
    }

    /// The least time between two accepted pings of one kind.
    pub fn floor(self) -> Duration {
        match self {
            Self::Free => Duration::from_mins(5),
            Self::Pro | Self::Business => Duration::from_mins(1),
        }
    }

    /// How long a check's pings are kept.
    pub fn pings_kept_for(self) -> Duration {
        Duration::from_hours(match self {
            Self::Free => 30 * 24,
            Self::Pro => 180 * 24,
            Self::Business => 365 * 24,
        })
    }

    /// How many pings of a check are kept: the newest.
    pub fn max_pings(self) -> i64 {
        match self {
            Self::Free => 1_000,
            Self::Pro | Self::Business => 10_000,
        }
    }

    /// The name as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Business => "business",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.as_str() == text)
            .ok_or_else(|| format!("{text:?} is no tier; there are free, pro and business"))
    }
}

impl TryFrom<String> for Tier {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
