//! Visitors: a signed session of their own, its own conversations, and no more than that.

use std::time::Duration;

use flatline::accounts::{ANONYMOUS_LIFE, Anonymous};
use flatline::ids::SessionId;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::operations;
use crate::asking::{header, problem, remaining, rows};
use crate::provider::Script;
use crate::site::{Plan, Site, json_of, text};

on_both! {
    async fn a_session_is_minted_on_first_use(kind) {
        let site = Site::start(kind).await;
        let nobody = site.visitor(None);
        let by_session = nobody.post("/api/session").await;
        let by_chat = nobody.say("c", "m", "hi").await;
        for response in [by_session, by_chat] {
            let token = header(&response, "flatline-session").unwrap().to_owned();
            let cookie = header(&response, "set-cookie").unwrap();
            assert_eq!(cookie, format!("flatline_anon={token}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"));
            response.text().await.unwrap();
            // As a header or as a cookie: it is the same visitor, and none is minted again.
            for credential in [("flatline-session", token.clone()), ("cookie", format!("flatline_anon={token}"))] {
                let known =
                    site.visitor(Some(credential)).request(Method::POST, "/api/session").header("origin", site.base(0));
                let known = known.send().await.unwrap();
                assert_eq!((header(&known, "flatline-session"), header(&known, "set-cookie")), (None, None));
                let known = json_of(known).await;
                assert_eq!(
                    (&known["kind"], &known["user"], &known["token"]),
                    (&json!("anonymous"), &Value::Null, &json!(token))
                );
            }
        }
    }

    async fn a_token_that_is_forged_or_old_is_replaced(kind) {
        let site = Plan::new(kind).manual_clock().config(|config| config.secret = Some("s".repeat(32))).start().await;
        let victim = site.anonymous().await;
        site.provider.push(Script::text("for the victim"));
        victim.chat("c", "m", "hi").await;
        let token = json_of(victim.post("/api/session").await).await["token"].as_str().unwrap().to_owned();
        let session = token.strip_prefix("fla_").unwrap().split('.').next().unwrap().to_owned();
        let sign = |secret: &str, issued_at| {
            Anonymous { session: SessionId(session.clone()), issued_at }.sign(secret.as_bytes())
        };
        assert_eq!(sign(&"s".repeat(32), site.now()), token, "the test signs as the site does");
        let forged = [
            sign(&"t".repeat(32), site.now()),
            sign("", site.now()),
            sign(&"s".repeat(32), site.now().minus(ANONYMOUS_LIFE)),
            format!("{token}A"),
            token.rsplit_once('.').unwrap().0.to_owned(),
            format!("{}.", token.rsplit_once('.').unwrap().0),
            token.replace("fla_", ""),
            "fla_..".to_owned(),
            String::new(),
        ];
        for forged in forged {
            let stranger = site.visitor(Some(("flatline-session", forged.clone())));
            let response = stranger.send(Method::GET, "/api/chat/c", None).await;
            problem(response, 404, "chat_not_found").await;
            let response = stranger.post("/api/session").await;
            let minted = header(&response, "flatline-session").unwrap().to_owned();
            assert!(!minted.contains(&session), "{forged}");
            // The network's quota still counts.
            assert_eq!(remaining(&site.visitor(Some(("flatline-session", minted)))).await, [30, 119]);
        }
        assert_eq!(victim.get("/api/chat/c").await["messages"][1]["parts"][1]["text"], "for the victim");
        site.advance(ANONYMOUS_LIFE.checked_sub(Duration::from_millis(1)).unwrap());
        victim.get("/api/chat/c").await;
        site.advance(Duration::from_millis(1));
        problem(victim.send(Method::GET, "/api/chat/c", None).await, 404, "chat_not_found").await;
    }

    async fn users_things_are_not_for_visitors(kind) {
        let site = Site::start(kind).await;
        let visitor = site.anonymous().await;
        let theirs = [operations(&site, "/api/checks").await, operations(&site, "/api/actions").await].concat();
        assert!(theirs.len() >= 13, "{theirs:?}");
        for (method, path) in theirs {
            for caller in [&visitor, &site.visitor(None)] {
                let response =
                    caller.send(method.clone(), &path.replace("{id}", "x"), Some(json!({"name": "x"}))).await;
                assert_eq!(header(&response, "www-authenticate"), Some("Bearer"), "{method} {path}");
                problem(response, 401, "unauthorized").await;
            }
        }
    }

    async fn a_visitors_model_has_no_tools(kind) {
        let site = Site::start(kind).await;
        let visitor = site.anonymous().await;
        site.provider.push(Script::tool_calls([
            ("create_check", json!({"name": "x", "period_seconds": 3600})),
            ("list_checks", json!({})),
        ]));
        site.provider.push(Script::text("confirm"));
        let said = visitor.chat("c", "m", "make a check").await;
        let errors = said.iter().filter(|chunk| chunk["type"] == "tool-output-error").count();
        assert_eq!((errors, text(&said).as_str()), (2, "confirm"));
        for request in site.provider.requests() {
            assert_eq!(request.body.get("tools"), None);
        }
        // A typed word is an ordinary message: it costs one.
        assert_eq!(text(&visitor.chat("c", "m2", "confirm").await), "ok");
        assert_eq!(remaining(&visitor).await, [28, 118]);
        assert_eq!(rows(site.db()).await.actions, 0);
        assert_eq!(visitor.send(Method::GET, "/api/chats", None).await.status(), StatusCode::OK);
    }
}
