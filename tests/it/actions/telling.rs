//! What the model is told of its proposals when the conversation goes on: the rows as they are then.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::{Value, json};

use crate::proposals::{confirm, create, new_check, new_id, propose, reject, turn};
use crate::site::{Plan, Site, Visitor};

/// The tool results of the newest request, in order.
fn told(site: &Site) -> Vec<Value> {
    let body = site.provider.requests().last().unwrap().body.clone();
    let messages = body["messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
    // Every call is answered once, by its id.
    let called: Vec<&Value> = calls.map(|call| &call["id"]).collect();
    assert_eq!(called, results.iter().map(|result| &result["tool_call_id"]).collect::<Vec<_>>());
    results.iter().map(|result| serde_json::from_str(result["content"].as_str().unwrap()).unwrap()).collect()
}

/// As [`told`], number and state alone.
fn states(site: &Site) -> Vec<(i64, String)> {
    let state = |told: &Value| (told["number"].as_i64().unwrap(), told["status"].as_str().unwrap().to_owned());
    told(site).iter().map(state).collect()
}

async fn go_on(site: &Site, who: &Visitor) -> Vec<(i64, String)> {
    who.chat("talk", &new_id(), "and now?").await;
    states(site)
}

fn expected(states: &[&str]) -> Vec<(i64, String)> {
    (1..).zip(states.iter().map(|state| (*state).to_owned())).collect()
}

on_both! {
    async fn each_result_is_the_row_of_now(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        let check = new_check(&ada, "db", json!({})).await;
        let calls = [
            create("a"),
            create("b"),
            ("pause_check", json!({"check": "db"})),
            ("update_check", json!({"check": "db", "grace_seconds": 900})),
        ];
        let cards = propose(&site, &ada, "talk", &calls).await;
        assert_eq!(states(&site), expected(&["PENDING"; 4]), "the second call of the same turn");
        assert_eq!(go_on(&site, &ada).await, expected(&["PENDING"; 4]));

        assert_eq!(confirm(&ada, &cards[0]).await.state(), ("EXECUTED", false));
        assert_eq!(reject(&ada, &cards[1]).await.state(), ("REJECTED", false));
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        ada.send(Method::PATCH, &path, Some(json!({"tags": ["x"]}))).await;
        assert_eq!(confirm(&ada, &cards[2]).await.state(), ("FAILED", false));
        propose(&site, &ada, "talk", &[("update_check", json!({"check": "db", "grace_seconds": 901}))]).await;
        let now = ["EXECUTED", "REJECTED", "FAILED", "SUPERSEDED", "PENDING"];
        assert_eq!(go_on(&site, &ada).await, expected(&now));
        let told = told(&site);
        assert_eq!(told[0]["note"], "The user confirmed it and it was done. Created a");
        assert!(told[2]["note"].as_str().unwrap().contains("could not be done. Nothing has changed."), "{}", told[2]);

        site.advance(Duration::from_mins(15));
        assert_eq!(go_on(&site, &ada).await, expected(&["EXECUTED", "REJECTED", "FAILED", "SUPERSEDED", "EXPIRED"]));
    }

    async fn a_typed_word_is_told_with_its_answer(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        propose(&site, &ada, "talk", &[create("a")]).await;
        ada.chat("talk", &new_id(), "confirm").await;
        assert_eq!(go_on(&site, &ada).await, expected(&["EXECUTED"]));
        let body = site.provider.requests().last().unwrap().body.clone();
        let said: Vec<(&str, &str)> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|message| Some((message["role"].as_str()?, message["content"].as_str()?)))
            .filter(|(role, _)| matches!(*role, "user" | "assistant"))
            .collect();
        assert_eq!(
            said,
            [
                ("user", "please"),
                ("assistant", "ok"),
                ("user", "confirm"),
                ("assistant", "Created a (action 1)."),
                ("user", "and now?")
            ]
        );
    }

    async fn refused_calls_are_told_as_refused(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        turn(&site, &ada, "talk", &[("pause_check", json!({"check": "none"})), create("a")]).await;
        let results = told(&site);
        assert_eq!(results[0], json!({"error": {"code": "refused", "message": "There is no check \"none\"."}}));
        assert_eq!(results[1]["status"], "PENDING");
    }
}
