//! Many messages at once and few places left: as many pass as there are places, and nobody else reaches the model.

use std::sync::Arc;
use std::time::Duration;

use flatline::clock::SystemClock;
use flatline::db::{Db, open};
use flatline::limits::{Charge, Decision, Policy, Tier, take};
use reqwest::StatusCode;
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::asking::{ledger, problem, remaining, rows};
use crate::database::{Fresh, Kind, fresh};
use crate::site::{Plan, Site, Visitor, chunks, text};

/// Sixty messages at once, spread over the instances, in a conversation each.
async fn sixty_at_once(site: &Site, visitor: &Visitor) -> Vec<reqwest::Response> {
    let start = Arc::new(Barrier::new(60));
    let mut racers = JoinSet::new();
    for n in 0..60 {
        let (visitor, start) = (visitor.at(site, n % site.apps.len()), start.clone());
        racers.spawn(async move {
            start.wait().await;
            visitor.say(&format!("c{n}"), "m", "me").await
        });
    }
    racers.join_all().await
}

async fn one_slot_is_taken_once(kind: Kind, instances: usize, rounds: usize) {
    let site = Plan::new(kind).user_limit(2).instances(instances).start().await;
    for round in 0..rounds {
        let user = site.user(&format!("user-{round}"), Tier::Free).await;
        user.chat("before", "m", "hi").await;
        let (asked, before) = (site.provider.requests().len(), rows(site.db()).await);
        let mut passed = 0;
        for response in sixty_at_once(&site, &user).await {
            if response.status() == StatusCode::OK {
                assert_eq!(text(&chunks(response).await), "ok");
                passed += 1;
            } else {
                problem(response, 429, "quota_exceeded").await;
            }
        }
        assert_eq!(passed, 1, "round {round}");
        assert_eq!(site.provider.requests().len(), asked + 1, "round {round}: a refused one reached the model");
        let after = rows(site.db()).await;
        assert_eq!((after.conversations, after.messages), (before.conversations + 1, before.messages + 2));
        assert_eq!(remaining(&user).await, [0]);
    }
}

/// Two handles, as two instances have, where two can share the database.
async fn instances(kind: Kind, fresh: &Fresh) -> [Db; 2] {
    match kind {
        Kind::Sqlite => [fresh.db.clone(), fresh.db.clone()],
        Kind::Postgres => [fresh.db.clone(), open(&fresh.url).await.unwrap()],
    }
}

/// Takes all of these at once and returns how many passed.
async fn race(on: &[Db; 2], charges: Vec<Vec<Charge>>) -> usize {
    let start = Arc::new(Barrier::new(charges.len()));
    let mut racers = JoinSet::new();
    for (n, charges) in charges.into_iter().enumerate() {
        let (db, start) = (on[n % 2].clone(), start.clone());
        racers.spawn(async move {
            start.wait().await;
            match take(&db, &SystemClock::default(), charges).await.unwrap() {
                Decision::Admitted { .. } => true,
                Decision::Refused(standings) => {
                    assert!(standings.iter().all(|standing| standing.remaining == 0 && !standing.wait.is_zero()));
                    false
                }
            }
        });
    }
    racers.join_all().await.into_iter().filter(|passed| *passed).count()
}

/// The stamps recorded for keys of that policy.
async fn recorded(db: &Db, policy: &str) -> usize {
    let rows = ledger(db).await.into_iter().filter(|(key, _)| key.starts_with(policy));
    rows.map(|(_, hits)| hits.matches(',').count() + 1).sum()
}

on_both! {
    async fn the_last_slot(kind) {
        one_slot_is_taken_once(kind, 1, 10).await;
    }

    async fn the_last_slot_over_two_instances(kind) {
        one_slot_is_taken_once(kind, 2, 15).await;
    }

    async fn forty_first_messages(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        let policy = Policy::named("user", 20, Duration::from_mins(10));
        for round in 0..20 {
            let charge = Charge::new(&policy, &format!("{round:02}"));
            assert_eq!(race(&on, vec![vec![charge]; 40]).await, 20, "round {round}");
            assert_eq!(recorded(&fresh.db, &format!("user-10min:{round:02}")).await, 20, "round {round}");
        }
    }

    async fn sessions_and_their_network_are_charged_together(kind) {
        let fresh = fresh(kind).await;
        let on = instances(kind, &fresh).await;
        let session = Policy::named("anon", 4, Duration::from_hours(1));
        let network = Policy::named("anon-net", 10, Duration::from_hours(1));
        for round in 0..15 {
            let charges = |n: usize| {
                vec![
                    Charge::new(&session, &format!("{round:02}-{}", n % 4)),
                    Charge::new(&network, &format!("{round:02}")),
                ]
            };
            let passed = race(&on, (0..40).map(charges).collect()).await;
            assert_eq!(passed, 10, "round {round}");
            let sessions = recorded(&fresh.db, &format!("anon-1h:{round:02}-")).await;
            let networks = recorded(&fresh.db, &format!("anon-net-1h:{round:02}")).await;
            assert_eq!((sessions, networks), (10, 10), "round {round}: both are charged, or neither");
        }
    }

    async fn visitors_from_one_network(kind) {
        let site = Plan::new(kind).instances(2).config(|config| config.anon_network_limit.limit = 1).start().await;
        let visitor = site.anonymous().await;
        let mut passed = 0;
        for response in sixty_at_once(&site, &visitor).await {
            match response.status() {
                StatusCode::OK => passed += 1,
                _ => assert_eq!(
                    problem(response, 429, "quota_exceeded").await["violated-policies"],
                    json!(["anon-net-1h"])
                ),
            }
        }
        assert_eq!((passed, site.provider.requests().len()), (1, 1));
        assert_eq!(remaining(&visitor).await, [29, 0]);
    }
}
