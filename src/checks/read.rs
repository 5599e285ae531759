//! The assistant's read tools: what a model may learn of an owner's checks. Never a ping URL.

mod check;
mod foresee;
pub mod uptime;
mod why;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::config::from_object;
use super::floor::floor_seconds;
use super::status::derive;
use super::store::channels::{Channel, list_channels};
use super::store::{self, Account, Listing};
use super::tools::ReadKind;
use super::values::{CheckName, Tag};
use super::view::Line;
use super::{Check, CheckError, Refusal, Status};
use crate::clock::Millis;
use crate::db::Db;
use crate::ids::{CheckId, UserId};

/// A list for a model is cut after this: more would fill its window, and a filter finds the rest.
const MAX_LISTED: usize = 100;
/// More checks than this no account has.
const ALL_CHECKS: i64 = 10_000;

/// Which checks a list is to hold. The first three are the stored status, whether paused or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateFilter {
    /// Never pinged.
    New,
    /// Pinged in time.
    Up,
    /// Late beyond its grace, or failed.
    Down,
    /// A ping is due and has not come.
    Late,
    /// Paused.
    Paused,
    /// A run is going on.
    Started,
    /// Pings of it came too soon and were refused.
    Rejected,
}

impl StateFilter {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::New, Self::Up, Self::Down, Self::Late, Self::Paused, Self::Started, Self::Rejected];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Up => "up",
            Self::Down => "down",
            Self::Late => "late",
            Self::Paused => "paused",
            Self::Started => "started",
            Self::Rejected => "rejected",
        }
    }

    fn admits(self, check: &Check, now: Millis) -> bool {
        let derived = derive(check, now);
        match self {
            Self::New => check.status == Status::New,
            Self::Up => check.status == Status::Up,
            Self::Down => check.status == Status::Down,
            Self::Late => derived.late,
            Self::Paused => derived.paused,
            Self::Started => derived.started,
            Self::Rejected => check.rejected_count > 0,
        }
    }
}

/// What a read tool found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The tool's result.
    pub result: Value,
    /// Whether it holds text that neither the owner nor this program wrote (ping bodies).
    pub has_foreign_text: bool,
    /// The check that it tells of, and its version, if it tells of one.
    pub about: Option<(CheckId, i64)>,
}

impl Found {
    /// Nothing but the owner's and our own words.
    fn own(result: Value) -> Self {
        Self { result, has_foreign_text: false, about: None }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    state: Option<StateFilter>,
    tag: Option<Tag>,
}

/// The arguments of a tool that is about one check and takes nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OneCheck {
    /// Its id or exact name.
    pub(super) check: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Runs a read tool on the owner's rows.
///
/// # Errors
/// [`CheckError::Refused`] for arguments that do not fit and for a check that is not there.
pub async fn read(
    db: &Db,
    now: Millis,
    owner: &UserId,
    kind: ReadKind,
    arguments: Map<String, Value>,
) -> Result<Found, CheckError> {
    match kind {
        ReadKind::ListChecks => list(db, now, owner, from_object(arguments)?).await,
        ReadKind::GetCheck => check::get(db, now, owner, from_object(arguments)?).await,
        ReadKind::GetUptime => uptime::get(db, now, owner, from_object(arguments)?).await,
        ReadKind::PreviewChange => foresee::change(db, now, owner, arguments).await,
        ReadKind::PreviewSchedule => foresee::schedule(db, now, owner, from_object(arguments)?).await,
        ReadKind::GetAccount => {
            let Nothing {} = from_object(arguments)?;
            Ok(account(&find_account(db, owner).await?, list_channels(db, owner).await?))
        }
    }
}

async fn list(db: &Db, now: Millis, owner: &UserId, which: Which) -> Result<Found, CheckError> {
    let account = find_account(db, owner).await?;
    let listing = Listing { tag: which.tag.as_ref(), before: None, limit: ALL_CHECKS };
    let mut checks = store::list_checks(db, owner, &listing).await?;
    checks.retain(|check| which.state.is_none_or(|state| state.admits(check, now)));
    let not_shown = checks.len().saturating_sub(MAX_LISTED);
    let lines: Vec<Line> = checks.into_iter().take(MAX_LISTED).map(|check| Line::new(check, now)).collect();
    let mut result = json!({"checks": lines, "used": account.check_count, "limit": account.tier.max_checks()});
    if not_shown > 0 {
        result["not_shown"] = not_shown.into();
    }
    Ok(Found::own(result))
}

fn account(account: &Account, channels: Vec<Channel>) -> Found {
    let Account { name, tier, check_count } = account;
    let checks = json!({"used": check_count, "limit": tier.max_checks()});
    // Where a channel leads to is a secret: a chat's URL is the right to write there.
    let channel = |channel: Channel| json!({"name": channel.name, "kind": channel.kind});
    let channels: Vec<Value> = channels.into_iter().map(channel).collect();
    let result = json!({"name": name, "tier": tier, "checks": checks, "floor_seconds": floor_seconds(*tier),
        "channels": channels});
    Found::own(result)
}

/// The owner's account.
///
/// # Errors
/// `account_not_found`, for a caller that was deleted meanwhile.
pub async fn find_account(db: &Db, owner: &UserId) -> Result<Account, CheckError> {
    let missing = || Refusal::new("account_not_found", "There is no such account.");
    Ok(store::find_account(db, owner).await?.ok_or_else(missing)?)
}

/// The owner's check of that id or exact name.
///
/// # Errors
/// `check_not_found`, the same for what is missing and what is somebody else's.
pub async fn resolve(db: &Db, owner: &UserId, text: &str) -> Result<Check, CheckError> {
    let by_id = match CheckId::parse(text) {
        Some(id) => store::find_check(db, owner, &id).await?,
        None => None,
    };
    let found = match (by_id, CheckName::try_from(text.to_owned())) {
        (Some(check), _) => Some(check),
        (None, Ok(name)) => store::find_by_name(db, owner, name.as_str()).await?,
        // What can be no name is none.
        (None, Err(_)) => None,
    };
    let missing = || {
        let shown: String = text.chars().take(100).collect();
        Refusal::new("check_not_found", format!("There is no check {shown:?}."))
    };
    Ok(found.ok_or_else(missing)?)
}
