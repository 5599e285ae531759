//! Pings of one check at the same moment, by two instances: what is counted in the database afterwards.

use flatline::checks::history::{Kind, Reason};
use flatline::checks::ping::Outcome;
use flatline::checks::status::Times;
use flatline::checks::store::pings::{After, accept};
use flatline::checks::{Check, Status};
use flatline::db::DbError;
use flatline::limits::Tier;

use crate::rig::{Made, Rig, TickingClock, is_too_soon};

const ROUNDS: usize = 50;
const RACERS: usize = 10;

/// One accepted, all others too soon and counted, one row kept; and these flips.
async fn one_passes(rig: &Rig, check: &Made, kind: Kind, flips: &[(Status, Status, Reason)]) {
    let (before, rejected, kept) =
        (rig.flips(check).await.len(), rig.row(check).await.rejected_count, rig.pings(check).await.len());
    let outcomes = rig.storm(check, &rig.shared_clock(), RACERS, |_| kind).await;
    assert_eq!(outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Accepted).count(), 1);
    assert_eq!(outcomes.iter().filter(|(_, outcome)| is_too_soon(outcome)).count(), RACERS - 1);
    let row = rig.row(check).await;
    assert_eq!(row.rejected_count - rejected, i64::try_from(RACERS).unwrap() - 1);
    assert_eq!(rig.pings(check).await.len() - kept, 1);
    let made: Vec<_> = rig.flips(check).await[before..].iter().map(|(from, to, why, _)| (*from, *to, *why)).collect();
    assert_eq!(made, flips);
}

on_both! {
    async fn ten_successes_when_the_floor_has_passed(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        for _ in 0..ROUNDS {
            one_passes(&rig, &check, Kind::Success, &[]).await;
            rig.advance(300);
        }
    }

    async fn ten_successes_on_a_down_check(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        for _ in 0..ROUNDS {
            // The success before was inside the floor: a recovery does not wait for it.
            rig.ping(&check, Kind::Success).await;
            rig.advance(1);
            assert_eq!(rig.ping(&check, Kind::Fail).await, Outcome::Accepted);
            rig.advance(1);
            one_passes(&rig, &check, Kind::Success, &[(Status::Down, Status::Up, Reason::Recovered)]).await;
            rig.advance(300);
        }
    }

    async fn ten_first_successes(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for _ in 0..ROUNDS {
            let check = rig.new_check().await;
            one_passes(&rig, &check, Kind::Success, &[(Status::New, Status::Up, Reason::FirstPing)]).await;
        }
    }

    async fn ten_fails(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        for _ in 0..ROUNDS {
            one_passes(&rig, &check, Kind::Fail, &[(Status::Up, Status::Down, Reason::Fail)]).await;
            rig.advance(1);
            assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
            rig.advance(150);
        }
    }

    async fn ten_further_fails(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.down_check().await;
        for _ in 0..ROUNDS {
            one_passes(&rig, &check, Kind::Fail, &[]).await;
            rig.advance(300);
        }
    }

    async fn three_kinds_at_once(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let kinds = [Kind::Start, Kind::Log, Kind::Success];
        for _ in 0..ROUNDS {
            let outcomes = rig.storm(&check, &rig.shared_clock(), 3 * RACERS, |n| kinds[n % 3]).await;
            for kind in kinds {
                let of_kind = || outcomes.iter().filter(|(sent, _)| *sent == kind);
                assert_eq!(of_kind().filter(|(_, outcome)| *outcome == Outcome::Accepted).count(), 1, "{kind}");
                assert_eq!(of_kind().filter(|(_, outcome)| is_too_soon(outcome)).count(), RACERS - 1, "{kind}");
            }
            rig.advance(300);
        }
    }

    /// Every flip begins where the one before ended, the last one is the row's state, and the meter holds.
    async fn successes_and_fails_make_a_chain(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for _ in 0..ROUNDS {
            let check = rig.new_check().await;
            let clock = TickingClock::shared(rig.now());
            let outcomes =
                rig.storm(&check, &clock, 3 * RACERS, |n| if n % 4 < 2 { Kind::Success } else { Kind::Fail }).await;
            let flips = rig.flips(&check).await;
            let mut status = Status::New;
            for (from, to, ..) in &flips {
                assert_eq!(*from, status, "{flips:?}");
                status = *to;
            }
            assert_eq!(rig.row(&check).await.status, status);
            assert!((1..=10).contains(&flips.len()), "{} flips", flips.len());
            let accepted = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Accepted).count();
            assert_eq!(rig.pings(&check).await.len(), accepted);
            let rejected = outcomes.iter().filter(|(_, outcome)| is_too_soon(outcome)).count();
            assert_eq!(rig.row(&check).await.rejected_count, i64::try_from(rejected).unwrap());
        }
    }

    /// What the row said when it was read is part of the write: even without a lock no flip starts from a stale state.
    async fn an_accept_needs_the_state_that_was_seen(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let (seen, now) = (rig.row(&check).await, rig.now());
        for (status, expected) in [(Status::New, false), (Status::Down, false), (Status::Up, true)] {
            let stale = Check { status, ..seen.clone() };
            let times = Times::after_success(&stale, None, now);
            let after = After { times, runs_deadline_at: None, started_at: None };
            let accepted: Result<bool, DbError> = rig
                .db()
                .write(move |tx| Box::pin(async move { accept(tx, Kind::Success, &stale, after, now).await }))
                .await;
            assert_eq!(accepted.unwrap(), expected, "{status}");
        }
    }
}
