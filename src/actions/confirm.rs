//! One confirmation from tap to outcome. The button, the typed word and the API all end here; nothing else runs an
//! effect that was proposed.

use super::store::{self, undo};
use super::{Action, Outcome, Status, Via};
use crate::checks::apply::apply;
use crate::checks::{CheckError, Refusal};
use crate::clock::{Clock, Millis, SharedClock};
use crate::db::{Db, DbError, Tx};
use crate::ids::{ActionId, UserId};
use crate::telemetry;

/// Which action a person decided, and how.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Who decides.
    pub owner: UserId,
    /// What about.
    pub action: ActionId,
    /// How it reached us.
    pub via: Via,
    /// What the card showed, if a card was shown: another digest decides nothing.
    pub digest: Option<String>,
}

/// A decided action.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The row as it stands.
    pub action: Action,
    /// Whether it had been decided before, the same way.
    pub replayed: bool,
}

/// Why a decision changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// Unknown, or another owner's.
    #[error("no such action")]
    NotFound,
    /// The card showed something else than the row holds.
    #[error("the action is not what was shown")]
    Changed,
    /// It was decided another way, or can no longer be decided; the row tells.
    #[error("the action is {}", .0.status.as_str())]
    Over(Box<Action>),
    /// The database's failure. After [`DbError::CommitUnknown`] the row could not be read again.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Claims, runs and finishes an action in one transaction.
///
/// # Errors
/// [`DecisionError`]; nothing has run then.
pub async fn confirm(db: &Db, clock: &SharedClock, decision: Decision) -> Result<Decided, DecisionError> {
    decide(db, clock, decision, Verdict::Confirm).await
}

/// Claims an action to REJECTED.
///
/// # Errors
/// [`DecisionError`].
pub async fn reject(db: &Db, clock: &SharedClock, decision: Decision) -> Result<Decided, DecisionError> {
    decide(db, clock, decision, Verdict::Reject).await
}

/// What the person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Do it.
    Confirm,
    /// Do not.
    Reject,
}

async fn decide(db: &Db, clock: &SharedClock, decision: Decision, verdict: Verdict) -> Result<Decided, DecisionError> {
    let (asked, ticking) = (decision.clone(), clock.clone());
    let decided = db
        .write::<_, DbError, _>(move |tx| {
            Box::pin(async move { decide_in(tx, ticking.as_ref(), &asked, verdict).await })
        })
        .await;
    match decided {
        Ok(result) => result,
        // The reply to COMMIT was lost: the row knows. While it says PENDING the commit may still be under way.
        Err(DbError::CommitUnknown(error)) => {
            let row = store::find_action(db, &decision.owner, &decision.action).await?;
            match row.ok_or(DecisionError::NotFound)? {
                action if action.status == Status::Pending => Err(DbError::CommitUnknown(error).into()),
                action => explain(action, &decision, verdict, clock.now()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Decides inside a transaction of the caller's. An inner `Err` was decided by the row and may be committed.
///
/// # Errors
/// [`DbError`]: the transaction must be rolled back.
pub async fn decide_in(
    tx: &mut Tx,
    clock: &dyn Clock,
    decision: &Decision,
    verdict: Verdict,
) -> Result<Result<Decided, DecisionError>, DbError> {
    // Read here, behind whatever this transaction had to wait for.
    let now = clock.now();
    let to = match verdict {
        Verdict::Confirm => Status::Claimed,
        Verdict::Reject => Status::Rejected,
    };
    let Some(claimed) = store::claim(tx, decision, to, now).await? else {
        store::expire_if_late(tx, decision, now).await?;
        return Ok(match store::find_action_in(tx, &decision.owner, &decision.action).await? {
            None => Err(DecisionError::NotFound),
            Some(action) => explain(action, decision, verdict, now),
        });
    };
    let action = match verdict {
        Verdict::Confirm => run(tx, now, claimed).await?,
        Verdict::Reject => claimed,
    };
    store::record(tx, &action, decision.owner.as_str(), now).await?;
    metrics::counter!(telemetry::ACTIONS, "event" => action.status.as_str()).increment(1);
    Ok(Ok(Decided { action, replayed: false }))
}

/// Runs a claimed effect. A refusal by the effect's own guards undoes what it did and is stored as FAILED.
async fn run(tx: &mut Tx, now: Millis, claimed: Action) -> Result<Action, DbError> {
    store::savepoint(tx).await?;
    match apply(tx, now, &claimed.account_id, &claimed.effect).await {
        Ok(applied) => {
            store::insert_effect(tx, &claimed.id, now).await?;
            undo::insert_edits(tx, &claimed.id, &applied.edited).await?;
            store::release_savepoint(tx).await?;
            let outcome = Outcome { code: "done".to_owned(), message: applied.message, check_id: applied.check_id };
            // What takes it back is stored with EXECUTED or not at all.
            store::finish(tx, claimed, Status::Executed, outcome, applied.inverse.as_ref()).await
        }
        Err(CheckError::Refused(Refusal { code, message, .. })) => {
            store::rollback_to_savepoint(tx).await?;
            store::finish(tx, claimed, Status::Failed, Outcome { code, message, check_id: None }, None).await
        }
        Err(CheckError::Db(error)) => Err(error),
    }
}

/// The answer for a decision that claimed nothing: the same outcome again, or why not.
fn explain(action: Action, asked: &Decision, verdict: Verdict, now: Millis) -> Result<Decided, DecisionError> {
    match (verdict, action.status_at(now)) {
        (Verdict::Confirm, Status::Executed | Status::Failed) | (Verdict::Reject, Status::Rejected) => {
            Ok(Decided { action, replayed: true })
        }
        (_, Status::Pending) if asked.digest.as_ref().is_some_and(|shown| *shown != action.digest) => {
            Err(DecisionError::Changed)
        }
        // PENDING with the right digest and in time is claimable, so the claim would have had it.
        (_, Status::Pending | Status::Claimed) => Err(DecisionError::Db(DbError::Corrupt {
            table: "pending_actions",
            column: "status",
            row: action.id.0,
            value: action.status.as_str().to_owned(),
        })),
        (Verdict::Confirm, Status::Rejected)
        | (Verdict::Reject, Status::Executed | Status::Failed)
        | (_, Status::Expired | Status::Superseded) => Err(DecisionError::Over(Box::new(action))),
    }
}
