//! Changes to checks at the same moment: whatever the order, what must hold of the rows afterwards holds.

use std::sync::Arc;

use flatline::checks::apply::{Applied, Effect};
use flatline::checks::history::Kind as PingKind;
use flatline::checks::ping::{Outcome, Ping, ping};
use flatline::checks::schedule::Schedule;
use flatline::checks::{Refusal, store};
use flatline::clock::{ManualClock, Millis, SharedClock};
use flatline::db::{Db, open};
use flatline::ids::UserId;
use flatline::limits::Tier;
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::checks_flow::{NOW, account, count, create, find, hourly, later, run, update};
use crate::database::{Fresh, Kind, fresh};

/// Two instances, where two can share the database.
async fn instances(kind: Kind, fresh: &Fresh) -> [Db; 2] {
    match kind {
        Kind::Sqlite => [fresh.db.clone(), fresh.db.clone()],
        Kind::Postgres => [fresh.db.clone(), open(&fresh.url).await.expect("a second instance")],
    }
}

/// Runs the effects at once, in turn on either instance, and returns what became of each.
async fn race(on: &[Db; 2], owner: &UserId, effects: Vec<Effect>) -> Vec<Result<Applied, Refusal>> {
    let start = Arc::new(Barrier::new(effects.len()));
    let mut racers = JoinSet::new();
    for (n, effect) in effects.into_iter().enumerate() {
        let (db, owner, start) = (on[n % 2].clone(), owner.clone(), start.clone());
        racers.spawn(async move {
            start.wait().await;
            run(&db, later(1), &owner, effect).await
        });
    }
    racers.join_all().await
}

async fn succeed(db: &Db, key: &str, at: Millis) {
    let clock: SharedClock = Arc::new(ManualClock::new(at));
    let (remote, body) = ("192.0.2.1".to_owned(), Vec::new());
    let success = Ping { kind: PingKind::Success, exit_status: None, rid: None, remote, body, body_length: 0 };
    assert_eq!(ping(db, &clock, key, success).await.expect("an answer"), Outcome::Accepted);
}

fn codes(results: &[Result<Applied, Refusal>]) -> Vec<&str> {
    results.iter().filter_map(|result| result.as_ref().err()).map(|refusal| refusal.code.as_str()).collect()
}

