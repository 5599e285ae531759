//! SIGKILL during a storm of pings and messages: what was answered is stored, and no quota is refilled.

use std::sync::Arc;
use std::time::Duration;

use flatline::db::{Db, On};
use flatline::on_db;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

use crate::child::Child;
use crate::ground::{Ground, number};
use crate::provider::{FakeProvider, Script};
use crate::site::{Visitor, json_of};

const ROUNDS: usize = 5;
const CHECKS: usize = 12;
/// Each has a floor of its own, so each is accepted once.
const KINDS: [(&str, &str); 3] = [("", "success"), ("/start", "start"), ("/log", "log")];
/// As many streams as a user may have open.
const TALKERS: usize = 3;
/// Messages of a user in ten minutes.
const LIMIT: usize = 20;

/// Something that was answered with 200.
#[derive(Debug)]
enum Accepted {
    Ping { key: String, kind: &'static str },
    Message(String),
}

/// The keys of new checks.
async fn create_checks(asker: &Visitor) -> Vec<String> {
    let mut keys = Vec::new();
    for check in 0..CHECKS {
        let body = json!({"name": format!("check-{check}"), "period_seconds": 3600});
        let created = asker.send(Method::POST, "/api/checks", Some(body)).await;
        assert_eq!(created.status(), StatusCode::CREATED);
        let url = json_of(created).await["ping_url"].as_str().unwrap().to_owned();
        keys.push(url.rsplit('/').next().unwrap().to_owned());
    }
    keys
}

/// The answer's head, or nothing if the connection broke before it.
async fn say(asker: &Visitor, conversation: &str, message: &str) -> Option<reqwest::Response> {
    let message = json!({"id": message, "role": "user", "parts": [{"type": "text", "text": "Hello"}]});
    let body = json!({"id": conversation, "message": message}).to_string();
    let request = asker.request(Method::POST, "/api/chat").header("content-type", "application/json");
    request.body(body).send().await.ok()
}

/// Pings every check in every way and sends messages, all at once; kills the server after so many answers. The ids of
/// messages begin with `name`, which no other storm has.
async fn kill_in_a_storm(child: &mut Child, name: &str, token: &str, keys: &[String], answers: u32) -> Vec<Accepted> {
    let start = Arc::new(Barrier::new(keys.len() * KINDS.len() + TALKERS + 1));
    let answered = Arc::new(Semaphore::new(0));
    let mut clients = JoinSet::new();
    for (key, (tail, kind)) in keys.iter().flat_map(|key| KINDS.map(|kind| (key.clone(), kind))) {
        let (visitor, start, answered) = (child.visitor(None), Arc::clone(&start), Arc::clone(&answered));
        clients.spawn(async move {
            start.wait().await;
            let Ok(answer) = visitor.request(Method::POST, &format!("/ping/{key}{tail}")).send().await else {
                return Vec::new();
            };
            assert_eq!(answer.status(), StatusCode::OK);
            answered.add_permits(1);
            vec![Accepted::Ping { key, kind }]
        });
    }
    for talker in 0..TALKERS {
        let (asker, start, answered) = (child.user(token), Arc::clone(&start), Arc::clone(&answered));
        let name = name.to_owned();
        clients.spawn(async move {
            let mut accepted = Vec::new();
            start.wait().await;
            for number in 0.. {
                let id = format!("{name}-{talker}-{number}");
                let Some(answer) = say(&asker, &format!("storm-{talker}"), &id).await else { break };
                if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                    break;
                }
                assert_eq!(answer.status(), StatusCode::OK);
                accepted.push(Accepted::Message(id));
                answered.add_permits(1);
                if answer.text().await.is_err() {
                    break;
                }
            }
            accepted
        });
    }
    start.wait().await;
    let wait = tokio::time::timeout(Duration::from_secs(20), answered.acquire_many(answers)).await;
    drop(wait.expect("so many answers do not come").unwrap());
    child.kill();
    clients.join_all().await.into_iter().flatten().collect()
}

