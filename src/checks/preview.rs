//! What a person is shown before a change: rendered from the effect and the rows of now, never by a model.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::config::Settings;
use super::floor::floor_seconds;
use super::schedule::Schedule;
use super::status::{Times, is_paused, next_due};
use super::store::Account;
use super::tools::ProposalKind;
use super::values::Seconds;
use super::words::{list, local_moment, moment, span};
use super::{Check, Status};
use crate::clock::Millis;
use crate::limits::Tier;

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
    pub before: Option<String>,
    /// What it will be.
    pub after: Option<String>,
}

impl Change {
    fn new(field: &str, before: Option<String>, after: Option<String>) -> Self {
        Self { field: field.to_owned(), before, after }
    }
}

/// Runs that a card names.
const NEXT_RUNS: usize = 5;

pub(super) fn create(settings: &Settings, schedule: &Schedule, account: &Account, now: Millis) -> Preview {
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
    changes.push(checks_used(account, 1));
    Preview {
        title: format!("Create {}", settings.name),
        summary: format!(
            "It expects a ping {}, and goes down when one is {} late. It waits for its first ping.",
            schedule.words(),
            span(settings.grace_seconds.get())
        ),
        changes,
        warnings: Vec::new(),
        destructive: ProposalKind::CreateCheck.is_destructive(),
    }
}