on_both! {
    async fn the_last_place_is_taken_once(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        for round in 0..10 {
            let owner = account(&fresh.db, Tier::Free).await;
            for n in 0..19 {
                hourly(&fresh.db, &owner, &format!("check {n}")).await;
            }
            let effect = |n| create(json!({"name": format!("racer {n}"), "period_seconds": 3_600}));
            let results = race(&on, &owner, (0..30).map(effect).collect()).await;
            assert_eq!(codes(&results), ["check_limit_reached"; 29], "round {round}");
            assert_eq!(count(&fresh.db, &owner).await, (20, 20), "round {round}");
        }
    }

    async fn a_name_is_taken_once(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        for round in 0..10 {
            let owner = account(&fresh.db, Tier::Free).await;
            let mut effects = Vec::new();
            for n in 0..8 {
                let check = hourly(&fresh.db, &owner, &format!("check {n}")).await;
                effects.push(update(&check.id, Some(1), json!({"name": "wanted"})));
                effects.push(create(json!({"name": "wanted", "period_seconds": 3_600})));
            }
            let results = race(&on, &owner, effects).await;
            assert_eq!(codes(&results), ["name_taken"; 15], "round {round}");
            let (counted, rows) = count(&fresh.db, &owner).await;
            assert!(counted == rows && (8..=9).contains(&rows), "round {round}: {counted} counted, {rows} there");
            assert!(store::find_by_name(&fresh.db, &owner, "wanted").await.expect("a read").is_some());
        }
    }

    async fn names_are_swapped_without_a_deadlock(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let (a, b) = (hourly(&fresh.db, &owner, "a").await, hourly(&fresh.db, &owner, "b").await);
        for round in 0..20 {
            // Each wants the name that the other has; neither gives its own up first.
            let names = [find(&fresh.db, &owner, &a.id).await.name, find(&fresh.db, &owner, &b.id).await.name];
            let effects = vec![
                update(&a.id, None, json!({"name": names[1]})),
                update(&b.id, None, json!({"name": names[0]})),
                update(&a.id, None, json!({"name": format!("free {round}")})),
                Effect::PauseCheck { check: b.id.clone(), config_version: None, until: None },
                Effect::ResumeCheck { check: a.id.clone(), config_version: None },
            ];
            let results = race(&on, &owner, effects).await;
            assert!(codes(&results).iter().all(|code| *code == "name_taken"), "round {round}: {results:?}");
        }
    }

    async fn one_version_is_edited_once(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        for round in 1..=20 {
            let effect = |n| update(&check.id, Some(round), json!({"description": format!("by {n} in round {round}")}));
            let results = race(&on, &owner, (0..10).map(effect).collect()).await;
            assert_eq!(codes(&results), ["check_changed"; 9], "round {round}");
            assert_eq!(find(&fresh.db, &owner, &check.id).await.config_version, round + 1);
        }
    }

    async fn edits_of_different_fields_all_survive(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        for round in 0..20_i64 {
            let until = Some(later(60 + round.unsigned_abs()));
            let effects = vec![
                update(&check.id, None, json!({"name": format!("name {round}")})),
                update(&check.id, None, json!({"tags": [format!("tag {round}")]})),
                update(&check.id, None, json!({"description": format!("description {round}")})),
                update(&check.id, None, json!({"period_seconds": 3_700 + round})),
                update(&check.id, None, json!({"grace_seconds": 700 + round})),
                update(&check.id, None, json!({"max_runtime_seconds": 60 + round})),
                Effect::PauseCheck { check: check.id.clone(), config_version: None, until },
            ];
            let results = race(&on, &owner, effects).await;
            assert!(codes(&results).is_empty(), "round {round}: {results:?}");
            let row = find(&fresh.db, &owner, &check.id).await;
            assert_eq!((row.name, row.tags), (format!("name {round}"), vec![format!("tag {round}")]));
            assert_eq!(row.description, format!("description {round}"));
            assert_eq!((row.schedule, row.grace_seconds), (Schedule::Every(3_700 + round), 700 + round));
            assert_eq!((row.max_runtime_seconds, row.paused_until), (Some(60 + round), until));
            assert_eq!(row.config_version, 1 + 7 * (round + 1));
        }
    }

    async fn a_check_is_deleted_once(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        let owner = account(&fresh.db, Tier::Free).await;
        hourly(&fresh.db, &owner, "stays").await;
        for round in 0..20 {
            let check = hourly(&fresh.db, &owner, "goes").await;
            let delete = Effect::DeleteCheck { check: check.id, config_version: None };
            let results = race(&on, &owner, vec![delete; 8]).await;
            assert_eq!(codes(&results), ["check_not_found"; 7], "round {round}");
            assert_eq!(count(&fresh.db, &owner).await, (1, 1), "round {round}");
        }
    }

    async fn an_edit_and_a_success_leave_the_times_of_both(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        let owner = account(&fresh.db, Tier::Free).await;
        for round in 0..20 {
            let check = hourly(&fresh.db, &owner, &format!("check {}", round % 10)).await;
            succeed(&on[1], &check.ping_key, NOW).await;
            let edit = run(&on[0], later(1_000), &owner, update(&check.id, None, json!({"period_seconds": 7_200})));
            let ((), edited) = tokio::join!(succeed(&on[1], &check.ping_key, later(1_000)), edit);
            edited.expect("edited");
            let row = find(&fresh.db, &owner, &check.id).await;
            assert_eq!((row.due_at, row.deadline_at), (Some(later(8_200)), Some(later(8_800))), "round {round}");
            let delete = Effect::DeleteCheck { check: check.id, config_version: None };
            run(&fresh.db, NOW, &owner, delete).await.expect("deleted");
        }
    }
}
