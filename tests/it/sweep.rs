//! The sweep: what goes down, when, once; and that no ping in time is followed by a down flip.

use std::sync::Arc;
use std::time::Duration;

use flatline::checks::Status;
use flatline::checks::history::{Kind, Reason};
use flatline::checks::ping::Outcome;
use flatline::checks::status::Times;
use flatline::checks::store::flips::{Late, claim_late, list_late};
use flatline::checks::store::pings::find_for_ping;
use flatline::checks::sweep::{run, sweep};
use flatline::clock::Millis;
use flatline::db::{Db, DbError};
use flatline::limits::Tier;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::database::{Kind as Base, postgres_is_skipped};
use crate::rig::{GRACE, PERIOD, Rig};

const MILLISECOND: Duration = Duration::from_millis(1);

on_both! {
    async fn a_check_goes_down_at_its_deadline_and_once(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let deadline = rig.row(&check).await.deadline_at.unwrap();
        rig.clock.set(deadline.minus(MILLISECOND));
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        // Noticed four seconds late, dated at the deadline.
        rig.clock.set(deadline.plus(Duration::from_secs(4)));
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 1);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        let row = rig.row(&check).await;
        assert_eq!((row.status, row.deadline_at), (Status::Down, None));
        assert_eq!(rig.flips(&check).await[1..], [(Status::Up, Status::Down, Reason::Timeout, deadline)]);
        rig.ping(&check, Kind::Success).await;
        assert_eq!(rig.flips(&check).await[2..], [(Status::Down, Status::Up, Reason::Recovered, rig.now())]);
        assert_eq!(rig.row(&check).await.deadline_at, Some(rig.now().plus(PERIOD + GRACE)));
    }

    async fn a_new_check_goes_down_only_after_a_start(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let (idle, started) = (rig.new_check().await, rig.new_check().await);
        rig.ping(&started, Kind::Start).await;
        let deadline = rig.now().plus(GRACE);
        rig.advance(100 * 86_400);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 1);
        assert_eq!(rig.row(&idle).await.status, Status::New);
        assert_eq!(rig.flips(&started).await, [(Status::New, Status::Down, Reason::Timeout, deadline)]);
    }

    async fn a_paused_check_never_goes_down(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        // Even with a deadline left in the row.
        rig.set(&check, "paused_at = $2", rig.now().0).await;
        rig.advance(100 * 86_400);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        let row = rig.row(&check).await;
        assert_eq!(row.status, Status::Up);
        assert!(row.paused_at.is_some());
    }

    async fn a_pause_ends_by_itself_and_the_deadline_counts_from_there(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let until = rig.now().plus(Duration::from_hours(24));
        let times = Times::after_pause(&rig.row(&check).await, Some(until));
        rig.set(&check, "paused_at = $2", rig.now().0).await;
        rig.set(&check, "paused_until = $2", until.0).await;
        rig.set(&check, "due_at = $2", times.due_at.unwrap().0).await;
        rig.set(&check, "deadline_at = $2", times.deadline_at.unwrap().0).await;
        rig.clock.set(until.minus(MILLISECOND));
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        assert_eq!(rig.row(&check).await.paused_until, Some(until));
        rig.clock.set(until);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        let row = rig.row(&check).await;
        assert_eq!((row.paused_at, row.paused_until, row.status), (None, None, Status::Up));
        let deadline = until.plus(PERIOD + GRACE);
        rig.clock.set(deadline);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 1);
        assert_eq!(rig.flips(&check).await[1..], [(Status::Up, Status::Down, Reason::Timeout, deadline)]);
    }
}

async fn claim(db: &Db, late: &Late, now: Millis) -> bool {
    let late = late.clone();
    let claimed: Result<bool, DbError> =
        db.write(move |tx| Box::pin(async move { claim_late(tx, &late, now).await })).await;
    claimed.unwrap()
}

