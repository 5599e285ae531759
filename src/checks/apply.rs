//! Carries out a change to an owner's checks: the only way that any is made, for a confirmed action and for the API.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::alerts::AlertChanges;
use super::config::{CheckChanges, Settings};
use super::floor::{check_floor, limit_reached, name_taken};
use super::status::{Times, is_paused};
use super::store::edits::{self, NewCheck, Target};
use super::store::{find_account_in, find_check_in, runs};
use super::words::{list, moment};
use super::{Check, CheckError, Refusal};
use crate::clock::Millis;
use crate::db::Tx;
use crate::ids::{CheckId, UserId};

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

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The check that it was done to, if it was one and still is.
    pub check_id: Option<CheckId>,
    /// A sentence for people, without a full stop, from the rows that were written.
    pub message: String,
}

/// Carries `effect` out inside the caller's transaction.
///
/// # Errors
/// [`CheckError::Refused`] when a guard says no. The caller must then roll back, at least to where it called: some
/// guards refuse after a statement has written.
pub async fn apply(tx: &mut Tx, now: Millis, owner: &UserId, effect: &Effect) -> Result<Applied, CheckError> {
    match effect {
        Effect::CreateCheck { settings, alerts } => create(tx, now, owner, settings, alerts).await,
        Effect::UpdateCheck { check, config_version: version, changes, alerts } => {
            update(tx, now, Target { owner, check, version: *version }, changes, alerts).await
        }
        Effect::PauseCheck { check, config_version: version, until } => {
            pause(tx, now, Target { owner, check, version: *version }, *until).await
        }
        Effect::ResumeCheck { check, config_version: version } => {
            resume(tx, now, Target { owner, check, version: *version }).await
        }
        Effect::PauseChecks { checks, until } => pause_all(tx, now, owner, checks, *until).await,
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
) -> Result<Applied, CheckError> {
    let Some(tier) = edits::take_place(tx, owner).await? else {
        return Err(why_no_place(tx, owner).await?);
    };
    check_floor(tier, &settings.schedule()?, settings.grace_seconds.get(), now)?;
    let (id, ping_key) = (CheckId::new(now), new_ping_key());
    if !edits::insert_check(tx, &NewCheck { owner, id: &id, ping_key: &ping_key, settings }, now).await? {
        return Err(name_taken(settings.name.as_str()).into());
    }
    alerts.settle(tx, owner, &id, now).await?;
    Ok(Applied { check_id: Some(id), message: format!("Created {}", settings.name) })
}

async fn update(
    tx: &mut Tx,
    now: Millis,
    target: Target<'_>,
    changes: &CheckChanges,
    alerts: &AlertChanges,
) -> Result<Applied, CheckError> {
    if changes.name.is_some() || changes.has_schedule() || alerts.channels.is_some() {
        // The account first, then the check: every edit that needs both takes them in this order, so none deadlocks.
        edits::hold_account(tx, target.owner).await?;
    }
    let before = claim(tx, target).await?;
    let changes = changes.clone().that_differ_from(&before)?;
    let alerts = alerts.that_differ_from(tx, &before).await?;
    if changes.is_empty() && alerts.is_empty() {
        // Nothing to write, and nothing that others have looked at has changed.
        return Ok(Applied { message: format!("{} is like that already", before.name), check_id: Some(before.id) });
    }
    let mut after = changes.over(&before)?;
    if changes.has_schedule() {
        check_floor(after.tier, &after.schedule, after.grace_seconds, now)?;
    }
    let moved = longest_run(&after) - longest_run(&before);
    if moved != 0 && after.runs_deadline_at.is_some() {
        runs::move_deadlines(tx, &after.id, moved * 1_000).await?;
        after.runs_deadline_at = after.runs_deadline_at.map(|deadline| Millis(deadline.0 + moved * 1_000));
    }
    let times = Times::after_edit(&before, &after, now);
    set_times(&mut after, times);
    if !edits::update_check(tx, &after).await? {
        return Err(name_taken(&after.name).into());
    }
    alerts.write(tx, target.owner, &after.id, now).await?;
    let message = if before.name == after.name {
        format!("Updated {}", after.name)
    } else {
        format!("Updated {}, now named {}", before.name, after.name)
    };
    Ok(Applied { check_id: Some(after.id), message })
}

async fn pause(tx: &mut Tx, now: Millis, target: Target<'_>, until: Option<Millis>) -> Result<Applied, CheckError> {
    check_until(until, now)?;
    let mut check = claim(tx, target).await?;
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
    Ok(Applied { message: format!("Paused {}{}", check.name, until_words(until, now)), check_id: Some(check.id) })
}

async fn pause_all(
    tx: &mut Tx,
    now: Millis,
    owner: &UserId,
    checks: &[Pinned],
    until: Option<Millis>,
) -> Result<Applied, CheckError> {
    // In one order, so that two lists with checks in common wait for each other instead of deadlocking.
    let mut pinned: Vec<&Pinned> = checks.iter().collect();
    pinned.sort_by(|a, b| a.id.cmp(&b.id));
    for Pinned { id, config_version, name } in pinned {
        let target = Target { owner, check: id, version: Some(*config_version) };
        pause(tx, now, target, until).await.map_err(|error| match error {
            CheckError::Refused(refusal) if refusal.field.is_none() => {
                Refusal::new(&refusal.code, format!("{name}: {} None was paused.", refusal.message)).into()
            }
            other => other,
        })?;
    }
    let names = checks.iter().map(|pinned| pinned.name.as_str());
    Ok(Applied { check_id: None, message: format!("Paused {}{}", list(names), until_words(until, now)) })
}

async fn resume(tx: &mut Tx, now: Millis, target: Target<'_>) -> Result<Applied, CheckError> {
    let mut check = claim(tx, target).await?;
    if !is_paused(&check, now) {
        return Ok(Applied { message: format!("{} is not paused", check.name), check_id: Some(check.id) });
    }
    // Silent: what is due next counts from now, and a check that was down stays so until its next success.
    (check.paused_at, check.paused_until) = (None, None);
    let times = Times::after_resume(&check, now);
    set_times(&mut check, times);
    edits::update_check(tx, &check).await?;
    Ok(Applied { message: format!("Resumed {}", check.name), check_id: Some(check.id) })
}

async fn delete(tx: &mut Tx, target: Target<'_>) -> Result<Applied, CheckError> {
    // The account first, as everywhere; a refusal afterwards rolls the counter back too.
    let any = edits::release_place(tx, target.owner).await?;
    let name = if any { edits::delete_check(tx, target).await? } else { None };
    match name {
        Some(name) => Ok(Applied { check_id: None, message: format!("Deleted {name}") }),
        None => Err(why_no_row(tx, target).await?),
    }
}

async fn rotate(tx: &mut Tx, target: Target<'_>) -> Result<Applied, CheckError> {
    let mut check = claim(tx, target).await?;
    check.ping_key = new_ping_key();
    edits::update_check(tx, &check).await?;
    Ok(Applied { message: format!("Replaced the ping URL of {}", check.name), check_id: Some(check.id) })
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

/// Seconds that a run may take.
fn longest_run(check: &Check) -> i64 {
    check.max_runtime_seconds.unwrap_or(check.grace_seconds)
}

/// A new secret for a ping URL: 122 random bits.
fn new_ping_key() -> String {
    Uuid::new_v4().to_string()
}
