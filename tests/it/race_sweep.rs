//! Sweeps, pings and other sweeps at the same moment, by two instances: what the rows say afterwards holds together.

use std::sync::Arc;
use std::time::Duration;

use flatline::checks::history::{Kind, Reason};
use flatline::checks::ping::{Outcome, ping};
use flatline::checks::store::flips::{Late, claim_late};
use flatline::checks::sweep::sweep;
use flatline::checks::{CheckError, Status};
use flatline::clock::Millis;
use flatline::db::DbError;
use flatline::limits::Tier;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::rig::{Made, Rig, of_kind};

const MILLISECOND: Duration = Duration::from_millis(1);

on_both! {
    /// The clock reaches the deadline while a ping and four sweeps by two instances are under way, a thousand times.
    /// What the rows say must hold together: a ping dated before the deadline has no timeout beside it, one after a
    /// timeout recovers.
    async fn a_ping_against_the_sweep_at_the_deadline(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let (mut saved, mut recovered) = (0, 0);
        for round in 0..1_000_u32 {
            let check = rig.up_check().await;
            let deadline = rig.row(&check).await.deadline_at.unwrap();
            rig.clock.set(deadline.minus(MILLISECOND));
            let barrier = Arc::new(Barrier::new(6));
            let mut racers = JoinSet::new();
            for sweeper in 0..4 {
                let (db, clock) = (rig.instances[sweeper % 2].clone(), Arc::clone(&rig.clock));
                let barrier = Arc::clone(&barrier);
                racers.spawn(async move {
                    barrier.wait().await;
                    for _ in 0..3 {
                        sweep(&db, &*clock).await.unwrap();
                    }
                    Ok(Outcome::Accepted)
                });
            }
            let (clock, gate) = (Arc::clone(&rig.clock), Arc::clone(&barrier));
            racers.spawn(async move {
                gate.wait().await;
                clock.set(deadline);
                Ok(Outcome::Accepted)
            });
            let (db, clock, key) = (rig.instances[1].clone(), rig.shared_clock(), check.key.clone());
            racers.spawn(async move {
                barrier.wait().await;
                // From at once to after the sweeps.
                tokio::time::sleep(Duration::from_micros(u64::from(round % 20) * 100)).await;
                ping(&db, &clock, &key, of_kind(Kind::Success)).await
            });
            let outcomes: Vec<Result<Outcome, CheckError>> = racers.join_all().await;
            assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Outcome::Accepted))), "{outcomes:?}");

            let pinged = rig.pings(&check).await[0].at;
            let flips = rig.flips(&check).await;
            match &flips[1..] {
                [] => saved += 1,
                [timeout, recovery] => {
                    assert_eq!(*timeout, (Status::Up, Status::Down, Reason::Timeout, deadline));
                    assert_eq!(*recovery, (Status::Down, Status::Up, Reason::Recovered, pinged));
                    assert!(pinged >= deadline, "a ping in time was followed by a down flip");
                    recovered += 1;
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(rig.row(&check).await.status, Status::Up);
            // Not late in a later round.
            rig.set(&check, "status = 'down', deadline_at = nullif($2, $2)", 0).await;
        }
        assert!(saved > 0 && recovered > 0, "one side always won: {saved} saved, {recovered} recovered");
    }

    /// A ping that has to wait while the sweep takes the check down is a recovery after it, not a ping before it.
    async fn a_ping_that_waited_for_the_sweep_is_dated_after_it(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let row = rig.row(&check).await;
        let deadline_at = row.deadline_at.unwrap();
        let late = Late { id: row.id, status: row.status, last_ping_at: row.last_ping_at, deadline_at };
        rig.clock.set(deadline_at.minus(MILLISECOND));
        let (db, key) = (rig.instances[1].clone(), check.key.clone());
        let (shared, clock) = (rig.shared_clock(), Arc::clone(&rig.clock));
        let held: Result<JoinSet<_>, DbError> = rig
            .db()
            .write(move |tx| {
                Box::pin(async move {
                    assert!(claim_late(tx, &late, deadline_at).await?);
                    let mut pinging = JoinSet::new();
                    pinging.spawn(async move { ping(&db, &shared, &key, of_kind(Kind::Success)).await });
                    // Time enough to get as far as it can.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    clock.set(deadline_at);
                    Ok(pinging)
                })
            })
            .await;
        let outcome = held.unwrap().join_next().await.unwrap().unwrap();
        assert!(matches!(outcome, Ok(Outcome::Accepted)), "{outcome:?}");
        assert_eq!(rig.pings(&check).await[0].at, deadline_at);
        assert_eq!(rig.flips(&check).await[1..], [(Status::Down, Status::Up, Reason::Recovered, deadline_at)]);
    }

    async fn many_sweepers_flip_each_check_once(kind) {
        const CHECKS: usize = 30;
        const SWEEPERS: usize = 6;
        let rig = Rig::new(kind, Tier::Free).await;
        for _ in 0..10 {
            let mut late: Vec<(Made, Millis)> = Vec::new();
            for n in 0..CHECKS {
                let check = rig.new_check().await;
                let deadline = rig.now().plus(MILLISECOND * u32::try_from(n).unwrap());
                rig.set(&check, "status = 'up', deadline_at = $2", deadline.0).await;
                late.push((check, deadline));
            }
            rig.advance(1);
            let barrier = Arc::new(Barrier::new(SWEEPERS));
            let mut racers = JoinSet::new();
            for n in 0..SWEEPERS {
                let (db, clock) = (rig.instances[n % 2].clone(), Arc::clone(&rig.clock));
                let barrier = Arc::clone(&barrier);
                racers.spawn(async move {
                    barrier.wait().await;
                    sweep(&db, &*clock).await.unwrap()
                });
            }
            assert_eq!(racers.join_all().await.into_iter().sum::<usize>(), CHECKS);
            for (check, deadline) in late {
                assert_eq!(rig.flips(&check).await, [(Status::Up, Status::Down, Reason::Timeout, deadline)]);
            }
        }
    }
}
