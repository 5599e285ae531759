//! How many channels an account has, and how often one is tried; under races too.

use std::sync::Arc;
use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::post::rows;
use crate::site::{Plan, Site, Visitor, json_of};

/// The same request by each of `count` racers, in turn at either instance; returns the statuses.
async fn race(
    site: &Site,
    user: &Visitor,
    count: usize,
    request: impl Fn(usize) -> (String, Option<Value>),
) -> Vec<StatusCode> {
    let barrier = Arc::new(Barrier::new(count));
    let mut racers = JoinSet::new();
    for n in 0..count {
        let (user, barrier, (path, body)) = (user.at(site, n % 2), Arc::clone(&barrier), request(n));
        racers.spawn(async move {
            barrier.wait().await;
            user.send(Method::POST, &path, body).await.status()
        });
    }
    racers.join_all().await
}

fn having(statuses: &[StatusCode], status: u16) -> usize {
    statuses.iter().filter(|found| found.as_u16() == status).count()
}

fn hook(name: &str) -> Value {
    json!({"kind": "webhook", "name": name, "url": "https://hooks.example/"})
}

on_both! {
    async fn the_last_place_is_taken_once(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        for round in 0..3 {
            let user = site.user(&format!("user-{round}"), Tier::Free).await;
            let statuses = race(&site, &user, 30, |n| ("/api/channels".to_owned(), Some(hook(&format!("hook {n}"))))).await;
            assert_eq!((having(&statuses, 201), having(&statuses, 409)), (20, 10), "{statuses:?}");
            assert_eq!(user.get("/api/channels").await["channels"].as_array().unwrap().len(), 20);
            let problem = json_of(user.send(Method::POST, "/api/channels", Some(hook("one more"))).await).await;
            assert_eq!(problem["code"], "channel_limit_reached");
        }
        site.shutdown().await;
    }

    /// A check and a channel that are made at once know each other.
    async fn a_check_and_a_channel_made_at_once_meet(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ann", Tier::Pro).await;
        for round in 0..10 {
            let statuses = race(&site, &user, 2, |n| match n {
                0 => ("/api/channels".to_owned(), Some(hook(&format!("hook {round}")))),
                _ => ("/api/checks".to_owned(), Some(json!({"name": format!("check {round}"), "period_seconds": 300}))),
            }).await;
            assert_eq!(having(&statuses, 201), 2, "{statuses:?}");
            let checks = user.get("/api/checks").await["checks"].clone();
            for check in checks.as_array().unwrap() {
                assert_eq!(check["channels"].as_array().unwrap().len(), round + 1, "round {round}");
            }
        }
        site.shutdown().await;
    }

    async fn a_channel_is_tried_five_times_in_ten_minutes(kind) {
        let site = Plan::new(kind).instances(2).manual_clock().start().await;
        let user = site.user("ann", Tier::Free).await;
        let made = json_of(user.send(Method::POST, "/api/channels", Some(hook("hook"))).await).await;
        let path = format!("/api/channels/{}/test", made["id"].as_str().unwrap());
        let statuses = race(&site, &user, 12, |_| (path.clone(), None)).await;
        assert_eq!((having(&statuses, 202), having(&statuses, 429)), (5, 7), "{statuses:?}");
        assert_eq!(rows(site.db()).await.len(), 5);
        let refused = user.post(&path).await;
        assert_eq!(refused.headers()["retry-after"], "600");
        let problem = json_of(refused).await;
        assert_eq!((&problem["code"], &problem["retry_after_seconds"]), (&json!("quota_exceeded"), &json!(600)));
        site.advance(Duration::from_mins(10));
        let accepted = user.post(&path).await;
        assert_eq!(accepted.status(), StatusCode::ACCEPTED);
        let delivery = json_of(accepted).await;
        assert_eq!((&delivery["event"], &delivery["check_id"], &delivery["attempts"]), (&json!("channel.test"), &Value::Null, &json!(0)));
        assert_eq!(rows(site.db()).await.last().unwrap().payload.0["data"]["channel"]["name"], "hook");
        site.shutdown().await;
    }
}
