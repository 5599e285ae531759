//! SIGKILL while an answer streams: what was said is kept, nothing is asked or charged twice, and the talk goes on.

use flatline::db::Db;
use flatline::on_db;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::database::Kind;
use crate::ground::{Ground, number, until};
use crate::provider::{FakeProvider, Gate, Script};
use crate::site::{Visitor, chunks, json_of, text, types};

pub const SAID: &str = "Half of the answer";

/// What the running answer's row holds.
pub async fn streaming_parts(db: &Db) -> Option<String> {
    let sql = "SELECT CAST(parts AS TEXT) FROM messages WHERE status = 'streaming'";
    on_db!(db.read(), pool => sqlx::query_scalar(sql).fetch_optional(pool).await).unwrap()
}

/// How many messages the only key in the limiter was charged.
async fn charged(db: &Db) -> i64 {
    match db.read() {
        flatline::db::On::Sqlite(pool) => {
            sqlx::query_scalar("SELECT json_array_length(hits) FROM rate_limits").fetch_one(pool).await.unwrap()
        }
        flatline::db::On::Postgres(pool) => {
            let sql = "SELECT CAST(cardinality(hits) AS bigint) FROM rate_limits";
            sqlx::query_scalar(sql).fetch_one(pool).await.unwrap()
        }
    }
}

/// Lets the dead process's lease run out: moves it 30 s into the past.
pub async fn end_the_lease(db: &Db) {
    let sql = "UPDATE messages SET lease_until = lease_until - 30000 WHERE status = 'streaming'";
    let moved = on_db!(db.autocommit(), pool => sqlx::query(sql).execute(pool).await.map(|done| done.rows_affected()));
    assert_eq!(moved.unwrap(), 1);
}

/// The conversation as `[id, role, status, text]`.
pub async fn history(asker: &Visitor) -> Vec<[String; 4]> {
    let chat = asker.get("/api/chat/c").await;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |message: &Value| {
        let said = message["parts"].as_array().unwrap().iter().map(|part| word(&part["text"])).collect();
        [word(&message["id"]), word(&message["role"]), word(&message["metadata"]["status"]), said]
    };
    chat["messages"].as_array().unwrap().iter().map(row).collect()
}

/// The same without the answers' ids.
async fn said(asker: &Visitor) -> Vec<[String; 3]> {
    history(asker).await.into_iter().map(|[_, role, status, said]| [role, status, said]).collect()
}

