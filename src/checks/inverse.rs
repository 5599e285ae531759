//! What takes a change back, made of the rows as they were before it. Pure.
//!
//! Each is made for the version that the change leaves, which is the one after the row's: whatever is edited in between
//! refuses it.

use super::Check;
use super::alerts::AlertChanges;
use super::config::CheckChanges;
use super::effect::{Effect, Pause, Pinned, Resumed};
use super::schedule::Schedule;
use super::status::is_paused;
use super::values::{CheckName, Description, Seconds, Tags};
use crate::clock::Millis;
use crate::ids::{ChannelId, CheckId};

/// Of a creation: a deletion, while nobody has edited the check since.
pub(super) fn of_create(check: &CheckId) -> Effect {
    Effect::DeleteCheck { check: check.clone(), config_version: Some(1) }
}

/// Of `changes` and `alerts`, all of which differed from `before`, which told the channels `told`. None if something
/// that was stored is not allowed any more.
pub(super) fn of_update(
    before: &Check,
    changes: &CheckChanges,
    alerts: &AlertChanges,
    told: Vec<ChannelId>,
) -> Option<Effect> {
    Some(Effect::UpdateCheck {
        check: before.id.clone(),
        config_version: Some(left(before)),
        changes: changes_back(before, changes).ok()?,
        alerts: alerts.back_to(before, told).ok()?,
        shown: None,
    })
}

fn changes_back(before: &Check, changes: &CheckChanges) -> Result<CheckChanges, String> {
    let schedule = Some(&before.schedule).filter(|_| changes.names_schedule());
    let timetable = schedule.and_then(Schedule::timetable);
    let (name, tags, description) = (before.name.clone(), before.tags.clone(), before.description.clone());
    let longest = || before.max_runtime_seconds.map(Seconds::try_from).transpose();
    Ok(CheckChanges {
        name: changes.name.as_ref().map(|_| CheckName::try_from(name)).transpose()?,
        period_seconds: schedule.and_then(Schedule::period_seconds).map(Seconds::try_from).transpose()?,
        cron: timetable.map(|timetable| timetable.cron.clone()),
        timezone: timetable.map(|timetable| timetable.zone.clone()),
        grace_seconds: changes.grace_seconds.map(|_| Seconds::try_from(before.grace_seconds)).transpose()?,
        max_runtime_seconds: changes.max_runtime_seconds.map(|_| longest()).transpose()?,
        tags: changes.tags.as_ref().map(|_| Tags::try_from(tags)).transpose()?,
        description: changes.description.as_ref().map(|_| Description::try_from(description)).transpose()?,
    })
}

/// Of a pause: its end, or the pause that there was.
pub(super) fn of_pause(before: &Check, now: Millis) -> Effect {
    let (check, config_version) = (before.id.clone(), Some(left(before)));
    match pause_of(before, now) {
        Some(Pause { until }) => Effect::PauseCheck { check, config_version, until },
        None => Effect::ResumeCheck { check, config_version },
    }
}

/// Of the pauses of several checks: their ends, or the pauses that there were.
pub(super) fn of_pauses(before: &[Check], now: Millis) -> Effect {
    let resumed = |check: &Check| Resumed { check: pinned(check), earlier: pause_of(check, now) };
    Effect::ResumeChecks { checks: before.iter().map(resumed).collect() }
}

/// Of the end of a pause: the same pause.
pub(super) fn of_resume(before: &Check) -> Effect {
    Effect::PauseCheck { check: before.id.clone(), config_version: Some(left(before)), until: before.paused_until }
}

/// Of the ends of several pauses, all of which one change had made: that change. None if that is not how they were.
pub(super) fn of_resumes(before: &[Check], now: Millis) -> Option<Effect> {
    let until = before.first()?.paused_until;
    let made_by_one = before.iter().all(|check| is_paused(check, now) && check.paused_until == until);
    made_by_one.then(|| Effect::PauseChecks { checks: before.iter().map(pinned).collect(), until })
}

fn pause_of(check: &Check, now: Millis) -> Option<Pause> {
    is_paused(check, now).then_some(Pause { until: check.paused_until })
}

fn pinned(before: &Check) -> Pinned {
    Pinned { id: before.id.clone(), config_version: left(before), name: before.name.clone() }
}

/// The version that one edit leaves.
fn left(before: &Check) -> i64 {
    before.config_version + 1
}
