//! The contract and the API agree: what it says of each route's refusals, bodies and answers is so.

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::schema::{misfits, misfits_of_answer};
use crate::callers::operations;
use crate::proposals::{create, new_id, propose, tap};
use crate::site::{Site, Visitor, json_of};

/// What the contract says of an operation.
fn operation<'a>(contract: &'a Value, method: &Method, path: &str) -> &'a Value {
    let operation = &contract["paths"][path][method.as_str().to_lowercase()];
    assert!(operation.is_object(), "{method} {path}");
    operation
}

/// The schema of a body or an answer in JSON.
fn schema<'a>(contract: &'a Value, content: &'a Value) -> &'a Value {
    let media = content.as_object().unwrap().iter().find(|(name, _)| name.ends_with("json")).unwrap().1;
    let schema = &media["schema"];
    schema["$ref"].as_str().map_or(schema, |named| contract.pointer(&named[1..]).unwrap())
}

/// Sends, and holds the answer against the contract.
async fn answered(
    contract: &Value,
    who: &Visitor,
    method: Method,
    template: &str,
    real: &str,
    body: Option<Value>,
) -> (StatusCode, Value) {
    let response = who.send(method.clone(), real, body).await;
    let status = response.status();
    let said = &operation(contract, &method, template)["responses"][status.as_str()];
    assert!(said["description"].is_string(), "{method} {template} answers {status}");
    if status == StatusCode::NO_CONTENT {
        return (status, Value::Null);
    }
    let body = json_of(response).await;
    let wrong = misfits_of_answer(contract, schema(contract, &said["content"]), &body);
    assert!(wrong.is_empty(), "{method} {template} {status}: {wrong:#?}");
    (status, body)
}

