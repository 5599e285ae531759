//! Every kind of change, from the model's call to the check as it is afterwards.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::proposals::{checks, confirm, count, effects, id, new_check, places, propose_one, tap};
use crate::site::{Plan, Site, Visitor, json_of};

async fn look(who: &Visitor, check: &Value) -> Value {
    who.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await
}

/// Proposes, demands that nothing has changed, confirms with the button, and returns the outcome's message.
async fn done(site: &Site, who: &Visitor, call: (&str, Value)) -> String {
    let before = checks(who).await;
    let card = propose_one(site, who, call).await;
    assert_eq!(checks(who).await, before, "a proposal changes no check");
    let answer = tap(who, &card).await;
    assert_eq!(answer.state(), ("EXECUTED", false), "{}", answer.body);
    assert_eq!(effects(site, &card).await, 1);
    let outcome = &answer.decided().0["outcome"];
    assert_eq!(outcome["code"], "done");
    outcome["message"].as_str().unwrap().to_owned()
}

/// The check without what the change is meant to change.
fn without(check: &Value, changed: &[&str]) -> Value {
    let mut rest = check.clone();
    for key in changed.iter().chain(&["config_version"]) {
        rest.as_object_mut().unwrap().shift_remove(*key).unwrap();
    }
    rest
}

