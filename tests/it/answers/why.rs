//! Why a check is down, late or paused, and who was told of it.

use std::time::Duration;

use flatline::checks::apply::Effect;
use flatline::checks::history::Kind as PingKind;
use flatline::checks::intake::attend;
use flatline::checks::ping::{Outcome, Ping};
use flatline::checks::store::claims::Ended;
use flatline::checks::tools::ReadKind;
use flatline::limits::Tier;
use serde_json::{Value, json};

use super::ground::{Ground, at, plain};

const START: &str = "2026-12-01T09:00:00Z";

on_both! {
    async fn a_check_is_late_and_then_down_for_a_timeout(kind) {
        let its = Ground::new(kind, Tier::Free, START).await;
        its.pinged("backup", "dumped 48 tables").await;
        its.pass(3_599).await;
        assert_eq!(its.why("backup").await, Value::Null, "up and in time");
        its.pass(1).await;
        let why = its.why("backup").await;
        assert_eq!((&why["state"], &why["reason"]), (&json!("late"), &json!("late")));
        assert_eq!((&why["due_at"], &why["deadline_at"]), (&json!("2026-12-01T10:00:00Z"), &json!("2026-12-01T10:10:00Z")));
        assert_eq!(why["words"], "Its ping was due at 10:00 UTC and has not come. Without one it goes down at 10:10 UTC. \
            Its last ping, a success, came at 09:00 UTC.");

        assert_eq!(its.pass(900).await, 1);
        let why = its.why("backup").await;
        assert_eq!((&why["state"], &why["reason"], &why["since"]), (&json!("down"), &json!("timeout"), &json!("2026-12-01T10:10:00Z")));
        assert_eq!((&why["due_at"], &why["deadline_at"]), (&json!("2026-12-01T10:00:00Z"), &json!("2026-12-01T10:10:00Z")));
        assert_eq!((&why["last_ping"]["at"], &why["last_ping"]["kind"]), (&json!(START), &json!("success")));
        assert_eq!(why["last_ping"]["body"], "dumped 48 tables");
        assert_eq!(why["words"], "No ping came in time: it was due at 10:00 UTC, and its grace of 10 minutes was over at \
            10:10 UTC. Its last ping, a success, came at 09:00 UTC.");
        assert_eq!((&why["hints"], why.get("run"), why.get("outage"), why.get("before")), (&json!([]), None, None, None));
    }

    async fn a_fail_and_an_exit_status_say_so(kind) {
        let its = Ground::new(kind, Tier::Pro, START).await;
        let failing = its.pinged("failing", "").await;
        let ending = its.pinged("ending", "").await;
        its.pass(120).await;
        its.ping(&failing, PingKind::Fail, "disk full").await;
        its.send(&ending, Ping { exit_status: Some(3), body: b"no such host".to_vec(), ..plain(PingKind::Fail) }).await;
        let why = its.why("failing").await;
        assert_eq!((&why["reason"], &why["since"], &why["due_at"]), (&json!("fail"), &json!("2026-12-01T09:02:00Z"), &Value::Null));
        assert_eq!((&why["words"], &why["last_ping"]["body"]), (&json!("Its job reported a failure at 09:02 UTC."), &json!("disk full")));
        let why = its.why("ending").await;
        assert_eq!((&why["reason"], &why["last_ping"]["exit_status"]), (&json!("exit"), &json!(3)));
        assert_eq!(why["words"], "Its job ended with exit status 3 at 09:02 UTC.");

        // More fails do not move what took it down; log pings do not hide the last that counted.
        its.pass(60).await;
        its.ping(&failing, PingKind::Fail, "disk still full").await;
        for _ in 0..12 {
            its.pass(60).await;
            its.ping(&failing, PingKind::Log, "").await;
        }
        let found = its.read(ReadKind::GetCheck, json!({"check": "failing"})).await.unwrap();
        let why = &found.result["why"];
        assert_eq!((&why["since"], &why["failures_in_row"]), (&json!("2026-12-01T09:02:00Z"), &json!(2)));
        assert_eq!(why["words"], "Its job reported a failure at 09:02 UTC. That makes 2 fails in a row by now. \
            Its last ping, a fail, came at 09:03 UTC.");
        let recent = found.result["recent_pings"].as_array().unwrap();
        assert!(recent.len() == 10 && recent.iter().all(|ping| ping["kind"] == "log" && ping["body"] == ""));
        assert!(found.has_foreign_text, "the body that is quoted in why is not ours");
        its.ping(&failing, PingKind::Success, "").await;
        assert_eq!(its.why("failing").await, Value::Null);
    }

    async fn a_run_that_took_too_long_is_named(kind) {
        let its = Ground::new(kind, Tier::Pro, START).await;
        let spec = |name: &str| json!({"name": name, "period_seconds": 3_600, "grace_seconds": 600, "max_runtime_seconds": 900});
        let (plain_run, named_run) = (its.check(spec("plain")).await, its.check(spec("named")).await);
        for check in [&plain_run, &named_run] {
            its.ping(check, PingKind::Success, "").await;
        }
        its.pass(60).await;
        its.ping(&plain_run, PingKind::Start, "").await;
        let rid = |rid: &str, kind| Ping { rid: Some(rid.to_owned()), ..plain(kind) };
        let (hanging, quick) = ("0190a000-0000-7000-8000-000000000001", "0190a000-0000-7000-8000-000000000002");
        its.send(&named_run, rid(hanging, PingKind::Start)).await;
        its.pass(120).await;
        its.send(&named_run, rid(quick, PingKind::Start)).await;
        its.pass(60).await;
        its.send(&named_run, rid(quick, PingKind::Success)).await;
        assert_eq!(its.pass(900).await, 2);
        for name in ["plain", "named"] {
            let why = its.why(name).await;
            assert_eq!((&why["reason"], &why["deadline_at"], &why["due_at"]), (&json!("timeout"), &json!("2026-12-01T09:16:00Z"), &Value::Null), "{name}");
            assert_eq!(why["run"], json!({"started_at": "2026-12-01T09:01:00Z", "allowed_seconds": 900}), "{name}");
            let words = why["words"].as_str().unwrap();
            assert!(words.starts_with("A run that began at 09:01 UTC did not end within 15 minutes, so it went down at 09:16 UTC."), "{words}");
        }
        // After an edit none fits to the millisecond: then it is the last that has not ended.
        for (check, name) in [(&plain_run, "plain"), (&named_run, "named")] {
            let longer = serde_json::from_value(json!({"max_runtime_seconds": 1_200})).unwrap();
            let alerts = flatline::checks::alerts::AlertChanges::default();
            its.run(Effect::UpdateCheck { check: check.id.clone(), config_version: None, changes: longer, alerts, shown: None }).await.unwrap();
            assert_eq!(its.why(name).await["run"]["started_at"], "2026-12-01T09:01:00Z", "{name}");
        }
    }

    async fn our_own_absence_is_owned(kind) {
        let its = Ground::new(kind, Tier::Free, START).await;
        its.pinged("backup", "").await;
        // Nobody listens from 09:00 to 11:00.
        its.clock.advance(Duration::from_hours(2));
        assert!(attend(its.db(), &*its.clock).await.unwrap().is_some());
        let outage = json!({"from": START, "to": "2026-12-01T11:00:00Z"});
        let why = its.why("backup").await;
        assert_eq!((&why["state"], &why["outage"]), (&json!("late"), &outage));
        assert!(why["words"].as_str().unwrap().contains("This service was away from 09:00 UTC to 11:00 UTC and took no pings in"), "{why}");
        assert_eq!(its.pass(600).await, 1);
        let why = its.why("backup").await;
        assert_eq!((&why["state"], &why["reason"], &why["outage"]), (&json!("down"), &json!("timeout"), &outage));
        assert_eq!((&why["due_at"], &why["deadline_at"]), (&json!("2026-12-01T11:00:00Z"), &json!("2026-12-01T11:10:00Z")));
        // Another absence, later, is not the reason.
        its.pass(60).await;
        its.clock.advance(Duration::from_mins(10));
        assert!(attend(its.db(), &*its.clock).await.unwrap().is_some());
        assert_eq!(its.why("backup").await["outage"], outage);
    }

    async fn a_pause_is_told_of_first_and_what_was_before_it(kind) {
        let its = Ground::new(kind, Tier::Free, START).await;
        let check = its.pinged("backup", "").await;
        its.pass(60).await;
        its.ping(&check, PingKind::Fail, "").await;
        its.pass(60).await;
        let until = Some(at("2026-12-01T14:00:00Z"));
        its.run(Effect::PauseCheck { check: check.id.clone(), config_version: None, until }).await.unwrap();
        let why = its.why("backup").await;
        assert_eq!((&why["state"], &why["since"], &why["until"]), (&json!("paused"), &json!("2026-12-01T09:02:00Z"), &json!("2026-12-01T14:00:00Z")));
        assert_eq!(why["words"], "It is paused since 09:02 UTC, until 14:00 UTC. Pings are noted only meanwhile.");
        assert_eq!((&why["before"]["state"], &why["before"]["reason"]), (&json!("down"), &json!("fail")));
        // It ends by itself, whether that was tidied or not.
        its.clock.set(at("2026-12-01T14:00:00Z"));
        assert_eq!(its.why("backup").await["state"], "down");
    }

    async fn a_ping_that_did_not_count_and_a_clock_that_is_another_are_hinted_at(kind) {
        let its = Ground::new(kind, Tier::Free, START).await;
        let check = its.pinged("backup", "").await;
        its.pass(100).await;
        assert!(matches!(its.ping(&check, PingKind::Success, "").await, Outcome::TooSoon(_)));
        its.pass(4_200).await;
        let hint = "A ping at 09:01:40 UTC came too soon after the one before and did not count: one of a kind is accepted \
            every 5 minutes.";
        assert_eq!(its.why("backup").await["hints"], json!([hint]));
        its.ping(&check, PingKind::Success, "").await;
        its.pass(4_200).await;
        assert_eq!(its.why("backup").await["hints"], json!([]), "one has counted since");

        // It runs at 12:30 UTC, and the schedule says 12:30 in Berlin, which is 11:30 UTC.
        let nightly = json!({"name": "nightly", "cron": "30 12 * * *", "timezone": "Europe/Berlin", "grace_seconds": 1_800});
        let nightly = its.check(nightly).await;
        its.clock.set(at("2026-12-01T12:31:00Z"));
        its.ping(&nightly, PingKind::Success, "").await;
        its.clock.set(at("2026-12-02T12:00:00Z"));
        assert_eq!(its.pass(0).await, 1);
        let hint = "The last success came when the schedule names it in UTC, not in Europe/Berlin: perhaps the job's clock \
            is in UTC.";
        assert_eq!(its.why("nightly").await["hints"], json!([hint]));
    }

    async fn who_was_told_is_told_with_the_failures(kind) {
        let its = Ground::new(kind, Tier::Free, START).await;
        let (ops, _pager) = (its.channel("ops").await, its.channel("pager").await);
        let check = its.pinged("backup", "").await;
        its.pass(4_200).await;
        its.deliver(&Ended::Retry { at: its.now().plus(Duration::from_secs(10)), reason: "HTTP 500".to_owned() }).await;
        let told = its.get("backup").await["told"].clone();
        assert_eq!(told.as_array().unwrap().len(), 2);
        for one in told.as_array().unwrap() {
            assert_eq!((&one["event"], &one["kind"], &one["status"], &one["attempts"]), (&json!("check.down"), &json!("webhook"), &json!("pending"), &json!(1)));
            assert_eq!((&one["last_error"], &one["finished_at"]), (&json!("HTTP 500"), &Value::Null));
            assert_eq!((&one["created_at"], &one["next_attempt_at"]), (&json!("2026-12-01T10:10:00Z"), &json!("2026-12-01T10:10:10Z")));
        }
        its.pass(10).await;
        its.deliver(&Ended::Failed { reason: "connection refused".to_owned() }).await;
        its.pass(590).await;
        its.ping(&check, PingKind::Success, "").await;
        its.deliver(&Ended::Sent).await;
        let found = its.get("backup").await;
        let told: Vec<Value> = found["told"].as_array().unwrap().iter()
            .map(|one| json!([one["event"], one["status"], one["attempts"], one["last_error"], one["next_attempt_at"]])).collect();
        let up = json!(["check.up", "sent", 1, null, null]);
        let down = json!(["check.down", "failed", 2, "connection refused", null]);
        assert_eq!(told, [up.clone(), up, down.clone(), down], "newest first");
        let names: Vec<&str> = found["told"].as_array().unwrap().iter().map(|one| one["channel"].as_str().unwrap()).collect();
        assert!(names[..2].contains(&"ops") && names[2..].contains(&"pager"), "{names:?}");
        let channels: Vec<&Value> = found["channels"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!((channels, &found["channels"][0]["id"]), (vec![&json!("ops"), &json!("pager")], &json!(ops.channel.id)));
        assert_eq!((&found["alert_after_failures"], &found["reminder_seconds"], &found["floor_seconds"]), (&json!(1), &Value::Null, &json!(300)));
        // At most ten.
        for _ in 0..4 {
            its.pass(300).await;
            its.ping(&check, PingKind::Fail, "").await;
            its.pass(300).await;
            its.ping(&check, PingKind::Success, "").await;
        }
        assert_eq!(its.get("backup").await["told"].as_array().unwrap().len(), 10);
    }
}