on_both! {
    async fn every_route_says_what_it_can_answer(kind) {
        let site = Site::start(kind).await;
        let contract = site.visitor(None).get("/openapi.json").await;
        let problem = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
        assert!(contract["info"].get("license").is_none());
        for (method, path) in operations(&site, "/").await {
            let operation = operation(&contract, &method, &path);
            let responses = operation["responses"].as_object().unwrap();
            for (status, response) in responses {
                let place = format!("{method} {path} {status}");
                assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{place}");
                if status.as_str() >= "400" {
                    assert_eq!(response["content"]["application/problem+json"], problem, "{place}");
                }
                assert_eq!(response["headers"].get("Retry-After").is_some(), matches!(status.as_str(), "429" | "503"), "{place}");
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap();
                let in_path = path.contains(&format!("{{{name}}}"));
                let expected = if in_path { ("path", true) } else { ("query", false) };
                let said = (parameter["in"].as_str().unwrap(), parameter["required"].as_bool().unwrap_or_default());
                assert_eq!(said, expected, "{method} {path} {name}");
            }
            let is_api = path.starts_with("/api/");
            assert_eq!(responses.contains_key("401"), is_api, "{method} {path}");
            assert!(responses.contains_key("429"), "{method} {path}");
            let takes_json = operation["requestBody"]["content"]["application/json"].is_object();
            for status in ["413", "415", "422"] {
                assert!(!takes_json || responses.contains_key(status), "{method} {path} {status}");
            }
            let ways = operation["security"].as_array().unwrap();
            assert_eq!(!ways.is_empty(), is_api, "{method} {path}");
            for scheme in ways.iter().flat_map(|way| way.as_object().unwrap().keys()) {
                assert!(contract["components"]["securitySchemes"][scheme].is_object(), "{scheme}");
            }
            if method == Method::POST && path.starts_with("/ping/") {
                assert!(operation["requestBody"]["content"]["*/*"].is_object());
            }
        }
        for (path, names) in [
            ("/api/actions", &["conversation", "limit", "before", "status"][..]), ("/api/chats", &["limit", "before"]),
            ("/api/checks", &["tag", "limit", "before"]), ("/api/channels", &["limit", "before"]),
        ] {
            let parameters = contract["paths"][path]["get"]["parameters"].as_array().unwrap();
            assert!(names.iter().all(|name| parameters.iter().any(|parameter| parameter["name"] == *name)), "{path}");
        }
    }

    async fn a_body_is_taken_if_it_fits_the_contract(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let contract = user.get("/openapi.json").await;
        let hook = json!({"kind": "webhook", "name": "ops", "url": "https://hooks.example/x"});
        let ops = json_of(user.send(Method::POST, "/api/channels", Some(hook.clone())).await).await;
        let check = json_of(user.send(Method::POST, "/api/checks", Some(json!({"name": "a", "period_seconds": 3_600}))).await).await;
        let real = |path: &str| {
            let id = if path.starts_with("/api/channels") { &ops["id"] } else { &check["id"] };
            path.replace("{id}", id.as_str().unwrap())
        };
        let (checks, one, pause, resume) = ("/api/checks", "/api/checks/{id}", "/api/checks/{id}/pause", "/api/checks/{id}/resume");
        let (channels, channel) = ("/api/channels", "/api/channels/{id}");
        let (post, patch) = (&Method::POST, &Method::PATCH);
        for (method, path, body, fits) in [
            (post, checks, json!({"name": "b", "period_seconds": 300, "tags": ["x"], "channels": [ops["id"]], "reminder_seconds": null}), true),
            (post, checks, json!({"name": "c", "cron": "@daily", "timezone": "UTC", "alert_after_failures": 2, "description": ""}), true),
            (post, checks, json!({"name": "c", "cron": "@daily", "unique": ["name"]}), true),
            (post, checks, json!({"period_seconds": 300}), false),
            (post, checks, json!({"name": "d", "period_seconds": 300, "interval": 5}), false),
            (post, checks, json!({"name": "d", "period_seconds": 59}), false),
            (post, checks, json!({"name": "d", "period_seconds": "300"}), false),
            (post, checks, json!({"name": "", "period_seconds": 300}), false),
            (post, checks, json!({"name": "d", "period_seconds": 300, "alert_after_failures": 11}), false),
            (post, checks, json!(["d", 300]), false),
            (patch, one, json!({}), true),
            (patch, one, json!({"name": "e", "grace_seconds": 600, "max_runtime_seconds": null, "reminder_seconds": null}), true),
            (patch, one, json!({"channels": [], "config_version": null}), true),
            (patch, one, json!({"name": null}), false),
            (patch, one, json!({"tags": null}), false),
            (patch, one, json!({"description": null}), false),
            (patch, one, json!({"grace_seconds": null}), false),
            (patch, one, json!({"alert_after_failures": null}), false),
            (patch, one, json!({"channels": null}), false),
            (patch, one, json!({"ping_key": "x"}), false),
            (patch, one, json!({"tags": ["x", ""]}), false),
            (post, pause, json!({}), true),
            (post, pause, json!({"for": 60}), false),
            (post, resume, json!({}), true),
            (post, resume, json!({"until": "2030-01-01T00:00:00Z"}), false),
            (post, "/api/checks/pause", json!({"tag": "x", "until": null}), true),
            (post, "/api/checks/pause", json!({"until": null}), false),
            (post, channels, json!({"kind": "slack", "name": "chat", "url": "https://chat.example/x", "checks": "none"}), true),
            (post, channels, json!({"kind": "pager", "name": "p", "url": "https://chat.example/x"}), false),
            (post, channels, json!({"kind": ["slack"], "name": "p", "url": "https://chat.example/x"}), false),
            (post, channels, json!({"kind": "slack", "name": "p", "url": "https://chat.example/x", "checks": ["x"]}), false),
            (patch, channel, json!({"name": "on-call"}), true),
            (patch, channel, json!({"name": null}), false),
            (patch, channel, json!({"url": null}), false),
            (patch, channel, json!({"secret": "whsec_x"}), false),
            (post, "/api/channels/{id}/test", json!({}), true),
            (post, "/api/channels/{id}/test", json!({"loud": true}), false),
        ] {
            let content = &operation(&contract, method, path)["requestBody"]["content"];
            let wrong = misfits(&contract, schema(&contract, content), &body);
            assert_eq!(wrong.is_empty(), fits, "{method} {path} {body}: {wrong:#?}");
            let (status, told) = answered(&contract, &user, method.clone(), path, &real(path), Some(body.clone())).await;
            let expected = if fits { status.is_success() } else { status == StatusCode::UNPROCESSABLE_ENTITY };
            assert!(expected, "{method} {path} {body}: {status} {told}");
        }
    }

    async fn an_answer_is_as_the_contract_has_it(kind) {
        let site = Site::start(kind).await;
        let (user, visitor) = (site.user("ada", Tier::Free).await, site.anonymous().await);
        let contract = user.get("/openapi.json").await;
        let ask = async |method: Method, template: &str, real: &str, body: Option<Value>| {
            answered(&contract, &user, method, template, real, body).await
        };
        let check = ask(Method::POST, "/api/checks", "/api/checks", Some(json!({"name": "a", "period_seconds": 3_600}))).await.1;
        let hook = json!({"kind": "webhook", "name": "ops", "url": "https://hooks.example/x"});
        let ops = ask(Method::POST, "/api/channels", "/api/channels", Some(hook)).await.1;
        let key = check["ping_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let (check, ops) = (check["id"].as_str().unwrap().to_owned(), ops["id"].as_str().unwrap().to_owned());
        assert_eq!(ask(Method::POST, "/ping/{key}/{tail}", &format!("/ping/{key}/fail"), None).await.0, 200);
        assert_eq!(ask(Method::GET, "/ping/{key}", &format!("/ping/{key}"), None).await.0, 200);
        assert_eq!(ask(Method::GET, "/ping/{key}", &format!("/ping/{key}"), None).await.0, 429);
        assert_eq!(ask(Method::GET, "/ping/{key}/{tail}", &format!("/ping/{key}/256"), None).await.0, 400);
        let cards = propose(&site, &user, "talk", &[create("b"), create("c")]).await;
        assert_eq!(tap(&user, &cards[0]).await.state(), ("EXECUTED", false));
        let action = cards[0]["id"].as_str().unwrap().to_owned();
        for (template, id) in [
            ("/api/checks", ""), ("/api/checks/{id}", &check[..]), ("/api/checks/{id}/flips", &check), ("/api/checks/{id}/pings", &check),
            ("/api/checks/{id}/uptime", &check), ("/api/checks/{id}/snippets", &check), ("/api/checks/{id}/notifications", &check),
            ("/api/channels", ""), ("/api/channels/{id}/deliveries", &ops), ("/api/actions", ""), ("/api/actions/{id}", &action),
            ("/api/chats", ""), ("/api/chat/{id}", "talk"),
        ] {
            let (status, told) = ask(Method::GET, template, &template.replace("{id}", id), None).await;
            assert_eq!(status, 200, "{template}");
            let list = template.rsplit('/').next().unwrap();
            assert!(told[list].as_array().is_none_or(|rows| !rows.is_empty()), "{template} shows a row: {told}");
        }
        let badge = user.get(&format!("/api/checks/{check}")).await["badge_url"].as_str().unwrap().replace(".svg", ".json");
        assert_eq!(ask(Method::GET, "/badge/{key}", badge.strip_prefix(&site.base(0)).unwrap(), None).await.0, 200);
        for who in [&user, &visitor] {
            assert_eq!(answered(&contract, who, Method::POST, "/api/session", "/api/session", None).await.0, 200);
        }
        assert_eq!(ask(Method::POST, "/api/actions/{id}/confirm", &format!("/api/actions/{action}/confirm"), None).await.0, 200);
        // Refusals of each kind.
        let (reject, unknown) = (format!("/api/actions/{action}/reject"), new_id());
        let one = format!("/api/checks/{check}");
        for (method, template, real, body, status) in [
            (Method::POST, "/api/actions/{id}/reject", reject, None, 409),
            (Method::GET, "/api/actions/{id}", format!("/api/actions/{unknown}"), None, 404),
            (Method::PATCH, "/api/checks/{id}", one.clone(), Some(json!({"config_version": 99, "name": "x"})), 409),
            (Method::PATCH, "/api/checks/{id}", one.clone(), Some(json!({"name": 5})), 422),
            (Method::PATCH, "/api/checks/{id}", one, Some(json!({"description": "x".repeat(70_000)})), 413),
            (Method::GET, "/api/chat/{id}", "/api/chat/%ff".to_owned(), None, 400),
            (Method::POST, "/api/checks", "/api/checks".to_owned(), None, 415),
            (Method::GET, "/api/checks", "/api/checks?tags=x".to_owned(), None, 422),
        ] {
            assert_eq!(ask(method, template, &real, body).await.0, status, "{real}");
        }
        assert_eq!(answered(&contract, &visitor, Method::GET, "/api/checks", "/api/checks", None).await.0, 401);
        assert_eq!(ask(Method::DELETE, "/api/channels/{id}", &format!("/api/channels/{ops}"), None).await.0, 204);
    }
}
