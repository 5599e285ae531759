//! A change of channels does what its card showed, whatever came of the channels in between, or nothing.

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::{Value, json};

use crate::proposals::{Answer, new_check, propose, propose_one, tap};
use crate::site::{Site, Visitor, json_of};

async fn channel(who: &Visitor, name: &str) -> Value {
    let body = json!({"kind": "webhook", "name": name, "url": "https://hooks.example/x"});
    json_of(who.send(Method::POST, "/api/channels", Some(body)).await).await
}

async fn delete(who: &Visitor, channel: &Value) {
    let path = format!("/api/channels/{}", channel["id"].as_str().unwrap());
    assert_eq!(who.send(Method::DELETE, &path, None).await.status(), 204);
}

async fn told(who: &Visitor, check: &Value) -> Value {
    who.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await["channels"].clone()
}

/// The code and the sentence of a failed action.
fn failure(answer: &Answer) -> (String, String) {
    assert_eq!(answer.state(), ("FAILED", false), "{}", answer.body);
    let outcome = &answer.body["action"]["outcome"];
    (outcome["code"].as_str().unwrap().to_owned(), outcome["message"].as_str().unwrap().to_owned())
}

on_both! {
    async fn a_channel_that_the_card_did_not_show_is_not_dropped(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let (ops, slack) = (channel(&ada, "ops").await, channel(&ada, "slack").await);
        let check = new_check(&ada, "backup", json!({})).await;
        let to_ops = ("update_check", json!({"check": "backup", "channels": ["ops"]}));
        let card = propose_one(&site, &ada, to_ops.clone()).await;
        assert_eq!(card["changes"], json!([{"field": "told", "before": "ops (webhook), slack (webhook)", "after": "ops (webhook)"}]));
        let pager = channel(&ada, "pager").await;
        let (code, message) = failure(&tap(&ada, &card).await);
        assert_eq!(code, "check_changed");
        assert_eq!(message, "Other channels than were shown are told of backup in the meantime: ops, slack, pager. Look at it again.");
        assert_eq!(told(&ada, &check).await, json!([ops["id"], slack["id"], pager["id"]]), "nobody was dropped");

        // A change of something else goes through beside a new channel, and drops nobody.
        let grace = propose_one(&site, &ada, ("update_check", json!({"check": "backup", "grace_seconds": 600}))).await;
        let mail = channel(&ada, "mail").await;
        assert_eq!(tap(&ada, &grace).await.state(), ("EXECUTED", false));
        assert_eq!(told(&ada, &check).await, json!([ops["id"], slack["id"], pager["id"], mail["id"]]));

        // One that has gone is as much another list.
        let card = propose_one(&site, &ada, to_ops.clone()).await;
        delete(&ada, &slack).await;
        assert_eq!(failure(&tap(&ada, &card).await).0, "check_changed");
        // As shown, it is done, and says so.
        let card = propose_one(&site, &ada, to_ops).await;
        let done = tap(&ada, &card).await;
        assert_eq!(done.state(), ("EXECUTED", false));
        let message = "Updated backup: told ops (webhook), pager (webhook), mail (webhook) → ops (webhook)";
        assert_eq!(done.body["action"]["outcome"]["message"], message);
        assert_eq!(told(&ada, &check).await, json!([ops["id"]]));
    }

    async fn a_channel_that_is_gone_is_named(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let check = new_check(&ada, "backup", json!({})).await;
        let (ops, body) = (channel(&ada, "ops").await, json!({"channels": []}));
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        ada.send(Method::PATCH, &path, Some(body)).await;
        let card = propose_one(&site, &ada, ("update_check", json!({"check": "backup", "channels": ["ops"]}))).await;
        let new = json!({"name": "new", "period_seconds": 3_600, "channels": [ops["id"]]});
        let made = propose_one(&site, &ada, ("create_check", new)).await;
        delete(&ada, &ops).await;
        let gone = ("channel_not_found".to_owned(), "The channel ops is not there any more. Look at it again.".to_owned());
        assert_eq!(failure(&tap(&ada, &card).await), gone);
        assert_eq!(failure(&tap(&ada, &made).await), gone);
        assert_eq!(crate::proposals::places(&site, &ada).await, (1, 1), "nothing half-made");
    }

    async fn an_undo_tells_again_those_that_are_left(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let (ops, slack) = (channel(&ada, "ops").await, channel(&ada, "slack").await);
        let check = new_check(&ada, "backup", json!({})).await;
        let none = ("update_check", json!({"check": "backup", "channels": []}));
        let card = propose(&site, &ada, "talk", &[none]).await.remove(0);
        assert_eq!(tap(&ada, &card).await.state(), ("EXECUTED", false));
        delete(&ada, &slack).await;
        let back = propose(&site, &ada, "talk", &[("undo_action", json!({}))]).await.remove(0);
        assert_eq!(back["changes"], json!([{"field": "told", "before": "nobody", "after": "ops (webhook)"}]));
        assert_eq!(back["warnings"], json!(["1 channel that backup told before cannot be told again: deleted since."]));
        assert_eq!(tap(&ada, &back).await.state(), ("EXECUTED", false));
        assert_eq!(told(&ada, &check).await, json!([ops["id"]]));
    }
}
