//! Old history goes: by tier, by age and by number, in batches, by any number of instances at once.

use std::time::Duration;

use flatline::app::{App, Parts};
use flatline::checks::prune::{Pruned, prune};
use flatline::checks::store::flips::list_since;
use flatline::checks::store::intake::{find_mark, list_gaps};
use flatline::checks::store::pauses::{begin_pause, list_pauses};
use flatline::clock::Millis;
use flatline::config::Config;
use flatline::db::DbError;
use flatline::ids::least_v7;
use flatline::limits::Tier;
use flatline::on_db;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::asking::eventually;
use crate::rig::{Made, Rig};

const DAY: Duration = Duration::from_hours(24);

/// `count` pings of that time, in an order of their own.
async fn pings(rig: &Rig, made: &Made, at: Millis, count: i64) {
    let sql = "INSERT INTO pings (id, check_id, at, kind, accepted, remote, body, body_length)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $4)
        SELECT $1 || substr('' || (1000000 + i), 2), $2, $3, 'success', true, '', $5, 0 FROM n";
    let id = made.id.as_str();
    let prefix = format!("{}{}", &least_v7(at)[..24], &id[id.len() - 6..]);
    on_db!(rig.db().autocommit(), pool => sqlx::query(sql)
        .bind(prefix).bind(&made.id).bind(at).bind(count).bind(Vec::<u8>::new()).execute(pool).await.map(|_| ()))
    .unwrap();
}

async fn flip(rig: &Rig, made: &Made, at: Millis, from: &str, to: &str) {
    let sql =
        "INSERT INTO flips (id, check_id, at, from_status, to_status, reason) VALUES ($1, $2, $3, $4, $5, 'fail')";
    on_db!(rig.db().autocommit(), pool => sqlx::query(sql)
        .bind(least_v7(at)).bind(&made.id).bind(at).bind(from).bind(to).execute(pool).await.map(|_| ()))
    .unwrap();
}

async fn gap(rig: &Rig, from: Millis, to: Millis) {
    let sql = "INSERT INTO intake_gaps (id, from_at, to_at) VALUES ($1, $2, $3)";
    on_db!(rig.db().autocommit(), pool =>
        sqlx::query(sql).bind(least_v7(from)).bind(from).bind(to).execute(pool).await.map(|_| ()))
    .unwrap();
}

/// How many pings a check has, and the times of the oldest and the newest.
async fn kept(rig: &Rig, made: &Made) -> (i64, Millis, Millis) {
    let sql = "SELECT count(*), min(at), max(at) FROM pings WHERE check_id = $1";
    on_db!(rig.db().read(), pool => sqlx::query_as(sql).bind(&made.id).fetch_one(pool).await).unwrap()
}

async fn pruned(rig: &Rig) -> Pruned {
    prune(rig.db(), rig.now(), &CancellationToken::new()).await.unwrap()
}

