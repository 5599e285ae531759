//! What a hostile model or client sends: it is refused or made harmless, and the conversation stays readable.

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::provider::Script;
use crate::site::{Site, cards, json_of, text, types};

/// `depth` arrays, one in another. With 125 a call is just readable, and too deep once it is stored as part of an answer.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!("x"), |inner, _| json!([inner]))
}

on_both! {
    async fn nul_characters_of_a_model_are_left_out(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_calls([
            ("list_checks", json!({"state": "\0"})),
            ("get_check", json!({"check": "a\0b"})),
            ("list\0checks", json!({"a\0": "b\0"})),
        ]));
        site.provider.push(Script::text("do\0ne"));
        let chunks = user.chat("c", "m", "hello").await;
        assert_eq!((text(&chunks).as_str(), types(&chunks).last()), ("done", Some(&"finish")));
        let history = user.get("/api/chat/c").await;
        assert_eq!(history["messages"][1]["metadata"]["status"], "complete");
        assert!(!history.to_string().contains("\\u0000"));
    }

    async fn arguments_nested_too_deep_are_refused_and_the_conversation_stays_readable(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_calls([
            ("create_check", json!({"name": "a", "period_seconds": 600, "tags": nested(125)})),
            ("create_check", json!({"name": "b", "period_seconds": 600})),
        ]));
        let chunks = user.chat("c", "m", "hello").await;
        assert_eq!(cards(&chunks).len(), 1, "the deep one made no action");
        assert_eq!(user.get("/api/chat/c").await["messages"][1]["metadata"]["status"], "complete");
        assert_eq!(text(&user.chat("c", "m2", "and now?").await), "ok");
    }

    async fn ids_that_can_be_none_are_refused_everywhere(kind) {
        let site = Site::start(kind).await;
        let user = site.owner().await;
        user.chat("c", "m", "hello").await;
        for (method, path, body, expected) in [
            (Method::POST, "/api/chat/c/stop", Some(json!({"message_id": "\0"})), StatusCode::UNPROCESSABLE_ENTITY),
            (Method::GET, "/api/chat/%00", None, StatusCode::NOT_FOUND),
            (Method::GET, "/api/chat/%ff", None, StatusCode::BAD_REQUEST),
            (Method::GET, "/api/actions/%00", None, StatusCode::NOT_FOUND),
            (Method::POST, "/api/actions/%00/confirm", None, StatusCode::NOT_FOUND),
            (Method::GET, "/api/actions?conversation=%00", None, StatusCode::UNPROCESSABLE_ENTITY),
            (Method::GET, "/api/actions?before=%00", None, StatusCode::UNPROCESSABLE_ENTITY),
            (Method::GET, "/api/actions?status=a&status=b", None, StatusCode::UNPROCESSABLE_ENTITY),
            (Method::GET, "/api/checks/%00", None, StatusCode::NOT_FOUND),
            (Method::GET, "/api/checks?tag=%00", None, StatusCode::UNPROCESSABLE_ENTITY),
            (Method::GET, "/api/chats?before=%00.%00", None, StatusCode::UNPROCESSABLE_ENTITY),
            (Method::POST, "/sign-in/%00", None, StatusCode::GONE),
            (Method::GET, "/ping/%00", None, StatusCode::NOT_FOUND),
        ] {
            let answer = user.send(method, path, body).await;
            assert_eq!(answer.status(), expected, "{path}");
            assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
            assert!(json_of(answer).await["code"].is_string(), "{path}");
        }
    }

    async fn a_message_cannot_take_an_answers_id(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let chunks = user.chat("c", "m", "hello").await;
        let answer = chunks[0]["messageId"].as_str().unwrap();
        let refused = user.say("c", answer, "hello").await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(json_of(refused).await["field"], "message.id");
        assert_eq!(site.provider.requests().len(), 1);
    }
}
