//! A change says what it changes: to the model when it is proposed, to the person when it is done.

use flatline::limits::Tier;
use serde_json::{Value, json};

use crate::proposals::{new_check, new_id, propose, propose_one, tap};
use crate::site::{Site, text};

on_both! {
    async fn a_proposal_tells_the_model_what_changes(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        new_check(&ada, "backup", json!({"tags": ["db"]})).await;
        for (change, field, before, after) in [
            (json!({"name": "nightly"}), "name", json!("backup"), json!("nightly")),
            (json!({"tags": []}), "tags", json!("\"db\""), Value::Null),
            (json!({"grace_seconds": 600}), "grace", json!("1 hour"), json!("10 minutes")),
        ] {
            let mut call = change.clone();
            call["check"] = json!("backup");
            let card = propose_one(&site, &ada, ("update_check", call)).await;
            let body = site.provider.requests().last().unwrap().body.clone();
            let sent = body["messages"].as_array().unwrap().iter().rfind(|message| message["role"] == "tool").unwrap();
            let result: Value = serde_json::from_str(sent["content"].as_str().unwrap()).unwrap();
            let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["status", "number", "title", "summary", "changes", "note"]);
            assert_eq!((&result["title"], &result["changes"]), (&card["title"], &card["changes"]));
            assert_eq!(result["changes"], json!([{"field": field, "before": before, "after": after}]));
        }
    }

    async fn what_was_done_is_said_in_full(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        new_check(&ada, "backup", json!({})).await;
        let long = "x".repeat(200);
        for (n, (change, said)) in [
            (json!({"grace_seconds": 600}), "Updated backup: grace 1 hour → 10 minutes (action 1)."),
            (json!({"tags": ["db"], "description": long}), "Updated backup: tags none → \"db\"; another description (action 2)."),
            (json!({"alert_after_failures": 3, "reminder_seconds": 3_600}),
                "Updated backup: down after the first fail → 3 fails in a row; reminders none → every hour while it is down (action 3)."),
            (json!({"cron": "@daily"}), "Updated backup: schedule every hour → every day at 00:00 (UTC): @daily (action 4)."),
            (json!({"name": "nightly"}), "Updated backup: name backup → nightly (action 5)."),
        ].into_iter().enumerate() {
            let mut call = change;
            call["check"] = json!("backup");
            propose(&site, &ada, "talk", &[("update_check", call)]).await;
            assert_eq!(text(&ada.chat("talk", &new_id(), &format!("confirm {}", n + 1)).await), said);
        }
        // Also the one that undoes them.
        let back = propose(&site, &ada, "talk", &[("undo_action", json!({}))]).await.remove(0);
        let done = tap(&ada, &back).await;
        assert_eq!(done.body["action"]["outcome"]["message"], "Updated nightly: name nightly → backup");
    }
}
