//! Drafts of what takes an executed change back, while the checks are still as it left them.

use super::alerts::AlertChanges;
use super::config::CheckChanges;
use super::draft::{Draft, all_paused, change, deleted, nothing_to_change, on_none, paused, resumed};
use super::effect::{Effect, Pause, Pinned, Resumed};
use super::status::is_paused;
use super::store::channels::list_channels;
use super::store::find_check;
use super::words::count;
use super::{Check, CheckError, Refusal, preview};
use crate::clock::Millis;
use crate::db::Db;
use crate::ids::{CheckId, UserId};

/// The kind of an action that ends several pauses: there is no tool of that name.
const RESUME_CHECKS: &str = "resume_checks";

/// Drafts `inverse`, which [`apply`](super::apply::apply) returned for a change, as a change of its own.
///
/// # Errors
/// As [`draft`](super::draft::draft): above all `check_changed` for a check that was edited since.
pub async fn draft_inverse(db: &Db, now: Millis, owner: &UserId, inverse: Effect) -> Result<Draft, CheckError> {
    match inverse {
        Effect::UpdateCheck { check, config_version, changes, alerts, .. } => {
            let check = as_left(db, owner, &check, config_version).await?;
            changed_back(db, now, owner, check, changes, alerts).await
        }
        Effect::PauseCheck { check, config_version, until } => {
            let check = as_left(db, owner, &check, config_version).await?;
            // The pause that there was would be over by now: without the other one, the check would be watched.
            if (Pause { until }).is_over(now) && is_paused(&check, now) {
                return resumed(now, check);
            }
            paused(db, now, check, until).await
        }
        Effect::ResumeCheck { check, config_version } => {
            resumed(now, as_left(db, owner, &check, config_version).await?)
        }
        Effect::PauseChecks { checks, until } => {
            all_paused(db, now, owner, all_as_left(db, owner, checks.iter()).await?, until).await
        }
        Effect::ResumeChecks { checks } => {
            let found = all_as_left(db, owner, checks.iter().map(|resumed| &resumed.check)).await?;
            all_resumed(now, &found, checks)
        }
        Effect::DeleteCheck { check, config_version } => {
            deleted(db, now, as_left(db, owner, &check, config_version).await?).await
        }
        // Nothing is taken back by these.
        Effect::CreateCheck { .. } | Effect::RotatePingKey { .. } => {
            Err(nothing_to_change("That cannot be undone.").into())
        }
    }
}

/// A channel that is gone cannot be told again: the rest goes back, and the card says so.
async fn changed_back(
    db: &Db,
    now: Millis,
    owner: &UserId,
    check: Check,
    changes: CheckChanges,
    mut alerts: AlertChanges,
) -> Result<Draft, CheckError> {
    let (name, channels) = (check.name.clone(), list_channels(db, owner).await?);
    let gone = alerts.channels.as_mut().map_or(0, |wanted| wanted.keep(|id| channels.iter().any(|it| it.id == *id)));
    let draft = change(db, now, check, &channels, changes, alerts).await;
    match draft {
        Ok(mut draft) if gone > 0 => {
            let gone = count(i64::try_from(gone).unwrap_or(i64::MAX), "channel");
            draft.preview.warnings.push(format!("{gone} that {name} told before cannot be told again: deleted since."));
            Ok(draft)
        }
        Err(CheckError::Refused(refusal)) if gone > 0 && refusal.code == "nothing_to_change" => {
            let message = format!("There is nothing to undo: whom {name} told before is not there any more.");
            Err(nothing_to_change(message).into())
        }
        other => other,
    }
}

fn all_resumed(now: Millis, found: &[Check], checks: Vec<Resumed>) -> Result<Draft, CheckError> {
    let earlier: Vec<Option<Pause>> = checks.iter().map(|resumed| resumed.earlier).collect();
    let has_pause = |earlier: &Option<Pause>| earlier.is_some_and(|earlier| !earlier.is_over(now));
    if !found.iter().any(|check| is_paused(check, now)) && !earlier.iter().any(has_pause) {
        return Err(nothing_to_change("There is nothing to undo: the pause has ended by itself.").into());
    }
    let preview = preview::resume_all(found, &earlier, now);
    Ok(on_none(RESUME_CHECKS, Effect::ResumeChecks { checks }, preview))
}

/// The check, still in the version that the change left it in.
async fn as_left(db: &Db, owner: &UserId, id: &CheckId, version: Option<i64>) -> Result<Check, CheckError> {
    let gone = || Refusal::new("check_not_found", "The check is not there any more.");
    let check = find_check(db, owner, id).await?.ok_or_else(gone)?;
    if version.is_some_and(|version| version != check.config_version) {
        let message = format!("{} was changed again since, so this can no longer be undone.", check.name);
        return Err(Refusal::new("check_changed", message).into());
    }
    Ok(check)
}

async fn all_as_left(db: &Db, owner: &UserId, pinned: impl Iterator<Item = &Pinned>) -> Result<Vec<Check>, CheckError> {
    let mut checks = Vec::new();
    for Pinned { id, config_version, .. } in pinned {
        checks.push(as_left(db, owner, id, Some(*config_version)).await?);
    }
    Ok(checks)
}
