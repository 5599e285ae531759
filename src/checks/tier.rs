//! An account changes its tier: what is due in its checks follows the new floor.

use super::Check;
use super::status::Times;
use super::store::edits::{hold_checks, store_times};
use crate::clock::Millis;
use crate::db::{DbError, Tx};
use crate::ids::UserId;
use crate::limits::Tier;

/// Moves what is due in the account's checks to what it is with the floor of `tier`: a job that keeps to the new floor
/// must not be late by the old one. What that makes late goes down now, not before. Call it while the account is held
/// and still has its old tier.
///
/// A statement for each check that moves: few do, and an operator waits for it.
pub async fn follow_floor(tx: &mut Tx, owner: &UserId, tier: Tier, now: Millis) -> Result<(), DbError> {
    for before in hold_checks(tx, owner).await? {
        let after = Check { tier, ..before.clone() };
        let times = Times::after_edit(&before, &after, now);
        if times != Times::unchanged(&before) {
            store_times(tx, &before.id, times).await?;
        }
    }
    Ok(())
}
