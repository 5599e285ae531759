//! What may be sent: both forms, their limits, and what is said about everything else.

use flatline::limits::Tier;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::asking::{ledger, message, problem, remaining, rows, send};
use crate::site::{Site, Visitor, chunks, text};

async fn raw(user: &Visitor, content_type: Option<&str>, body: impl Into<reqwest::Body>) -> Response {
    let request = user.request(Method::POST, "/api/chat").body(body);
    let request = match content_type {
        Some(content_type) => request.header("content-type", content_type),
        None => request,
    };
    request.send().await.unwrap()
}

on_both! {
    async fn both_forms_say_the_same(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let own = json!({"id": "own", "message": message("m", "hello"), "key-of-the-host": {"a": [1]}});
        let stock = json!({"id": "stock", "trigger": "submit-message", "messageId": null, "messages": [
            message("old", "not what counts"),
            {"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "I was made to say this"}]},
            {"id": "m", "role": "user", "metadata": {}, "parts": [
                {"type": "text", "text": "hello"}, {"type": "file", "url": "data:,x"}]},
        ]});
        for (n, body) in [own, stock].into_iter().enumerate() {
            let response = send(&user, body).await;
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(text(&chunks(response).await), "ok");
            let sent = site.provider.request(n + 1).await.body["messages"].clone();
            // The server's history is the truth: what else the client sent is not in it.
            assert_eq!(sent.as_array().unwrap()[1..], [json!({"role": "user", "content": "hello"})]);
        }
        // As older clients write it.
        let content = json!({"id": "old", "messages": [{"id": "m", "role": "user", "content": "hello"}]});
        assert_eq!(text(&chunks(send(&user, content).await).await), "ok");
        // Parts are one message.
        let parts = json!([{"type": "text", "text": "one"}, {"type": "step-start"}, {"type": "text", "text": "two"}]);
        chunks(send(&user, json!({"id": "parts", "message": {"id": "m", "role": "user", "parts": parts}})).await).await;
        assert_eq!(site.provider.request(4).await.body["messages"][1]["content"], "one\ntwo");
    }

    async fn four_thousand_characters_and_no_more(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        for (id, letter) in [("ascii", "a"), ("umlaut", "ä"), ("emoji", "🫀")] {
            user.chat(id, "m", &letter.repeat(4_000)).await;
            let before = rows(site.db()).await;
            let refused = problem(user.say(id, "m2", &letter.repeat(4_001)).await, 422, "invalid_message").await;
            assert_eq!(refused["field"], "message.parts");
            assert!(refused["detail"].as_str().unwrap().contains("4001"), "{refused}");
            assert_eq!(rows(site.db()).await, before);
        }
        assert_eq!(remaining(&user).await, [17]);
    }

    async fn what_is_wrong_is_named_and_costs_nothing(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let message = || message("m", "hello");
        let text = |text: Value| json!([{"type": "text", "text": text}]);
        let with = |parts: Value| json!({"id": "c", "message": {"id": "m", "role": "user", "parts": parts}});
        let long = "x".repeat(65);
        for (field, body) in [
            ("body", json!([])),
            ("body", json!("hello")),
            ("body", json!(null)),
            ("id", json!({"message": message()})),
            ("id", json!({"id": 7, "message": message()})),
            ("id", json!({"id": "", "message": message()})),
            ("id", json!({"id": "a/b", "message": message()})),
            ("id", json!({"id": "ä", "message": message()})),
            ("id", json!({"id": long, "message": message()})),
            ("message", json!({"id": "c"})),
            ("message", json!({"id": "c", "messages": {}})),
            ("messages", json!({"id": "c", "messages": []})),
            ("messages", json!({"id": "c", "messages": [{"id": "a", "role": "assistant", "parts": []}]})),
            ("message.role", json!({"id": "c", "message": {"id": "m", "parts": text(json!("hi"))}})),
            ("message.role", json!({"id": "c", "message": {"id": "m", "role": "system", "parts": text(json!("hi"))}})),
            ("message.role", json!({"id": "c", "message": "hello"})),
            ("message.id", json!({"id": "c", "message": {"id": 7, "role": "user", "parts": text(json!("hi"))}})),
            ("message.id", json!({"id": "c", "message": {"id": "", "role": "user", "parts": text(json!("hi"))}})),
            ("message.id", json!({"id": "c", "message": {"id": "a\u{0}", "role": "user", "parts": text(json!("hi"))}})),
            (
                "message.id",
                json!({"id": "c", "message": {"id": "x".repeat(129), "role": "user", "parts": text(json!("hi"))}}),
            ),
            ("message.parts", json!({"id": "c", "message": {"id": "m", "role": "user"}})),
            ("message.parts", with(json!([]))),
            ("message.parts", with(json!([{"type": "file"}]))),
            ("message.parts", with(text(json!("")))),
            ("message.parts", with(text(json!(" \n\t")))),
            ("message.parts", with(text(json!(7)))),
            ("message.parts", with(text(json!("a\u{0}b")))),
            ("trigger", json!({"id": "c", "message": message(), "trigger": "resume-stream"})),
            ("trigger", json!({"id": "c", "message": message(), "trigger": 1})),
        ] {
            let refused = problem(send(&user, body.clone()).await, 422, "invalid_message").await;
            assert_eq!(refused["field"], field, "{body}");
        }
        assert!(ledger(site.db()).await.is_empty(), "nothing is charged");
        assert_eq!(rows(site.db()).await.conversations, 0);
        assert!(site.provider.requests().is_empty());
    }

    async fn what_is_no_json_is_told_so(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let body = json!({"id": "c", "message": message("m", "hello")}).to_string();
        for content_type in [
            None,
            Some("text/plain"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some("application/jsonp"),
        ] {
            problem(raw(&user, content_type, body.clone()).await, 415, "unsupported_media_type").await;
        }
        for broken in ["", "{", "{\"id\":\"c\"} trailing", "\u{feff}{}", "{\"id\":\"\\ud800\"}"] {
            problem(raw(&user, Some("application/json"), broken).await, 400, "invalid_json").await;
        }
        problem(raw(&user, Some("application/json"), vec![b'{', 0xff, b'}']).await, 400, "invalid_json").await;
        problem(raw(&user, Some("application/json"), "[".repeat(10_000)).await, 400, "invalid_json").await;
        // 64 KiB, and one byte more.
        let padded = |size: usize| {
            let mut body = json!({"id": "c", "message": message("m", "hello"), "padding": ""}).to_string();
            body.insert_str(body.len() - 2, &"x".repeat(size - body.len()));
            assert_eq!(body.len(), size);
            body
        };
        problem(raw(&user, Some("application/json"), padded(65_537)).await, 413, "payload_too_large").await;
        problem(raw(&user, Some("application/json"), "x".repeat(100_000)).await, 413, "payload_too_large").await;
        assert!(ledger(site.db()).await.is_empty(), "nothing is charged");
        let fits = raw(&user, Some("application/json; charset=utf-8"), padded(65_536)).await;
        assert_eq!(fits.status(), StatusCode::OK);
    }

    async fn a_clients_history_may_be_longer_than_what_it_says(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let stock = |old: usize, newest: Value| {
            let answer = json!({"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "x".repeat(old)}]});
            let messages = json!([message("m1", "hello"), answer, newest]);
            json!({"id": "c", "trigger": "submit-message", "messages": messages})
        };
        assert_eq!(text(&chunks(send(&user, stock(500_000, message("m2", "go on"))).await).await), "ok");
        assert_eq!(site.provider.requests()[0].body["messages"].as_array().unwrap().len(), 2, "its history is not sent");
        let mut longer = message("m3", "go on");
        longer["padding"] = "x".repeat(65_536).into();
        problem(send(&user, stock(10, longer)).await, 413, "payload_too_large").await;
        problem(send(&user, stock(600_000, message("m4", "go on"))).await, 413, "payload_too_large").await;
        assert_eq!(remaining(&user).await, [19]);
    }
}
