//! One turn per conversation, three streams per user, and Stop.

use std::sync::Arc;
use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::json;
use sqlx::{Connection, Executor, SqliteConnection};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::stream::assert_contract;
use crate::asking::{
    Reading, header, lines, messages, problem, remaining, rows, told, wait_for_reader, wait_for_status,
};
use crate::database::Kind;
use crate::provider::{Gate, Script};
use crate::site::{Plan, Site, cards, text, types};

on_both! {
    async fn a_second_message_waits_while_somebody_reads(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m1", "first").await);
        reading.until_said("one ").await;
        let before = rows(site.db()).await;
        for instance in 0..2 {
            let response = user.at(&site, instance).say("c", "m2", "second").await;
            problem(response, 409, "turn_in_progress").await;
        }
        assert_eq!(rows(site.db()).await, before);
        assert_eq!(remaining(&user).await, [19], "a 409 is not charged");
        gate.open();
        assert_eq!(text(&reading.rest().await), "two");
        user.chat("c", "m2", "second").await;
        assert_eq!(remaining(&user).await, [18]);
    }

    async fn of_messages_at_once_one_begins(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        for round in 0..10 {
            let user = site.user(&format!("user-{round}"), Tier::Free).await;
            let gate = Gate::default();
            site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
            let (asked, before) = (site.provider.requests().len(), rows(site.db()).await);
            let start = Arc::new(Barrier::new(12));
            let mut racers = JoinSet::new();
            for n in 0..12 {
                let (user, start) = (user.at(&site, n % 2), start.clone());
                racers.spawn(async move {
                    start.wait().await;
                    user.say("c", &format!("m{n}"), "me first").await
                });
            }
            let mut winners = Vec::new();
            for response in racers.join_all().await {
                match response.status() {
                    StatusCode::OK => winners.push(Reading::new(response)),
                    StatusCode::CONFLICT => _ = problem(response, 409, "turn_in_progress").await,
                    _ => _ = problem(response, 429, "too_many_streams").await,
                }
            }
            assert_eq!(winners.len(), 1, "round {round}");
            assert_eq!(site.provider.requests().len(), asked + 1, "round {round}: the others never reached the model");
            let after = rows(site.db()).await;
            assert_eq!((after.conversations, after.messages), (before.conversations + 1, before.messages + 2));
            assert_eq!(remaining(&user).await, [19], "round {round}: the others are not charged");
            gate.open();
            assert_contract(&winners.remove(0).rest().await);
        }
    }

    async fn a_user_reads_three_streams(kind) {
        let site = Site::start(kind).await;
        let (user, other) = (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await);
        let gate = Gate::default();
        site.provider.default(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut readings = Vec::new();
        for n in 0..3 {
            readings.push(Reading::new(user.say(&format!("c{n}"), "m", "hi").await));
        }
        let before = rows(site.db()).await;
        // More often than a window holds: none of them may cost anything.
        for _ in 0..25 {
            let response = user.say("c3", "m", "hi").await;
            assert_eq!(header(&response, "retry-after"), Some("1"));
            problem(response, 429, "too_many_streams").await;
        }
        assert_eq!(rows(site.db()).await, before);
        assert_eq!(remaining(&user).await, [17]);
        readings.push(Reading::new(other.say("c", "m", "hi").await));
        gate.open();
        // The first one's end makes a place.
        assert_eq!(readings.remove(0).rest().await.last().unwrap()["type"], "finish");
        readings.push(Reading::new(user.say("c3", "m", "hi").await));
        for reading in readings {
            gate.open();
            assert_contract(&reading.rest().await);
        }
        let anonymous = site.anonymous().await;
        let held: Vec<Reading> = vec![
            Reading::new(anonymous.say("c0", "m", "hi").await),
            Reading::new(anonymous.say("c1", "m", "hi").await),
        ];
        problem(anonymous.say("c2", "m", "hi").await, 429, "too_many_streams").await;
        assert_eq!(remaining(&anonymous).await, [28, 118]);
        drop(held);
    }

    async fn stop_ends_that_turn(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m1", "count").await);
        let mut said = reading.until_said("one ").await;
        let id = said[0]["messageId"].as_str().unwrap().to_owned();
        // Another turn's id stops nothing.
        let other = user.send(Method::POST, "/api/chat/c/stop", Some(json!({"message_id": "m1"}))).await;
        assert_eq!(other.status(), StatusCode::NO_CONTENT);
        assert_eq!(messages(site.db(), "c").await[1].status, "streaming");
        assert!(!site.provider.requests()[0].client_left());
        let stopped = user.send(Method::POST, "/api/chat/c/stop", Some(json!({"message_id": id}))).await;
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        site.provider.requests()[0].wait_for_client_to_leave().await;
        said.extend(reading.rest().await);
        assert_contract(&said);
        assert_eq!(types(&said)[types(&said).len() - 3..], ["text-end", "finish-step", "abort"]);
        assert_eq!(
            told(site.db(), "c").await,
            lines(&[("user", "complete", "count"), ("assistant", "interrupted", "one ")])
        );
        assert_eq!(remaining(&user).await, [19], "a stop gives nothing back");
        // Again, and with nothing running: nothing happens, and the talk goes on.
        assert_eq!(user.post("/api/chat/c/stop").await.status(), StatusCode::NO_CONTENT);
        assert_eq!(text(&user.chat("c", "m2", "go on").await), "ok");
        assert_eq!(user.get("/api/chat/c").await["messages"][1]["metadata"]["status"], "interrupted");
    }

    async fn stop_reaches_another_instance(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m1", "count").await);
        reading.until_said("one ").await;
        assert_eq!(user.at(&site, 1).post("/api/chat/c/stop").await.status(), StatusCode::NO_CONTENT);
        assert_eq!(types(&reading.rest().await), ["text-end", "finish-step", "abort"]);
        site.provider.requests()[0].wait_for_client_to_leave().await;
        assert_eq!(messages(site.db(), "c").await[1].status, "interrupted");
    }

    async fn a_turn_that_another_instance_runs_for_nobody_makes_way(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m1", "count").await);
        reading.until_said("one ").await;
        drop(reading);
        wait_for_reader(site.db(), "c", false).await;
        assert_eq!(text(&user.at(&site, 1).chat("c", "m2", "stop that").await), "ok");
        wait_for_status(site.db(), "c", "complete").await;
        assert_eq!(messages(site.db(), "c").await[1].status, "interrupted");
    }
}

/// Only SQLite has one connection that writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tool_runs_while_its_answer_is_being_stored() {
    let site = Site::start(Kind::Sqlite).await;
    let user = site.user("ada", Tier::Free).await;
    let gate = Gate::default();
    let call = json!({"name": "backup", "period_seconds": 3600});
    let propose = Script::stream().say("Wait. ").hold(&gate).call(0, "create_check", &call).finish("tool_calls");
    site.provider.push(propose);
    let mut reading = Reading::new(user.say("c", "m", "watch it").await);
    let mut said = reading.until_said("Wait. ").await;
    // Another process has the lock for a moment, so that what is stored each second is under way when the call comes.
    let mut other = SqliteConnection::connect(&site.database.url).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    sleep(Duration::from_millis(1_200)).await;
    gate.open();
    sleep(Duration::from_millis(100)).await;
    other.execute("ROLLBACK").await.unwrap();
    said.extend(reading.rest().await);
    assert_contract(&said);
    assert_eq!((cards(&said).len(), text(&said).as_str()), (1, "Wait. ok"), "{said:?}");
}
