//! Reminders: a check that stays down tells again, as often as its owner wants, whoever notices.

use std::sync::Arc;

use flatline::checks::history::Kind;
use flatline::checks::remind::remind;
use flatline::limits::Tier;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::post::{events, rows, webhook};
use crate::rig::Rig;

async fn remind_all(rig: &Rig) -> usize {
    let barrier = Arc::new(Barrier::new(6));
    let mut racers = JoinSet::new();
    for n in 0..6 {
        let (db, clock, barrier) = (rig.instances[n % 2].clone(), Arc::clone(&rig.clock), Arc::clone(&barrier));
        racers.spawn(async move {
            barrier.wait().await;
            remind(&db, &*clock).await.unwrap()
        });
    }
    racers.join_all().await.into_iter().sum()
}

on_both! {
    async fn a_reminder_is_told_once_to_each_channel(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let (check, quiet) = (rig.new_check().await, rig.new_check().await);
        rig.set(&check, "reminder_seconds = $2", 3_600).await;
        for n in 0..3 {
            webhook(&rig, &format!("hook {n}"), "https://hooks.example/").await;
        }
        rig.ping(&check, Kind::Fail).await;
        rig.ping(&quiet, Kind::Fail).await;
        assert_eq!(rows(rig.db()).await.len(), 6);
        rig.advance(3_599);
        assert_eq!(remind_all(&rig).await, 0);
        for hours in 1..=10 {
            rig.advance(if hours == 1 { 1 } else { 3_600 });
            assert_eq!(remind_all(&rig).await, 1, "after {hours} hours");
            let rows = rows(rig.db()).await;
            assert_eq!(rows.len(), 6 + 3 * hours);
            let last = rows.last().unwrap();
            assert_eq!((last.event.as_str(), last.check_id.as_deref()), ("check.reminder", Some(check.id.as_str())));
            assert_eq!(last.payload.0["data"]["downtime_seconds"], 3_600 * hours);
            assert_eq!(last.payload.0["data"]["flip"]["reason"], "fail");
        }
        // Up again: that is told, and nothing after it.
        rig.ping(&check, Kind::Success).await;
        rig.advance(100_000);
        assert_eq!(remind_all(&rig).await, 0);
        assert_eq!(events(rig.db()).await.iter().filter(|event| *event == "check.up").count(), 3);
    }

    /// Nothing while it is paused, and nothing at the moment that the pause ends.
    async fn a_pause_is_silent_and_so_is_its_end(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        rig.set(&check, "reminder_seconds = $2", 3_600).await;
        webhook(&rig, "hook", "https://hooks.example/").await;
        rig.ping(&check, Kind::Fail).await;
        rig.set(&check, "paused_at = $2", rig.now().0).await;
        for _ in 0..3 {
            rig.advance(3_600);
            assert_eq!(remind_all(&rig).await, 0);
        }
        rig.set(&check, "paused_at = nullif($2, 0)", 0).await;
        assert_eq!(remind_all(&rig).await, 0);
        rig.advance(3_600);
        assert_eq!(remind_all(&rig).await, 1);
        assert_eq!(events(rig.db()).await, ["check.down", "check.reminder"]);
    }
}
