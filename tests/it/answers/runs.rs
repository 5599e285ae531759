//! When the next runs are, for the check and for a schedule that nobody has yet, across changes of the clock.

use flatline::checks::apply::Effect;
use flatline::checks::history::Kind as PingKind;
use flatline::checks::tools::ReadKind;
use flatline::limits::Tier;
use serde_json::{Value, json};

use super::ground::{Ground, at, refusal};

fn runs(of: &Value) -> Vec<(String, Option<String>)> {
    let text = |run: &Value, key: &str| run[key].as_str().map(str::to_owned);
    of.as_array().unwrap().iter().map(|run| (text(run, "at").unwrap(), text(run, "local"))).collect()
}

fn on_the_clock(pairs: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    pairs.iter().map(|(at, local)| ((*at).to_owned(), Some((*local).to_owned()))).collect()
}

on_both! {
    async fn the_next_runs_keep_the_clock_of_their_zone(kind) {
        let its = Ground::new(kind, Tier::Free, "2027-03-27T00:00:00Z").await;
        let spec = json!({"name": "nightly", "cron": "30 2 * * *", "timezone": "Europe/Berlin"});
        let check = its.check(spec.clone()).await;
        // The clock is put forward over 02:30 on the 28th.
        let spring = on_the_clock(&[
            ("2027-03-27T01:30:00Z", "2027-03-27T02:30:00+01:00"),
            ("2027-03-28T01:00:00Z", "2027-03-28T03:00:00+02:00"),
            ("2027-03-29T00:30:00Z", "2027-03-29T02:30:00+02:00"),
            ("2027-03-30T00:30:00Z", "2027-03-30T02:30:00+02:00"),
            ("2027-03-31T00:30:00Z", "2027-03-31T02:30:00+02:00"),
        ]);
        assert_eq!(runs(&its.get("nightly").await["next_runs"]), spring);
        its.clock.set(at("2027-03-27T01:31:00Z"));
        its.ping(&check, PingKind::Success, "").await;
        let found = its.get("nightly").await;
        assert_eq!(runs(&found["next_runs"])[..4], spring[1..]);
        assert_eq!(found["check"]["due_at"], "2027-03-28T01:00:00Z");
        // And back over it, on 31 October: once.
        its.clock.set(at("2027-10-30T01:00:00Z"));
        let autumn = on_the_clock(&[
            ("2027-10-31T00:30:00Z", "2027-10-31T02:30:00+02:00"),
            ("2027-11-01T01:30:00Z", "2027-11-01T02:30:00+01:00"),
        ]);
        assert_eq!(runs(&its.get("nightly").await["next_runs"])[..2], autumn);
        let asked = its.found(ReadKind::PreviewSchedule, json!({"cron": "30 2 * * *", "timezone": "Europe/Berlin"})).await;
        assert_eq!(runs(&asked["next_runs"])[..2], autumn);
        // A pause moves them, and one without end leaves none.
        let pause = |until| Effect::PauseCheck { check: check.id.clone(), config_version: None, until };
        its.run(pause(Some(at("2027-10-31T12:00:00Z")))).await.unwrap();
        assert_eq!(runs(&its.get("nightly").await["next_runs"])[0], autumn[1]);
        its.run(pause(None)).await.unwrap();
        assert_eq!(its.get("nightly").await["next_runs"], json!([]));
    }

    async fn a_period_has_the_ping_that_is_due(kind) {
        let its = Ground::new(kind, Tier::Free, "2026-12-01T09:00:00Z").await;
        let check = its.check(json!({"name": "worker", "period_seconds": 3_600, "grace_seconds": 600})).await;
        assert_eq!(its.get("worker").await["next_runs"], json!([]), "nothing is expected of a new check");
        its.ping(&check, PingKind::Success, "").await;
        let due = json!([{"at": "2026-12-01T10:00:00Z", "local": null}]);
        assert_eq!(its.get("worker").await["next_runs"], due);
        its.pass(3_900).await;
        assert_eq!(its.get("worker").await["next_runs"], due, "it is late");
        its.pass(600).await;
        assert_eq!(its.get("worker").await["next_runs"], json!([]), "down waits for any success");
    }

    async fn a_schedule_is_put_in_words_and_measured_by_the_tier(kind) {
        let its = Ground::new(kind, Tier::Free, "2026-12-01T09:00:00Z").await;
        let asked = async |when: Value| its.found(ReadKind::PreviewSchedule, when).await;
        let nightly = asked(json!({"cron": "30 2 * * 1-5", "timezone": "europe/berlin"})).await;
        assert_eq!(nightly["words"], "Monday to Friday at 02:30 (Europe/Berlin)");
        assert_eq!((&nightly["cron"], &nightly["timezone"], &nightly["period_seconds"]), (&json!("30 2 * * 1-5"), &json!("Europe/Berlin"), &Value::Null));
        assert_eq!((&nightly["shortest_interval_seconds"], &nightly["floor_seconds"], &nightly["tier"]), (&json!(86_400), &json!(300), &json!("free")));
        assert_eq!((&nightly["allowed"], nightly.get("reason"), nightly["next_runs"].as_array().unwrap().len()), (&json!(true), None, 5));
        assert_eq!(asked(json!({"cron": "0 9 * * *"})).await["timezone"], "UTC");

        let often = asked(json!({"cron": "*/2 * * * *"})).await;
        assert_eq!((&often["allowed"], &often["shortest_interval_seconds"]), (&json!(false), &json!(120)));
        assert!(often["reason"].as_str().unwrap().contains("2 minutes apart. On the free tier"), "{often}");
        // As it stands, not as the tier would thin it out.
        assert_eq!(often["next_runs"][1], json!({"at": "2026-12-01T09:04:00Z", "local": "2026-12-01T09:04:00+00:00"}));

        let period = asked(json!({"period_seconds": 7_200})).await;
        assert_eq!((&period["words"], &period["allowed"], &period["next_runs_counted_from"]), (&json!("every 2 hours"), &json!(true), &json!("a ping now")));
        let times: Vec<&Value> = period["next_runs"].as_array().unwrap().iter().map(|run| &run["at"]).collect();
        assert_eq!(times, ["2026-12-01T11:00:00Z", "2026-12-01T13:00:00Z", "2026-12-01T15:00:00Z", "2026-12-01T17:00:00Z", "2026-12-01T19:00:00Z"]);
        assert_eq!(asked(json!({"period_seconds": 60})).await["allowed"], false);

        for (when, field) in [
            (json!({}), "period_seconds"),
            (json!({"period_seconds": 300, "cron": "@daily"}), "cron"),
            (json!({"period_seconds": 5}), "period_seconds"),
            (json!({"cron": "0 0 30 2 *"}), "cron"),
            (json!({"cron": "0 9 * * * *"}), "cron"),
            (json!({"cron": "@daily", "timezone": "Europe/Atlantis"}), "timezone"),
            (json!({"cron": "@daily", "check": "x"}), "check"),
        ] {
            let refusal = refusal(its.read(ReadKind::PreviewSchedule, when.clone()).await);
            assert_eq!(refusal.field.as_deref(), Some(field), "{when}");
        }
    }
}
