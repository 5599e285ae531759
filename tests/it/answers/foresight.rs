//! What a change would do, foretold from the rows, and borne out when it is made.

use flatline::checks::Status;
use flatline::checks::apply::Effect;
use flatline::checks::draft::ProposalKind;
use flatline::checks::history::Kind as PingKind;
use flatline::checks::ping::Ping;
use flatline::checks::tools::ReadKind;
use flatline::limits::Tier;
use serde_json::{Value, json};

use super::ground::{Ground, at, plain, refusal};

const START: &str = "2026-12-01T09:00:00Z";

on_both! {
    async fn what_happens_if_the_grace_becomes_ten_minutes(kind) {
        let its = Ground::new(kind, Tier::Free, START).await;
        let check = its.check(json!({"name": "backup", "period_seconds": 3_600, "grace_seconds": 3_600})).await;
        its.ping(&check, PingKind::Success, "").await;
        let ask = json!({"check": "backup", "grace_seconds": 600});
        its.pass(3_900).await;
        let before = its.row(&check).await;
        let told = its.found(ReadKind::PreviewChange, ask.clone()).await;
        assert_eq!((&told["check"], &told["status"], &told["goes_down_now"]), (&json!("backup"), &json!("up"), &json!(false)));
        assert_eq!((&told["due_at"], &told["deadline_at"]), (&json!("2026-12-01T10:00:00Z"), &json!("2026-12-01T10:10:00Z")));
        assert_eq!((&told["warnings"], &told["changes"]), (&json!([]), &json!([{"field": "grace", "before": "1 hour", "after": "10 minutes"}])));
        assert_eq!(told["note"], "Nothing has changed and nothing was proposed.");

        its.pass(600).await;
        let told = its.found(ReadKind::PreviewChange, ask.clone()).await;
        assert_eq!((&told["goes_down_now"], &told["deadline_at"]), (&json!(true), &json!("2026-12-01T10:15:00Z")));
        assert_eq!(told["warnings"], json!(["This takes backup down at once: its last ping came at 09:00 UTC."]));
        assert_eq!(told["summary"], "backup is up now and goes down.");
        // The card says the same, in the same words.
        let card = its.draft(ProposalKind::UpdateCheck, ask.clone()).await.unwrap();
        assert_eq!((json!(card.preview.summary), json!(card.preview.warnings)), (told["summary"].clone(), told["warnings"].clone()));
        let after = its.row(&check).await;
        assert_eq!((after.config_version, after.grace_seconds, after.deadline_at), (before.config_version, 3_600, before.deadline_at));
        its.run(card.effect).await.unwrap();
        assert_eq!(its.pass(0).await, 1, "as foretold");
        assert_eq!(its.why("backup").await["deadline_at"], "2026-12-01T10:15:00Z");
        let told = its.found(ReadKind::PreviewChange, json!({"check": "backup", "grace_seconds": 3_600})).await;
        assert_eq!((&told["goes_down_now"], &told["status"], &told["next_runs"]), (&json!(false), &json!("down"), &json!([])));
    }

    /// Whatever the state and the change: what is foretold is what the sweep finds a moment after the change is made.
    async fn what_is_foretold_comes_true(kind) {
        let its = Ground::new(kind, Tier::Pro, START).await;
        let changes = [
            json!({"grace_seconds": 60}), json!({"grace_seconds": 7_200}), json!({"period_seconds": 60}),
            json!({"period_seconds": 86_400}), json!({"max_runtime_seconds": 60}), json!({"max_runtime_seconds": 7_200}),
            json!({"cron": "0 * * * *"}), json!({"cron": "30 11 * * *"}), json!({"name": "other"}),
        ];
        let (mut foretold_down, mut cases) = (0_u64, 0_u64);
        // The last ones are made on a check that goes by the clock already.
        let by_clock = [
            json!({"timezone": "Asia/Kolkata"}), json!({"timezone": "America/New_York"}), json!({"cron": "30 9 * * *"}),
            json!({"cron": "0 11 * * *"}), json!({"cron": "0 10 * * *", "timezone": "Europe/Berlin"}),
        ];
        let timetabled = changes.len();
        for (n, change) in changes.iter().chain(&by_clock).enumerate() {
            for state in ["new", "up", "late", "down", "paused", "started", "running"] {
                its.clock.set(at("2026-12-01T09:00:00Z").plus(std::time::Duration::from_hours(24 * cases)));
                cases += 1;
                let name = format!("{state} {n}");
                let mut spec = json!({"name": name, "grace_seconds": 1_800, "max_runtime_seconds": 3_000});
                if n < timetabled {
                    spec["period_seconds"] = json!(3_600);
                } else {
                    (spec["cron"], spec["timezone"]) = (json!("0 10 * * *"), json!("UTC"));
                }
                let check = its.check(spec).await;
                if state != "new" {
                    its.ping(&check, PingKind::Success, "").await;
                }
                its.pass(1_200).await;
                match state {
                    "late" => { its.pass(3_300).await; }
                    "down" => { its.ping(&check, PingKind::Fail, "").await; }
                    "paused" => {
                        its.run(Effect::PauseCheck { check: check.id.clone(), config_version: None, until: None }).await.unwrap();
                    }
                    "started" => { its.ping(&check, PingKind::Start, "").await; its.pass(1_200).await; }
                    "running" => {
                        let rid = Some("0190a000-0000-7000-8000-000000000001".to_owned());
                        its.send(&check, Ping { rid, ..plain(PingKind::Start) }).await;
                        its.pass(1_200).await;
                    }
                    _ => {}
                }
                let mut ask = change.clone();
                ask["check"] = json!(check.id);
                if ask["name"].is_string() {
                    ask["name"] = json!(format!("other {state}"));
                }
                let before = its.row(&check).await.status;
                let told = its.found(ReadKind::PreviewChange, ask.clone()).await;
                let draft = its.draft(ProposalKind::UpdateCheck, ask).await.unwrap();
                its.run(draft.effect).await.unwrap();
                let made = its.row(&check).await;
                assert_eq!((&told["due_at"], &told["deadline_at"]), (&json!(made.due_at), &json!(made.deadline_at)), "{name} {change}");
                its.pass(0).await;
                let fell = its.row(&check).await.status == Status::Down && before != Status::Down;
                assert_eq!(told["goes_down_now"], json!(fell), "{name} {change}: {told}");
                assert_eq!(told["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains("down at once")), fell);
                foretold_down += u64::from(fell);
                its.run(Effect::DeleteCheck { check: check.id.clone(), config_version: None }).await.unwrap();
            }
        }
        assert!((5..cases).contains(&foretold_down), "{foretold_down} of {cases}");
    }

    async fn who_is_told_is_on_the_cards(kind) {
        let its = Ground::new(kind, Tier::Free, START).await;
        let lines = |preview: &flatline::checks::draft::Preview, field: &str| -> Option<(Option<String>, Option<String>)> {
            preview.changes.iter().find(|line| line.field == field).map(|line| (line.before.clone(), line.after.clone()))
        };
        let text = |text: &str| Some(text.to_owned());
        let spec = |more: Value| {
            let mut spec = json!({"name": "backup", "period_seconds": 3_600});
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            spec
        };
        let create = async |more: Value| its.draft(ProposalKind::CreateCheck, spec(more)).await.unwrap();
        let none = create(json!({})).await.preview;
        assert_eq!(lines(&none, "told"), Some((None, text("nobody"))));
        assert_eq!(none.warnings, ["Nobody will be told when backup goes down: you have no channel yet."]);

        let ops = its.channel("ops").await.channel;
        let pager = its.channel("pager").await.channel;
        let all = create(json!({})).await;
        assert_eq!(lines(&all.preview, "told"), Some((None, text("all your channels: ops (webhook), pager (webhook)"))));
        assert!(all.preview.warnings.is_empty());
        let one = create(json!({"channels": ["pager"], "alert_after_failures": 3, "reminder_seconds": 7_200})).await;
        assert_eq!(lines(&one.preview, "told"), Some((None, text("pager (webhook)"))));
        assert_eq!(lines(&one.preview, "down after"), Some((None, text("3 fails in a row"))));
        assert_eq!(lines(&one.preview, "reminders"), Some((None, text("every 2 hours while it is down"))));
        let nobody = create(json!({"channels": []})).await;
        assert_eq!(nobody.preview.warnings, ["Nobody will be told when backup goes down: it has no channel."]);
        let made = its.run(one.effect).await.unwrap().check_id.unwrap();
        let found = its.get("backup").await;
        assert_eq!(found["channels"], json!([{"id": pager.id, "name": "pager", "kind": "webhook"}]));
        assert_eq!((&found["alert_after_failures"], &found["reminder_seconds"]), (&json!(3), &json!(7_200)));

        let by_id_and_name = json!({"check": made, "channels": [ops.id, "pager"], "reminder_seconds": null});
        let update = its.draft(ProposalKind::UpdateCheck, by_id_and_name.clone()).await.unwrap();
        assert_eq!(lines(&update.preview, "told"), Some((text("pager (webhook)"), text("ops (webhook), pager (webhook)"))));
        assert_eq!(lines(&update.preview, "reminders"), Some((text("every 2 hours while it is down"), None)));
        assert_eq!(update.preview.changes.len(), 2);
        its.run(update.effect).await.unwrap();
        assert_eq!(refusal(its.draft(ProposalKind::UpdateCheck, by_id_and_name).await).code, "nothing_to_change");
        let silence = its.draft(ProposalKind::UpdateCheck, json!({"check": "backup", "channels": []})).await.unwrap();
        assert_eq!(silence.preview.warnings, ["Nobody will be told when backup goes down: it has no channel."]);
        let pause = its.draft(ProposalKind::PauseCheck, json!({"check": "backup", "until": "2026-12-01T14:00:00Z"})).await.unwrap();
        assert_eq!(pause.preview.summary, "backup goes silent until 14:00 UTC: pings are noted only, and nothing is reported \
            late or down to ops (webhook), pager (webhook). The pause ends by itself at 14:00 UTC; it waits for its first \
            ping then.");
        for (kind, arguments) in [
            (ProposalKind::CreateCheck, json!({"name": "x", "period_seconds": 300, "channels": ["nobody"]})),
            (ProposalKind::UpdateCheck, json!({"check": "backup", "channels": ["0190a000-0000-7000-8000-000000000000"]})),
            (ProposalKind::UpdateCheck, json!({"check": "backup", "channels": "ops"})),
        ] {
            let refusal = refusal(its.draft(kind, arguments).await);
            assert!(refusal.field.as_deref().is_some_and(|field| field.starts_with("channels")), "{refusal:?}");
        }
    }
}
