//! What a person is shown before a change: rendered from the effect and the rows of now, never by a model.

mod alerts;
mod ends;
mod pauses;
mod phrases;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::alerts::Alerts;
pub(super) use self::ends::{delete, rotate};
pub(super) use self::pauses::{pause, pause_all, resume, resume_all};
pub(super) use self::phrases::in_short;
use self::phrases::{checks_used, last_ping_words, next_runs, quoted, schedule_words, state_words, unless_empty};
use super::config::Settings;
use super::schedule::Schedule;
use super::status::{Times, is_paused};
use super::store::Account;
use super::tools::ProposalKind;
use super::values::Seconds;
use super::words::{moment, span};
use super::{Check, Status};
use crate::clock::Millis;

/// What a person is shown of a change, as plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preview {
    /// What it does to which check.
    pub title: String,
    /// What follows from it.
    pub summary: String,
    /// Every field that it sets.
    pub changes: Vec<Change>,
    /// What to think of first.
    pub warnings: Vec<String>,
    /// Whether a bare `confirm` is not enough.
    pub destructive: bool,
}

/// One field, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// The field in words.
    pub field: String,
    /// What it is; null if it is not set or there is no check yet.
    #[schema(required)]
    pub before: Option<String>,
    /// What it will be.
    #[schema(required)]
    pub after: Option<String>,
}

impl Change {
    fn new(field: &str, before: Option<String>, after: Option<String>) -> Self {
        Self { field: field.to_owned(), before, after }
    }
}

pub(super) fn create(
    settings: &Settings,
    schedule: &Schedule,
    alerts: &Alerts,
    account: &Account,
    now: Millis,
) -> Preview {
    let fields = [
        ("name", Some(settings.name.to_string())),
        ("schedule", Some(schedule_words(schedule))),
        ("next runs", next_runs(schedule, account.tier, now)),
        ("grace", Some(span(settings.grace_seconds.get()))),
        ("longest run", settings.max_runtime_seconds.map(Seconds::get).map(span)),
        ("tags", quoted(settings.tags.as_slice())),
        ("description", unless_empty(settings.description.as_str())),
    ];
    let set = fields.into_iter().filter(|(_, value)| value.is_some());
    let mut changes: Vec<Change> = set.map(|(field, value)| Change::new(field, None, value)).collect();
    changes.extend(alerts.lines());
    changes.push(checks_used(account, 1));
    Preview {
        title: format!("Create {}", settings.name),
        summary: format!(
            "It expects a ping {}, and goes down when one is {} late. It waits for its first ping.",
            schedule.words(),
            span(settings.grace_seconds.get())
        ),
        changes,
        warnings: alerts.warning(settings.name.as_str()).into_iter().collect(),
        destructive: ProposalKind::CreateCheck.is_destructive(),
    }
}

/// What an edit sets otherwise. `alerts` are those before and after.
pub(super) fn changed(before: &Check, after: &Check, alerts: [&Alerts; 2]) -> Vec<Change> {
    let [told, to_be_told] = alerts;
    let fields = [
        ("name", Some(before.name.clone()), Some(after.name.clone())),
        ("schedule", Some(schedule_words(&before.schedule)), Some(schedule_words(&after.schedule))),
        ("grace", Some(span(before.grace_seconds)), Some(span(after.grace_seconds))),
        ("longest run", before.max_runtime_seconds.map(span), after.max_runtime_seconds.map(span)),
        ("tags", quoted(&before.tags), quoted(&after.tags)),
        ("description", unless_empty(&before.description), unless_empty(&after.description)),
    ];
    let changed = fields.into_iter().filter(|(_, before, after)| before != after);
    let changed = changed.map(|(field, before, after)| Change::new(field, before, after));
    changed.chain(told.changed_lines(to_be_told)).collect()
}

/// `alerts` are those before and after.
pub(super) fn update(before: &Check, after: &Check, alerts: [&Alerts; 2], now: Millis) -> Preview {
    let [told, to_be_told] = alerts;
    let mut changes = changed(before, after, alerts);
    let runs = (before.schedule != after.schedule).then(|| {
        Change::new(
            "next runs",
            next_runs(&before.schedule, before.tier, now),
            next_runs(&after.schedule, after.tier, now),
        )
    });
    if let Some(runs) = runs.filter(|runs| runs.before != runs.after) {
        let at = changes.iter().position(|line| line.field == "schedule").map_or(changes.len(), |at| at + 1);
        changes.insert(at, runs);
    }
    let moves_times = before.schedule != after.schedule
        || before.grace_seconds != after.grace_seconds
        || before.max_runtime_seconds != after.max_runtime_seconds;
    let mut warnings: Vec<String> = Vec::new();
    if told.channels != to_be_told.channels {
        warnings.extend(to_be_told.warning(&after.name));
    }
    let summary = if moves_times {
        after_edit(before, after, now, &mut warnings)
    } else {
        format!("{} goes on as it is, {}.", before.name, state_words(before, now))
    };
    Preview {
        title: format!("Change {}", before.name),
        summary,
        changes,
        warnings,
        destructive: ProposalKind::UpdateCheck.is_destructive(),
    }
}

/// Whether the edit flips the check now, and what it waits for then.
fn after_edit(before: &Check, after: &Check, now: Millis, warnings: &mut Vec<String>) -> String {
    let name = &before.name;
    let times = Times::after_edit(before, after, now);
    if is_paused(before, now) {
        return format!("{name} stays {}.", state_words(before, now));
    }
    match (before.status, times.due_at, times.deadline_at) {
        (Status::Up | Status::New, _, Some(_)) if takes_down(before, times, now) => {
            warnings.push(format!("This takes {name} down at once: {}.", last_ping_words(before, now)));
            format!("{name} is {} now and goes down.", state_words(before, now))
        }
        (Status::Up, Some(due), Some(deadline)) => {
            let late = if due <= now { ", so it is late at once" } else { "" };
            format!(
                "{name} stays up. Its next ping is due at {}{late}; without one it goes down at {}.",
                moment(due, now),
                moment(deadline, now)
            )
        }
        (Status::New, _, _) => format!("{name} stays new and waits for its first ping."),
        (Status::Up | Status::Down, _, _) => {
            format!("{name} stays {}; only a success ping brings a check up.", state_words(before, now))
        }
    }
}

/// Whether an edit that leaves these times takes the check down at once.
pub(super) fn takes_down(before: &Check, times: Times, now: Millis) -> bool {
    let is_late = times.deadline_at.is_some_and(|deadline| deadline <= now);
    is_late && before.status != Status::Down && !is_paused(before, now)
}
