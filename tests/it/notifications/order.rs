//! In which order people hear of one check on one channel: never that it is down after they have heard that it is up.

use std::time::Duration;

use flatline::checks::history::Kind;
use flatline::checks::notice::Event;
use flatline::checks::store::claims::{Claimed, Ended, claim_deliveries, finish_delivery};
use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::post::{loopback, rows, sender, until, webhook};
use super::receiver::{Receiver, answer};
use crate::rig::Rig;
use crate::site::{Plan, json_of};

async fn claim(rig: &Rig) -> Vec<Claimed> {
    claim_deliveries(rig.db(), rig.now(), rig.now().plus(Duration::from_mins(1)), 8).await.unwrap()
}

async fn finish(rig: &Rig, claimed: &Claimed, ended: Ended) {
    assert!(finish_delivery(rig.db(), &claimed.id, claimed.attempts, &ended, rig.now()).await.unwrap());
}

fn retry(rig: &Rig, seconds: u64) -> Ended {
    Ended::Retry { at: rig.now().plus(Duration::from_secs(seconds)), reason: "HTTP 500".to_owned() }
}

/// Claims the only delivery that may be claimed, which is about that.
async fn only(rig: &Rig, event: Event) -> Claimed {
    let [claimed] = claim(rig).await.try_into().ok().unwrap();
    assert_eq!(claimed.payload.event, event);
    claimed
}

on_both! {
    /// The recovery does not wait until "down" has got through; once it has arrived, "down" is not sent any more.
    async fn a_down_is_not_sent_after_its_recovery(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::start(|nth, _| answer(if nth == 0 { 500 } else { 200 })).await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        rig.ping(&check, Kind::Fail).await;
        let sender = sender(&rig, 0);
        assert_eq!(sender.deliver_due().await.unwrap(), 1);
        rig.advance(1);
        rig.ping(&check, Kind::Success).await;
        assert_eq!(sender.deliver_due().await.unwrap(), 1);
        rig.advance(60);
        assert_eq!(sender.deliver_due().await.unwrap(), 1, "it is looked at, and ended");
        let told: Vec<Value> = receiver.received().iter().map(|request| request.json()["type"].clone()).collect();
        assert_eq!(told, ["check.down", "check.up"]);
        let [down, up] = rows(rig.db()).await.try_into().unwrap();
        assert_eq!((down.status.as_str(), down.attempts, up.status.as_str()), ("failed", 1, "sent"));
        assert_eq!(down.last_error.as_deref(), Some("something newer about the check arrived there first"));
        // The next one is news again.
        rig.ping(&check, Kind::Fail).await;
        assert_eq!(sender.deliver_due().await.unwrap(), 1);
        assert_eq!(receiver.received().last().unwrap().json()["type"], "check.down");
    }

    /// While one is under way the next about the same check waits for it: they cannot overtake each other.
    async fn two_about_one_check_are_never_under_way_at_once(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let (check, other) = (rig.new_check().await, rig.new_check().await);
        webhook(&rig, "hook", "https://hooks.example/").await;
        rig.ping(&check, Kind::Fail).await;
        rig.advance(1);
        rig.ping(&check, Kind::Success).await;
        let down = only(&rig, Event::CheckDown).await;
        assert!(claim(&rig).await.is_empty());
        rig.ping(&other, Kind::Fail).await;
        let about_other = only(&rig, Event::CheckDown).await;
        finish(&rig, &down, retry(&rig, 10)).await;
        let up = only(&rig, Event::CheckUp).await;
        finish(&rig, &up, retry(&rig, 20)).await;
        rig.advance(10);
        let down = only(&rig, Event::CheckDown).await;
        assert!(!down.is_overtaken, "nothing newer has arrived");
        finish(&rig, &down, retry(&rig, 20)).await;
        finish(&rig, &about_other, retry(&rig, 10)).await;
        rig.advance(10);
        let both = [claim(&rig).await.remove(0), claim(&rig).await.remove(0)];
        let (up, about_other) = if both[0].id == up.id { (&both[0], &both[1]) } else { (&both[1], &both[0]) };
        finish(&rig, up, Ended::Sent).await;
        assert!(!about_other.is_overtaken, "another check");
        rig.advance(10);
        assert!(only(&rig, Event::CheckDown).await.is_overtaken);
    }

    async fn what_one_channel_was_told_another_was_not(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        let (a, _) = (webhook(&rig, "a", "https://a.example/").await, webhook(&rig, "b", "https://b.example/").await);
        rig.ping(&check, Kind::Fail).await;
        let of_a = rows(rig.db()).await.into_iter().find(|row| row.channel_id == a.channel.id.as_str()).unwrap().id;
        for claimed in claim(&rig).await {
            finish(&rig, &claimed, retry(&rig, 60)).await;
        }
        rig.advance(1);
        rig.ping(&check, Kind::Success).await;
        let ups = claim(&rig).await;
        assert_eq!(ups.len(), 2);
        for up in ups {
            let is_a = up.target.contains("a.example");
            finish(&rig, &up, if is_a { Ended::Sent } else { retry(&rig, 600) }).await;
        }
        rig.advance(60);
        let downs = claim(&rig).await;
        assert_eq!(downs.len(), 2);
        assert!(downs.iter().all(|down| down.is_overtaken == (down.id == of_a)));
    }

    /// Nothing that was to be told is lost unseen.
    async fn what_was_overtaken_is_listed_with_its_reason(kind) {
        let receiver = Receiver::start(|nth, _| answer(if nth == 0 { 500 } else { 200 })).await;
        let site = Plan::new(kind).manual_clock().config(|config| config.outgoing_allow = loopback()).start().await;
        let user = site.user("ann", Tier::Pro).await;
        let make = async |path: &str, body: Value| {
            let made = user.send(Method::POST, path, Some(body)).await;
            assert_eq!(made.status(), StatusCode::CREATED);
            json_of(made).await
        };
        let check = make("/api/checks", json!({"name": "c", "period_seconds": 300})).await;
        make("/api/channels", json!({"kind": "webhook", "name": "hook", "url": receiver.url("/")})).await;
        let ping = check["ping_url"].as_str().unwrap().strip_prefix(&site.base(0)).unwrap().to_owned();
        let path = format!("/api/checks/{}/notifications", check["id"].as_str().unwrap());
        let told = async |nth: usize, field: &str, value: Value| {
            until("it is told", async || user.get(&path).await["notifications"][nth][field] == value).await;
        };
        user.post(&format!("{ping}/fail")).await;
        told(0, "last_error", json!("HTTP 500")).await;
        user.post(&ping).await;
        told(0, "status", json!("sent")).await;
        site.advance(Duration::from_mins(1));
        told(1, "last_error", json!("something newer about the check arrived there first")).await;
        let down = user.get(&path).await["notifications"][1].clone();
        assert_eq!((&down["event"], &down["status"], &down["next_attempt_at"]), (&json!("check.down"), &json!("failed"), &Value::Null));
        site.shutdown().await;
    }
}
