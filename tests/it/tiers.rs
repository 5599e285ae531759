//! What a change of tier and a clock that was set back do to checks.

use std::time::Duration;

use flatline::accounts::set_tier;
use flatline::checks::history::Kind;
use flatline::checks::ping::Outcome;
use flatline::checks::sweep::sweep;
use flatline::clock::Millis;
use flatline::limits::Tier;
use flatline::on_db;

use crate::rig::Rig;

/// How far a minute has run.
fn past_minute(now: Millis) -> Duration {
    Duration::from_millis(now.0.rem_euclid(60_000).unsigned_abs())
}

on_both! {
    async fn a_slower_floor_moves_what_is_due_and_a_faster_one_moves_it_back(kind) {
        let rig = Rig::new(kind, Tier::Pro).await;
        let check = rig.new_check().await;
        let sql = "UPDATE checks SET period_seconds = 60, grace_seconds = 60";
        on_db!(rig.db().autocommit(), pool => sqlx::query(sql).execute(pool).await.map(|_| ())).unwrap();
        rig.ping(&check, Kind::Success).await;
        let before = rig.row(&check).await;
        set_tier(rig.db(), rig.clock.as_ref(), "owner", Tier::Free).await.unwrap();
        let slower = rig.row(&check).await;
        let moved = Duration::from_mins(4);
        assert_eq!(slower.due_at, before.due_at.map(|at| at.plus(moved)));
        assert_eq!(slower.deadline_at, before.deadline_at.map(|at| at.plus(moved)));
        // A job that keeps to the new floor is not taken down by the old deadline.
        rig.advance(299);
        assert_eq!(sweep(rig.db(), rig.clock.as_ref()).await.unwrap(), 0);
        set_tier(rig.db(), rig.clock.as_ref(), "owner", Tier::Pro).await.unwrap();
        let back = rig.row(&check).await;
        assert_eq!(back.due_at, before.due_at);
        assert_eq!(back.deadline_at, Some(rig.now()), "late by the change: down now, not in the past");
    }

    async fn a_slower_floor_moves_what_is_due_by_the_clock_too(kind) {
        let rig = Rig::new(kind, Tier::Pro).await;
        let check = rig.new_check().await;
        let sets = "period_seconds = NULL, cron = '* * * * *', timezone = 'UTC', grace_seconds = 60";
        rig.set(&check, sets, 0).await;
        rig.ping(&check, Kind::Success).await;
        let pinged = rig.now();
        assert_eq!(rig.row(&check).await.due_at, Some(pinged.plus(Duration::from_mins(1)).minus(past_minute(pinged))));
        set_tier(rig.db(), rig.clock.as_ref(), "owner", Tier::Free).await.unwrap();
        let slower = rig.row(&check).await;
        let due = slower.due_at.unwrap();
        assert!(due.since(pinged) >= Duration::from_mins(5), "due when a ping is too soon");
        assert_eq!(slower.deadline_at, Some(due.plus(Duration::from_mins(1))));
        assert_eq!(slower.config_version, 1, "no edit: a card that shows this check is as true as before");
    }

    async fn a_clock_set_back_silences_no_check(kind) {
        let rig = Rig::new(kind, Tier::Pro).await;
        let check = rig.new_check().await;
        rig.ping(&check, Kind::Success).await;
        rig.clock.set(rig.now().minus(Duration::from_hours(1)));
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
        assert!(matches!(rig.ping(&check, Kind::Success).await, Outcome::TooSoon(_)), "and the floor holds from there");
    }
}
