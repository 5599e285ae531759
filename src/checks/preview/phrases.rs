//! The words that cards have in common.

use super::{Change, Check};
use crate::checks::floor::floor_seconds;
use crate::checks::schedule::Schedule;
use crate::checks::status::{is_paused, next_due};
use crate::checks::store::Account;
use crate::checks::words::{local_moment, moment, span};
use crate::clock::Millis;
use crate::limits::Tier;

/// Runs that a card names.
const NEXT_RUNS: usize = 5;
/// Characters of a value that a sentence about a change holds: a name always fits.
const LONGEST_VALUE: usize = 100;

/// An expression's words may leave it open what it says to the letter, so both are shown.
pub(super) fn schedule_words(schedule: &Schedule) -> String {
    let words = schedule.words();
    match schedule.cron() {
        Some(cron) if !words.contains(cron) => format!("{words}: {cron}"),
        _ => words,
    }
}

/// The next runs of a schedule by the clock, on that clock and in UTC.
pub(super) fn next_runs(schedule: &Schedule, tier: Tier, now: Millis) -> Option<String> {
    let timetable = schedule.timetable()?;
    let runs = schedule.upcoming(now, tier.floor(), NEXT_RUNS);
    Some(runs.into_iter().map(|run| local_moment(run, now, &timetable.zone)).collect::<Vec<_>>().join("; "))
}

pub(super) fn due_after_confirmation(check: &Check, now: Millis) -> String {
    match (check.schedule.period_seconds(), next_due(check, now)) {
        (Some(period), _) => format!("{} after you confirm", span(period.max(floor_seconds(check.tier)))),
        (None, Some(due)) => format!("at {}", moment(due, now)),
        (None, None) => "at no time in sight".to_owned(),
    }
}

pub(super) fn checks_used(account: &Account, difference: i64) -> Change {
    let (used, limit) = (account.check_count, account.tier.max_checks());
    let of = |used: i64| Some(format!("{used} of {limit}"));
    Change::new("checks used", of(used), of(used + difference))
}

pub(super) fn state_words(check: &Check, now: Millis) -> String {
    if is_paused(check, now) { format!("paused ({})", pause_words(check, now)) } else { check.status.to_string() }
}

pub(super) fn pause_words(check: &Check, now: Millis) -> String {
    if is_paused(check, now) { pause_until_words(check.paused_until, now) } else { "none".to_owned() }
}

pub(super) fn pause_until_words(until: Option<Millis>, now: Millis) -> String {
    until.map_or_else(|| "until resumed".to_owned(), |until| format!("until {}", moment(until, now)))
}

pub(super) fn last_ping(check: &Check, now: Millis) -> String {
    check.last_ping_at.map_or_else(|| "never".to_owned(), |at| moment(at, now))
}

pub(super) fn last_ping_words(check: &Check, now: Millis) -> String {
    match check.last_ping_at {
        Some(at) => format!("its last ping came at {}", moment(at, now)),
        None => "it was never pinged".to_owned(),
    }
}

/// Each tag in quotes: a tag may hold a comma, and the card must tell one tag from two.
pub(super) fn quoted(tags: &[String]) -> Option<String> {
    let quoted: Vec<String> = tags.iter().map(|tag| format!("{tag:?}")).collect();
    (!tags.is_empty()).then(|| quoted.join(", "))
}

/// Changes in one line: `grace 1 hour → 10 minutes; tags none → "db"`. What would not fit into a line is only named.
pub(in crate::checks) fn in_short(changes: &[Change]) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let fits = |text: &String| text.chars().count() <= LONGEST_VALUE && !text.contains('\n');
    let one = |change: &Change| match [value(&change.before), value(&change.after)] {
        [before, after] if fits(&before) && fits(&after) => format!("{} {before} → {after}", change.field),
        _ => format!("another {}", change.field),
    };
    changes.iter().map(one).collect::<Vec<_>>().join("; ")
}

pub(super) fn unless_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
