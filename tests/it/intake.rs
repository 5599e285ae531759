//! Our own outages: no check goes down because no instance was there to hear its ping, with any number of instances.

use std::sync::Arc;
use std::time::Duration;

use flatline::checks::alerts::AlertChanges;
use flatline::checks::apply::{Effect, apply};
use flatline::checks::history::{Kind, Reason};
use flatline::checks::intake::{Gap, MARK_EVERY, SILENCE, attend};
use flatline::checks::store::intake::{find_mark, list_gaps};
use flatline::checks::store::pings::find_for_ping;
use flatline::checks::sweep::{run, sweep};
use flatline::checks::{CheckError, Status};
use flatline::clock::Millis;
use flatline::db::DbError;
use flatline::limits::Tier;
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::rig::{GRACE, Made, Rig};

const SECOND: Duration = Duration::from_secs(1);

/// A check that is up, due at `due` and down at `deadline`, both in seconds from now.
async fn check(rig: &Rig, due: i64, deadline: i64) -> Made {
    let made = rig.new_check().await;
    rig.set(&made, "status = 'up', due_at = $2", rig.now().0 + due * 1000).await;
    rig.set(&made, "deadline_at = $2", rig.now().0 + deadline * 1000).await;
    made
}

async fn times(rig: &Rig, made: &Made) -> (Option<Millis>, Option<Millis>) {
    let row = rig.row(made).await;
    (row.due_at, row.deadline_at)
}

async fn gaps(rig: &Rig) -> Vec<Gap> {
    list_gaps(rig.db(), Millis(0), Millis(i64::MAX)).await.unwrap()
}

/// Time passes as it does while an instance runs.
async fn live(rig: &Rig, minutes: u32) {
    for _ in 0..minutes {
        rig.clock.advance(MARK_EVERY);
        assert_eq!(attend(rig.db(), &*rig.clock).await.unwrap(), None);
    }
}

