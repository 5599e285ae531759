//! A check of a name: made, or changed if it is there. For those who keep their checks in a file and send it again.

use super::alerts::AlertChanges;
use super::apply::{Applied, Effect, apply};
use super::config::{CheckChanges, Settings};
use super::store::edits::hold_account;
use super::store::find_by_name_in;
use super::{CheckError, Refusal};
use crate::clock::Millis;
use crate::db::Tx;
use crate::ids::UserId;

/// What is wanted of the check of a name.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The name.
    pub name: String,
    /// What it is to be if there is none yet, or why that cannot be made.
    pub settings: Result<Settings, Refusal>,
    /// What changes if there is one.
    pub changes: CheckChanges,
    /// Who is told, in either case.
    pub alerts: AlertChanges,
}

/// Makes or changes the check inside the caller's transaction; tells whether it was made.
///
/// # Errors
/// As [`apply`]'s; the caller must then roll back.
pub async fn upsert(tx: &mut Tx, now: Millis, owner: &UserId, wanted: Wanted) -> Result<(Applied, bool), CheckError> {
    let Wanted { name, settings, changes, alerts } = wanted;
    // Under this lock no check of the account gets or loses a name.
    hold_account(tx, owner).await?;
    let found = find_by_name_in(tx, owner, &name).await?;
    let is_new = found.is_none();
    let effect = match found {
        Some(check) => Effect::UpdateCheck { check: check.id, config_version: None, changes, alerts, shown: None },
        None => Effect::CreateCheck { settings: settings?, alerts, shown: None },
    };
    Ok((apply(tx, now, owner, &effect).await?, is_new))
}
