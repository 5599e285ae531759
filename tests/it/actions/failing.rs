//! A confirmed action whose own guards refuse: stored as FAILED with the reason, and everything it did is undone.

use std::time::Duration;

use flatline::accounts::set_tier;
use flatline::limits::Tier;
use reqwest::Method;
use serde_json::{Value, json};

use crate::proposals::{
    checks, confirm, count, create, effects, events, new_check, places, propose_one, reject, row, tap,
};
use crate::site::{Plan, Site, Visitor};

async fn patch(who: &Visitor, check: &Value, changes: Value) {
    let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
    assert_eq!(who.send(Method::PATCH, &path, Some(changes)).await.status(), 200);
}

/// Confirms, and demands that it failed for `code`, changed nothing, and says so whenever it is asked again.
async fn fails(site: &Site, who: &Visitor, card: &Value, code: &str) -> String {
    let (before, placed) = (checks(who).await, places(site, who).await);
    let first = tap(who, card).await;
    assert_eq!(first.state(), ("FAILED", false), "{}", first.body);
    let outcome = first.decided().0["outcome"].clone();
    assert_eq!(outcome["code"], code);
    assert_eq!((checks(who).await, places(site, who).await), (before, placed));
    assert_eq!((row(site, card).await.code(), effects(site, card).await), (Some(code), 0));
    let again = confirm(who, card).await;
    assert_eq!((again.state(), again.decided().0), (("FAILED", true), first.decided().0));
    assert_eq!(reject(who, card).await.refusal(), (409, "action_executed"));
    assert_eq!(events(site, card).await, ["PROPOSED", "FAILED"]);
    outcome["message"].as_str().unwrap().to_owned()
}

on_both! {
    async fn a_check_that_was_changed_in_between(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        for (call, rest) in [
            ("update_check", json!({"period_seconds": 7_200})),
            ("pause_check", json!({})),
            ("delete_check", json!({})),
            ("rotate_ping_key", json!({})),
        ] {
            let check = new_check(&ada, call, json!({})).await;
            let mut arguments = json!({"check": check["id"]});
            arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            let card = propose_one(&site, &ada, (call, arguments)).await;
            patch(&ada, &check, json!({"description": "edited in between"})).await;
            let message = fails(&site, &ada, &card, "check_changed").await;
            assert!(message.contains("(it is at version 2, not 1)"), "{message}");
        }
    }

    async fn a_check_that_was_resumed_in_between(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let check = new_check(&ada, "a", json!({})).await;
        let path = |verb: &str| format!("/api/checks/{}/{verb}", check["id"].as_str().unwrap());
        assert_eq!(ada.post(&path("pause")).await.status(), 200);
        let card = propose_one(&site, &ada, ("resume_check", json!({"check": "a"}))).await;
        assert_eq!(ada.post(&path("resume")).await.status(), 200);
        fails(&site, &ada, &card, "check_changed").await;
    }

    async fn one_changed_check_of_several(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let [_, b, _] = [
            new_check(&ada, "a", json!({})).await,
            new_check(&ada, "b", json!({})).await,
            new_check(&ada, "c", json!({})).await,
        ];
        let card = propose_one(&site, &ada, ("pause_checks", json!({"checks": ["a", "b", "c"]}))).await;
        patch(&ada, &b, json!({"grace_seconds": 900})).await;
        let message = fails(&site, &ada, &card, "check_changed").await;
        assert!(message.starts_with("b: ") && message.ends_with("None was paused."), "{message}");
        assert!(checks(&ada).await["checks"].as_array().unwrap().iter().all(|check| check["paused_at"].is_null()));
    }

    async fn the_last_place_that_was_taken_in_between(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        for n in 0..19 {
            new_check(&ada, &format!("check {n}"), json!({})).await;
        }
        let card = propose_one(&site, &ada, create("the twentieth")).await;
        new_check(&ada, "faster", json!({})).await;
        let message = fails(&site, &ada, &card, "check_limit_reached").await;
        assert_eq!(message, "The free tier has room for 20 checks, and 20 exist. Delete one first.");
        assert_eq!(places(&site, &ada).await, (20, 20));
    }

    async fn a_check_that_was_deleted_in_between(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        new_check(&ada, "stays", json!({})).await;
        for call in ["update_check", "pause_check", "delete_check", "rotate_ping_key"] {
            let check = new_check(&ada, "goes", json!({})).await;
            let arguments = match call {
                "update_check" => json!({"check": "goes", "name": "went"}),
                _ => json!({"check": "goes"}),
            };
            let card = propose_one(&site, &ada, (call, arguments)).await;
            let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
            assert_eq!(ada.send(Method::DELETE, &path, None).await.status(), 204);
            fails(&site, &ada, &card, "check_not_found").await;
            assert_eq!(places(&site, &ada).await, (1, 1));
        }
    }

    async fn a_name_that_was_taken_in_between(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let check = new_check(&ada, "a", json!({})).await;
        let makes = propose_one(&site, &ada, create("wanted")).await;
        let renames = propose_one(&site, &ada, ("update_check", json!({"check": "a", "name": "wanted"}))).await;
        new_check(&ada, "wanted", json!({})).await;
        // The create had taken its place already: the rollback gives it back.
        assert_eq!(fails(&site, &ada, &makes, "name_taken").await, "There is already a check named wanted.");
        fails(&site, &ada, &renames, "name_taken").await;
        let same = ada.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await;
        assert_eq!((&same["name"], &same["config_version"]), (&json!("a"), &json!(1)));
    }

    async fn a_pause_that_would_be_over(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        new_check(&ada, "a", json!({})).await;
        let until = site.now().plus(Duration::from_mins(5)).rfc3339();
        let card = propose_one(&site, &ada, ("pause_check", json!({"check": "a", "until": until}))).await;
        site.advance(Duration::from_mins(5));
        let message = fails(&site, &ada, &card, "invalid_field").await;
        assert!(message.contains("would have ended already"), "{message}");
    }

    async fn a_schedule_that_the_tier_no_longer_allows(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Pro).await;
        new_check(&ada, "a", json!({})).await;
        let makes = propose_one(&site, &ada, ("create_check", json!({"name": "b", "period_seconds": 60}))).await;
        let moves = propose_one(&site, &ada, ("update_check", json!({"check": "a", "period_seconds": 60}))).await;
        set_tier(site.db(), site.apps[0].clock.as_ref(), "ada", Tier::Free).await.unwrap();
        for card in [makes, moves] {
            let message = fails(&site, &ada, &card, "invalid_field").await;
            assert!(message.contains("at least 300 s"), "{message}");
        }
        assert_eq!(count(&site, "SELECT count(*) FROM checks WHERE name <> $1", "a").await, 3, "the owner's samples");
    }
}