on_both! {
    async fn create_check(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let call = (
            "create_check",
            json!({"name": "db", "period_seconds": 86_400, "grace_seconds": 1_800,
            "max_runtime_seconds": 900, "tags": ["ops", "db"], "description": "Dumps it."}),
        );
        let card = propose_one(&site, &ada, call).await;
        let shown = |field: &str, after: &str| json!({"field": field, "before": null, "after": after});
        assert_eq!(
            card["changes"],
            json!([shown("name", "db"), shown("schedule", "every day"),
            shown("grace", "30 minutes"), shown("longest run", "15 minutes"), shown("tags", "\"ops\", \"db\""),
            shown("description", "Dumps it."), shown("told", "nobody"), {"field": "checks used", "before": "0 of 20", "after": "1 of 20"}])
        );
        let answer = confirm(&ada, &card).await;
        let outcome = &answer.decided().0["outcome"];
        assert_eq!(outcome["message"], "Created db");
        let made = ada.get(&format!("/api/checks/{}", outcome["check_id"].as_str().unwrap())).await;
        assert_eq!(
            (&made["name"], &made["period_seconds"], &made["grace_seconds"]),
            (&json!("db"), &json!(86_400), &json!(1_800))
        );
        assert_eq!((&made["max_runtime_seconds"], &made["tags"]), (&json!(900), &json!(["ops", "db"])));
        assert_eq!(
            (&made["description"], &made["status"], &made["config_version"]),
            (&json!("Dumps it."), &json!("new"), &json!(1))
        );
        assert_eq!(places(&site, &ada).await, (1, 1));
        // It is a check like any other: its URL takes a ping.
        let pinged =
            reqwest::Client::builder().no_proxy().build().unwrap().get(made["ping_url"].as_str().unwrap()).send();
        assert_eq!(pinged.await.unwrap().status(), StatusCode::OK);
    }

    async fn update_check(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let before = new_check(&ada, "db", json!({"max_runtime_seconds": 600})).await;
        let call = (
            "update_check",
            json!({"check": "db", "name": "database", "period_seconds": 7_200, "grace_seconds": 900,
            "max_runtime_seconds": null, "tags": ["ops"], "description": "Dumps it."}),
        );
        let message = "Updated db: name db → database; schedule every hour → every 2 hours; grace 1 hour → 15 minutes; \
            longest run 10 minutes → none; tags none → \"ops\"; description none → Dumps it.";
        assert_eq!(done(&site, &ada, call).await, message);
        let after = look(&ada, &before).await;
        let changed = ["name", "period_seconds", "grace_seconds", "max_runtime_seconds", "tags", "description"];
        assert_eq!(
            changed.map(|field| after[field].clone()),
            [json!("database"), json!(7_200), json!(900), json!(null), json!(["ops"]), json!("Dumps it.")]
        );
        assert_eq!((without(&after, &changed), &after["config_version"]), (without(&before, &changed), &json!(2)));
    }

    async fn pause_check_until_and_resume_check(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        let before = new_check(&ada, "db", json!({})).await;
        let end = site.now().plus(Duration::from_hours(2));
        let until = end.rfc3339();
        let message = done(&site, &ada, ("pause_check", json!({"check": before["id"], "until": until}))).await;
        assert!(message.starts_with("Paused db until ") && message.ends_with(" UTC"), "{message}");
        let paused = look(&ada, &before).await;
        assert_eq!((&paused["paused_at"], &paused["paused_until"]), (&json!(site.now().rfc3339()), &json!(until)));
        let pause = ["paused_at", "paused_until"];
        assert_eq!(without(&paused, &pause), without(&before, &pause));
        // It can be prolonged, ended by itself, begun anew without an end, and ended by hand.
        let call = ("pause_check", json!({"check": "db", "until": end.plus(Duration::from_mins(1)).rfc3339()}));
        done(&site, &ada, call).await;
        site.advance(Duration::from_mins(121));
        assert_eq!(look(&ada, &before).await["paused_at"], Value::Null);
        assert_eq!(done(&site, &ada, ("pause_check", json!({"check": "db"}))).await, "Paused db");
        let paused = look(&ada, &before).await;
        assert_eq!((paused["paused_at"].is_string(), &paused["paused_until"]), (true, &Value::Null));
        assert_eq!(done(&site, &ada, ("resume_check", json!({"check": "db"}))).await, "Resumed db");
        let resumed = look(&ada, &before).await;
        assert_eq!((without(&resumed, &pause), &resumed["paused_at"]), (without(&before, &pause), &Value::Null));
        assert_eq!(resumed["config_version"], 5);
    }

    async fn delete_check(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let [stays, goes] = [new_check(&ada, "stays", json!({})).await, new_check(&ada, "goes", json!({})).await];
        assert_eq!(done(&site, &ada, ("delete_check", json!({"check": "goes"}))).await, "Deleted goes");
        let path = format!("/api/checks/{}", goes["id"].as_str().unwrap());
        let gone = ada.send(Method::GET, &path, None).await;
        assert_eq!(
            (gone.status(), json_of(gone).await["code"].clone()),
            (StatusCode::NOT_FOUND, json!("check_not_found"))
        );
        assert_eq!((look(&ada, &stays).await, places(&site, &ada).await), (stays, (1, 1)));
    }

    async fn rotate_ping_key(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let before = new_check(&ada, "db", json!({})).await;
        let card = propose_one(&site, &ada, ("rotate_ping_key", json!({"check": "db"}))).await;
        let told = json!({"proposal": card, "requests": site.provider.requests().last().unwrap().body}).to_string();
        let key = before["ping_url"].as_str().unwrap().rsplit('/').next().unwrap();
        assert!(!told.contains(key), "the secret stands neither on the card nor in what the model sees");
        let answer = tap(&ada, &card).await;
        assert_eq!(answer.decided().0["outcome"]["message"], "Replaced the ping URL of db");
        let after = look(&ada, &before).await;
        assert_ne!(after["ping_url"], before["ping_url"]);
        assert_eq!(without(&after, &["ping_url"]), without(&before, &["ping_url"]));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let ping = async |check: &Value| client.get(check["ping_url"].as_str().unwrap()).send().await.unwrap().status();
        assert_eq!((ping(&before).await, ping(&after).await), (StatusCode::NOT_FOUND, StatusCode::OK));
        // Again says what was done, and makes no third key.
        assert_eq!(tap(&ada, &card).await.state(), ("EXECUTED", true));
        assert_eq!(look(&ada, &before).await["ping_url"], after["ping_url"]);
    }

    async fn pause_checks(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        for (name, tags) in [("a", json!(["db"])), ("b", json!(["db"])), ("c", json!([]))] {
            new_check(&ada, name, json!({"tags": tags})).await;
        }
        let card = propose_one(&site, &ada, ("pause_checks", json!({"tag": "db"}))).await;
        // The list is resolved when it is proposed: who gets the tag later is not on the card, and not paused.
        new_check(&ada, "late", json!({"tags": ["db"]})).await;
        assert_eq!(tap(&ada, &card).await.state(), ("EXECUTED", false));
        let paused = "SELECT count(*) FROM checks WHERE paused_at IS NOT NULL AND name <> $1";
        assert_eq!(count(&site, paused, "").await, 2);
        for name in ["a", "b"] {
            let is_paused = "SELECT count(*) FROM checks WHERE paused_at IS NOT NULL AND name = $1";
            assert_eq!(count(&site, is_paused, name).await, 1, "{name}");
        }
        let message = done(&site, &ada, ("pause_checks", json!({"checks": ["late", "c"]}))).await;
        assert_eq!(message, "Paused 2 checks: late, c");
        assert_eq!(count(&site, paused, "").await, 4);
        assert_ne!(id(&card), "");
    }
}