/// Rows that say that this was accepted.
async fn count_stored(db: &Db, accepted: &Accepted) -> i64 {
    match accepted {
        Accepted::Ping { key, kind } => {
            let sql = "SELECT count(*) FROM pings p JOIN checks c ON c.id = p.check_id
                WHERE c.ping_key = $1 AND p.kind = $2 AND p.accepted";
            on_db!(db.read(), pool => sqlx::query_scalar(sql).bind(key).bind(*kind).fetch_one(pool).await).unwrap()
        }
        Accepted::Message(id) => {
            let sql = "SELECT count(*) FROM messages q JOIN messages a ON a.conversation = q.conversation
                AND a.reply_to = q.id WHERE q.id = $1 AND q.role = 'user'";
            on_db!(db.read(), pool => sqlx::query_scalar(sql).bind(id).fetch_one(pool).await).unwrap()
        }
    }
}

/// Messages that the limiter has counted, of the user with the newest account.
async fn charged(db: &Db) -> usize {
    let whose = "FROM rate_limits WHERE key LIKE '%' || (SELECT id FROM accounts ORDER BY id DESC LIMIT 1)";
    let counted: Option<i64> = match db.read() {
        On::Sqlite(pool) => {
            let sql = format!("SELECT json_array_length(hits) {whose}");
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_optional(pool).await.unwrap()
        }
        On::Postgres(pool) => {
            let sql = format!("SELECT CAST(cardinality(hits) AS bigint) {whose}");
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_optional(pool).await.unwrap()
        }
    };
    usize::try_from(counted.unwrap_or(0)).unwrap()
}

on_both! {
    async fn a_killed_storm_of_pings_and_messages_loses_nothing_answered_and_refills_no_quota(kind) {
        let provider = FakeProvider::start().await;
        provider.default(Script::text("Hello yourself, and good luck with your jobs."));
        let ground = Ground::new(kind).await.provider(&provider);
        for round in 0..ROUNDS {
            let mut child = ground.serve().await;
            let name = format!("user-{round}");
            ground.print(&["user", "add", &name, "--tier", "pro"]).await;
            let token = ground.token(&name).await;
            let keys = create_checks(&child.user(&token)).await;
            let answers = rand::random_range(1..30);
            let accepted = kill_in_a_storm(&mut child, &name, &token, &keys, answers).await;
            ground.settle().await;

            child = ground.serve().await;
            let asker = child.user(&token);
            let db = ground.open().await;
            for accepted in &accepted {
                assert_eq!(count_stored(&db, accepted).await, 1, "killed after {answers} answers: {accepted:?}");
            }
            // A ping and what it does to its check are one.
            let halves = "SELECT count(*) FROM checks c WHERE name LIKE 'check-%' AND ((status = 'up') <>
                EXISTS (SELECT 1 FROM pings WHERE check_id = c.id AND kind = 'success' AND accepted)
                OR (last_log_at IS NOT NULL) <>
                EXISTS (SELECT 1 FROM pings WHERE check_id = c.id AND kind = 'log' AND accepted))";
            assert_eq!(number(&db, halves).await, 0);
            let messages = accepted.iter().filter(|accepted| matches!(accepted, Accepted::Message(_))).count();
            let before = charged(&db).await;
            assert!(before >= messages, "{messages} messages were accepted and {before} counted");
            for number in before..LIMIT {
                asker.chat("afterwards", &format!("m-{number}"), "Hello again").await;
            }
            assert_eq!(charged(&db).await, LIMIT);
            db.close().await;
            child.kill();
            ground.settle().await;

            let child = ground.serve().await;
            let refused = say(&child.user(&token), "afterwards", "one-too-many").await.unwrap();
            assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(json_of(refused).await["code"], "quota_exceeded");
        }
    }
}
