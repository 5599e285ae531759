//! Tidies actions that nobody decided in time. Only for the eye: the claim itself refuses them.

use crate::clock::Clock;
use crate::db::{Db, DbError};
use crate::telemetry;

/// Stores EXPIRED for every pending action past its time; returns how many.
pub async fn expire(db: &Db, clock: &dyn Clock) -> Result<u64, DbError> {
    let now = clock.now();
    let expired = db.write::<_, DbError, _>(move |tx| Box::pin(super::store::expire_late(tx, now))).await?;
    metrics::counter!(telemetry::ACTIONS, "event" => "EXPIRED").increment(expired);
    Ok(expired)
}
