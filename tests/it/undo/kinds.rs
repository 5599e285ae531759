//! Each kind of change is taken back, and the taking back too.

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::{Value, json};

use super::{card, confirmed, done, has_inverse, look, undo};
use crate::proposals::{names, new_check};
use crate::site::{Plan, Site, Visitor, json_of};

async fn channel(who: &Visitor, name: &str) -> Value {
    let body = json!({"kind": "webhook", "name": name, "url": "https://hooks.example/x"});
    json_of(who.send(Method::POST, "/api/channels", Some(body)).await).await
}

async fn ping(site: &Site, who: &Visitor, check: &Value) {
    who.post(check["ping_url"].as_str().unwrap().strip_prefix(&site.base(0)).unwrap()).await;
}

on_both! {
    async fn every_setting_of_an_update_goes_back_and_forth(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ann = site.user("ann", Tier::Free).await;
        let (ops, pager) = (channel(&ann, "ops").await, channel(&ann, "pager").await);
        let settings = json!({"tags": ["db"], "description": "Dumps it.", "max_runtime_seconds": 900,
            "channels": [ops["id"]], "reminder_seconds": 7_200});
        let check = new_check(&ann, "backup", settings).await;
        let before = look(&ann, &check).await;
        let change = json!({"check": "backup", "name": "dump", "cron": "30 2 * * *", "timezone": "Europe/Berlin",
            "grace_seconds": 1_800, "max_runtime_seconds": null, "tags": [], "description": "", "channels": ["pager", "ops"],
            "alert_after_failures": 2, "reminder_seconds": null});
        let action = done(&site, &ann, "talk", ("update_check", change)).await;
        let after = look(&ann, &check).await;
        assert_eq!((&after["name"], &after["cron"], &after["channels"]), (&json!("dump"), &json!("30 2 * * *"), &json!([ops["id"], pager["id"]])));
        assert!(has_inverse(&site, &action).await);

        let back = undo(&site, &ann, "talk", None).await;
        assert_eq!((&back["kind"], &back["status"], &back["number"]), (&json!("update_check"), &json!("PENDING"), &json!(2)));
        assert!(back["summary"].as_str().unwrap().starts_with("This undoes action 1 (Change backup). "), "{back}");
        let lines: Vec<String> = back["changes"].as_array().unwrap().iter()
            .map(|line| format!("{}: {} → {}", line["field"], line["before"], line["after"])).collect();
        for line in [r#""name": "dump" → "backup""#, r#""grace": "30 minutes" → "1 hour""#, r#""longest run": null → "15 minutes""#,
            r#""tags": null → "\"db\"""#, r#""told": "ops (webhook), pager (webhook)" → "ops (webhook)""#,
            r#""down after": "2 fails in a row" → "the first fail""#, r#""reminders": null → "every 2 hours while it is down""#] {
            assert!(lines.contains(&line.to_owned()), "{line} in {lines:?}");
        }
        assert_eq!(look(&ann, &check).await, after, "nothing has changed yet");
        confirmed(&ann, &back).await;
        assert_eq!(look(&ann, &check).await, before);
        // An undo of the undo, by number and as the last one.
        let again = undo(&site, &ann, "talk", None).await;
        assert!(again["summary"].as_str().unwrap().starts_with("This undoes action 2 (Change dump). "));
        confirmed(&ann, &again).await;
        assert_eq!(look(&ann, &check).await, after);
        confirmed(&ann, &undo(&site, &ann, "talk", Some(3)).await).await;
        assert_eq!(look(&ann, &check).await, before);
    }

    async fn a_schedule_by_the_clock_comes_back_with_its_zone(kind) {
        let site = Site::start(kind).await;
        let ann = site.user("ann", Tier::Free).await;
        let body = json!({"name": "nightly", "cron": "30 2 * * *", "timezone": "Asia/Kolkata"});
        let check = json_of(ann.send(Method::POST, "/api/checks", Some(body)).await).await;
        let before = look(&ann, &check).await;
        for change in [json!({"period_seconds": 86_400}), json!({"timezone": "UTC"}), json!({"cron": "0 3 * * *"})] {
            let mut call = change.clone();
            call["check"] = json!("nightly");
            done(&site, &ann, "talk", ("update_check", call)).await;
            assert_ne!(look(&ann, &check).await, before);
            confirmed(&ann, &undo(&site, &ann, "talk", None).await).await;
            assert_eq!(look(&ann, &check).await, before, "{change}");
        }
    }

    async fn a_pause_and_its_end_are_taken_back_as_they_were(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ann = site.user("ann", Tier::Free).await;
        let check = new_check(&ann, "backup", json!({})).await;
        ping(&site, &ann, &check).await;
        let pause_of = async || { let check = look(&ann, &check).await; (!check["paused_at"].is_null(), check["paused_until"].clone()) };
        let until = json!(site.now().plus(std::time::Duration::from_hours(2)).rfc3339());
        let later = json!(site.now().plus(std::time::Duration::from_hours(5)).rfc3339());
        done(&site, &ann, "talk", ("pause_check", json!({"check": "backup", "until": until}))).await;
        let back = undo(&site, &ann, "talk", None).await;
        assert_eq!(back["kind"], "resume_check");
        confirmed(&ann, &back).await;
        assert_eq!(pause_of().await, (false, Value::Null));
        let again = undo(&site, &ann, "talk", None).await;
        assert_eq!(again["kind"], "pause_check");
        confirmed(&ann, &again).await;
        assert_eq!(pause_of().await, (true, until.clone()));
        // A longer pause over it goes back to the shorter one …
        done(&site, &ann, "talk", ("pause_check", json!({"check": "backup", "until": later}))).await;
        confirmed(&ann, &undo(&site, &ann, "talk", None).await).await;
        assert_eq!(pause_of().await, (true, until.clone()));
        // … and to none once the shorter one would be over.
        done(&site, &ann, "talk", ("pause_check", json!({"check": "backup"}))).await;
        site.advance(std::time::Duration::from_hours(3));
        let back = undo(&site, &ann, "talk", None).await;
        assert_eq!(back["kind"], "resume_check");
        confirmed(&ann, &back).await;
        assert_eq!(pause_of().await, (false, Value::Null));
    }

    async fn a_new_check_is_deleted_as_any_other(kind) {
        let site = Site::start(kind).await;
        let ann = site.user("ann", Tier::Free).await;
        let made = done(&site, &ann, "talk", ("create_check", json!({"name": "backup", "period_seconds": 3_600}))).await;
        let check = ann.get(&format!("/api/checks/{}", made["outcome"]["check_id"].as_str().unwrap())).await;
        // A ping is no edit.
        ping(&site, &ann, &check).await;
        let back = undo(&site, &ann, "talk", None).await;
        assert_eq!((&back["kind"], &back["title"], &back["destructive"]), (&json!("delete_check"), &json!("Delete backup"), &json!(true)));
        assert!(back["warnings"][1].as_str().unwrap().contains("It is alive"), "{back}");
        // As for any deletion, the bare word is not enough.
        ann.chat("talk", &crate::proposals::new_id(), "confirm").await;
        assert_eq!(names(&ann).await, ["backup"]);
        confirmed(&ann, &back).await;
        assert!(names(&ann).await.is_empty());
        assert!(!has_inverse(&site, &back).await);
    }

    async fn a_bulk_pause_ends_as_one_and_leaves_earlier_pauses(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ann = site.user("ann", Tier::Free).await;
        let mut checks = Vec::new();
        for name in ["a", "b", "c"] {
            let check = new_check(&ann, name, json!({"tags": ["db"]})).await;
            ping(&site, &ann, &check).await;
            checks.push(check);
        }
        let earlier = json!(site.now().plus(std::time::Duration::from_hours(9)).rfc3339());
        let path = format!("/api/checks/{}/pause", checks[2]["id"].as_str().unwrap());
        ann.send(Method::POST, &path, Some(json!({"until": earlier}))).await;
        let pauses = async || {
            let mut pauses = Vec::new();
            for check in &checks {
                let check = look(&ann, check).await;
                pauses.push((!check["paused_at"].is_null(), check["paused_until"].clone()));
            }
            pauses
        };
        let before = pauses().await;
        let until = json!(site.now().plus(std::time::Duration::from_hours(2)).rfc3339());
        done(&site, &ann, "talk", ("pause_checks", json!({"tag": "db", "until": until}))).await;
        assert_eq!(pauses().await, vec![(true, until.clone()); 3]);
        let back = undo(&site, &ann, "talk", None).await;
        assert_eq!((&back["kind"], &back["destructive"]), (&json!("resume_checks"), &json!(false)));
        assert_eq!(back["title"], "Take the pause back from 3 checks: a, b, c");
        let lines = back["changes"].as_array().unwrap();
        assert!(lines[2]["after"].as_str().unwrap().starts_with("until ") && lines[0]["after"] == "none", "{lines:?}");
        let action = confirmed(&ann, &back).await;
        assert_eq!(action["outcome"]["message"], "Took the pause back from 3 checks: a, b, c");
        assert_eq!(pauses().await, before);
        let again = undo(&site, &ann, "talk", None).await;
        assert_eq!((&again["kind"], &again["destructive"]), (&json!("pause_checks"), &json!(true)));
        confirmed(&ann, &again).await;
        assert_eq!(pauses().await, vec![(true, until); 3]);
    }

    /// The last action is the one that was carried out last, not the one that was proposed last.
    async fn the_last_action_is_the_one_carried_out_last(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ann = site.user("ann", Tier::Free).await;
        new_check(&ann, "a", json!({})).await;
        new_check(&ann, "b", json!({})).await;
        let first = card(&site, &ann, "talk", ("pause_check", json!({"check": "a"}))).await;
        done(&site, &ann, "talk", ("pause_check", json!({"check": "b"}))).await;
        site.advance(std::time::Duration::from_secs(1));
        confirmed(&ann, &first).await;
        card(&site, &ann, "talk", ("pause_check", json!({"check": "a", "until": site.now().plus(std::time::Duration::from_hours(1)).rfc3339()}))).await;
        assert_eq!(undo(&site, &ann, "talk", None).await["title"], "Resume a");
        assert_eq!(undo(&site, &ann, "talk", Some(2)).await["title"], "Resume b");
    }
}
