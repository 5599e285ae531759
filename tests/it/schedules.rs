//! Schedules by the clock: what is accepted, when the next ping is due, and when the check goes down without one.

use std::time::Duration;

use flatline::checks::sweep::sweep;
use flatline::clock::Millis;
use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::asking::problem;
use crate::proposals::{new_check, propose_one, tap};
use crate::site::{Plan, Site, Visitor, json_of};

async fn patch(who: &Visitor, check: &Value, body: Value) -> Value {
    let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
    let answer = who.send(Method::PATCH, &path, Some(body)).await;
    assert_eq!(answer.status(), StatusCode::OK);
    json_of(answer).await
}

async fn ping(site: &Site, check: &Value, tail: &str) -> StatusCode {
    let url = check["ping_url"].as_str().unwrap();
    let path = url.split_once("/ping/").unwrap().1;
    site.visitor(None).post(&format!("/ping/{path}{tail}")).await.status()
}

async fn look(who: &Visitor, check: &Value) -> Value {
    who.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await
}

fn set(site: &Site, moment: &str) {
    site.clock.as_ref().unwrap().set(Millis::parse(moment).unwrap());
}

/// Sweeps as an instance does that was there all the time: its mark is fresh however far the clock was moved.
async fn swept(site: &Site) -> usize {
    let sql = "UPDATE intake SET marked_at = $1";
    let now = site.now();
    flatline::on_db!(site.db().autocommit(), pool => sqlx::query(sql).bind(now).execute(pool).await.map(|_| ()))
        .unwrap();
    sweep(site.db(), site.apps[0].clock.as_ref()).await.unwrap()
}

