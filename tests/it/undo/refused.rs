//! What cannot be undone, or not any more, says why and makes no row.

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::json;

use super::{card, confirmed, done, has_inverse, look, refusal, undo};
use crate::proposals::{count, new_check, reject, row, tap, turn};
use crate::site::{Plan, Site};

const OPEN: &str = "SELECT count(*) FROM pending_actions WHERE status = 'PENDING' AND id <> $1";

on_both! {
    async fn what_is_gone_stays_gone(kind) {
        let site = Site::start(kind).await;
        let ann = site.user("ann", Tier::Free).await;
        new_check(&ann, "a", json!({})).await;
        let rotated = done(&site, &ann, "talk", ("rotate_ping_key", json!({"check": "a"}))).await;
        assert_eq!(refusal(&site, &ann, "talk", json!({})).await, "Action 1 replaced a ping URL, which cannot be undone: the \
            old one does not come back. The job must get the new one.");
        let deleted = done(&site, &ann, "talk", ("delete_check", json!({"check": "a"}))).await;
        let why = "Action 2 deleted a check, which cannot be undone: its history and its ping URL are gone. It can only be \
            created anew.";
        assert_eq!(refusal(&site, &ann, "talk", json!({})).await, why);
        assert_eq!(refusal(&site, &ann, "talk", json!({"number": 2})).await, why);
        for action in [&rotated, &deleted] {
            assert!(!has_inverse(&site, action).await);
        }
        assert_eq!(count(&site, OPEN, "").await, 0);
    }

    async fn undos_are_counted_like_any_proposal(kind) {
        let site = Site::start(kind).await;
        let ann = site.user("ann", Tier::Free).await;
        for name in ["a", "b"] {
            new_check(&ann, name, json!({"tags": ["x"]})).await;
        }
        done(&site, &ann, "talk", ("pause_checks", json!({"tag": "x"}))).await;
        let chunks = turn(&site, &ann, "talk", &vec![("undo_action", json!({})); 7]).await;
        let refused: Vec<&str> = chunks.iter().filter_map(|chunk| chunk["errorText"].as_str()).collect();
        assert_eq!(refused, ["At most 5 changes can be proposed in one message."; 2]);
        assert_eq!(count(&site, OPEN, "").await, 5);
    }

    async fn only_what_was_carried_out_here_is_undone(kind) {
        let site = Site::start(kind).await;
        let (ann, bob) = (site.user("ann", Tier::Free).await, site.user("bob", Tier::Free).await);
        let check = new_check(&ann, "a", json!({})).await;
        assert_eq!(refusal(&site, &ann, "talk", json!({})).await, "Nothing was carried out in this conversation yet.");
        assert_eq!(refusal(&site, &ann, "talk", json!({"number": 1})).await, "There is no action 1 in this conversation.");
        let open = card(&site, &ann, "talk", ("pause_check", json!({"check": "a"}))).await;
        assert_eq!(refusal(&site, &ann, "talk", json!({})).await, "Nothing was carried out in this conversation yet.");
        assert_eq!(refusal(&site, &ann, "talk", json!({"number": 1})).await, "Action 1 is still open. There is nothing to undo.");
        reject(&ann, &open).await;
        assert_eq!(refusal(&site, &ann, "talk", json!({"number": 1})).await, "Action 1 was cancelled already. There is nothing to undo.");

        // FAILED holds no inverse, though its effect had made one before a later guard refused.
        let stale = card(&site, &ann, "talk", ("pause_check", json!({"check": "a"}))).await;
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        ann.send(Method::PATCH, &path, Some(json!({"description": "edited"}))).await;
        assert_eq!(tap(&ann, &stale).await.state(), ("FAILED", false));
        assert!(!has_inverse(&site, &stale).await);
        assert!(refusal(&site, &ann, "talk", json!({"number": 2})).await.ends_with("There is nothing to undo."));

        done(&site, &ann, "talk", ("pause_check", json!({"check": "a"}))).await;
        // Not from another conversation, nor by anybody else who calls theirs the same.
        assert_eq!(refusal(&site, &ann, "elsewhere", json!({})).await, "Nothing was carried out in this conversation yet.");
        assert_eq!(refusal(&site, &bob, "talk", json!({"number": 3})).await, "There is no action 3 in this conversation.");
        for (arguments, reason) in [(json!({"number": "3"}), "number"), (json!({"action": 3}), "action"), (json!({"number": 0}), "no action 0")] {
            assert!(refusal(&site, &ann, "talk", arguments).await.contains(reason));
        }
        let visitor = site.anonymous().await;
        assert_eq!(refusal(&site, &visitor, "talk", json!({})).await, "Visitors have no tools. They must sign in first.");
        assert_eq!(count(&site, OPEN, "").await, 0);
    }

    async fn what_was_changed_since_is_left_alone(kind) {
        let site = Plan::new(kind).manual_clock().user_limit(100).start().await;
        let ann = site.user("ann", Tier::Free).await;
        let check = new_check(&ann, "a", json!({"tags": ["x"]})).await;
        let other = new_check(&ann, "b", json!({"tags": ["x"]})).await;
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        let edit = async |text: &str| ann.send(Method::PATCH, &path, Some(json!({"description": text}))).await.status();
        let gone_by = "a was changed again since, so this can no longer be undone.";

        // An edit before the undo is proposed, and one between its proposal and its confirmation.
        done(&site, &ann, "talk", ("update_check", json!({"check": "a", "grace_seconds": 700}))).await;
        let ready = undo(&site, &ann, "talk", None).await;
        assert_eq!(edit("one").await, 200);
        assert_eq!(refusal(&site, &ann, "talk", json!({})).await, gone_by);
        assert_eq!(tap(&ann, &ready).await.state(), ("FAILED", false));
        assert_eq!(row(&site, &ready).await.code(), Some("check_changed"));
        assert_eq!(look(&ann, &check).await["grace_seconds"], 700);

        done(&site, &ann, "bulk", ("pause_checks", json!({"tag": "x"}))).await;
        let ready = undo(&site, &ann, "bulk", None).await;
        assert_eq!(edit("two").await, 200);
        assert_eq!(refusal(&site, &ann, "bulk", json!({})).await, gone_by);
        let failed = tap(&ann, &ready).await;
        assert_eq!(failed.state(), ("FAILED", false));
        let message = failed.body["action"]["outcome"]["message"].as_str().unwrap();
        assert!(message.starts_with("a: ") && message.ends_with("None was resumed."), "{message}");
        assert!(!look(&ann, &other).await["paused_at"].is_null(), "all or none");

        // What was undone is not undone twice.
        done(&site, &ann, "twice", ("update_check", json!({"check": "a", "grace_seconds": 800}))).await;
        confirmed(&ann, &undo(&site, &ann, "twice", Some(1)).await).await;
        assert_eq!(refusal(&site, &ann, "twice", json!({"number": 1})).await, gone_by);
        // Nor is a check that is gone.
        let made = done(&site, &ann, "gone", ("create_check", json!({"name": "c", "period_seconds": 3_600}))).await;
        ann.send(Method::DELETE, &format!("/api/checks/{}", made["outcome"]["check_id"].as_str().unwrap()), None).await;
        assert_eq!(refusal(&site, &ann, "gone", json!({})).await, "The check is not there any more.");
    }

    async fn what_would_break_a_rule_now_is_refused_with_it(kind) {
        let site = Plan::new(kind).manual_clock().user_limit(100).start().await;
        let ann = site.user("ann", Tier::Free).await;
        let body = json!({"kind": "webhook", "name": "ops", "url": "https://hooks.example/x"});
        let ops = crate::site::json_of(ann.send(Method::POST, "/api/channels", Some(body)).await).await;
        new_check(&ann, "a", json!({})).await;
        done(&site, &ann, "name", ("update_check", json!({"check": "a", "name": "b"}))).await;
        new_check(&ann, "a", json!({})).await;
        assert_eq!(refusal(&site, &ann, "name", json!({})).await, "There is already a check named a.");
        done(&site, &ann, "told", ("update_check", json!({"check": "b", "channels": []}))).await;
        ann.send(Method::DELETE, &format!("/api/channels/{}", ops["id"].as_str().unwrap()), None).await;
        let told = refusal(&site, &ann, "told", json!({})).await;
        assert_eq!(told, "There is nothing to undo: whom b told before is not there any more.");
        // A pause that has ended by itself, or would have.
        let until = site.now().plus(std::time::Duration::from_hours(1)).rfc3339();
        done(&site, &ann, "pause", ("pause_check", json!({"check": "b", "until": until}))).await;
        done(&site, &ann, "bulk", ("pause_checks", json!({"checks": ["a"], "until": until}))).await;
        site.advance(std::time::Duration::from_hours(1));
        assert_eq!(refusal(&site, &ann, "pause", json!({})).await, "b is not paused.");
        assert_eq!(refusal(&site, &ann, "bulk", json!({})).await, "There is nothing to undo: the pause has ended by itself.");
        let until = site.now().plus(std::time::Duration::from_hours(1)).rfc3339();
        done(&site, &ann, "end", ("pause_check", json!({"check": "b", "until": until}))).await;
        done(&site, &ann, "end", ("resume_check", json!({"check": "b"}))).await;
        site.advance(std::time::Duration::from_hours(1));
        assert!(refusal(&site, &ann, "end", json!({})).await.starts_with("The pause would have ended already"));
    }
}