on_both! {
    async fn what_was_due_while_nobody_listened_is_held(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let (from, away) = (rig.now(), 1_200_u64);
        let to = from.plus(SECOND * 1_200);
        let in_gap = check(&rig, 0, 600).await;
        let at_its_end = check(&rig, 600, 1_200).await;
        let soon_after = check(&rig, 1_100, 1_700).await;
        let later = check(&rig, 1_260, 1_860).await;
        let overdue = check(&rig, -601, -1).await;
        let pause_over = check(&rig, 100, 700).await;
        rig.set(&pause_over, "paused_at = 1, paused_until = $2", from.0 + 50_000).await;
        let paused = check(&rig, 0, 600).await;
        rig.set(&paused, "paused_at = $2", from.0).await;
        let run = rig.new_check().await;
        rig.ping(&run, Kind::Start).await;
        let failed = rig.new_check().await;
        rig.ping(&failed, Kind::Fail).await;
        let unmoved = [&later, &overdue, &paused, &failed];
        let mut before = Vec::new();
        for made in unmoved {
            before.push(times(&rig, made).await);
        }

        assert_eq!(attend(rig.db(), &*rig.clock).await.unwrap(), None);
        rig.advance(away);
        // An instance that has not looked at the mark takes nothing down.
        assert_eq!(sweep(&rig.instances[1], &*rig.clock).await.unwrap(), 0);
        assert_eq!(attend(rig.db(), &*rig.clock).await.unwrap(), Some(Gap { from, to }));
        assert_eq!(attend(&rig.instances[1], &*rig.clock).await.unwrap(), None);
        assert_eq!(gaps(&rig).await, [Gap { from, to }]);

        let held_until = to.plus(GRACE);
        for made in [&in_gap, &at_its_end, &soon_after, &pause_over] {
            assert_eq!(times(&rig, made).await, (Some(to), Some(held_until)));
        }
        assert_eq!(times(&rig, &run).await, (None, Some(held_until)), "a run may have ended meanwhile");
        for (made, before) in unmoved.into_iter().zip(before) {
            assert_eq!(times(&rig, made).await, before);
        }
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 1, "the one that was overdue before");
        assert_eq!(rig.row(&overdue).await.status, Status::Down);
        assert_eq!(rig.flips(&failed).await.len(), 1, "what was down is not told of again");

        // A ping within the grace, and none.
        live(&rig, 9).await;
        rig.ping(&in_gap, Kind::Success).await;
        live(&rig, 1).await;
        assert_eq!(rig.now(), held_until);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 4);
        assert!(rig.flips(&in_gap).await.is_empty());
        assert_eq!(rig.flips(&at_its_end).await, [(Status::Up, Status::Down, Reason::Timeout, held_until)]);
        assert_eq!(rig.flips(&run).await, [(Status::New, Status::Down, Reason::Timeout, held_until)]);
    }

    async fn an_edit_does_not_end_the_hold(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let made = check(&rig, 0, 600).await;
        // It runs since before the outage: by its start it would be late too.
        let started = check(&rig, 0, 600).await;
        rig.set(&started, "started_at = $2", rig.now().0).await;
        attend(rig.db(), &*rig.clock).await.unwrap();
        rig.advance(3_600);
        attend(rig.db(), &*rig.clock).await.unwrap();
        let held_until = rig.now().plus(GRACE);
        live(&rig, 2).await;
        for (changes, deadline) in [
            (json!({"name": "another"}), held_until),
            (json!({"grace_seconds": 1_200}), held_until.plus(GRACE)),
        ] {
            for (made, suffix) in [(&made, ""), (&started, " too")] {
                let mut changes = changes.clone();
                if let Some(name) = changes.get_mut("name") {
                    *name = json!(format!("another{suffix}"));
                }
                let changes = serde_json::from_value(changes).unwrap();
                let effect = Effect::UpdateCheck {
                    check: made.id.clone(),
                    config_version: None,
                    changes,
                    alerts: AlertChanges::default(),
                    shown: None,
                };
                let (owner, now) = (rig.owner.clone(), rig.now());
                let edited: Result<_, CheckError> =
                    rig.db().write(move |tx| Box::pin(async move { apply(tx, now, &owner, &effect).await })).await;
                edited.unwrap();
                assert_eq!(rig.row(made).await.deadline_at, Some(deadline));
            }
        }
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
    }

    async fn a_short_silence_is_no_outage(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let (first, second) = (check(&rig, -500, 100).await, check(&rig, -400, 200).await);
        attend(rig.db(), &*rig.clock).await.unwrap();
        rig.advance(149);
        rig.clock.advance(Duration::from_millis(999));
        // Not even before the mark has moved.
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 1);
        assert_eq!(rig.row(&first).await.status, Status::Down);
        assert_eq!(attend(rig.db(), &*rig.clock).await.unwrap(), None);
        assert_eq!(find_mark(rig.db()).await.unwrap(), Some(rig.now()));
        assert_eq!(gaps(&rig).await, []);
        // From the first millisecond on that counts, it is.
        rig.clock.advance(SILENCE);
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        assert!(attend(rig.db(), &*rig.clock).await.unwrap().is_some());
        assert_eq!(sweep(rig.db(), &*rig.clock).await.unwrap(), 0);
        assert_eq!(rig.row(&second).await.deadline_at, Some(rig.now().plus(GRACE)));
    }

    async fn the_mark_moves_each_minute_and_by_one_instance(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        attend(rig.db(), &*rig.clock).await.unwrap();
        let first = rig.now();
        rig.advance(59);
        attend(&rig.instances[1], &*rig.clock).await.unwrap();
        assert_eq!(find_mark(rig.db()).await.unwrap(), Some(first));
        rig.advance(1);
        attend(&rig.instances[1], &*rig.clock).await.unwrap();
        assert_eq!(find_mark(rig.db()).await.unwrap(), Some(rig.now()));
    }

    /// Two instances wake up at once, and their sweeps with them: some had looked at the mark before they slept.
    async fn however_many_wake_up_nothing_goes_down(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for round in 1..=25 {
            let mut checks = Vec::new();
            for n in 0..8 {
                checks.push(check(&rig, n * 10, 600 + n * 10).await);
            }
            attend(rig.db(), &*rig.clock).await.unwrap();
            rig.advance(3_600);
            let barrier = Arc::new(Barrier::new(8));
            let mut racers = JoinSet::new();
            for n in 0..8 {
                let (db, clock) = (rig.instances[n % 2].clone(), Arc::clone(&rig.clock));
                let barrier = Arc::clone(&barrier);
                racers.spawn(async move {
                    barrier.wait().await;
                    let found = if n < 4 { attend(&db, &*clock).await.unwrap() } else { None };
                    assert_eq!(sweep(&db, &*clock).await.unwrap(), 0, "a check went down because we were deaf");
                    usize::from(found.is_some())
                });
            }
            assert_eq!(racers.join_all().await.into_iter().sum::<usize>(), 1, "who found the gap");
            assert_eq!(gaps(&rig).await.len(), round, "one gap a round");
            for made in &checks {
                assert_eq!(rig.row(made).await.deadline_at, Some(rig.now().plus(GRACE)));
                assert!(rig.flips(made).await.is_empty());
                rig.set(made, "status = 'down', deadline_at = nullif($2, $2)", 0).await;
            }
        }
    }

    /// A check that a ping has in hand is waited for: the ping may be refused, and the check must be held all the same.
    async fn what_a_ping_has_in_hand_is_held_too(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let made = check(&rig, 0, 600).await;
        attend(rig.db(), &*rig.clock).await.unwrap();
        rig.advance(1_200);
        let (db, clock, key) = (rig.instances[1].clone(), Arc::clone(&rig.clock), made.key.clone());
        let waking: Result<JoinSet<_>, DbError> = rig
            .db()
            .write(move |tx| {
                Box::pin(async move {
                    find_for_ping(tx, &key).await?;
                    let mut waking = JoinSet::new();
                    waking.spawn(async move { attend(&db, &*clock).await });
                    // Time enough to get as far as it can.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    Ok(waking)
                })
            })
            .await;
        assert!(waking.unwrap().join_next().await.unwrap().unwrap().unwrap().is_some());
        assert_eq!(rig.row(&made).await.deadline_at, Some(rig.now().plus(GRACE)));
    }

    async fn the_worker_looks_at_the_mark_before_it_sweeps(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let held = check(&rig, 0, 600).await;
        attend(rig.db(), &*rig.clock).await.unwrap();
        rig.advance(3_600);
        let (stop, mut worker) = (CancellationToken::new(), JoinSet::new());
        worker.spawn(run(rig.db().clone(), rig.shared_clock(), Duration::from_millis(5), stop.clone()));
        let watching = async {
            while gaps(&rig).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // Late from now on, not in the gap: it goes down as ever.
            let late = check(&rig, -600, 0).await;
            while rig.row(&late).await.status != Status::Down {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), watching).await.expect("the worker sweeps again");
        stop.cancel();
        worker.join_all().await;
        assert_eq!((rig.row(&held).await.status, rig.flips(&held).await.len()), (Status::Up, 0));
    }
}