on_both! {
    async fn pings_go_by_the_age_that_their_tier_keeps(kind) {
        for (tier, days) in [(Tier::Free, 30), (Tier::Pro, 180), (Tier::Business, 365)] {
            let rig = Rig::new(kind, tier).await;
            let (busy, quiet) = (rig.new_check().await, rig.new_check().await);
            let horizon = rig.now().minus(DAY * days);
            let before = horizon.minus(Duration::from_millis(1));
            pings(&rig, &busy, before, 40).await;
            pings(&rig, &busy, horizon, 30).await;
            // Of a job that runs once a year the last ping is always old: the newest ten stay.
            pings(&rig, &quiet, before, 12).await;
            assert_eq!(pruned(&rig).await, Pruned { pings: 42, ..Pruned::default() }, "{tier}");
            assert_eq!(kept(&rig, &busy).await, (30, horizon, horizon), "{tier}");
            assert_eq!(kept(&rig, &quiet).await, (10, before, before), "{tier}");
            assert_eq!(pruned(&rig).await, Pruned::default(), "again there is nothing to do");
        }
    }

    async fn pings_go_by_number_the_oldest_first(kind) {
        for (tier, most) in [(Tier::Free, 1_000), (Tier::Pro, 10_000)] {
            let rig = Rig::new(kind, tier).await;
            let (busy, full) = (rig.new_check().await, rig.new_check().await);
            let (first, second) = (rig.now().minus(2 * DAY), rig.now().minus(DAY));
            pings(&rig, &busy, first, 2_500).await;
            pings(&rig, &busy, second, most - 1).await;
            pings(&rig, &full, second, most).await;
            assert_eq!(pruned(&rig).await, Pruned { pings: 2_499, ..Pruned::default() }, "{tier}");
            assert_eq!(kept(&rig, &busy).await, (most, first, second), "{tier}");
            assert_eq!(kept(&rig, &full).await, (most, second, second), "{tier}");
            let oldest = "SELECT min(id) FROM pings WHERE check_id = $1";
            let oldest: String =
                on_db!(rig.db().read(), pool => sqlx::query_scalar(oldest).bind(&busy.id).fetch_one(pool).await).unwrap();
            assert!(oldest.ends_with("002500"), "of one moment the newest stays: {oldest}");
        }
    }

    async fn flips_gaps_and_pauses_stay_as_long_as_uptime_is_told_of_them(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let (made, still) = (rig.new_check().await, rig.new_check().await);
        let ago = |days: u32| rig.now().minus(DAY * days);
        for (days, from, to) in
            [(500, "new", "up"), (450, "up", "down"), (402, "down", "up"), (401, "up", "down"), (10, "down", "up")]
        {
            flip(&rig, &made, ago(days), from, to).await;
        }
        flip(&rig, &still, ago(900), "new", "up").await;
        gap(&rig, ago(500), ago(402)).await;
        gap(&rig, ago(402), ago(401)).await;
        for (from, to) in [(500, Some(402)), (402, Some(401)), (401, None)] {
            let (check, to) = (made.id.clone(), to.map(ago));
            let from = ago(from);
            let paused: Result<(), DbError> =
                rig.db().write(move |tx| Box::pin(async move { begin_pause(tx, &check, from, to).await })).await;
            paused.unwrap();
        }
        let before = list_since(rig.db(), &made.id, ago(400), 100).await.unwrap();
        assert_eq!(pruned(&rig).await, Pruned { pings: 0, flips: 2, gaps: 1, pauses: 1 });
        // The last one before the horizon says what the check was at it.
        let times = async |made: &Made| -> Vec<Millis> {
            list_since(rig.db(), &made.id, Millis(0), 100).await.unwrap().iter().map(|flip| flip.at).collect()
        };
        assert_eq!(times(&made).await, [ago(402), ago(401), ago(10)]);
        assert_eq!(times(&still).await, [ago(900)]);
        assert_eq!(list_since(rig.db(), &made.id, ago(400), 100).await.unwrap(), before, "uptime is what it was");
        assert_eq!(list_gaps(rig.db(), Millis(0), rig.now()).await.unwrap().len(), 1);
        assert_eq!(list_pauses(rig.db(), &made.id, Millis(0), rig.now()).await.unwrap().len(), 2);
    }

    async fn any_number_of_instances_prune_at_once(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let mut checks = Vec::new();
        for _ in 0..45 {
            let made = rig.new_check().await;
            pings(&rig, &made, rig.now().minus(40 * DAY), 130).await;
            pings(&rig, &made, rig.now(), 10).await;
            checks.push(made);
        }
        let (mut racers, now) = (JoinSet::new(), rig.now());
        for n in 0..6 {
            let db = rig.instances[n % 2].clone();
            racers.spawn(async move { prune(&db, now, &CancellationToken::new()).await.unwrap().pings });
        }
        assert_eq!(racers.join_all().await.into_iter().sum::<u64>(), 45 * 130, "each row is deleted once");
        for made in &checks {
            assert_eq!(kept(&rig, made).await, (10, now, now));
        }
    }

    async fn a_process_that_stops_does_not_wait_for_it(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let made = rig.new_check().await;
        pings(&rig, &made, rig.now().minus(40 * DAY), 100).await;
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(prune(rig.db(), rig.now(), &stop).await.unwrap(), Pruned::default());
        assert_eq!(kept(&rig, &made).await.0, 100);
    }

    async fn an_instance_prunes_and_marks_by_itself(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let made = rig.new_check().await;
        pings(&rig, &made, rig.now().minus(800 * DAY), 100).await;
        assert_eq!(find_mark(rig.db()).await.unwrap(), None);
        let mut config = Config::load(&|_| None).unwrap();
        config.database_url = rig.url().to_owned();
        // Its sweep sleeps: the mark must not wait for it.
        config.sweep_interval = Duration::from_hours(1);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let app = App::start(config, listener, Parts::default()).await.unwrap();
        eventually("the old pings are gone", async || kept(&rig, &made).await.0 == 10).await;
        eventually("the mark is set", async || find_mark(rig.db()).await.unwrap().is_some()).await;
        app.shutdown().await;
    }
}
