//! Taking an executed action back: its inverse is proposed as an action of its own, which a person must confirm.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::propose::{Place, keep};
use super::store::undo::{EditRow, Undoable, find_edit, find_undoable};
use super::{Action, ActionView, Status};
use crate::checks::config::from_object;
use crate::checks::draft::Change;
use crate::checks::undo::draft_inverse;
use crate::checks::{CheckError, Refusal};
use crate::clock::{Millis, SharedClock};
use crate::db::{Db, DbError};
use crate::ids::{CheckId, UserId};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    number: Option<i64>,
}

/// Makes a pending action that takes back an executed one of this conversation: the one with the number asked for, or
/// else the one that was executed last.
///
/// # Errors
/// A refusal says why that cannot be undone, or not any more; no row is made. The action that is made is pinned to the
/// checks as the other one left them, so an edit between this and its confirmation refuses it too.
pub async fn undo(
    db: &Db,
    clock: &SharedClock,
    place: Place,
    arguments: Map<String, Value>,
) -> Result<Action, CheckError> {
    let Asked { number } = from_object(arguments)?;
    let now = clock.now();
    let found = find_undoable(db, &place.owner, &place.conversation, number).await?;
    let Undoable { action, inverse } = found.ok_or_else(|| match number {
        Some(number) => Refusal::new("action_not_found", format!("There is no action {number} in this conversation.")),
        None => Refusal::new("action_not_found", "Nothing was carried out in this conversation yet."),
    })?;
    let Some(inverse) = inverse else { return Err(why_not(action, now).into()) };
    let (number, title) = (action.number, &action.preview.title);
    let mut draft = draft_inverse(db, now, &place.owner, inverse).await?;
    draft.preview.summary = format!("This undoes action {number} ({title}). {}", draft.preview.summary);
    keep(db, clock, place, draft).await
}

/// Why an action has nothing that takes it back.
fn why_not(action: Action, now: Millis) -> Refusal {
    let number = action.number;
    let message = match (action.status, action.kind.as_str()) {
        (Status::Executed, "delete_check") => format!(
            "Action {number} deleted a check, which cannot be undone: its history and its ping URL are gone. It can \
             only be created anew."
        ),
        (Status::Executed, "rotate_ping_key") => format!(
            "Action {number} replaced a ping URL, which cannot be undone: the old one does not come back. The job must \
             get the new one."
        ),
        (Status::Executed, _) => format!("Action {number} changed nothing that could be undone."),
        _ => format!("{} There is nothing to undo.", ended(ActionView::new(action, now).standing())),
    };
    Refusal::new("not_undoable", message)
}

fn ended(sentence: String) -> String {
    if sentence.ends_with('.') { sentence } else { format!("{sentence}.") }
}

/// The edit that left a check as it is, if it was an action.
#[derive(Debug, Serialize)]
pub struct LastEdit {
    /// When.
    at: Millis,
    /// How it was confirmed.
    via: Option<String>,
    /// What kind of change.
    kind: String,
    /// What was done.
    message: Option<String>,
    /// What its card showed.
    changes: Vec<Change>,
}

/// What left the owner's check in this version: `None` if that was no action, such as a change through the API.
///
/// # Errors
/// The database's.
pub async fn find_last_edit(
    db: &Db,
    owner: &UserId,
    check: &CheckId,
    config_version: i64,
) -> Result<Option<LastEdit>, DbError> {
    let edit = find_edit(db, owner, check, config_version).await?;
    Ok(edit.map(|EditRow { at, via, kind, outcome, preview }| LastEdit {
        at,
        via,
        kind,
        message: outcome.map(|outcome| outcome.message),
        changes: preview.changes,
    }))
}
