//! What is kept: one conversation, the list of them, and their deletion; each caller's own.

use std::time::Duration;

use flatline::limits::Tier;
use flatline::on_db;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::types::Json;

use crate::asking::{Reading, Rows, eventually, messages, number, problem, remaining, rows};
use crate::provider::{Gate, Script};
use crate::site::{Plan, Site, cards, text, types};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

on_both! {
    async fn an_open_action_that_no_message_names_is_shown_with_the_last_answer(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("create_check", json!({"name": "backup", "period_seconds": 3600})));
        let card = cards(&user.chat("c", "m", "watch my backup").await).remove(0);
        // As if whoever made it was killed before the answer was stored again.
        let sql = "UPDATE messages SET parts = $1 WHERE role = 'assistant'";
        on_db!(site.db().autocommit(), pool =>
            sqlx::query(sql).bind(Json(json!([]))).execute(pool).await.map(|_| ()))
        .unwrap();
        let history = user.get("/api/chat/c").await;
        assert_eq!(
            history["messages"][1]["parts"],
            json!([{"type": "data-action", "id": card["id"], "data": card}])
        );
        user.post(&format!("/api/actions/{}/reject", card["id"].as_str().unwrap())).await;
        assert_eq!(user.get("/api/chat/c").await["messages"][1]["parts"], json!([]), "only what is open");
    }

    async fn a_conversation_is_ui_messages_with_actions_as_they_are_now(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Free).await;
        let now = site.now().rfc3339();
        site.provider.push(Script::tool_call("create_check", json!({"name": "backup", "period_seconds": 3600})));
        site.provider.push(Script::text("Please confirm."));
        let card = cards(&user.chat("c-1", "m", "  watch my\n backup ").await).remove(0);
        let history = user.get("/api/chat/c-1").await;
        assert_eq!(keys(&history), ["id", "title", "created_at", "messages"]);
        assert_eq!(
            (&history["id"], &history["title"], &history["created_at"]),
            (&json!("c-1"), &json!("watch my backup"), &json!(now))
        );
        let [question, answer] = history["messages"].as_array().unwrap().as_slice() else { panic!("{history}") };
        let metadata = json!({"status": "complete", "created_at": now});
        assert_eq!(
            *question,
            json!({"id": "m", "role": "user", "metadata": metadata,
            "parts": [{"type": "text", "text": "  watch my\n backup ", "state": "done"}]})
        );
        assert_eq!(keys(answer), ["id", "role", "parts", "metadata"]);
        assert_eq!((&answer["role"], &answer["metadata"]), (&json!("assistant"), &metadata));
        let parts = answer["parts"].as_array().unwrap();
        let kinds: Vec<&str> = types(parts);
        assert_eq!(kinds, ["step-start", "tool-create_check", "data-action", "step-start", "text"]);
        assert_eq!(keys(&parts[1]), ["type", "toolCallId", "input", "state", "output"]);
        assert_eq!(
            (&parts[1]["state"], &parts[1]["output"]["status"]),
            (&json!("output-available"), &json!("PENDING"))
        );
        assert_eq!(parts[2], json!({"type": "data-action", "id": card["id"], "data": card}));
        user.post(&format!("/api/actions/{}/confirm", card["id"].as_str().unwrap())).await;
        let history = user.get("/api/chat/c-1").await;
        let parts = &history["messages"][1]["parts"];
        assert_eq!(
            (&parts[1]["output"]["status"], &parts[2]["data"]["status"]),
            (&json!("EXECUTED"), &json!("EXECUTED"))
        );
        assert_eq!(parts[2]["data"]["outcome"]["code"], "done");
    }

    async fn the_list_is_newest_first_and_paged(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let (user, other) = (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await);
        other.chat("not-adas", "m", "hi").await;
        for n in 0..5 {
            user.chat(&format!("c{n}"), "m", &format!("talk {n}")).await;
            // Two share a millisecond: paging must not lose or repeat one of them.
            site.advance(Duration::from_millis(if n == 1 { 0 } else { 1_000 }));
        }
        user.chat("c0", "m2", "once more").await;
        let ids = |page: &Value| -> Vec<String> {
            page["chats"].as_array().unwrap().iter().map(|chat| chat["id"].as_str().unwrap().to_owned()).collect()
        };
        let all = user.get("/api/chats").await;
        assert_eq!(
            (ids(&all), &all["next"]),
            (["c0", "c4", "c3", "c2", "c1"].map(str::to_owned).to_vec(), &Value::Null)
        );
        assert_eq!(keys(&all["chats"][0]), ["id", "title", "created_at", "updated_at"]);
        assert_eq!(all["chats"][0]["title"], "talk 0");
        assert!(all["chats"][0]["created_at"].as_str() < all["chats"][0]["updated_at"].as_str());
        for limit in 1..=5 {
            let (mut paged, mut before) = (Vec::new(), String::new());
            loop {
                let page = user.get(&format!("/api/chats?limit={limit}{before}")).await;
                assert!(page["chats"].as_array().unwrap().len() <= limit);
                paged.extend(ids(&page));
                let Some(next) = page["next"].as_str() else { break };
                before = format!("&before={next}");
            }
            assert_eq!(paged, ids(&all), "{limit} a page");
        }
        for (query, field) in [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=x", "limit"),
            ("before=x", "before"),
            ("before=1%00.x", "before"),
        ] {
            let response = user.send(Method::GET, &format!("/api/chats?{query}"), None).await;
            assert_eq!(problem(response, 422, "invalid_field").await["field"], field, "{query}");
        }
    }

    async fn conversations_are_their_callers_own(kind) {
        let site = Site::start(kind).await;
        let (ada, bob, visitor) =
            (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await, site.anonymous().await);
        for (caller, answer) in [(&ada, "for ada"), (&bob, "for bob"), (&visitor, "for a visitor")] {
            site.provider.push(Script::text(answer));
            // The very same ids.
            assert_eq!(text(&caller.chat("c", "m", "hi").await), answer);
        }
        assert_eq!(rows(site.db()).await, Rows { conversations: 3, messages: 6, actions: 0 });
        for (caller, answer) in [(&ada, "for ada"), (&bob, "for bob"), (&visitor, "for a visitor")] {
            let history = caller.get("/api/chat/c").await;
            assert_eq!(history["messages"].as_array().unwrap().len(), 2);
            assert_eq!(history["messages"][1]["parts"][1]["text"], answer);
            assert_eq!(caller.get("/api/chats").await["chats"].as_array().unwrap().len(), 1);
        }
        // What others have said is not sent to the model.
        assert!(!site.provider.request(2).await.body.to_string().contains("for ada"));
        assert_eq!(ada.send(Method::DELETE, "/api/chat/c", None).await.status(), StatusCode::NO_CONTENT);
        problem(ada.send(Method::GET, "/api/chat/c", None).await, 404, "chat_not_found").await;
        assert_eq!(rows(site.db()).await, Rows { conversations: 2, messages: 4, actions: 0 });
        assert_eq!(bob.get("/api/chat/c").await["messages"][1]["parts"][1]["text"], "for bob");
    }

    async fn deleting_gives_nothing_back_and_closes_what_was_open(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("create_check", json!({"name": "backup", "period_seconds": 3600})));
        site.provider.push(Script::text("Please confirm."));
        let card = cards(&user.chat("c", "m", "watch my backup").await).remove(0);
        assert_eq!(user.send(Method::DELETE, "/api/chat/c", None).await.status(), StatusCode::NO_CONTENT);
        problem(user.send(Method::DELETE, "/api/chat/c", None).await, 404, "chat_not_found").await;
        assert_eq!(rows(site.db()).await, Rows { conversations: 0, messages: 0, actions: 1 });
        assert_eq!(remaining(&user).await, [19]);
        let path = format!("/api/actions/{}", card["id"].as_str().unwrap());
        assert_eq!(user.get(&path).await["status"], "REJECTED", "it stays on record");
        problem(user.post(&format!("{path}/confirm")).await, 409, "action_rejected").await;
        assert_eq!(number(site.db(), "SELECT count(*) FROM action_effects").await, 0);
        // The id is free again, for another conversation.
        assert_eq!(text(&user.chat("c", "m", "hi").await), "ok");
        assert_eq!(remaining(&user).await, [18]);
    }

    async fn deleting_ends_a_running_turn(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        for instance in 0..2 {
            site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
            let mut reading = Reading::new(user.say("c", "m", "count").await);
            reading.until_said("one ").await;
            let deleted = user.at(&site, instance).send(Method::DELETE, "/api/chat/c", None).await;
            assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
            assert_eq!(types(&reading.rest().await), ["text-end", "finish-step", "abort"]);
            site.provider.requests()[instance].wait_for_client_to_leave().await;
            eventually("something is left", || async { messages(site.db(), "c").await.is_empty() }).await;
        }
    }
}