pub(super) fn update(before: &Check, after: &Check, now: Millis) -> Preview {
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
    let runs = (before.schedule != after.schedule).then(|| {
        Change::new(
            "next runs",
            next_runs(&before.schedule, before.tier, now),
            next_runs(&after.schedule, after.tier, now),
        )
    });
    let moves_times = before.schedule != after.schedule
        || before.grace_seconds != after.grace_seconds
        || before.max_runtime_seconds != after.max_runtime_seconds;
    let mut warnings = Vec::new();
    let summary = if moves_times {
        after_edit(before, after, now, &mut warnings)
    } else {
        format!("{} goes on as it is, {}.", before.name, state_words(before, now))
    };
    Preview {
        title: format!("Change {}", before.name),
        summary,
        changes: changed.chain(runs.filter(|runs| runs.before != runs.after)).collect(),
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
        (Status::Up | Status::New, _, Some(deadline)) if deadline <= now => {
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

pub(super) fn pause(check: &Check, until: Option<Millis>, now: Millis) -> Preview {
    let end = match until {
        Some(until) => {
            format!("The pause ends by itself at {}; the next ping is expected a period later.", moment(until, now))
        }
        None => "The pause lasts until you resume it.".to_owned(),
    };
    let mut warnings = Vec::new();
    if check.status == Status::Down {
        warnings.push(format!("{} is down now, and its recovery will go unnoticed.", check.name));
    }
    if check.started_at.is_some() {
        warnings.push("A run is in progress; its end will not be counted.".to_owned());
    }
    Preview {
        title: format!(
            "Pause {}{}",
            check.name,
            until.map(|until| format!(" until {}", moment(until, now))).unwrap_or_default()
        ),
        summary: format!(
            "{} goes silent: pings are noted only, and nothing is reported late or down. {end}",
            check.name
        ),
        changes: vec![Change::new("pause", Some(pause_words(check, now)), Some(pause_until_words(until, now)))],
        warnings,
        destructive: ProposalKind::PauseCheck.is_destructive(),
    }
}

pub(super) fn resume(check: &Check, now: Millis) -> Preview {
    let name = &check.name;
    let summary = match check.status {
        Status::New => format!("{name} is watched again and waits for its first ping."),
        Status::Up => format!(
            "{name} is watched again. The next ping is due {}, and may be {} late.",
            due_after_confirmation(check, now),
            span(check.grace_seconds)
        ),
        Status::Down => format!("{name} is watched again. It stays down until its next success ping."),
    };
    Preview {
        title: format!("Resume {name}"),
        summary,
        changes: vec![Change::new("pause", Some(pause_words(check, now)), Some("none".to_owned()))],
        warnings: Vec::new(),
        destructive: ProposalKind::ResumeCheck.is_destructive(),
    }
}

pub(super) fn pause_all(checks: &[Check], until: Option<Millis>, now: Millis) -> Preview {
    let after = pause_until_words(until, now);
    let changes = checks.iter().map(|check| {
        Change::new(&format!("pause of {}", check.name), Some(pause_words(check, now)), Some(after.clone()))
    });
    let down = || checks.iter().filter(|check| check.status == Status::Down).map(|check| check.name.as_str());
    let names: Vec<&str> = down().collect();
    let warnings = match names.as_slice() {
        [] => Vec::new(),
        _ => vec![format!("Down now, and their recovery will go unnoticed: {}.", names.join(", "))],
    };
    Preview {
        title: format!("Pause {}", list(checks.iter().map(|check| check.name.as_str()))),
        summary:
            "They all go silent: pings are noted only, and nothing is reported late or down. If one of them is changed \
                  before you confirm, none is paused."
                .to_owned(),
        changes: changes.collect(),
        warnings,
        destructive: ProposalKind::PauseChecks.is_destructive(),
    }
}

pub(super) fn delete(check: &Check, account: &Account, now: Millis) -> Preview {
    let name = &check.name;
    let mut warnings = vec!["This cannot be undone. A pause would silence it and keep everything.".to_owned()];
    if check.status == Status::Up {
        warnings.push(format!("It is alive: {}.", last_ping_words(check, now)));
    }
    Preview {
        title: format!("Delete {name}"),
        summary: format!(
            "{name} is {}; {}. Lost with it: its settings, all its recorded pings and flips, and its ping URL, which \
             then answers 404 to jobs that still call it.",
            state_words(check, now),
            last_ping_words(check, now)
        ),
        changes: vec![
            Change::new("check", Some(name.clone()), None),
            Change::new("last ping", Some(last_ping(check, now)), None),
            checks_used(account, -1),
        ],
        warnings,
        destructive: ProposalKind::DeleteCheck.is_destructive(),
    }
}

pub(super) fn rotate(check: &Check, now: Millis) -> Preview {
    let name = &check.name;
    let mut warnings = Vec::new();
    if check.last_ping_at.is_some() {
        let last = last_ping_words(check, now);
        warnings.push(format!(
            "A job uses the present URL: {last}. Until it has the new one, {name} counts it as missing."
        ));
    }
    Preview {
        title: format!("Replace the ping URL of {name}"),
        summary: format!(
            "The present ping URL of {name} stops working at once (404). The new one is made when you confirm and \
             stands in the list of checks."
        ),
        changes: vec![Change::new(
            "ping URL",
            Some(format!("the present one of {name}")),
            Some("a new one, made when you confirm".to_owned()),
        )],
        warnings,
        destructive: ProposalKind::RotatePingKey.is_destructive(),
    }
}

/// An expression's words may leave it open what it says to the letter, so both are shown.
fn schedule_words(schedule: &Schedule) -> String {
    let words = schedule.words();
    match schedule.cron() {
        Some(cron) if !words.contains(cron) => format!("{words}: {cron}"),
        _ => words,
    }
}

/// The next runs of a schedule by the clock, on that clock and in UTC.
fn next_runs(schedule: &Schedule, tier: Tier, now: Millis) -> Option<String> {
    let timetable = schedule.timetable()?;
    let runs = schedule.upcoming(now, tier.floor(), NEXT_RUNS);
    Some(runs.into_iter().map(|run| local_moment(run, now, &timetable.zone)).collect::<Vec<_>>().join("; "))
}

fn due_after_confirmation(check: &Check, now: Millis) -> String {
    match (check.schedule.period_seconds(), next_due(check, now)) {
        (Some(period), _) => format!("{} after you confirm", span(period.max(floor_seconds(check.tier)))),
        (None, Some(due)) => format!("at {}", moment(due, now)),
        (None, None) => "at no time in sight".to_owned(),
    }
}

fn checks_used(account: &Account, difference: i64) -> Change {
    let (used, limit) = (account.check_count, account.tier.max_checks());
    let of = |used: i64| Some(format!("{used} of {limit}"));
    Change::new("checks used", of(used), of(used + difference))
}

fn state_words(check: &Check, now: Millis) -> String {
    if is_paused(check, now) { format!("paused ({})", pause_words(check, now)) } else { check.status.to_string() }
}

fn pause_words(check: &Check, now: Millis) -> String {
    if is_paused(check, now) { pause_until_words(check.paused_until, now) } else { "none".to_owned() }
}

fn pause_until_words(until: Option<Millis>, now: Millis) -> String {
    until.map_or_else(|| "until resumed".to_owned(), |until| format!("until {}", moment(until, now)))
}

fn last_ping(check: &Check, now: Millis) -> String {
    check.last_ping_at.map_or_else(|| "never".to_owned(), |at| moment(at, now))
}

fn last_ping_words(check: &Check, now: Millis) -> String {
    match check.last_ping_at {
        Some(at) => format!("its last ping came at {}", moment(at, now)),
        None => "it was never pinged".to_owned(),
    }
}

/// Each tag in quotes: a tag may hold a comma, and the card must tell one tag from two.
fn quoted(tags: &[String]) -> Option<String> {
    let quoted: Vec<String> = tags.iter().map(|tag| format!("{tag:?}")).collect();
    (!tags.is_empty()).then(|| quoted.join(", "))
}

fn unless_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
