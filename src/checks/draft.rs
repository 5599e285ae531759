//! Turns a proposing tool's arguments into what exactly would be done and what the person is shown. Writes nothing.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::alerts::AlertChanges;
use super::apply::check_until;
use super::config::{CheckChanges, CheckSpec, changes_from, from_object};
use super::effect::{Effect, Pinned, Shown};
use super::floor::{check_floor, limit_reached, name_taken};
use super::preview::{self, Alerts};
use super::read::{OneCheck, find_account, resolve};
use super::status::is_paused;
use super::store::channels::{Channel, channels_by_check, channels_of_check, list_channels};
use super::store::{self, Listing};
use super::values::Tag;
use super::{Check, CheckError, Refusal};
use crate::clock::Millis;
use crate::db::Db;
use crate::ids::{ChannelId, CheckId, UserId};

pub use super::preview::{Change, Preview};
pub use super::tools::ProposalKind;

/// More checks than this are not paused by one confirmation: nobody reads a longer list.
pub const MAX_PINNED: usize = 100;

/// A change ready to be proposed.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The action's kind.
    pub kind: &'static str,
    /// What a confirmation runs.
    pub effect: Effect,
    /// The check it is aimed at, if it is one.
    pub check_id: Option<CheckId>,
    /// That check's version.
    pub config_version: Option<i64>,
    /// What the person is shown.
    pub preview: Preview,
}

