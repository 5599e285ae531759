//! What can be done to an owner's checks, as it is stored with a proposal, and what was done.

use serde::{Deserialize, Serialize};

use super::alerts::AlertChanges;
use super::config::{CheckChanges, Settings};
use crate::clock::Millis;
use crate::ids::CheckId;

/// Exactly what will be done. Stored with a proposal and never changed after.
///
/// `config_version` is the version that the change was made for; any edit in between refuses it. Without one the change
/// applies to whatever is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Effect {
    /// Makes a check. Its id and its ping key, a secret, are made when it is.
    CreateCheck {
        /// What it is to be.
        settings: Settings,
        /// Who is told of it, and when.
        #[serde(default, skip_serializing_if = "AlertChanges::is_empty")]
        alerts: AlertChanges,
    },
    /// Changes some of a check's settings.
    UpdateCheck {
        /// Which.
        check: CheckId,
        /// In which version.
        config_version: Option<i64>,
        /// What changes.
        changes: CheckChanges,
        /// What changes in who is told of it, and when.
        #[serde(default, skip_serializing_if = "AlertChanges::is_empty")]
        alerts: AlertChanges,
    },
    /// Pauses a check.
    PauseCheck {
        /// Which.
        check: CheckId,
        /// In which version.
        config_version: Option<i64>,
        /// When the pause ends by itself; never, if unset.
        until: Option<Millis>,
    },
    /// Ends a check's pause.
    ResumeCheck {
        /// Which.
        check: CheckId,
        /// In which version.
        config_version: Option<i64>,
    },
    /// Pauses several checks, all or none.
    PauseChecks {
        /// Which: resolved when it was proposed.
        checks: Vec<Pinned>,
        /// When the pauses end by themselves; never, if unset.
        until: Option<Millis>,
    },
    /// Ends the pauses of several checks, all or none, and puts back those that there were before.
    ResumeChecks {
        /// Which: those that one change had paused.
        checks: Vec<Resumed>,
    },
    /// Deletes a check with its history.
    DeleteCheck {
        /// Which.
        check: CheckId,
        /// In which version.
        config_version: Option<i64>,
    },
    /// Replaces a check's ping URL.
    RotatePingKey {
        /// Which.
        check: CheckId,
        /// In which version.
        config_version: Option<i64>,
    },
}

/// A check of a pinned list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// Its id.
    pub id: CheckId,
    /// The version that was shown.
    pub config_version: i64,
    /// The name that was shown.
    pub name: String,
}

/// A check of a pinned list whose pause ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// Which.
    #[serde(flatten)]
    pub check: Pinned,
    /// The pause that it had before, which is put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Pause>,
}

/// A pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// When it ends by itself; never, if unset.
    pub until: Option<Millis>,
}

impl Pause {
    /// Whether it would be over at `now`.
    pub fn is_over(self, now: Millis) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The check that it was done to, if it was one and still is.
    pub check_id: Option<CheckId>,
    /// A sentence for people, without a full stop, from the rows that were written.
    pub message: String,
    /// Every check that it wrote and that is still there.
    pub edited: Vec<Edited>,
    /// What takes it back; none if it changed nothing, or cannot be taken back. It is made for the checks as this left
    /// them: any edit that follows refuses it.
    pub inverse: Option<Effect>,
}

/// A check that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// Which.
    pub check: CheckId,
    /// The version that it has since.
    pub config_version: i64,
}
