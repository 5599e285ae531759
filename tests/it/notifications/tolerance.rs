//! Checks that tolerate fails: the Nth in a row takes one down, once, and a timeout does at once.

use std::time::Duration;

use flatline::checks::Status;
use flatline::checks::history::{Kind, Reason};
use flatline::checks::ping::Outcome;
use flatline::checks::sweep::sweep;
use flatline::limits::Tier;

use super::post::{events, webhook};
use crate::rig::{GRACE, Made, PERIOD, Rig, is_too_soon};

async fn tolerant(rig: &Rig, fails: i64) -> Made {
    let check = rig.up_check().await;
    rig.set(&check, "alert_after_failures = $2", fails).await;
    check
}

async fn failures(rig: &Rig, check: &Made) -> i64 {
    rig.row(check).await.failures_in_row
}

on_both! {
    /// Ten fails at once are one fail, at every step; only the third step takes it down.
    async fn ten_fails_at_once_count_as_one(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for round in 0..8 {
            let check = tolerant(&rig, 3).await;
            for nth in 1..=4 {
                let outcomes = rig.storm(&check, &rig.shared_clock(), 10, |_| Kind::Fail).await;
                let accepted = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Accepted).count();
                let refused = outcomes.iter().filter(|(_, outcome)| is_too_soon(outcome)).count();
                assert_eq!((accepted, refused), (1, 9), "round {round}, step {nth}");
                assert_eq!(failures(&rig, &check).await, nth);
                let expected = if nth < 3 { Status::Up } else { Status::Down };
                assert_eq!(rig.row(&check).await.status, expected, "round {round}, step {nth}");
                rig.advance(300);
            }
            let flips = rig.flips(&check).await;
            assert_eq!(flips.len(), 2, "its first ping and one down: {flips:?}");
            assert_eq!((flips[1].0, flips[1].1, flips[1].2), (Status::Up, Status::Down, Reason::Fail));
        }
    }

    async fn a_success_begins_the_count_again(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = tolerant(&rig, 2).await;
        webhook(&rig, "hook", "https://hooks.example/").await;
        for kind in [Kind::Fail, Kind::Success, Kind::Fail, Kind::Start, Kind::Log] {
            assert_eq!(rig.ping(&check, kind).await, Outcome::Accepted);
            rig.advance(400);
        }
        assert_eq!((rig.row(&check).await.status, failures(&rig, &check).await), (Status::Up, 1));
        assert_eq!(events(rig.db()).await, [""; 0]);
        rig.ping(&check, Kind::Fail).await;
        assert_eq!(rig.row(&check).await.status, Status::Down);
        rig.ping(&check, Kind::Success).await;
        assert_eq!((rig.row(&check).await.status, failures(&rig, &check).await), (Status::Up, 0));
        assert_eq!(events(rig.db()).await, ["check.down", "check.up"]);
    }

    /// The job ran and said so: the next one is due a period later. Without it, it is down at once.
    async fn a_timeout_waits_for_no_second_one(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = tolerant(&rig, 10).await;
        rig.ping(&check, Kind::Start).await;
        rig.ping(&check, Kind::Fail).await;
        let row = rig.row(&check).await;
        assert_eq!((row.due_at, row.deadline_at), (Some(rig.now().plus(PERIOD)), Some(rig.now().plus(PERIOD + GRACE))));
        assert_eq!((row.started_at, row.last_ping_at), (None, Some(rig.now())));
        let deadline = rig.row(&check).await.deadline_at.unwrap();
        rig.clock.set(deadline.minus(Duration::from_millis(1)));
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        rig.clock.advance(Duration::from_millis(1));
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 1);
        // Down: one more fail is a fail like any other, and changes nothing.
        rig.ping(&check, Kind::Fail).await;
        assert_eq!(rig.row(&check).await.status, Status::Down);
        assert_eq!(rig.flips(&check).await.len(), 2);
    }

    async fn a_new_check_is_new_until_it_has_failed_enough(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        rig.set(&check, "alert_after_failures = $2", 2).await;
        rig.ping(&check, Kind::Fail).await;
        assert_eq!(rig.row(&check).await.status, Status::New);
        rig.advance(300);
        rig.ping(&check, Kind::Fail).await;
        assert_eq!(rig.row(&check).await.status, Status::Down);
    }
}