/// What is said of a turn that another process may still be running; then its lease runs out.
async fn while_leased(ground: &Ground, asker: &Visitor) {
    let expected = [["user", "complete", "How is it going?"], ["assistant", "streaming", SAID]];
    assert_eq!(said(asker).await, expected);
    let refused = asker.say("c", "m2", "Hello?").await;
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    assert_eq!(json_of(refused).await["code"], "turn_in_progress");
    // The same message again follows the answer, and is told when nobody writes it any more.
    let mut following = asker.say("c", "m1", "How is it going?").await;
    assert_eq!(following.status(), StatusCode::OK);
    let mut begun = Vec::new();
    while !String::from_utf8_lossy(&begun).contains(SAID) {
        begun.extend(following.chunk().await.unwrap().expect("the answer is still followed"));
    }
    let db = ground.open().await;
    end_the_lease(&db).await;
    db.close().await;
    let rest = following.text().await.unwrap();
    assert!(rest.contains(r#"{"type":"abort"}"#) && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}

on_both! {
    async fn a_killed_stream_is_interrupted_and_replayed_and_the_talk_goes_on(kind) {
        let provider = FakeProvider::start().await;
        let ground = Ground::new(kind).await.provider(&provider);
        provider.push(Script::stream().say("Half of ").say("the answer").hold(&Gate::default()));
        let mut child = ground.serve().await;
        let token = ground.token("owner").await;
        let streaming = child.user(&token).say("c", "m1", "How is it going?").await;
        assert_eq!(streaming.status(), StatusCode::OK);
        let db = ground.open().await;
        until("the answer so far is stored", async || streaming_parts(&db).await.filter(|parts| parts.contains(SAID)))
            .await;
        db.close().await;
        child.kill();
        assert!(streaming.text().await.is_err(), "a stream that breaks off must not look like one that ended");

        let child = ground.serve().await;
        let asker = child.user(&token);
        match kind {
            // Nobody else runs turns on this file.
            Kind::Sqlite => {}
            // Another instance may be running it until the lease is over.
            Kind::Postgres => while_leased(&ground, &asker).await,
        }
        let expected = [["user", "complete", "How is it going?"], ["assistant", "interrupted", SAID]];
        assert_eq!(said(&asker).await, expected);

        let replayed = asker.chat("c", "m1", "How is it going?").await;
        assert_eq!(text(&replayed), SAID);
        assert_eq!(types(&replayed).last(), Some(&"abort"));
        assert_eq!(said(&asker).await, expected);
        let db = ground.open().await;
        assert_eq!(charged(&db).await, 1, "the same message is charged once");
        assert_eq!(provider.requests().len(), 1, "nobody asked the model again");

        provider.push(Script::text("All of it."));
        let next = asker.chat("c", "m2", "And now?").await;
        assert_eq!((text(&next).as_str(), types(&next).last()), ("All of it.", Some(&"finish")));
        let expected = [expected[0], expected[1], ["user", "complete", "And now?"], ["assistant", "complete", "All of it."]];
        assert_eq!(said(&asker).await, expected);
        let requests = provider.requests();
        assert_eq!(requests.len(), 2);
        let told = requests[1].body["messages"].to_string();
        assert!(told.contains(SAID) && told.contains("And now?"), "{told}");
        assert_eq!(charged(&db).await, 2);
        assert_eq!(number(&db, "SELECT count(*) FROM messages").await, 4);
        assert_eq!(number(&db, "SELECT count(*) FROM messages WHERE status = 'interrupted'").await, 1);
        assert_eq!(number(&db, "SELECT count(*) FROM messages WHERE status = 'streaming'").await, 0);
        db.close().await;
    }

    async fn killed_before_the_first_word_the_message_is_kept_and_can_be_answered_again(kind) {
        let provider = FakeProvider::start().await;
        let ground = Ground::new(kind).await.provider(&provider);
        provider.push(Script::stream().hold(&Gate::default()));
        let mut child = ground.serve().await;
        let token = ground.token("owner").await;
        let asker = child.user(&token);
        let message = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Anybody there?"}]});
        let body = json!({"id": "c", "message": message}).to_string();
        let asking = asker.request(Method::POST, "/api/chat").header("content-type", "application/json").body(body).send();
        let killing = async {
            provider.request(1).await;
            child.kill();
        };
        let (answer, ()) = tokio::join!(asking, killing);
        assert!(answer.is_err(), "there was no answer, so there must be no head of one");

        let child = ground.serve().await;
        let asker = child.user(&token);
        let db = ground.open().await;
        if kind == Kind::Postgres {
            end_the_lease(&db).await;
        }
        let unanswered = [["user", "complete", "Anybody there?"], ["assistant", "interrupted", ""]];
        assert_eq!(said(&asker).await, unanswered);
        assert_eq!(types(&asker.chat("c", "m1", "Anybody there?").await), ["start", "abort"]);
        assert_eq!((provider.requests().len(), charged(&db).await), (1, 1));

        provider.push(Script::text("Yes."));
        let messages = json!([{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Anybody there?"}]}]);
        let again = json!({"id": "c", "messages": messages, "trigger": "regenerate-message"});
        let again = chunks(asker.send(Method::POST, "/api/chat", Some(again)).await).await;
        assert_eq!(text(&again), "Yes.");
        let answered = [["user", "complete", "Anybody there?"], ["assistant", "complete", "Yes."]];
        assert_eq!(said(&asker).await, answered);
        assert_eq!((provider.requests().len(), charged(&db).await), (2, 2));
        db.close().await;
    }
}
