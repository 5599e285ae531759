//! Turns a proposing tool's arguments into what exactly would be done and what the person is shown. Writes nothing.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::alerts::AlertChanges;
use super::apply::{Effect, Pinned, check_until};
use super::config::{CheckChanges, CheckSpec, from_object};
use super::floor::{check_floor, limit_reached, name_taken};
use super::preview;
use super::read::{OneCheck, find_account, resolve};
use super::status::is_paused;
use super::store::{self, Listing};
use super::values::Tag;
use super::{Check, CheckError, Refusal};
use crate::clock::Millis;
use crate::db::Db;
use crate::ids::{CheckId, UserId};

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
        ProposalKind::CreateCheck => create(db, now, owner, from_object(arguments)?).await,
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

async fn create(db: &Db, now: Millis, owner: &UserId, spec: CheckSpec) -> Result<Draft, CheckError> {
    let settings = spec.settle(now)?;
    let account = find_account(db, owner).await?;
    check_floor(account.tier, &settings.schedule()?, settings.grace_seconds.get(), now)?;
    if account.check_count >= account.tier.max_checks() {
        return Err(limit_reached(account.tier, account.check_count).into());
    }
    refuse_taken_name(db, owner, settings.name.as_str()).await?;
    let preview = preview::create(&settings, &settings.schedule()?, &account, now);
    Ok(on_none(ProposalKind::CreateCheck, Effect::CreateCheck { settings, alerts: AlertChanges::default() }, preview))
}

async fn update(db: &Db, now: Millis, owner: &UserId, mut arguments: Map<String, Value>) -> Result<Draft, CheckError> {
    // Everything but the check's name is a change, and one type reads the changes for this tool and for PATCH.
    let named = arguments.shift_remove("check").map(|check| Map::from_iter([("check".to_owned(), check)]));
    let OneCheck { check } = from_object(named.unwrap_or_default())?;
    let changes: CheckChanges = from_object(arguments)?;
    let before = resolve(db, owner, &check).await?;
    let changes = changes.that_differ_from(&before)?;
    if changes.is_empty() {
        return Err(nothing_to_change(format!("{} is like that already.", before.name)).into());
    }
    let after = changes.over(&before)?;
    if changes.has_schedule() {
        check_floor(after.tier, &after.schedule, after.grace_seconds, now)?;
    }
    if changes.name.is_some() {
        refuse_taken_name(db, owner, &after.name).await?;
    }
    let preview = preview::update(&before, &after, now);
    Ok(on_one(ProposalKind::UpdateCheck, before, preview, |check, config_version| Effect::UpdateCheck {
        check,
        config_version,
        changes,
        alerts: AlertChanges::default(),
    }))
}

async fn pause(db: &Db, now: Millis, owner: &UserId, arguments: OneCheckUntil) -> Result<Draft, CheckError> {
    let until = arguments.until;
    check_until(until, now)?;
    let check = resolve(db, owner, &arguments.check).await?;
    if is_paused(&check, now) && check.paused_until == until {
        return Err(nothing_to_change(format!("{} is paused like that already.", check.name)).into());
    }
    let preview = preview::pause(&check, until, now);
    Ok(on_one(ProposalKind::PauseCheck, check, preview, |check, config_version| Effect::PauseCheck {
        check,
        config_version,
        until,
    }))
}

async fn resume(db: &Db, now: Millis, owner: &UserId, arguments: OneCheck) -> Result<Draft, CheckError> {
    let check = resolve(db, owner, &arguments.check).await?;
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
    let until = arguments.until;
    check_until(until, now)?;
    let named = match (arguments.checks, arguments.tag) {
        (Some(names), None) => resolve_all(db, owner, &names).await?,
        (None, Some(tag)) => tagged(db, owner, &tag).await?,
        _ => return Err(Refusal::invalid("checks", "Name either the checks or a tag.").into()),
    };
    let checks: Vec<Check> =
        named.into_iter().filter(|check| !(is_paused(check, now) && check.paused_until == until)).collect();
    if checks.is_empty() {
        return Err(nothing_to_change("There is nothing to pause: all of them are paused like that already.").into());
    }
    let preview = preview::pause_all(&checks, until, now);
    let pin = |check: Check| Pinned { id: check.id, config_version: check.config_version, name: check.name };
    let effect = Effect::PauseChecks { checks: checks.into_iter().map(pin).collect(), until };
    Ok(on_none(ProposalKind::PauseChecks, effect, preview))
}

async fn delete(db: &Db, now: Millis, owner: &UserId, arguments: OneCheck) -> Result<Draft, CheckError> {
    let check = resolve(db, owner, &arguments.check).await?;
    let account = find_account(db, owner).await?;
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

fn on_none(kind: ProposalKind, effect: Effect, preview: Preview) -> Draft {
    Draft { kind: kind.as_str(), effect, check_id: None, config_version: None, preview }
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

fn nothing_to_change(message: impl Into<String>) -> Refusal {
    Refusal::new("nothing_to_change", message)
}

fn too_many() -> Refusal {
    Refusal::invalid("checks", format!("At most {MAX_PINNED} checks are paused at once."))
}
