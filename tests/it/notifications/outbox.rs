//! What stands in the outbox: exactly what was to be told, once, however many notice at once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use flatline::checks::channels;
use flatline::checks::history::Kind;
use flatline::checks::ping::{Outcome, ping};
use flatline::checks::sweep::sweep;
use flatline::clock::SharedClock;
use flatline::limits::Tier;
use flatline::on_db;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::post::{Row, channel, events, rows, webhook};
use crate::rig::{GRACE, PERIOD, Rig, of_kind};

on_both! {
    /// K late checks, M sweepers, C channels: K flips and K × C deliveries, each with an id of its own.
    async fn every_flip_is_told_once_to_each_channel(kind) {
        const CHECKS: usize = 20;
        const SWEEPERS: usize = 6;
        let rig = Rig::new(kind, Tier::Free).await;
        let mut checks = Vec::new();
        for _ in 0..CHECKS {
            checks.push(rig.new_check().await);
        }
        for n in 0..3 {
            webhook(&rig, &format!("hook {n}"), "https://hooks.example/").await;
        }
        for round in 1..=6 {
            for check in &checks {
                rig.set(check, "status = 'up', deadline_at = $2", rig.now().0).await;
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
            let rows = rows(rig.db()).await;
            assert_eq!(rows.len(), round * CHECKS * 3);
            assert_eq!(rows.iter().map(|row| &row.id).collect::<HashSet<_>>().len(), rows.len());
            let told = |row: &Row| (row.check_id.clone(), row.channel_id.clone(), row.payload.0["timestamp"].to_string());
            let told: HashSet<_> = rows.iter().map(told).collect();
            assert_eq!(told.len(), rows.len(), "each flip to each channel");
            for check in &checks {
                assert_eq!(rig.flips(check).await.len(), round);
            }
        }
    }

    async fn a_first_ping_a_pause_and_a_resume_are_silent(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", "https://hooks.example/").await;
        rig.ping(&check, Kind::Success).await;
        assert_eq!(events(rig.db()).await, [""; 0], "a first ping");
        rig.clock.advance(PERIOD + GRACE);
        sweep(rig.db(), &*rig.clock).await.unwrap();
        rig.advance(5_400);
        rig.ping(&check, Kind::Success).await;
        rig.advance(600);
        rig.ping(&check, Kind::Success).await;
        rig.ping(&check, Kind::Start).await;
        rig.ping(&check, Kind::Log).await;
        rig.advance(600);
        rig.ping(&check, Kind::Fail).await;
        rig.advance(600);
        rig.ping(&check, Kind::Fail).await;
        assert_eq!(events(rig.db()).await, ["check.down", "check.up", "check.down"]);
        let rows = rows(rig.db()).await;
        let (down, up, failed) = (&rows[0].payload.0, &rows[1].payload.0, &rows[2].payload.0);
        assert_eq!(down["data"]["flip"]["reason"], "timeout");
        assert_eq!(down["data"]["check"]["status"], "down");
        assert_eq!(down["timestamp"], down["data"]["flip"]["at"], "dated at the deadline");
        assert_eq!(down["data"].get("downtime_seconds"), None);
        assert_eq!(up["data"]["downtime_seconds"], 5_400);
        assert_eq!(up["data"]["flip"], json!({"at": up["timestamp"], "from": "down", "to": "up", "reason": "recovered"}));
        assert_eq!(failed["data"]["flip"]["reason"], "fail");
        assert!(rows.iter().all(|row| row.status == "pending" && row.check_id == Some(check.id.to_string())));
    }

    /// A check that was never up can go down too, and that is told.
    async fn a_new_check_that_hangs_in_its_first_run_is_told_of(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", "https://hooks.example/").await;
        rig.ping(&check, Kind::Start).await;
        rig.clock.advance(GRACE);
        sweep(rig.db(), &*rig.clock).await.unwrap();
        assert_eq!(rows(rig.db()).await[0].payload.0["data"]["flip"]["from"], "new");
    }

    async fn a_check_tells_its_own_channels_alone(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let first = rig.new_check().await;
        let told = webhook(&rig, "told", "https://hooks.example/").await;
        let second = rig.new_check().await;
        channel(&rig, json!({"kind": "slack", "name": "other", "url": "https://x.example/", "checks": "none"})).await;
        rig.ping(&first, Kind::Fail).await;
        rig.ping(&second, Kind::Fail).await;
        let rows = rows(rig.db()).await;
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].channel_id.as_str(), rows[0].check_id.as_deref()), (told.channel.id.as_str(), Some(first.id.as_str())));
    }

    /// The alert outlives its check; a channel takes its deliveries with it.
    async fn what_is_deleted_takes_what_is_its_own(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        let (a, _) = (webhook(&rig, "a", "https://a.example/").await, webhook(&rig, "b", "https://b.example/").await);
        rig.ping(&check, Kind::Fail).await;
        let sql = "DELETE FROM checks WHERE id = $1";
        on_db!(rig.db().autocommit(), pool => sqlx::query(sql).bind(&check.id).execute(pool).await.map(|_| ())).unwrap();
        assert_eq!(rows(rig.db()).await.len(), 2);
        channels::delete(rig.db(), rig.now(), &rig.owner, &a.channel.id).await.unwrap();
        assert_eq!(rows(rig.db()).await.len(), 1);
    }

    /// A channel that goes while its check fails: the ping is taken, and either it was told or it is gone.
    async fn a_channel_that_is_being_deleted_stops_no_ping(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for round in 0..30 {
            let check = rig.new_check().await;
            let mut made = Vec::new();
            for n in 0..4 {
                made.push(webhook(&rig, &format!("hook {round} {n}"), "https://hooks.example/").await.channel.id);
            }
            let barrier = Arc::new(Barrier::new(5));
            let mut racers = JoinSet::new();
            for (n, id) in made.into_iter().enumerate() {
                let (db, owner, barrier) = (rig.instances[n % 2].clone(), rig.owner.clone(), Arc::clone(&barrier));
                let now = rig.now();
                racers.spawn(async move {
                    barrier.wait().await;
                    channels::delete(&db, now, &owner, &id).await.unwrap();
                });
            }
            let (db, clock, key): (_, SharedClock, _) = (rig.instances[1].clone(), rig.shared_clock(), check.key.clone());
            racers.spawn(async move {
                barrier.wait().await;
                assert_eq!(ping(&db, &clock, &key, of_kind(Kind::Fail)).await.unwrap(), Outcome::Accepted);
            });
            racers.join_all().await;
            assert_eq!(rows(rig.db()).await.len(), 0, "round {round}");
            assert_eq!(rig.flips(&check).await.len(), 1, "round {round}");
        }
    }

    /// Once for each flip, channel and reminder, even for code that forgets to claim.
    async fn the_outbox_refuses_a_second_telling(kind) {
        use flatline::checks::store::outbox::{Telling, insert_deliveries};
        use flatline::clock::Millis;
        use flatline::db::DbError;

        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", "https://hooks.example/").await;
        let (owner, now) = (rig.owner.clone(), rig.now());
        let written: Result<[u64; 3], DbError> = rig.db().write(move |tx| Box::pin(async move {
            let value = json!({"type": "check.down", "timestamp": now, "data": {}});
            let notice = serde_json::from_value(value).unwrap();
            let mut written = [0; 3];
            for (nth, reminder) in [0, 0, 7].into_iter().enumerate() {
                let telling = Telling { owner: &owner, check: &check.id, flip_id: "f", reminder: Millis(reminder), notice: &notice };
                written[nth] = insert_deliveries(tx, &telling, now).await?;
            }
            Ok(written)
        })).await;
        assert_eq!(written.unwrap(), [1, 0, 1]);
    }

    async fn old_deliveries_are_pruned_and_pending_ones_never(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for _ in 0..3 {
            rig.new_check().await;
        }
        webhook(&rig, "hook", "https://hooks.example/").await;
        let sql = "INSERT INTO deliveries (id, account_id, channel_id, event, payload, status, next_attempt_at, created_at,
            finished_at) SELECT $1, account_id, id, 'channel.test', $2, $3, 0, 0, $4 FROM channels";
        let mut long_ago = None;
        for (n, status) in ["sent", "failed", "pending", "sent"].into_iter().enumerate() {
            let age = Duration::from_hours(if n == 3 { 89 * 24 } else { 91 * 24 });
            let finished = (status != "pending").then(|| rig.now().minus(age));
            long_ago = long_ago.or(finished);
            let id = format!("{n:036}");
            on_db!(rig.db().autocommit(), pool => sqlx::query(sql).bind(&id).bind(sqlx::types::Json(Value::Null))
                .bind(status).bind(finished).execute(pool).await.map(|_| ())).unwrap();
        }
        channels::prune(rig.db(), &*rig.clock, &CancellationToken::new()).await.unwrap();
        let sql = "SELECT status FROM deliveries ORDER BY id";
        let left: Vec<String> = on_db!(rig.db().read(), pool => sqlx::query_scalar(sql).fetch_all(pool).await).unwrap();
        assert_eq!(left, ["pending", "sent"]);
    }
}
