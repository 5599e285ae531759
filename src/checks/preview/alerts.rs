//! Who is told of a check, as a card shows it.

use super::{Change, Check};
use crate::checks::Refusal;
use crate::checks::alerts::{AlertChanges, ChannelIds, Reminder};
use crate::checks::notice::Named;
use crate::checks::store::channels::Channel;
use crate::checks::words::{count, every};
use crate::ids::ChannelId;

/// Who is told of a check, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alerts {
    /// Through which channels.
    pub channels: Vec<Channel>,
    /// Whether these are all that the account has, and are to be so whichever there are by then.
    pub all: bool,
    /// After so many fails in a row.
    pub after_failures: i64,
    /// How often again, in seconds.
    pub reminder_seconds: Option<i64>,
}

impl Alerts {
    /// Those of a check that tells the channels `told`, of those that its owner has.
    pub fn of(check: &Check, channels: &[Channel], told: &[ChannelId]) -> Self {
        Self {
            channels: channels.iter().filter(|channel| told.contains(&channel.id)).cloned().collect(),
            all: false,
            after_failures: check.alert_after_failures,
            reminder_seconds: check.reminder_seconds,
        }
    }

    /// The channels by their names.
    pub fn named(&self) -> Vec<Named> {
        let named = |channel: &Channel| Named { id: channel.id.clone(), name: channel.name.clone() };
        self.channels.iter().map(named).collect()
    }

    /// These with changes made, by an owner who has these `channels`.
    ///
    /// # Errors
    /// `invalid_field` for a channel that is not the owner's, or not any more.
    pub fn changed(&self, changes: &AlertChanges, channels: &[Channel]) -> Result<Self, Refusal> {
        let mut alerts = self.clone();
        if let Some(wanted) = &changes.channels {
            (alerts.channels, alerts.all) = (all_of(channels, wanted)?, false);
        }
        if let Some(after) = changes.alert_after_failures {
            alerts.after_failures = after.get();
        }
        if let Some(every) = changes.reminder_seconds {
            alerts.reminder_seconds = every.map(Reminder::get);
        }
        Ok(alerts)
    }

    /// The lines of a new check.
    pub(super) fn lines(&self) -> Vec<Change> {
        let fields = [
            ("told", Some(self.told())),
            ("down after", Some(self.after()).filter(|_| self.after_failures > 1)),
            ("reminders", self.reminders()),
        ];
        let set = fields.into_iter().filter(|(_, value)| value.is_some());
        set.map(|(field, value)| Change::new(field, None, value)).collect()
    }

    /// The lines of what `after` changes.
    pub(super) fn changed_lines(&self, after: &Self) -> Vec<Change> {
        let fields = [
            ("told", Some(self.told()), Some(after.told())),
            ("down after", Some(self.after()), Some(after.after())),
            ("reminders", self.reminders(), after.reminders()),
        ];
        let changed = fields.into_iter().filter(|(_, before, after)| before != after);
        changed.map(|(field, before, after)| Change::new(field, before, after)).collect()
    }

    /// What to think of if nobody is told of a check of that name.
    pub(super) fn warning(&self, name: &str) -> Option<String> {
        let why = if self.all { "you have no channel yet" } else { "it has no channel" };
        self.channels.is_empty().then(|| format!("Nobody will be told when {name} goes down: {why}."))
    }

    fn told(&self) -> String {
        let names = names(&self.channels);
        if self.all && !self.channels.is_empty() { format!("all your channels: {names}") } else { names }
    }

    fn after(&self) -> String {
        match self.after_failures {
            1 => "the first fail".to_owned(),
            fails => format!("{} in a row", count(fails, "fail")),
        }
    }

    fn reminders(&self) -> Option<String> {
        self.reminder_seconds.map(|seconds| format!("{} while it is down", every(seconds)))
    }
}

fn all_of(channels: &[Channel], wanted: &ChannelIds) -> Result<Vec<Channel>, Refusal> {
    let find = |id: &ChannelId| {
        let found = channels.iter().find(|channel| channel.id == *id).cloned();
        found.ok_or_else(|| Refusal::invalid("channels", format!("There is no channel {id}.")))
    };
    wanted.as_slice().iter().map(find).collect()
}

/// `ops (webhook), me (email)`.
pub(super) fn names(channels: &[Channel]) -> String {
    let names: Vec<String> = channels.iter().map(|channel| format!("{} ({})", channel.name, channel.kind)).collect();
    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
}
