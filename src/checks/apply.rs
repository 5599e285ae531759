//! Carries out a change to an owner's checks: the only way that any is made, for a confirmed action and for the API.

mod update;

use uuid::Uuid;

use self::update::update;
use super::alerts::AlertChanges;
use super::config::Settings;
pub use super::effect::{Applied, Edited, Effect, Pause, Pinned, Resumed, Shown};
use super::floor::{check_floor, limit_reached, name_taken};
use super::inverse;
use super::status::{Times, is_paused};
use super::store::edits::{self, NewCheck, Target};
use super::store::{channels, find_account_in, find_check_in, pauses, runs};
use super::words::{list, moment};
use super::{Check, CheckError, Refusal};
use crate::clock::Millis;
use crate::db::Tx;
use crate::ids::{CheckId, UserId};

/// Carries `effect` out inside the caller's transaction.
///
/// # Errors
/// [`CheckError::Refused`] when a guard says no. The caller must then roll back, at least to where it called: some
/// guards refuse after a statement has written.
pub async fn apply(tx: &mut Tx, now: Millis, owner: &UserId, effect: &Effect) -> Result<Applied, CheckError> {
    match effect {
        Effect::CreateCheck { settings, alerts, shown } => {
            create(tx, now, owner, settings, alerts, shown.as_ref()).await
        }
        Effect::UpdateCheck { check, config_version: version, changes, alerts, shown } => {
            update(tx, now, Target { owner, check, version: *version }, (changes, alerts), shown.as_ref()).await
        }
        Effect::PauseCheck { check, config_version: version, until } => {
            pause(tx, now, Target { owner, check, version: *version }, *until).await
        }
        Effect::ResumeCheck { check, config_version: version } => {
            resume(tx, now, Target { owner, check, version: *version }).await
        }
        Effect::PauseChecks { checks, until } => pause_all(tx, now, owner, checks, *until).await,
        Effect::ResumeChecks { checks } => resume_all(tx, now, owner, checks).await,
        Effect::DeleteCheck { check, config_version: version } => {
            delete(tx, Target { owner, check, version: *version }).await
        }
        Effect::RotatePingKey { check, config_version: version } => {
            rotate(tx, Target { owner, check, version: *version }).await
        }
    }
}

async fn create(
    tx: &mut Tx,
    now: Millis,
    owner: &UserId,
    settings: &Settings,
    alerts: &AlertChanges,
    shown: Option<&Shown>,
) -> Result<Applied, CheckError> {
    let Some(tier) = edits::take_place(tx, owner).await? else {
        return Err(why_no_place(tx, owner).await?);
    };
    check_floor(tier, &settings.schedule()?, settings.grace_seconds.get(), now)?;
    let (id, ping_key) = (CheckId::new(now), new_ping_key());
    if !edits::insert_check(tx, &NewCheck { owner, id: &id, ping_key: &ping_key, settings }, now).await? {
        return Err(name_taken(settings.name.as_str()).into());
    }
    if let Some(shown) = shown {
        shown.check_that_all_are_there(&channels::list_channels_in(tx, owner).await?)?;
    }
    alerts.settle(tx, owner, &id, now).await?;
    let edited = vec![Edited { check: id.clone(), config_version: 1 }];
    let inverse = Some(inverse::of_create(&id));
    Ok(Applied { check_id: Some(id), message: format!("Created {}", settings.name), edited, inverse })
}

async fn pause(tx: &mut Tx, now: Millis, target: Target<'_>, until: Option<Millis>) -> Result<Applied, CheckError> {
    let before = pause_one(tx, now, target, until).await?;
    Ok(Applied {
        message: format!("Paused {}{}", before.name, until_words(until, now)),
        edited: vec![edited(&before)],
        inverse: Some(inverse::of_pause(&before, now)),
        check_id: Some(before.id),
    })
}