/// Drafts what a tool call asks for.
///
/// # Errors
/// [`CheckError::Refused`] for arguments that do not fit and for what could not be executed now. That is an early no
/// from a plain read; only `apply`, when the person confirms, says yes.
pub async fn draft(
    db: &Db,
    now: Millis,
    owner: &UserId,
    kind: ProposalKind,
    arguments: Map<String, Value>,
) -> Result<Draft, CheckError> {
    match kind {
        ProposalKind::CreateCheck => create(db, now, owner, arguments).await,
        ProposalKind::UpdateCheck => update(db, now, owner, arguments).await,
        ProposalKind::PauseCheck => pause(db, now, owner, from_object(arguments)?).await,
        ProposalKind::ResumeCheck => resume(db, now, owner, from_object(arguments)?).await,
        ProposalKind::PauseChecks => pause_all(db, now, owner, from_object(arguments)?).await,
        ProposalKind::DeleteCheck => delete(db, now, owner, from_object(arguments)?).await,
        ProposalKind::RotatePingKey => rotate(db, now, owner, from_object(arguments)?).await,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneCheckUntil {
    check: String,
    until: Option<Millis>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManyChecksUntil {
    checks: Option<Vec<String>>,
    tag: Option<Tag>,
    until: Option<Millis>,
}

async fn create(db: &Db, now: Millis, owner: &UserId, mut arguments: Map<String, Value>) -> Result<Draft, CheckError> {
    let channels = list_channels(db, owner).await?;
    resolve_channels(&mut arguments, &channels);
    let changes = AlertChanges::take_new(&mut arguments)?;
    let spec: CheckSpec = from_object(arguments)?;
    let settings = spec.settle(now)?;
    let account = find_account(db, owner).await?;
    check_floor(account.tier, &settings.schedule()?, settings.grace_seconds.get(), now)?;
    if account.check_count >= account.tier.max_checks() {
        return Err(limit_reached(account.tier, account.check_count).into());
    }
    refuse_taken_name(db, owner, settings.name.as_str()).await?;
    let all = Alerts { channels: channels.clone(), all: true, after_failures: 1, reminder_seconds: None };
    let alerts = all.changed(&changes, &channels)?;
    let preview = preview::create(&settings, &settings.schedule()?, &alerts, &account, now);
    let shown = changes.channels.as_ref().map(|_| Shown { told: Vec::new(), to_tell: alerts.named() });
    let effect = Effect::CreateCheck { settings, alerts: changes, shown };
    Ok(on_none(ProposalKind::CreateCheck.as_str(), effect, preview))
}

async fn update(db: &Db, now: Millis, owner: &UserId, arguments: Map<String, Value>) -> Result<Draft, CheckError> {
    let Asked { before, channels, changes, alerts } = read_changes(db, owner, arguments).await?;
    change(db, now, before, &channels, changes, alerts).await
}

/// The arguments of `update_check`, and what they are about.
pub(super) struct Asked {
    pub(super) before: Check,
    pub(super) channels: Vec<Channel>,
    pub(super) changes: CheckChanges,
    pub(super) alerts: AlertChanges,
}

pub(super) async fn read_changes(
    db: &Db,
    owner: &UserId,
    mut arguments: Map<String, Value>,
) -> Result<Asked, CheckError> {
    // Everything but the check's name is a change, and one type reads the changes for this tool and for PATCH.
    let named = arguments.shift_remove("check").map(|check| Map::from_iter([("check".to_owned(), check)]));
    let OneCheck { check } = from_object(named.unwrap_or_default())?;
    let channels = list_channels(db, owner).await?;
    resolve_channels(&mut arguments, &channels);
    let alerts = AlertChanges::take_from(&mut arguments)?;
    let changes = changes_from(arguments)?;
    Ok(Asked { before: resolve(db, owner, &check).await?, channels, changes, alerts })
}

/// The draft of these changes to a check whose owner has these `channels`.
pub(super) async fn change(
    db: &Db,
    now: Millis,
    before: Check,
    channels: &[Channel],
    changes: CheckChanges,
    alerts: AlertChanges,
) -> Result<Draft, CheckError> {
    let told = channels_of_check(db, &before.id).await?;
    let changes = changes.that_differ_from(&before)?;
    let alerts = alerts.that_differ_from(&before, &told);
    if changes.is_empty() && alerts.is_empty() {
        return Err(nothing_to_change(format!("{} is like that already.", before.name)).into());
    }
    let after = changes.over(&before)?;
    if changes.has_schedule() {
        check_floor(after.tier, &after.schedule, after.grace_seconds, now)?;
    }
    if changes.name.is_some() {
        refuse_taken_name(db, &before.account_id, &after.name).await?;
    }
    let present = Alerts::of(&before, channels, &told);
    let to_be = present.changed(&alerts, channels)?;
    let preview = preview::update(&before, &after, [&present, &to_be], now);
    let shown = alerts.channels.as_ref().map(|_| Shown { told, to_tell: to_be.named() });
    Ok(on_one(ProposalKind::UpdateCheck, before, preview, |check, config_version| Effect::UpdateCheck {
        check,
        config_version,
        changes,
        alerts,
        shown,
    }))
}

/// Channels may be called by their names; puts their ids there.
fn resolve_channels(arguments: &mut Map<String, Value>, channels: &[Channel]) {
    if let Some(Value::Array(named)) = arguments.get_mut("channels") {
        for value in named {
            let by_name = channels.iter().find(|channel| value.as_str() == Some(channel.name.as_str()));
            if let Some(channel) = by_name {
                *value = channel.id.as_str().into();
            }
        }
    }
}

/// Those of `channels` that are named.
pub(super) fn among(channels: &[Channel], ids: &[ChannelId]) -> Vec<Channel> {
    channels.iter().filter(|channel| ids.contains(&channel.id)).cloned().collect()
}

async fn pause(db: &Db, now: Millis, owner: &UserId, arguments: OneCheckUntil) -> Result<Draft, CheckError> {
    let check = resolve(db, owner, &arguments.check).await?;
    paused(db, now, check, arguments.until).await
}

/// The draft of a pause.
pub(super) async fn paused(db: &Db, now: Millis, check: Check, until: Option<Millis>) -> Result<Draft, CheckError> {
    check_until(until, now)?;
    if is_paused(&check, now) && check.paused_until == until {
        return Err(nothing_to_change(format!("{} is paused like that already.", check.name)).into());
    }
    let told = channels_of_check(db, &check.id).await?;
    let told = among(&list_channels(db, &check.account_id).await?, &told);
    let preview = preview::pause(&check, &told, until, now);
    Ok(on_one(ProposalKind::PauseCheck, check, preview, |check, config_version| Effect::PauseCheck {
        check,
        config_version,
        until,
    }))
}

async fn resume(db: &Db, now: Millis, owner: &UserId, arguments: OneCheck) -> Result<Draft, CheckError> {
    resumed(now, resolve(db, owner, &arguments.check).await?)
}

/// The draft of the end of a pause.
pub(super) fn resumed(now: Millis, check: Check) -> Result<Draft, CheckError> {
    if !is_paused(&check, now) {
        return Err(nothing_to_change(format!("{} is not paused.", check.name)).into());
    }
    let preview = preview::resume(&check, now);
    Ok(on_one(ProposalKind::ResumeCheck, check, preview, |check, config_version| Effect::ResumeCheck {
        check,
        config_version,
    }))
}

async fn pause_all(db: &Db, now: Millis, owner: &UserId, arguments: ManyChecksUntil) -> Result<Draft, CheckError> {
    let named = match (arguments.checks, arguments.tag) {
        (Some(names), None) => resolve_all(db, owner, &names).await?,
        (None, Some(tag)) => tagged(db, owner, &tag).await?,
        _ => return Err(Refusal::invalid("checks", "Name either the checks or a tag.").into()),
    };
    all_paused(db, now, owner, named, arguments.until).await
}

/// The draft of a pause of several checks, of those that are not paused like that.
pub(super) async fn all_paused(
    db: &Db,
    now: Millis,
    owner: &UserId,
    mut checks: Vec<Check>,
    until: Option<Millis>,
) -> Result<Draft, CheckError> {
    check_until(until, now)?;
    checks.retain(|check| !(is_paused(check, now) && check.paused_until == until));
    if checks.is_empty() {
        return Err(nothing_to_change("There is nothing to pause: all of them are paused like that already.").into());
    }
    let by_check = channels_by_check(db, owner).await?;
    let told: Vec<ChannelId> = checks.iter().filter_map(|check| by_check.get(&check.id)).flatten().cloned().collect();
    let told = among(&list_channels(db, owner).await?, &told);
    let preview = preview::pause_all(&checks, &told, until, now);
    let effect = Effect::PauseChecks { checks: checks.into_iter().map(pin).collect(), until };
    Ok(on_none(ProposalKind::PauseChecks.as_str(), effect, preview))
}

/// A check as a list holds it.
pub(super) fn pin(check: Check) -> Pinned {
    Pinned { id: check.id, config_version: check.config_version, name: check.name }
}

async fn delete(db: &Db, now: Millis, owner: &UserId, arguments: OneCheck) -> Result<Draft, CheckError> {
    deleted(db, now, resolve(db, owner, &arguments.check).await?).await
}

/// The draft of a deletion.
pub(super) async fn deleted(db: &Db, now: Millis, check: Check) -> Result<Draft, CheckError> {
    let account = find_account(db, &check.account_id).await?;
    let preview = preview::delete(&check, &account, now);
    Ok(on_one(ProposalKind::DeleteCheck, check, preview, |check, config_version| Effect::DeleteCheck {
        check,
        config_version,
    }))
}

async fn rotate(db: &Db, now: Millis, owner: &UserId, arguments: OneCheck) -> Result<Draft, CheckError> {
    let check = resolve(db, owner, &arguments.check).await?;
    let preview = preview::rotate(&check, now);
    Ok(on_one(ProposalKind::RotatePingKey, check, preview, |check, config_version| Effect::RotatePingKey {
        check,
        config_version,
    }))
}

pub(super) fn on_none(kind: &'static str, effect: Effect, preview: Preview) -> Draft {
    Draft { kind, effect, check_id: None, config_version: None, preview }
}

fn on_one(
    kind: ProposalKind,
    check: Check,
    preview: Preview,
    effect: impl FnOnce(CheckId, Option<i64>) -> Effect,
) -> Draft {
    let config_version = Some(check.config_version);
    let effect = effect(check.id.clone(), config_version);
    Draft { kind: kind.as_str(), effect, check_id: Some(check.id), config_version, preview }
}

async fn resolve_all(db: &Db, owner: &UserId, names: &[String]) -> Result<Vec<Check>, CheckError> {
    if names.len() > MAX_PINNED {
        return Err(too_many().into());
    }
    let mut checks: Vec<Check> = Vec::with_capacity(names.len());
    for name in names {
        let check = resolve(db, owner, name).await?;
        if !checks.iter().any(|other| other.id == check.id) {
            checks.push(check);
        }
    }
    Ok(checks)
}

async fn tagged(db: &Db, owner: &UserId, tag: &Tag) -> Result<Vec<Check>, CheckError> {
    let limit = i64::try_from(MAX_PINNED).unwrap_or(i64::MAX) + 1;
    let checks = store::list_checks(db, owner, &Listing { tag: Some(tag), before: None, limit }).await?;
    let tag = tag.as_str();
    match checks.len() {
        0 => Err(Refusal::new("check_not_found", format!("No check has the tag {tag:?}.")).into()),
        number if number > MAX_PINNED => Err(too_many().into()),
        _ => Ok(checks),
    }
}

async fn refuse_taken_name(db: &Db, owner: &UserId, name: &str) -> Result<(), CheckError> {
    match store::find_by_name(db, owner, name).await? {
        Some(_) => Err(name_taken(name).into()),
        None => Ok(()),
    }
}

pub(super) fn nothing_to_change(message: impl Into<String>) -> Refusal {
    Refusal::new("nothing_to_change", message)
}

fn too_many() -> Refusal {
    Refusal::invalid("checks", format!("At most {MAX_PINNED} checks are paused at once."))
}
