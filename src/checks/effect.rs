//! What can be done to an owner's checks, as it is stored with a proposal, and what was done.

use serde::{Deserialize, Serialize};

use super::Refusal;
use super::alerts::AlertChanges;
use super::config::{CheckChanges, Settings};
use super::notice::Named;
use super::store::channels::Channel;
use crate::clock::Millis;
use crate::ids::{ChannelId, CheckId};

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
        /// The channels among that, if a card showed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Shown>,
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
        /// The channels among that, if a card showed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Shown>,
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

/// The channels of a change as its card showed them. A channel that comes or goes moves no check's version, so a change
/// of channels is pinned to this as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Those that the check told.
    pub told: Vec<ChannelId>,
    /// Those that it is to tell, by the names that they had.
    pub to_tell: Vec<Named>,
}

impl Shown {
    /// Refuses what is not as it was shown any more: `name` tells `told` now, of `channels` that there are.
    ///
    /// # Errors
    /// `channel_not_found` naming the channel, or `check_changed`.
    pub fn check(&self, name: &str, told: &[ChannelId], channels: &[Channel]) -> Result<(), Refusal> {
        self.check_that_all_are_there(channels)?;
        if self.told == told {
            return Ok(());
        }
        let names: Vec<&str> = channels.iter().filter(|it| told.contains(&it.id)).map(|it| it.name.as_str()).collect();
        let names = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
        let message =
            format!("Other channels than were shown are told of {name} in the meantime: {names}. Look at it again.");
        Err(Refusal::new("check_changed", message))
    }

    /// Refuses to tell what is gone.
    ///
    /// # Errors
    /// `channel_not_found` naming the channel.
    pub fn check_that_all_are_there(&self, channels: &[Channel]) -> Result<(), Refusal> {
        match self.to_tell.iter().find(|wanted| !channels.iter().any(|channel| channel.id == wanted.id)) {
            Some(Named { name, .. }) => {
                let message = format!("The channel {name} is not there any more. Look at it again.");
                Err(Refusal::new("channel_not_found", message))
            }
            None => Ok(()),
        }
    }
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