/// Pauses a check and returns the row as it was before.
async fn pause_one(tx: &mut Tx, now: Millis, target: Target<'_>, until: Option<Millis>) -> Result<Check, CheckError> {
    check_until(until, now)?;
    let before = claim(tx, target).await?;
    let mut check = before.clone();
    if !is_paused(&check, now) {
        check.paused_at = Some(now);
    }
    check.paused_until = until;
    // The end of a run in progress will be ignored; the run would else count as started for ever.
    check.started_at = None;
    check.runs_deadline_at = runs::forget_late(tx, &check.id, None).await?;
    let times = Times::after_pause(&check, until);
    set_times(&mut check, times);
    edits::update_check(tx, &check).await?;
    pauses::begin_pause(tx, &before.id, now, until).await?;
    Ok(before)
}

async fn pause_all(
    tx: &mut Tx,
    now: Millis,
    owner: &UserId,
    checks: &[Pinned],
    until: Option<Millis>,
) -> Result<Applied, CheckError> {
    let mut before = Vec::with_capacity(checks.len());
    for pinned in in_order(checks.iter(), |pinned| pinned) {
        let paused = pause_one(tx, now, target(owner, pinned), until).await;
        before.push(paused.map_err(|error| named(error, pinned, "None was paused."))?);
    }
    let names = checks.iter().map(|pinned| pinned.name.as_str());
    Ok(Applied {
        check_id: None,
        message: format!("Paused {}{}", list(names), until_words(until, now)),
        edited: before.iter().map(edited).collect(),
        inverse: Some(inverse::of_pauses(&before, now)),
    })
}

async fn resume(tx: &mut Tx, now: Millis, target: Target<'_>) -> Result<Applied, CheckError> {
    let before = resume_one(tx, now, target).await?;
    if !is_paused(&before, now) {
        return Ok(unchanged(format!("{} is not paused", before.name), before.id));
    }
    Ok(Applied {
        message: format!("Resumed {}", before.name),
        edited: vec![edited(&before)],
        inverse: Some(inverse::of_resume(&before)),
        check_id: Some(before.id),
    })
}

/// Ends a check's pause, if it has one, and returns the row as it was before.
async fn resume_one(tx: &mut Tx, now: Millis, target: Target<'_>) -> Result<Check, CheckError> {
    let before = claim(tx, target).await?;
    if is_paused(&before, now) {
        // Silent: what is due next counts from now, and a check that was down stays so until its next success.
        let mut check = Check { paused_at: None, paused_until: None, ..before.clone() };
        let times = Times::after_resume(&check, now);
        set_times(&mut check, times);
        edits::update_check(tx, &check).await?;
        pauses::end_pause(tx, &check.id, now).await?;
    }
    Ok(before)
}

async fn resume_all(tx: &mut Tx, now: Millis, owner: &UserId, checks: &[Resumed]) -> Result<Applied, CheckError> {
    let mut before = Vec::with_capacity(checks.len());
    for resumed in in_order(checks.iter(), |resumed| &resumed.check) {
        let target = target(owner, &resumed.check);
        let earlier = resumed.earlier.filter(|earlier| !earlier.is_over(now));
        let done = match earlier {
            Some(earlier) => pause_one(tx, now, target, earlier.until).await,
            None => resume_one(tx, now, target).await,
        };
        let check = done.map_err(|error| named(error, &resumed.check, "None was resumed."))?;
        // A pause that has ended by itself is left alone.
        if earlier.is_some() || is_paused(&check, now) {
            before.push(check);
        }
    }
    let names = checks.iter().map(|resumed| resumed.check.name.as_str());
    Ok(Applied {
        check_id: None,
        message: format!("Took the pause back from {}", list(names)),
        edited: before.iter().map(edited).collect(),
        inverse: inverse::of_resumes(&before, now),
    })
}

/// In one order, so that two lists with checks in common wait for each other instead of deadlocking.
fn in_order<'a, T>(listed: impl Iterator<Item = &'a T>, pinned: fn(&T) -> &Pinned) -> Vec<&'a T> {
    let mut listed: Vec<&T> = listed.collect();
    listed.sort_by(|a, b| pinned(a).id.cmp(&pinned(b).id));
    listed
}

