//! Deletes history that nobody is told any more: pings by the account's tier; flips, pauses and our own gaps by age.
//!
//! Any number of instances may run it at once: each statement deletes at most a thousand rows, skips what another one
//! is deleting, and may be repeated. That also bounds what deleting a check with its history has to delete at once.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::store::prune::{self, BATCH, Bounds, Surplus};
use crate::clock::Millis;
use crate::db::{Db, DbError};
use crate::ids::least_v7;
use crate::limits::Tier;

/// Uptime is told of 400 days; what it is made of is kept a day longer.
const FLIPS_KEPT_FOR: Duration = Duration::from_hours(401 * 24);
/// The newest pings of a check stay whatever their age: why a check is down is answered from them, and a yearly job's
/// last ping is always old.
const PINGS_KEPT_ANYWAY: i64 = 10;

/// How many rows were deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Of pings.
    pub pings: u64,
    /// Of flips.
    pub flips: u64,
    /// Of our own gaps.
    pub gaps: u64,
    /// Of pauses.
    pub pauses: u64,
}

/// Deletes what is old at `now`, all of it unless `stop` comes first.
pub async fn prune(db: &Db, now: Millis, stop: &CancellationToken) -> Result<Pruned, DbError> {
    let mut pruned = Pruned::default();
    for tier in Tier::ALL {
        let bounds = Bounds {
            tier,
            pings_since: least_v7(now.minus(tier.pings_kept_for())),
            pings_kept_anyway: PINGS_KEPT_ANYWAY,
            flips_since: now.minus(FLIPS_KEPT_FOR),
        };
        let mut after = String::new();
        while !stop.is_cancelled() {
            let checks = prune::list_surplus(db, &bounds, &after).await?;
            let Some(last) = checks.last() else { break };
            last.id.as_str().clone_into(&mut after);
            for surplus in checks {
                prune_check(db, &surplus, stop, &mut pruned).await?;
            }
        }
    }
    let mut deleted = BATCH;
    while deleted >= BATCH && !stop.is_cancelled() {
        deleted = prune::delete_gaps(db, now.minus(FLIPS_KEPT_FOR)).await?;
        pruned.gaps += deleted;
    }
    let mut deleted = BATCH;
    while deleted == BATCH && !stop.is_cancelled() {
        deleted = prune::delete_pauses(db, now.minus(FLIPS_KEPT_FOR)).await?;
        pruned.pauses += deleted;
    }
    Ok(pruned)
}

async fn prune_check(db: &Db, check: &Surplus, stop: &CancellationToken, pruned: &mut Pruned) -> Result<(), DbError> {
    if let Some(last) = check.last_ping() {
        let mut deleted = BATCH;
        while deleted >= BATCH && !stop.is_cancelled() {
            deleted = prune::delete_pings(db, &check.id, last).await?;
            pruned.pings += deleted;
        }
    }
    if let Some(first_kept) = check.first_flip {
        let mut deleted = BATCH;
        while deleted >= BATCH && !stop.is_cancelled() {
            deleted = prune::delete_flips(db, &check.id, first_kept).await?;
            pruned.flips += deleted;
        }
    }
    Ok(())
}
