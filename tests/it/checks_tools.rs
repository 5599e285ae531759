//! What a model's tool calls on checks come to: drafts with their previews, and what the read tools tell.

use std::sync::Arc;
use std::time::Duration;

use flatline::checks::apply::Effect;
use flatline::checks::draft::{Draft, Preview, ProposalKind, draft};
use flatline::checks::history::Kind as PingKind;
use flatline::checks::ping::{Ping, ping};
use flatline::checks::read::{Found, read};
use flatline::checks::sample::create_samples;
use flatline::checks::store::{Listing, list_checks};
use flatline::checks::tools::{ReadKind, Tool, tool_schema};
use flatline::checks::{CheckError, Refusal, Status};
use flatline::clock::{ManualClock, Millis, SharedClock};
use flatline::db::Db;
use flatline::ids::UserId;
use flatline::limits::Tier;
use serde_json::{Map, Value, json};

use crate::checks_flow::{NOW, account, count, find, hourly, later, run};
use crate::database::fresh;

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("not an object") };
    object
}

fn refused<T>(result: Result<T, CheckError>) -> Refusal {
    match result {
        Err(CheckError::Refused(refusal)) => refusal,
        Err(CheckError::Db(error)) => panic!("the database refused: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

struct Account {
    db: Db,
    owner: UserId,
}

impl Account {
    async fn draft(&self, kind: ProposalKind, arguments: Value) -> Result<Draft, CheckError> {
        draft(&self.db, later(60), &self.owner, kind, object(arguments)).await
    }

    async fn preview(&self, kind: ProposalKind, arguments: Value) -> Preview {
        self.draft(kind, arguments).await.expect("a draft").preview
    }

    async fn refusal(&self, kind: ProposalKind, arguments: Value) -> String {
        refused(self.draft(kind, arguments).await).code
    }

    async fn read(&self, kind: ReadKind, arguments: Value) -> Result<Found, CheckError> {
        read(&self.db, later(60), &self.owner, kind, object(arguments)).await
    }

    async fn found(&self, kind: ReadKind, arguments: Value) -> Value {
        self.read(kind, arguments).await.expect("found").result
    }

    async fn ping(&self, key: &str, kind: PingKind, body: &str, at: Millis) {
        let clock: SharedClock = Arc::new(ManualClock::new(at));
        let (remote, body) = ("192.0.2.1".to_owned(), body.as_bytes().to_vec());
        let sent = Ping { kind, exit_status: None, rid: None, remote, body, body_length: 0 };
        ping(&self.db, &clock, key, sent).await.expect("an answer");
    }
}

/// `field: before → after` of each change.
fn lines(preview: &Preview) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
    preview.changes.iter().map(|c| format!("{}: {} → {}", c.field, text(&c.before), text(&c.after))).collect()
}

on_both! {
    async fn a_create_is_shown_whole(kind) {
        let fresh = fresh(kind).await;
        let its = Account { db: fresh.db.clone(), owner: account(&fresh.db, Tier::Free).await };
        let arguments = json!({"name": "nightly-backup", "period_seconds": 86_400, "tags": ["db", "a, b"]});
        let draft = its.draft(ProposalKind::CreateCheck, arguments).await.expect("a draft");
        assert_eq!((draft.kind, draft.check_id, draft.config_version), ("create_check", None, None));
        assert_eq!(draft.preview.title, "Create nightly-backup");
        assert_eq!(lines(&draft.preview), [
            "name: – → nightly-backup",
            "schedule: – → every day",
            "grace: – → 1 hour",
            r#"tags: – → "db", "a, b""#,
            "told: – → nobody",
            "checks used: 0 of 20 → 1 of 20",
        ]);
        assert!(!draft.preview.destructive);
        assert_eq!(count(&fresh.db, &its.owner).await, (0, 0), "a draft writes nothing");
        // What was drafted survives its storage, and is what runs.
        let stored = serde_json::to_string(&draft.effect).expect("JSON");
        let effect: Effect = serde_json::from_str(&stored).expect("an effect");
        assert_eq!(effect, draft.effect);
        run(&fresh.db, NOW, &its.owner, effect).await.expect("created");
    }

    async fn what_could_not_be_done_now_is_no_draft(kind) {
        let fresh = fresh(kind).await;
        let its = Account { db: fresh.db.clone(), owner: account(&fresh.db, Tier::Free).await };
        hourly(&fresh.db, &its.owner, "a").await;
        hourly(&fresh.db, &its.owner, "b").await;
        let stranger = account(&fresh.db, Tier::Free).await;
        let theirs = hourly(&fresh.db, &stranger, "theirs").await.id.to_string();
        let until = later(30).rfc3339();
        let tight = json!({"name": "c", "period_seconds": 300, "grace_seconds": 60});
        for (kind, arguments, code) in [
            (ProposalKind::CreateCheck, json!({"name": "a", "period_seconds": 3_600}), "name_taken"),
            (ProposalKind::CreateCheck, json!({"name": "c", "period_seconds": 60}), "invalid_field"),
            (ProposalKind::CreateCheck, tight, "invalid_field"),
            (ProposalKind::CreateCheck, json!({"name": "c", "cron": "* * * * *"}), "invalid_field"),
            (ProposalKind::CreateCheck, json!({"name": "c\u{200b}", "period_seconds": 300}), "invalid_field"),
            (ProposalKind::CreateCheck, json!({}), "invalid_field"),
            (ProposalKind::UpdateCheck, json!({"name": "c"}), "invalid_field"),
            (ProposalKind::UpdateCheck, json!({"check": "none", "name": "c"}), "check_not_found"),
            (ProposalKind::UpdateCheck, json!({"check": theirs, "name": "c"}), "check_not_found"),
            (ProposalKind::UpdateCheck, json!({"check": "theirs", "name": "c"}), "check_not_found"),
            (ProposalKind::UpdateCheck, json!({"check": "a\u{0}", "name": "c"}), "check_not_found"),
            (ProposalKind::UpdateCheck, json!({"check": "a", "name": "b"}), "name_taken"),
            (ProposalKind::UpdateCheck, json!({"check": "a", "name": "a", "grace_seconds": 600}), "nothing_to_change"),
            (ProposalKind::UpdateCheck, json!({"check": "a"}), "nothing_to_change"),
            (ProposalKind::UpdateCheck, json!({"check": "a", "period_seconds": 200}), "invalid_field"),
            (ProposalKind::UpdateCheck, json!({"check": "a", "status": "up"}), "unknown_field"),
            (ProposalKind::PauseCheck, json!({"check": "a", "until": until}), "invalid_field"),
            (ProposalKind::PauseCheck, json!({"check": "a", "until": "tomorrow"}), "invalid_field"),
            (ProposalKind::ResumeCheck, json!({"check": "a"}), "nothing_to_change"),
            (ProposalKind::PauseChecks, json!({}), "invalid_field"),
            (ProposalKind::PauseChecks, json!({"checks": ["a"], "tag": "x"}), "invalid_field"),
            (ProposalKind::PauseChecks, json!({"checks": ["a", "none"]}), "check_not_found"),
            (ProposalKind::PauseChecks, json!({"checks": []}), "nothing_to_change"),
            (ProposalKind::PauseChecks, json!({"tag": "none"}), "check_not_found"),
            (ProposalKind::DeleteCheck, json!({"check": "none"}), "check_not_found"),
            (ProposalKind::RotatePingKey, json!({"check": theirs}), "check_not_found"),
        ] {
            assert_eq!(its.refusal(kind, arguments.clone()).await, code, "{kind:?} {arguments}");
        }
        for n in 0..18 {
            hourly(&fresh.db, &its.owner, &format!("check {n}")).await;
        }
        let one_more = json!({"name": "c", "period_seconds": 3_600});
        assert_eq!(its.refusal(ProposalKind::CreateCheck, one_more).await, "check_limit_reached");
    }

    async fn an_edit_says_whether_it_flips_the_check(kind) {
        let fresh = fresh(kind).await;
        let its = Account { db: fresh.db.clone(), owner: account(&fresh.db, Tier::Free).await };
        let check = hourly(&fresh.db, &its.owner, "a").await;
        let shorter = json!({"check": "a", "period_seconds": 300, "grace_seconds": 300});
        let preview = its.preview(ProposalKind::UpdateCheck, shorter.clone()).await;
        assert_eq!(preview.summary, "a stays new and waits for its first ping.");
        assert_eq!(lines(&preview), ["schedule: every hour → every 5 minutes", "grace: 10 minutes → 5 minutes"]);

        its.ping(&check.ping_key, PingKind::Success, "", NOW.minus(Duration::from_mins(50))).await;
        let preview = its.preview(ProposalKind::UpdateCheck, shorter.clone()).await;
        assert_eq!(preview.summary, "a is up now and goes down.");
        assert_eq!(preview.warnings, ["This takes a down at once: its last ping came at 13:23:20 UTC."]);

        let longer = json!({"check": check.id, "period_seconds": 7_200});
        let draft = its.draft(ProposalKind::UpdateCheck, longer).await.expect("a draft");
        let summary = "a stays up. Its next ping is due at 15:23:20 UTC; without one it goes down at 15:33:20 UTC.";
        assert_eq!((draft.preview.summary.as_str(), draft.preview.warnings.len()), (summary, 0));
        assert_eq!((draft.check_id, draft.config_version), (Some(check.id.clone()), Some(1)));

        let rename = json!({"check": "a", "name": "b", "period_seconds": 3_600});
        let preview = its.preview(ProposalKind::UpdateCheck, rename).await;
        assert_eq!((preview.summary.as_str(), preview.changes.len()), ("a goes on as it is, up.", 1));
        assert_eq!(lines(&preview), ["name: a → b"]);

        its.ping(&check.ping_key, PingKind::Fail, "", later(1)).await;
        let preview = its.preview(ProposalKind::UpdateCheck, shorter).await;
        assert_eq!(preview.summary, "a stays down; only a success ping brings a check up.");
    }

    async fn pauses_and_ends_are_shown_with_what_they_cost(kind) {
        let fresh = fresh(kind).await;
        let its = Account { db: fresh.db.clone(), owner: account(&fresh.db, Tier::Free).await };
        let check = hourly(&fresh.db, &its.owner, "a").await;
        hourly(&fresh.db, &its.owner, "b").await;
        its.ping(&check.ping_key, PingKind::Success, "", NOW).await;

        let until = later(7_200).rfc3339();
        let preview = its.preview(ProposalKind::PauseCheck, json!({"check": "a", "until": until})).await;
        assert_eq!((preview.title.as_str(), preview.destructive), ("Pause a until 16:13:20 UTC", false));
        assert_eq!(lines(&preview), ["pause: none → until 16:13:20 UTC"]);

        let draft = its.draft(ProposalKind::PauseChecks, json!({"checks": ["b", "a", "b"]})).await.expect("a draft");
        assert_eq!((draft.preview.title.as_str(), draft.preview.destructive), ("Pause 2 checks: b, a", true));
        assert_eq!(lines(&draft.preview), ["pause of b: none → until resumed", "pause of a: none → until resumed"]);
        run(&fresh.db, later(1), &its.owner, draft.effect).await.expect("paused");
        assert_eq!(its.refusal(ProposalKind::PauseCheck, json!({"check": "a"})).await, "nothing_to_change");
        assert_eq!(its.refusal(ProposalKind::PauseChecks, json!({"checks": ["a", "b"]})).await, "nothing_to_change");
        let preview = its.preview(ProposalKind::ResumeCheck, json!({"check": "a"})).await;
        assert_eq!(lines(&preview), ["pause: until resumed → none"]);

        let preview = its.preview(ProposalKind::DeleteCheck, json!({"check": "a"})).await;
        assert!(preview.destructive && preview.summary.contains("all its recorded pings and flips"));
        let lost = ["check: a → –", "last ping: 14:13:20 UTC → –", "checks used: 2 of 20 → 1 of 20"];
        assert_eq!(lines(&preview), lost);
        assert!(preview.warnings[0].contains("A pause would silence it and keep everything."));
        assert_eq!(preview.warnings[1], "It is alive: its last ping came at 14:13:20 UTC.");

        let preview = its.preview(ProposalKind::RotatePingKey, json!({"check": "a"})).await;
        let shown = serde_json::to_string(&preview).expect("JSON");
        assert!(preview.destructive && shown.contains("stops working at once") && !shown.contains(&check.ping_key));
    }

    async fn the_read_tools_tell_of_own_checks_without_their_urls(kind) {
        let fresh = fresh(kind).await;
        let its = Account { db: fresh.db.clone(), owner: account(&fresh.db, Tier::Pro).await };
        let check = hourly(&fresh.db, &its.owner, "a").await;
        hourly(&fresh.db, &its.owner, "b").await;
        let stranger = account(&fresh.db, Tier::Free).await;
        let theirs = hourly(&fresh.db, &stranger, "theirs").await;
        let tagged = crate::checks_flow::update(&check.id, None, json!({"tags": ["db", "%"]}));
        run(&fresh.db, NOW, &its.owner, tagged).await.expect("tagged");
        let quiet = its.read(ReadKind::GetCheck, json!({"check": "a"})).await.expect("found");
        assert!(!quiet.has_foreign_text);

        its.ping(&check.ping_key, PingKind::Success, "", NOW).await;
        its.ping(&check.ping_key, PingKind::Fail, &format!("{}the end", "é".repeat(600)), later(1)).await;
        let list = its.found(ReadKind::ListChecks, json!({})).await;
        assert_eq!((&list["used"], &list["limit"]), (&json!(2), &json!(100)));
        let names = |list: &Value| -> Vec<String> {
            let checks = list["checks"].as_array().expect("checks");
            checks.iter().map(|check| check["name"].as_str().unwrap_or("?").to_owned()).collect()
        };
        for (filter, expected) in [
            (json!({"state": "down"}), vec!["a"]),
            (json!({"state": "new"}), vec!["b"]),
            (json!({"state": "up"}), vec![]),
            (json!({"state": "late"}), vec![]),
            (json!({"state": "paused"}), vec![]),
            (json!({"state": "started"}), vec![]),
            (json!({"state": "rejected"}), vec![]),
            (json!({"tag": "db"}), vec!["a"]),
            (json!({"tag": "%"}), vec!["a"]),
            (json!({"tag": "d"}), vec![]),
            (json!({"tag": "db", "state": "new"}), vec![]),
        ] {
            assert_eq!(names(&its.found(ReadKind::ListChecks, filter.clone()).await), expected, "{filter}");
        }
        let one = its.read(ReadKind::GetCheck, json!({"check": check.id})).await.expect("found");
        assert!(one.has_foreign_text);
        assert_eq!(one.result["check"]["status"], "down");
        assert_eq!(one.result["recent_flips"][0]["reason"], "fail");
        let body = one.result["recent_pings"][0]["body"].as_str().expect("a body");
        assert!(body.chars().count() == 500 && body.ends_with("the end"), "{body}");
        for result in [&list, &one.result] {
            let told = result.to_string();
            assert!(!told.contains(&check.ping_key) && !told.contains("/ping/"), "{told}");
        }
        its.ping(&check.ping_key, PingKind::Fail, "", later(2)).await;
        assert_eq!(names(&its.found(ReadKind::ListChecks, json!({"state": "rejected"})).await), ["a"], "one came too soon");
        let hook = json!({"kind": "webhook", "name": "ops", "url": "https://hooks.example/secret"});
        let spec = serde_json::from_value(hook).expect("a channel");
        flatline::checks::channels::create(&fresh.db, NOW, &its.owner, false, spec).await.expect("a channel");
        let account = its.found(ReadKind::GetAccount, json!({})).await;
        assert_eq!(account["channels"], json!([{"name": "ops", "kind": "webhook"}]), "and not where it leads to");
        assert_eq!((&account["tier"], &account["floor_seconds"]), (&json!("pro"), &json!(60)));
        assert_eq!(account["checks"], json!({"used": 2, "limit": 100}));

        for check in [json!(theirs.id), json!("theirs"), json!("none"), json!("x".repeat(70_000))] {
            let refusal = refused(its.read(ReadKind::GetCheck, json!({"check": check})).await);
            assert_eq!(refusal.code, "check_not_found");
        }
        assert_eq!(refused(its.read(ReadKind::ListChecks, json!({"owner": "x"})).await).code, "unknown_field");
        assert_eq!(refused(its.read(ReadKind::ListChecks, json!({"state": "dead"})).await).code, "invalid_field");
        assert_eq!(refused(its.read(ReadKind::GetAccount, json!({"id": 1})).await).code, "unknown_field");
    }

    async fn a_fresh_account_has_samples_of_every_state(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        create_samples(&fresh.db, NOW, &owner).await.expect("samples");
        let listing = Listing { limit: 10, ..Listing::default() };
        let checks = list_checks(&fresh.db, &owner, &listing).await.expect("a read");
        let states: Vec<(&str, Status)> = checks.iter().map(|check| (check.name.as_str(), check.status)).collect();
        assert_eq!(states[0], ("queue-worker", Status::New));
        assert_eq!(states[1..], [("invoice-export", Status::Down), ("nightly-backup", Status::Up)]);
        assert!(checks[2].deadline_at.is_some_and(|deadline| deadline > NOW), "the sweep has nothing to do");
        assert_eq!(count(&fresh.db, &owner).await, (3, 3));
        assert_eq!(find(&fresh.db, &owner, &checks[2].id).await.started_at, None);
    }
}

#[test]
fn every_tool_has_a_closed_schema_of_its_own() {
    for tool in Tool::ALL {
        assert_eq!(Tool::named(tool.name()), Some(tool));
        let schema = tool_schema(tool);
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)), "{tool:?}");
        for required in schema["required"].as_array().expect("required") {
            assert!(schema["properties"].get(required.as_str().expect("a name")).is_some(), "{tool:?} {required}");
        }
    }
    assert_eq!(Tool::named("ping"), None);
}