fn target<'a>(owner: &'a UserId, pinned: &'a Pinned) -> Target<'a> {
    Target { owner, check: &pinned.id, version: Some(pinned.config_version) }
}

/// A refusal that says which check of a list it is about.
fn named(error: CheckError, pinned: &Pinned, so: &str) -> CheckError {
    match error {
        CheckError::Refused(refusal) if refusal.field.is_none() => {
            Refusal::new(&refusal.code, format!("{}: {} {so}", pinned.name, refusal.message)).into()
        }
        other => other,
    }
}

async fn delete(tx: &mut Tx, target: Target<'_>) -> Result<Applied, CheckError> {
    // The account first, as everywhere; a refusal afterwards rolls the counter back too.
    let any = edits::release_place(tx, target.owner).await?;
    let name = if any { edits::delete_check(tx, target).await? } else { None };
    match name {
        Some(name) => {
            let message = format!("Deleted {name}");
            Ok(Applied { check_id: None, message, edited: Vec::new(), inverse: None })
        }
        None => Err(why_no_row(tx, target).await?),
    }
}

async fn rotate(tx: &mut Tx, target: Target<'_>) -> Result<Applied, CheckError> {
    let mut check = claim(tx, target).await?;
    check.ping_key = new_ping_key();
    edits::update_check(tx, &check).await?;
    let message = format!("Replaced the ping URL of {}", check.name);
    Ok(Applied { message, edited: vec![edited(&check)], inverse: None, check_id: Some(check.id) })
}

/// Nothing was written, and nothing that others have looked at has changed.
fn unchanged(message: String, check: CheckId) -> Applied {
    Applied { check_id: Some(check), message, edited: Vec::new(), inverse: None }
}

/// The check that `before` was, as one edit has left it.
fn edited(before: &Check) -> Edited {
    Edited { check: before.id.clone(), config_version: before.config_version + 1 }
}

/// The row, held for the rest of the transaction, or the reason why not.
async fn claim(tx: &mut Tx, target: Target<'_>) -> Result<Check, CheckError> {
    match edits::claim_check(tx, target).await? {
        Some(check) => Ok(check),
        None => Err(why_no_row(tx, target).await?),
    }
}

/// The statement has refused; this only finds the words.
async fn why_no_row(tx: &mut Tx, target: Target<'_>) -> Result<CheckError, CheckError> {
    let Some(check) = find_check_in(tx, target.owner, target.check).await? else {
        return Ok(Refusal::not_found().into());
    };
    let message = format!(
        "{} was changed in the meantime (it is at version {}{}). Look at it again.",
        check.name,
        check.config_version,
        target.version.map(|version| format!(", not {version}")).unwrap_or_default()
    );
    Ok(Refusal::new("check_changed", message).into())
}

/// As [`why_no_row`], for a place that could not be taken.
async fn why_no_place(tx: &mut Tx, owner: &UserId) -> Result<CheckError, CheckError> {
    Ok(match find_account_in(tx, owner).await? {
        Some(account) => limit_reached(account.tier, account.check_count).into(),
        None => Refusal::new("account_not_found", "There is no such account.").into(),
    })
}

/// A pause cannot end in the past; also for a proposal that was confirmed too late.
///
/// # Errors
/// `invalid_field` naming `until`.
pub fn check_until(until: Option<Millis>, now: Millis) -> Result<(), Refusal> {
    match until {
        Some(until) if until <= now => {
            Err(Refusal::invalid("until", format!("The pause would have ended already, at {}.", moment(until, now))))
        }
        _ => Ok(()),
    }
}

fn until_words(until: Option<Millis>, now: Millis) -> String {
    until.map(|until| format!(" until {}", moment(until, now))).unwrap_or_default()
}

fn set_times(check: &mut Check, times: Times) {
    (check.counted_from, check.due_at, check.deadline_at) = (times.counted_from, times.due_at, times.deadline_at);
}

/// A new secret for a ping URL: 122 random bits.
fn new_ping_key() -> String {
    Uuid::new_v4().to_string()
}