on_both! {
    /// Each guard by itself: one fact has moved since the sweep looked, and all others still stand.
    async fn a_claim_needs_all_that_was_seen(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let moves = [
            ("status", "status = CASE WHEN $2 > 0 THEN 'new' END"),
            ("deadline", "deadline_at = $2 - 1"),
            ("last ping", "last_ping_at = $2"),
            ("last ping, never seen", "last_ping_at = CASE WHEN $2 < 0 THEN 0 END"),
            ("pause", "paused_at = $2"),
            ("pause with an end", "paused_at = $2, paused_until = $2 + 1"),
        ];
        for (what, sets) in moves {
            let check = rig.up_check().await;
            rig.clock.advance(GRACE);
            let late = list_late(rig.db(), rig.now(), None, 10).await.unwrap().pop().unwrap();
            assert_eq!(late.id, check.id);
            rig.set(&check, sets, rig.now().0).await;
            assert!(!claim(rig.db(), &late, rig.now()).await, "claimed although the {what} moved");
            rig.set(&check, "status = 'down', deadline_at = nullif($2, $2)", 0).await;
        }
        let check = rig.up_check().await;
        rig.clock.advance(GRACE);
        let late = list_late(rig.db(), rig.now(), None, 10).await.unwrap().pop().unwrap();
        assert!(!claim(rig.db(), &late, late.deadline_at.minus(MILLISECOND)).await, "claimed before the deadline");
        assert!(claim(rig.db(), &late, rig.now()).await);
        assert!(!claim(rig.db(), &late, rig.now()).await, "claimed twice");
        assert_eq!(rig.row(&check).await.status, Status::Down);
    }

    async fn a_ping_between_look_and_claim_saves_the_check(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for kind in [Kind::Success, Kind::Fail] {
            let check = rig.up_check().await;
            rig.clock.advance(GRACE);
            let late = list_late(rig.db(), rig.now(), None, 10).await.unwrap().pop().unwrap();
            assert_eq!(rig.ping(&check, kind).await, Outcome::Accepted);
            // However long the sweeper slept in between.
            assert!(!claim(rig.db(), &late, rig.now().plus(100 * PERIOD)).await, "after a {kind}");
        }
    }

    async fn many_late_checks_in_one_sweep(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        for _ in 0..204 {
            let copy = rig.new_check().await;
            rig.set(&copy, "status = 'up', deadline_at = $2", rig.now().0).await;
        }
        rig.clock.advance(GRACE);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 205);
        assert_eq!(rig.row(&check).await.status, Status::Down);
    }

    /// Each late check is tried once a sweep, whatever became of the ones before it.
    async fn a_check_that_cannot_be_written_does_not_keep_the_others_up(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let stuck = rig.up_check().await;
        // It is the first in the row, of more than are looked up at a time.
        rig.clock.advance(GRACE + MILLISECOND);
        let mut others = Vec::new();
        for _ in 0..120 {
            let made = rig.new_check().await;
            rig.set(&made, "status = 'up', deadline_at = $2", rig.now().0).await;
            others.push(made);
        }
        rig.refuse(&format!("NEW.id = '{}' AND NEW.status = 'down'", stuck.id)).await;
        sweep(rig.db(), &*rig.clock).await.unwrap_err();
        assert_eq!(rig.row(&stuck).await.status, Status::Up);
        for made in &others {
            assert_eq!(rig.row(made).await.status, Status::Down);
        }
    }
}

/// What a ping or another instance has in hand is left to it. SQLite has one writer: there is nothing to skip.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_others_hold_is_skipped_on_postgres() {
    if postgres_is_skipped() {
        return;
    }
    let rig = Rig::new(Base::Postgres, Tier::Free).await;
    let check = rig.up_check().await;
    rig.set(&check, "paused_at = $2, paused_until = $2", rig.now().0).await;
    rig.clock.advance(GRACE);
    let (db, clock, key) = (rig.instances[1].clone(), Arc::clone(&rig.clock), check.key.clone());
    let swept: Result<usize, DbError> = rig
        .db()
        .write(move |tx| {
            Box::pin(async move {
                find_for_ping(tx, &key).await?;
                timeout(Duration::from_secs(1), sweep(&db, &*clock)).await.expect("the sweep waits for a lock")
            })
        })
        .await;
    assert_eq!(swept.unwrap(), 0);
    assert_eq!(rig.row(&check).await.status, Status::Up);
    assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 1);
}

on_both! {
    async fn the_worker_sweeps_and_stops_at_once(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        rig.clock.advance(GRACE);
        let stop = CancellationToken::new();
        let every = Duration::from_millis(5);
        let mut worker = JoinSet::new();
        worker.spawn(run(rig.db().clone(), rig.shared_clock(), every, stop.clone()));
        while rig.row(&check).await.status != Status::Down {
            tokio::time::sleep(every).await;
        }
        // And again: this one is late from now on.
        let other = rig.new_check().await;
        rig.set(&other, "status = 'up', deadline_at = $2", rig.now().0).await;
        while rig.row(&other).await.status != Status::Down {
            tokio::time::sleep(every).await;
        }
        stop.cancel();
        timeout(Duration::from_secs(1), worker.join_next()).await.unwrap().unwrap().unwrap();
        // A long pause between two sweeps does not hold it up either.
        worker.spawn(run(rig.db().clone(), rig.shared_clock(), Duration::from_hours(1), stop.clone()));
        timeout(Duration::from_secs(1), worker.join_next()).await.unwrap().unwrap().unwrap();
    }
}
