//! The sweep: takes checks down whose deadline has passed. Any number of instances may run it at once.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Status;
use super::history::Reason;
use super::intake::attend;
use super::store::flips::{self, Flip, Late};
use super::store::runs;
use super::tell;
use crate::clock::{Clock, Millis, SharedClock};
use crate::db::{Db, DbError};
use crate::telemetry::SWEPT;

/// How many late checks are looked up at a time.
const BATCH: u8 = 100;

/// Takes every late check down, each in a transaction of its own, and returns how many it was.
///
/// # Errors
/// The first one met. One check that cannot be written now does not keep the others up: each is tried once a sweep.
pub async fn sweep(db: &Db, clock: &dyn Clock) -> Result<usize, DbError> {
    let (mut flipped, mut failed, mut last) = (0, None, None);
    loop {
        let batch = flips::list_late(db, clock.now(), last.as_ref(), i64::from(BATCH)).await?;
        let is_last = batch.len() < usize::from(BATCH);
        last = batch.last().cloned();
        for late in batch {
            // What was read above only says where to look; the claim decides.
            match flip_late(db, late, clock.now()).await {
                Ok(true) => flipped += 1,
                Ok(false) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if is_last {
            break;
        }
    }
    if flipped > 0 {
        tracing::info!(flipped, "checks went down");
        metrics::counter!(SWEPT).increment(flipped as u64);
    }
    flips::expire_pauses(db, clock.now()).await?;
    failed.map_or(Ok(flipped), Err)
}

/// Dated at the deadline, not when it was noticed.
async fn flip_late(db: &Db, late: Late, now: Millis) -> Result<bool, DbError> {
    db.write(move |tx| {
        Box::pin(async move {
            if !flips::claim_late(tx, &late, now).await? {
                return Ok(false);
            }
            let flip = Flip { from: late.status, to: Status::Down, reason: Reason::Timeout, at: late.deadline_at };
            // A run that was late is told of now, and not again.
            let runs_deadline_at = runs::forget_late(tx, &late.id, Some(now)).await?;
            runs::store_deadline(tx, &late.id, runs_deadline_at).await?;
            tell::record_flip(tx, &late.id, flip, now).await?;
            Ok(true)
        })
    })
    .await
}

/// First whether we were away: what was due meanwhile is held, and not swept.
async fn attend_and_sweep(db: &Db, clock: &dyn Clock) -> Result<usize, DbError> {
    attend(db, clock).await?;
    sweep(db, clock).await
}

/// Sweeps `every` so often until `stop`. A sweep that fails is told of once, and the next one tries again.
pub async fn run(db: Db, clock: SharedClock, every: Duration, stop: CancellationToken) {
    let sweeping = async {
        let mut failing = false;
        loop {
            match attend_and_sweep(&db, clock.as_ref()).await {
                Ok(_) => {
                    if failing {
                        tracing::info!("the sweep works again");
                    }
                    failing = false;
                }
                Err(error) => {
                    if !failing {
                        tracing::error!(%error, "the sweep failed");
                    }
                    failing = true;
                }
            }
            sleep(every).await;
        }
    };
    // A write under way when this stops is finished by the database's own task.
    stop.run_until_cancelled(sweeping).await;
}