on_both! {
    async fn one_schedule_is_taken_and_told(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Pro).await;
        let nightly = json!({"name": "nightly", "cron": " 30  2 * * * ", "timezone": "europe/berlin"});
        let made = user.send(Method::POST, "/api/checks", Some(nightly)).await;
        assert_eq!(made.status(), StatusCode::CREATED);
        let made = json_of(made).await;
        let schedule = |check: &Value| ["period_seconds", "cron", "timezone"].map(|key| check[key].clone());
        assert_eq!(schedule(&made), [Value::Null, json!("30 2 * * *"), json!("Europe/Berlin")]);
        assert_eq!(made["grace_seconds"], 3_600);
        for (body, field) in [
            (json!({"name": "x", "cron": "30 2 * * *", "period_seconds": 300}), "cron"),
            (json!({"name": "x", "period_seconds": 300, "timezone": "UTC"}), "timezone"),
            (json!({"name": "x", "cron": "0 30 2 * * *"}), "cron"),
            (json!({"name": "x", "cron": "30 24 * * *"}), "cron"),
            (json!({"name": "x", "cron": "0 0 30 2 *"}), "cron"),
            (json!({"name": "x", "cron": "@reboot"}), "cron"),
            (json!({"name": "x", "cron": 5}), "cron"),
            (json!({"name": "x", "cron": "30 2 * * *", "timezone": "Berlin"}), "timezone"),
            (json!({"name": "x"}), "period_seconds"),
        ] {
            let refusal = user.send(Method::POST, "/api/checks", Some(body.clone())).await;
            assert_eq!(problem(refusal, 422, "invalid_field").await["field"], field, "{body}");
        }
        // From one to the other and back; the zone stays where only the times change.
        let weekly = patch(&user, &made, json!({"cron": "0 9 * * 1"})).await;
        assert_eq!(schedule(&weekly), [Value::Null, json!("0 9 * * 1"), json!("Europe/Berlin")]);
        let tokyo = patch(&user, &made, json!({"timezone": "Asia/Tokyo"})).await;
        assert_eq!(schedule(&tokyo), [Value::Null, json!("0 9 * * 1"), json!("Asia/Tokyo")]);
        let hourly = patch(&user, &made, json!({"period_seconds": 3_600})).await;
        assert_eq!(schedule(&hourly), [json!(3_600), Value::Null, Value::Null]);
        let path = format!("/api/checks/{}", made["id"].as_str().unwrap());
        let refusal = user.send(Method::PATCH, &path, Some(json!({"timezone": "UTC"}))).await;
        assert_eq!(problem(refusal, 422, "invalid_field").await["field"], "timezone");
        let utc = patch(&user, &made, json!({"cron": "@daily"})).await;
        assert_eq!(schedule(&utc), [Value::Null, json!("@daily"), json!("UTC")]);
        let same = patch(&user, &made, json!({"cron": "@daily", "timezone": "UTC"})).await;
        assert_eq!(same["config_version"], utc["config_version"], "nothing was changed");
    }

    async fn it_goes_down_a_grace_after_the_time_on_its_own_clock(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        set(&site, "2027-03-26T12:00:00Z");
        let user = site.user("ada", Tier::Free).await;
        let nightly = json!({"name": "n", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "grace_seconds": 600});
        let check = json_of(user.send(Method::POST, "/api/checks", Some(nightly)).await).await;
        assert_eq!(ping(&site, &check, "").await, StatusCode::OK);
        assert_eq!(look(&user, &check).await["due_at"], "2027-03-27T01:30:00Z");
        set(&site, "2027-03-27T01:31:00Z");
        assert_eq!(ping(&site, &check, "").await, StatusCode::OK);
        // The next night has no 02:30: the job runs when the clock has been put forward.
        let waiting = look(&user, &check).await;
        assert_eq!((&waiting["due_at"], &waiting["deadline_at"]),
            (&json!("2027-03-28T01:00:00Z"), &json!("2027-03-28T01:10:00Z")));
        set(&site, "2027-03-28T01:09:59.999Z");
        // The checks that every new site shows are late too.
        swept(&site).await;
        assert_eq!(look(&user, &check).await["late"], true);
        set(&site, "2027-03-28T01:10:00Z");
        assert_eq!(swept(&site).await, 1);
        let down = look(&user, &check).await;
        assert_eq!(down["status"], "down");
        let flips = user.get(&format!("/api/checks/{}/flips", check["id"].as_str().unwrap())).await;
        assert_eq!((&flips["flips"][0]["at"], &flips["flips"][0]["reason"]), (&json!("2027-03-28T01:10:00Z"), &json!("timeout")));
        // An hourly job of another zone counts on from its last success when it becomes one of fixed times.
        let hourly = new_check(&user, "h", json!({})).await;
        assert_eq!(ping(&site, &hourly, "").await, StatusCode::OK);
        let moved = patch(&user, &hourly, json!({"cron": "0 12 * * *", "timezone": "America/New_York"})).await;
        assert_eq!(moved["due_at"], "2027-03-28T16:00:00Z");
    }

    async fn a_card_names_the_next_runs(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        set(&site, "2026-12-01T12:00:00Z");
        let user = site.user("ada", Tier::Free).await;
        let call = ("create_check", json!({"name": "n", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}));
        let card = propose_one(&site, &user, call).await;
        let change = |card: &Value, field: &str| {
            let changes = card["changes"].as_array().unwrap();
            changes.iter().find(|change| change["field"] == field).unwrap().clone()
        };
        assert_eq!(change(&card, "schedule")["after"], "every day at 02:30 (Europe/Berlin): 30 2 * * *");
        let runs = change(&card, "next runs")["after"].as_str().unwrap().to_owned();
        assert_eq!(runs.split("; ").count(), 5);
        assert!(runs.starts_with("2026-12-02 02:30 (01:30 UTC); 2026-12-03 02:30"), "{runs}");
        assert_eq!(tap(&user, &card).await.state(), ("EXECUTED", false));
        let edit = ("update_check", json!({"check": "n", "period_seconds": 86_400}));
        let card = propose_one(&site, &user, edit).await;
        let schedule = change(&card, "schedule");
        assert_eq!(schedule["after"], "every day");
        assert!(change(&card, "next runs")["after"].is_null());
        let never = ("create_check", json!({"name": "m", "cron": "0 0 31 4 *"}));
        site.provider.push(crate::provider::Script::tool_calls([never]));
        let said = user.chat("never", "m", "please").await;
        let error = said.iter().find(|chunk| chunk["type"] == "tool-output-error").unwrap();
        assert!(error["errorText"].as_str().unwrap().contains("never runs"), "{error}");
    }

    async fn a_run_that_takes_too_long_alerts_whatever_later_runs_do(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Pro).await;
        let check = new_check(&user, "etl", json!({"max_runtime_seconds": 1_800})).await;
        let (a, b) = ("?rid=7b1c9b64-95c4-4a53-8a60-3f0b9a8c2f11", "?rid=7b1c9b64-95c4-4a53-8a60-3f0b9a8c2f12");
        let minutes = |n: u64| Duration::from_mins(n);
        let status = async |expected: &str| assert_eq!(look(&user, &check).await["status"], expected);
        assert_eq!(ping(&site, &check, &format!("/start{a}")).await, StatusCode::OK);
        assert_eq!(look(&user, &check).await["started"], true);
        site.advance(minutes(10));
        assert_eq!(ping(&site, &check, &format!("/start{b}")).await, StatusCode::OK);
        site.advance(minutes(10));
        assert_eq!(ping(&site, &check, b).await, StatusCode::OK);
        status("up").await;
        let up = look(&user, &check).await;
        assert_eq!(up["started"], true, "the first run goes on");
        site.advance(Duration::from_secs(599));
        assert_eq!(swept(&site).await, 0);
        site.advance(Duration::from_secs(1));
        assert_eq!(swept(&site).await, 1);
        status("down").await;
        // Told once: the next success brings the check up, and the lost run does not take it down again.
        site.advance(minutes(5));
        assert_eq!(ping(&site, &check, &format!("/start{b}")).await, StatusCode::OK);
        site.advance(minutes(1));
        assert_eq!(ping(&site, &check, b).await, StatusCode::OK);
        let up = look(&user, &check).await;
        assert_eq!((&up["status"], &up["started"]), (&json!("up"), &json!(false)));
        site.advance(minutes(30));
        assert_eq!(swept(&site).await, 0);
        // One that ends in time says nothing.
        assert_eq!(ping(&site, &check, &format!("/start{a}")).await, StatusCode::OK);
        site.advance(minutes(29));
        assert_eq!(ping(&site, &check, a).await, StatusCode::OK);
        site.advance(minutes(30));
        assert_eq!(swept(&site).await, 0);
        // A pause forgets what was open, and a longer run is given to one that goes on.
        assert_eq!(ping(&site, &check, &format!("/start{a}")).await, StatusCode::OK);
        patch(&user, &check, json!({"max_runtime_seconds": 7_200})).await;
        site.advance(minutes(40));
        assert_eq!(ping(&site, &check, "").await, StatusCode::OK);
        assert_eq!(swept(&site).await, 0);
        user.post(&format!("/api/checks/{}/pause", check["id"].as_str().unwrap())).await;
        user.post(&format!("/api/checks/{}/resume", check["id"].as_str().unwrap())).await;
        assert_eq!(look(&user, &check).await["started"], false);
    }

    async fn a_run_that_became_late_while_the_check_was_down_is_told_already(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Pro).await;
        let check = new_check(&user, "etl", json!({"max_runtime_seconds": 600})).await;
        let rid = "?rid=7b1c9b64-95c4-4a53-8a60-3f0b9a8c2f11";
        assert_eq!(ping(&site, &check, &format!("/start{rid}")).await, StatusCode::OK);
        assert_eq!(ping(&site, &check, "/fail").await, StatusCode::OK);
        site.advance(Duration::from_mins(20));
        assert_eq!(ping(&site, &check, "").await, StatusCode::OK);
        assert_eq!(swept(&site).await, 0);
        let up = look(&user, &check).await;
        assert_eq!((&up["status"], &up["started"]), (&json!("up"), &json!(false)));
        // Nor by a later run with an id, which asks for the deadlines of the others.
        let other = "?rid=7b1c9b64-95c4-4a53-8a60-3f0b9a8c2f12";
        assert_eq!(ping(&site, &check, &format!("/start{other}")).await, StatusCode::OK);
        assert_eq!(swept(&site).await, 0);
        let up = look(&user, &check).await;
        assert_eq!((&up["status"], &up["deadline_at"]), (&json!("up"), &json!(site.now().plus(Duration::from_mins(10)).rfc3339())));
    }

    async fn a_late_run_does_not_hide_one_that_goes_on(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Pro).await;
        let check = new_check(&user, "etl", json!({"max_runtime_seconds": 600})).await;
        let (late, live) = ("?rid=7b1c9b64-95c4-4a53-8a60-3f0b9a8c2f11", "?rid=7b1c9b64-95c4-4a53-8a60-3f0b9a8c2f12");
        assert_eq!(ping(&site, &check, &format!("/start{late}")).await, StatusCode::OK);
        assert_eq!(ping(&site, &check, "/fail").await, StatusCode::OK);
        site.advance(Duration::from_mins(20));
        assert_eq!(ping(&site, &check, &format!("/start{live}")).await, StatusCode::OK);
        assert_eq!(ping(&site, &check, "").await, StatusCode::OK);
        site.advance(Duration::from_secs(599));
        assert_eq!(swept(&site).await, 0);
        site.advance(Duration::from_secs(1));
        assert_eq!(swept(&site).await, 1, "the second run hangs");
    }

    async fn a_start_that_is_too_soon_pushes_no_run_out(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Pro).await;
        let check = new_check(&user, "etl", json!({"max_runtime_seconds": 86_400})).await;
        let start = || format!("/start?rid={}", crate::proposals::new_id());
        for _ in 0..100 {
            site.advance(Duration::from_mins(1));
            assert_eq!(ping(&site, &check, &start()).await, StatusCode::OK);
        }
        assert_eq!(ping(&site, &check, &start()).await, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(crate::asking::number(site.db(), "SELECT count(*) FROM runs").await, 100);
    }

    async fn a_hundred_open_runs_are_followed_and_no_more(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Pro).await;
        let check = new_check(&user, "etl", json!({"max_runtime_seconds": 86_400})).await;
        for _ in 0..105 {
            let start = format!("/start?rid={}", crate::proposals::new_id());
            assert_eq!(ping(&site, &check, &start).await, StatusCode::OK);
            site.advance(Duration::from_mins(1));
        }
        assert_eq!(crate::asking::number(site.db(), "SELECT count(*) FROM runs").await, 100);
    }
}
