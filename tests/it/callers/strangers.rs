//! Other people's things: the same answer as for what is not there, on every route that takes an id.

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::operations;
use crate::asking::{header, problem, told};
use crate::provider::Script;
use crate::site::{Site, Visitor, cards, json_of};

/// What somebody has: a check, a channel, an open action, a conversation.
struct Belongings {
    check: String,
    channel: String,
    action: String,
    chat: String,
}

async fn belongings(site: &Site, owner: &Visitor) -> Belongings {
    let check = owner.send(Method::POST, "/api/checks", Some(json!({"name": "backup", "period_seconds": 3600}))).await;
    let check = json_of(check).await["id"].as_str().unwrap().to_owned();
    let channel = json!({"kind": "slack", "name": "chat", "url": "https://chat.example/"});
    let channel = json_of(owner.send(Method::POST, "/api/channels", Some(channel)).await).await;
    let channel = channel["id"].as_str().unwrap().to_owned();
    site.provider.push(Script::tool_call("pause_check", json!({"check": check})));
    site.provider.push(Script::text("Please confirm."));
    let card = cards(&owner.chat("adas-chat", "m", "pause it").await).remove(0);
    Belongings { check, channel, action: card["id"].as_str().unwrap().to_owned(), chat: "adas-chat".to_owned() }
}

/// Status and body, without what differs between any two answers.
async fn answer(caller: &Visitor, method: &Method, path: &str) -> (StatusCode, Value) {
    let body = (*method == Method::PATCH).then(|| json!({"name": "mine now"}));
    let response = caller.send(method.clone(), path, body).await;
    let status = response.status();
    let text = response.text().await.unwrap();
    if text.is_empty() {
        return (status, Value::Null);
    }
    let mut body: Value = serde_json::from_str(&text).unwrap();
    body.as_object_mut().unwrap().remove("request_id");
    (status, body)
}

on_both! {
    async fn what_is_anothers_is_not_there(kind) {
        let site = Site::start(kind).await;
        let (ada, bob) = (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await);
        let visitor = site.anonymous().await;
        let adas = belongings(&site, &ada).await;
        let state = || async {
            let check = ada.get(&format!("/api/checks/{}", adas.check)).await;
            let action = ada.get(&format!("/api/actions/{}", adas.action)).await;
            let channels = ada.get("/api/channels").await;
            (check, action, channels, told(site.db(), "adas-chat").await)
        };
        let before = state().await;
        let mut tried = 0;
        for (method, path) in operations(&site, "/api/").await {
            let (theirs, code) = match path.split('/').nth(2) {
                _ if !path.contains("{id}") => continue,
                Some("checks") => (&adas.check, "check_not_found"),
                Some("channels") => (&adas.channel, "channel_not_found"),
                Some("actions") => (&adas.action, "action_not_found"),
                Some("chat") => (&adas.chat, "chat_not_found"),
                _ => panic!("whose is {path}?"),
            };
            let strangers = if code == "chat_not_found" { vec![&bob, &visitor] } else { vec![&bob] };
            for stranger in strangers {
                let got = answer(stranger, &method, &path.replace("{id}", theirs)).await;
                for missing in [
                    Uuid::new_v4().to_string(),
                    "00000000-0000-0000-0000-000000000000".to_owned(),
                    "x".to_owned(),
                    "%27%00".to_owned(),
                ] {
                    assert_eq!(
                        answer(stranger, &method, &path.replace("{id}", &missing)).await,
                        got,
                        "{method} {path}"
                    );
                }
                // What a stock client asks of every new conversation is no error.
                let expected = if path.ends_with("/stream") { (204, &Value::Null) } else { (404, &json!(code)) };
                assert_eq!((got.0.as_u16(), got.1.get("code").unwrap_or(&Value::Null)), expected, "{method} {path}");
                tried += 1;
            }
        }
        assert!(tried >= 23, "{tried} operations");
        for list in ["/api/checks", "/api/actions", "/api/actions?conversation=adas-chat", "/api/chats", "/api/channels"] {
            let listed = bob.get(list).await;
            let rows = listed.as_object().unwrap().values().next().unwrap();
            assert_eq!(rows, &json!([]), "{list}");
        }
        assert_eq!(state().await, before, "nothing of hers has changed");
    }

    async fn a_tool_finds_nothing_of_anothers(kind) {
        let site = Site::start(kind).await;
        let (ada, bob) = (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await);
        let adas = belongings(&site, &ada).await;
        let mut errors = Vec::new();
        for check in [adas.check.clone(), "backup".to_owned(), Uuid::new_v4().to_string()] {
            for tool in ["get_check", "delete_check", "pause_check", "resume_check", "rotate_ping_key"] {
                site.provider.push(Script::tool_call(tool, json!({"check": check})));
                site.provider.push(Script::text("sorry"));
                let said = bob.chat("bobs", &format!("{tool}-{check}"), "go").await;
                let error = said.iter().find(|chunk| chunk["type"] == "tool-output-error").expect("an error");
                errors.push(error["errorText"].as_str().unwrap().replace(&check, "…"));
                // Twenty are a window's; each of these is somebody's first.
                bob.send(Method::DELETE, "/api/chat/bobs", None).await;
            }
        }
        assert!(errors.windows(6).all(|errors| errors[0] == errors[5]), "{errors:?}");
        site.provider.push(Script::tool_call("list_checks", json!({})));
        site.provider.push(Script::text("none"));
        let said = bob.chat("bobs", "list", "list").await;
        let output = said.iter().find(|chunk| chunk["type"] == "tool-output-available").unwrap();
        assert!(!output.to_string().contains("backup"), "{output}");
        assert_eq!(ada.get(&format!("/api/checks/{}", adas.check)).await["config_version"], 1);
    }

    async fn what_there_is_not_is_told_as_a_problem(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        for path in [
            "/nothing",
            "/api",
            "/api/",
            "/api/nothing",
            "/api/checks/x/nothing",
            "/metrics",
            "/api/chat/a/b/c",
            "/%00",
            "//",
        ] {
            for method in [Method::GET, Method::POST, Method::DELETE] {
                problem(user.send(method, path, None).await, 404, "not_found").await;
            }
        }
        for (_, path) in operations(&site, "/").await {
            let response = user.send(Method::PUT, &path, None).await;
            assert!(header(&response, "allow").is_some_and(|allow| !allow.contains("PUT")), "{path}");
            problem(response, 405, "method_not_allowed").await;
        }
        for path in ["/", "/embed", "/widget.js", "/openapi.json"] {
            problem(user.post(path).await, 405, "method_not_allowed").await;
        }
    }
}
