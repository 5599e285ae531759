//! A channel that goes: at once for its owner, its deliveries in batches. One statement would delete a million of them
//! in seconds, and every alert of the account would wait for it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::not_found;
use crate::checks::CheckError;
use crate::checks::store::channels as store;
use crate::checks::store::deliveries::{delete_finished, delete_of_channel};
use crate::checks::store::edits::hold_account;
use crate::clock::{Clock, Millis};
use crate::db::{Db, DbError};
use crate::ids::{ChannelId, UserId};

/// Deliveries that have ended are kept this long.
const KEPT: Duration = Duration::from_hours(90 * 24);
/// Rows that are deleted at a time.
const BATCH: i64 = 1_000;

/// Deletes a channel, and with it what was or is to be sent there. It is gone with the first write; what a crash leaves
/// of its deliveries, and what is more than one batch, is [`prune`]'s.
///
/// # Errors
/// `channel_not_found`.
pub async fn delete(db: &Db, now: Millis, owner: &UserId, id: &ChannelId) -> Result<(), CheckError> {
    let (owner, marked) = (owner.clone(), id.clone());
    db.write::<_, CheckError, _>(move |tx| {
        Box::pin(async move {
            // Held, so that no check is told of a channel that is going.
            hold_account(tx, &owner).await?;
            if store::mark_deleted(tx, &owner, &marked, now).await? { Ok(()) } else { Err(not_found().into()) }
        })
    })
    .await?;
    let (handle, id) = (db.clone(), id.clone());
    if let Err(error) = db.detached(async move { purge(&handle, &id).await }).await {
        tracing::warn!(%error, "what was sent through a deleted channel is left for later");
    }
    Ok(())
}

/// Deletes what is left of deleted channels, and deliveries that ended long ago, unless `stop` comes first.
pub async fn prune(db: &Db, clock: &dyn Clock, stop: &CancellationToken) -> Result<(), DbError> {
    for id in store::list_deleted(db).await? {
        while !stop.is_cancelled() && !purge(db, &id).await? {}
    }
    let before = clock.now().minus(KEPT);
    while !stop.is_cancelled() && delete_finished(db, before, BATCH).await? >= BATCH.unsigned_abs() {}
    Ok(())
}

/// Deletes a batch of a deleted channel's deliveries, and the channel after the last one; `false` if there is more.
async fn purge(db: &Db, id: &ChannelId) -> Result<bool, DbError> {
    if delete_of_channel(db, id, BATCH).await? >= BATCH.unsigned_abs() {
        return Ok(false);
    }
    store::delete_emptied(db, id).await?;
    Ok(true)
}
