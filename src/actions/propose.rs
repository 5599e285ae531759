//! From a model's tool call to a row that a person can confirm. Nothing changes here but that row.

use std::time::Duration;

use super::{Action, MAX_OPEN, Status, digest, store};
use crate::checks::draft::{Draft, ProposalKind, draft};
use crate::checks::{CheckError, Refusal};
use crate::clock::{Millis, SharedClock};
use crate::db::Db;
use crate::ids::{ActionId, ConversationId, ConversationRef, UserId};
use crate::telemetry;

/// Where a proposal is made.
#[derive(Debug, Clone)]
pub struct Place {
    /// For whom.
    pub owner: UserId,
    /// The conversation's row.
    pub conversation: ConversationRef,
    /// The conversation as the client calls it.
    pub conversation_id: ConversationId,
    /// How long the action waits for its owner.
    pub ttl: Duration,
    /// Whether the model had read other people's text before it proposed this.
    pub read_foreign_text: bool,
}

/// Makes a pending action of a tool call's arguments.
///
/// # Errors
/// A refusal says why it could not be executed now; no row is made.
pub async fn propose(
    db: &Db,
    clock: &SharedClock,
    place: Place,
    kind: ProposalKind,
    arguments: serde_json::Map<String, serde_json::Value>,
) -> Result<Action, CheckError> {
    let draft = draft(db, clock.now(), &place.owner, kind, arguments).await?;
    keep(db, clock, place, draft).await
}

/// Makes a pending action of a draft.
///
/// # Errors
/// `too_many_open_actions`, or `chat_not_found` for a conversation that was deleted meanwhile.
pub(super) async fn keep(db: &Db, clock: &SharedClock, place: Place, mut draft: Draft) -> Result<Action, CheckError> {
    if place.read_foreign_text {
        let warning =
            "The assistant had read text from outside (ping bodies) before it proposed this. Check it closely.";
        draft.preview.warnings.push(warning.to_owned());
    }
    let clock = clock.clone();
    let action = db
        .write::<_, CheckError, _>(move |tx| {
            Box::pin(async move {
                // The conversation's row is the lock that keeps numbers apart.
                let number = store::take_number(tx, &place.conversation).await?;
                let number = number.ok_or_else(|| Refusal::new("chat_not_found", "This conversation was deleted."))?;
                store::hold_account(tx, &place.owner).await?;
                let now = clock.now();
                store::supersede(tx, &place.conversation, &draft, now).await?;
                let action = new_action(place, number, &draft, now);
                if !store::insert_action(tx, &action, &draft, MAX_OPEN).await? {
                    let message = format!("There are {MAX_OPEN} open actions already. Confirm or cancel some first.");
                    return Err(Refusal::new("too_many_open_actions", message).into());
                }
                store::record(tx, &action, "assistant", now).await?;
                Ok(action)
            })
        })
        .await?;
    metrics::counter!(telemetry::ACTIONS, "event" => "PROPOSED").increment(1);
    Ok(action)
}

fn new_action(place: Place, number: i64, draft: &Draft, now: Millis) -> Action {
    Action {
        id: ActionId::new(now),
        account_id: place.owner,
        conversation: place.conversation,
        conversation_id: place.conversation_id,
        number,
        kind: draft.kind.to_owned(),
        effect: draft.effect.clone(),
        preview: draft.preview.clone(),
        digest: digest(&draft.effect, &draft.preview),
        status: Status::Pending,
        created_at: now,
        expires_at: now.plus(place.ttl),
        decided_at: None,
        decided_via: None,
        outcome: None,
    }
}
