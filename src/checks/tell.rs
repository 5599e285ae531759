//! Telling of a change of state: a flip and what is to be sent because of it are written in one transaction, so that
//! neither is there without the other, however many instances notice and whenever one of them dies.

use super::Status;
use super::history::{FlipView, Reason};
use super::notice::{About, Data, Event, Notice};
use super::store::flips::{self, Flip};
use super::store::outbox::{self, Subject, Telling};
use crate::clock::Millis;
use crate::db::{DbError, Tx};
use crate::ids::CheckId;

/// Records a flip, and a delivery for each of the check's channels if the flip is one that people are told of: to down,
/// and back up from it. A first ping is silent.
///
/// Lock order: the check (held by the caller), then its channels.
pub async fn record_flip(tx: &mut Tx, check: &CheckId, flip: Flip, now: Millis) -> Result<(), DbError> {
    let flip_id = flips::insert_flip(tx, check, flip, now).await?;
    let event = match (flip.from, flip.to) {
        (_, Status::Down) => Event::CheckDown,
        (Status::Down, Status::Up) => Event::CheckUp,
        (Status::New | Status::Up, Status::Up) | (_, Status::New) => return Ok(()),
    };
    let Some(subject) = outbox::set_reminder(tx, check, flip.to, now).await? else { return Ok(()) };
    let went_down = match flip.reason {
        Reason::Recovered => outbox::find_last_down(tx, check).await?.map(|down| down.at),
        Reason::Timeout | Reason::Fail | Reason::Exit | Reason::FirstPing => None,
    };
    let Flip { from, to, reason, at } = flip;
    let downtime = went_down.map(|down| seconds_between(down, at));
    let notice = notice(event, &subject, FlipView { at, from, to, reason }, at, downtime);
    let telling =
        Telling { owner: &subject.account_id, check, flip_id: &flip_id, reminder: Millis(0), notice: &notice };
    outbox::insert_deliveries(tx, &telling, now).await?;
    Ok(())
}

/// The notice of what `flip` did to a check.
pub(super) fn notice(
    event: Event,
    subject: &Subject,
    flip: FlipView,
    timestamp: Millis,
    downtime_seconds: Option<i64>,
) -> Notice {
    let Subject { id, name, tags, status, due_at, last_ping_at, .. } = subject.clone();
    let data = Data {
        check: Some(About { id, name, tags, status }),
        flip: Some(flip),
        downtime_seconds,
        due_at,
        last_ping_at,
        ..Data::default()
    };
    Notice { event, timestamp, data }
}

/// Whole seconds from `earlier` to `later`, never negative.
pub(super) fn seconds_between(earlier: Millis, later: Millis) -> i64 {
    i64::try_from(later.since(earlier).as_secs()).unwrap_or(i64::MAX)
}
