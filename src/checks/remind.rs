//! Reminders: a check that stays down tells its channels again, if its owner wants that.

use super::history::FlipView;
use super::notice::Event;
use super::store::outbox::{self, Telling};
use super::tell::{notice, seconds_between};
use crate::clock::{Clock, Millis};
use crate::db::{Db, DbError};
use crate::ids::CheckId;

/// How many checks are looked up at a time.
const BATCH: i64 = 100;

/// Writes what is to be sent for every reminder that is due, each in a transaction of its own; returns how many were.
/// Any number of instances may do so at once: the claim that moves `remind_at` on decides who tells.
///
/// # Errors
/// The first one met; one check that cannot be written now does not silence the others.
pub async fn remind(db: &Db, clock: &dyn Clock) -> Result<usize, DbError> {
    let (mut reminded, mut failed) = (0, None);
    for (check, due) in outbox::list_reminders(db, clock.now(), BATCH).await? {
        match remind_one(db, check, due, clock.now()).await {
            Ok(told) => reminded += usize::from(told),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(reminded), Err)
}

async fn remind_one(db: &Db, check: CheckId, due: Millis, now: Millis) -> Result<bool, DbError> {
    db.write(move |tx| {
        Box::pin(async move {
            let Some(subject) = outbox::claim_reminder(tx, &check, due, now).await? else { return Ok(false) };
            // A paused check is not told of, nor is it the moment that its pause ends: the next one counts from here.
            if subject.is_paused(now) {
                return Ok(false);
            }
            let Some(down) = outbox::find_last_down(tx, &check).await? else { return Ok(false) };
            let flip = FlipView { at: down.at, from: down.from_status, to: down.to_status, reason: down.reason };
            let downtime = Some(seconds_between(down.at, now));
            let notice = notice(Event::CheckReminder, &subject, flip, now, downtime);
            let owner = &subject.account_id;
            let telling = Telling { owner, check: &check, flip_id: &down.id, reminder: due, notice: &notice };
            outbox::insert_deliveries(tx, &telling, now).await?;
            Ok(true)
        })
    })
    .await
}
