//! What left a check as it is: the action, while nothing else has edited it since.

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::{Value, json};

use super::{confirmed, done, undo};
use crate::proposals::{new_check, new_id, turn};
use crate::site::{Plan, Site, Visitor};

async fn last_edit(site: &Site, who: &Visitor, name: &str) -> Value {
    let chunks = turn(site, who, &new_id(), &[("get_check", json!({"check": name}))]).await;
    let output = chunks.iter().find(|chunk| chunk["type"] == "tool-output-available").unwrap();
    output["output"]["last_edit"].clone()
}

on_both! {
    async fn the_last_edit_is_told_if_it_was_an_action(kind) {
        let site = Plan::new(kind).manual_clock().user_limit(100).start().await;
        let ann = site.user("ann", Tier::Free).await;
        let plain = new_check(&ann, "plain", json!({"tags": ["x"]})).await;
        assert_eq!(last_edit(&site, &ann, "plain").await, Value::Null, "made without the assistant");
        let made = done(&site, &ann, "talk", ("create_check", json!({"name": "made", "period_seconds": 3_600, "tags": ["x"]}))).await;
        let told = last_edit(&site, &ann, "made").await;
        assert_eq!((&told["kind"], &told["message"], &told["at"], &told["via"]), (&json!("create_check"), &json!("Created made"), &made["decided_at"], &json!("button")));

        site.advance(std::time::Duration::from_mins(1));
        let changed = done(&site, &ann, "talk", ("update_check", json!({"check": "made", "grace_seconds": 600}))).await;
        let told = last_edit(&site, &ann, "made").await;
        assert_eq!((&told["kind"], &told["at"]), (&json!("update_check"), &changed["decided_at"]));
        assert_eq!(told["changes"], json!([{"field": "grace", "before": "1 hour", "after": "10 minutes"}]));
        // A list tells of each of its checks, and an undo is an edit like any other.
        done(&site, &ann, "talk", ("pause_checks", json!({"tag": "x"}))).await;
        for name in ["plain", "made"] {
            assert_eq!(last_edit(&site, &ann, name).await["kind"], "pause_checks");
        }
        confirmed(&ann, &undo(&site, &ann, "talk", None).await).await;
        assert_eq!(last_edit(&site, &ann, "plain").await["kind"], "resume_checks");
        // Through the API, it is not known.
        let path = format!("/api/checks/{}", plain["id"].as_str().unwrap());
        ann.send(Method::PATCH, &path, Some(json!({"description": "x"}))).await;
        assert_eq!(last_edit(&site, &ann, "plain").await, Value::Null);
        assert_eq!(last_edit(&site, &ann, "made").await["kind"], "resume_checks");
        // A deleted check takes the records with it, and nothing stops it from going.
        done(&site, &ann, "talk", ("delete_check", json!({"check": "made"}))).await;
        let rows = "SELECT count(*) FROM action_edits WHERE check_id = $1";
        assert_eq!(crate::proposals::count(&site, rows, made["outcome"]["check_id"].as_str().unwrap()).await, 0);
        let rows = "SELECT count(*) FROM action_edits WHERE action_id <> $1";
        assert_eq!(crate::proposals::count(&site, rows, "").await, 2, "the pause of plain and its end");
    }
}
