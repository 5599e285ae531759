//! Channels over HTTP, the fields of checks that belong to them, and who was told.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::post::loopback;
use super::receiver::Receiver;
use crate::site::{Plan, Site, Visitor, json_of};

async fn made(user: &Visitor, path: &str, body: Value) -> Value {
    let answer = user.send(Method::POST, path, Some(body.clone())).await;
    let status = answer.status();
    let answer = json_of(answer).await;
    assert_eq!(status, StatusCode::CREATED, "{path} {body} {answer}");
    answer
}

async fn hook(user: &Visitor, name: &str) -> Value {
    made(user, "/api/channels", json!({"kind": "webhook", "name": name, "url": "https://hooks.example/a"})).await
}

/// Status, code and field of a refusal.
async fn refused(user: &Visitor, method: Method, path: &str, body: Option<Value>) -> (u16, String, String) {
    let answer = user.send(method, path, body).await;
    let status = answer.status().as_u16();
    let problem = json_of(answer).await;
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    (status, text("code"), text("field"))
}

on_both! {
    async fn a_channel_lives_and_its_secret_is_told_once(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ann", Tier::Free).await;
        let first = made(&user, "/api/checks", json!({"name": "first", "period_seconds": 300})).await;
        assert_eq!((&first["channels"], &first["alert_after_failures"], &first["reminder_seconds"]), (&json!([]), &json!(1), &Value::Null));
        let mut channel = hook(&user, " hook ").await;
        let secret = channel.as_object_mut().unwrap().remove("secret").unwrap();
        assert!(secret.as_str().unwrap().starts_with("whsec_"));
        let keys: Vec<&String> = channel.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "kind", "name", "url", "created_at"]);
        assert_eq!((&channel["kind"], &channel["name"], &channel["url"]), (&json!("webhook"), &json!("hook"), &json!("https://hooks.example/a")));
        assert_eq!(user.get("/api/channels").await, json!({"channels": [channel], "next": null}));
        let second = made(&user, "/api/checks", json!({"name": "second", "period_seconds": 300})).await;
        let path = |check: &Value| format!("/api/checks/{}", check["id"].as_str().unwrap());
        for check in [&first, &second] {
            assert_eq!(user.get(&path(check)).await["channels"], json!([channel["id"]]), "told of by every check");
        }
        assert_eq!(user.get("/api/checks").await["checks"][1]["channels"], json!([channel["id"]]));
        let chat = json!({"kind": "slack", "name": "chat", "url": "https://chat.example/x", "checks": "none"});
        let chat = made(&user, "/api/channels", chat).await;
        assert_eq!(chat.get("secret"), None);
        assert_eq!(user.get(&path(&first)).await["channels"], json!([channel["id"]]));

        let own = format!("/api/channels/{}", channel["id"].as_str().unwrap());
        let changed = user.send(Method::PATCH, &own, Some(json!({"name": "b", "url": "http://hooks.example/b"}))).await;
        assert_eq!(changed.status(), StatusCode::OK);
        let changed = json_of(changed).await;
        assert_eq!((&changed["name"], &changed["url"], changed.get("secret")), (&json!("b"), &json!("http://hooks.example/b"), None));
        let same = user.send(Method::PATCH, &own, Some(json!({}))).await;
        assert_eq!(json_of(same).await, changed);
        assert_eq!(user.send(Method::DELETE, &own, None).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(refused(&user, Method::DELETE, &own, None).await.1, "channel_not_found");
        assert_eq!(user.get(&path(&first)).await["channels"], json!([]));
        site.shutdown().await;
    }

    async fn a_check_chooses_its_channels(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ann", Tier::Free).await;
        let (a, b) = (hook(&user, "a").await["id"].clone(), hook(&user, "b").await["id"].clone());
        let spec = json!({"name": "c", "period_seconds": 300, "channels": [b, b], "alert_after_failures": 3, "reminder_seconds": 7200});
        let check = made(&user, "/api/checks", spec).await;
        assert_eq!((&check["channels"], &check["alert_after_failures"], &check["reminder_seconds"]), (&json!([b]), &json!(3), &json!(7200)));
        let none = made(&user, "/api/checks", json!({"name": "d", "period_seconds": 300, "channels": []})).await;
        assert_eq!(none["channels"], json!([]));
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        let change = async |body: Value| {
            let answer = user.send(Method::PATCH, &path, Some(body.clone())).await;
            assert_eq!(answer.status(), StatusCode::OK, "{body}");
            let view = json_of(answer).await;
            (view["config_version"].as_i64().unwrap(), view["channels"].clone(), view["alert_after_failures"].clone(), view["reminder_seconds"].clone())
        };
        assert_eq!(change(json!({"channels": [b, a]})).await, (2, json!([a, b]), json!(3), json!(7200)));
        assert_eq!(change(json!({"channels": [a, b], "alert_after_failures": 3})).await.0, 2, "it is like that already");
        assert_eq!(change(json!({"alert_after_failures": 1, "name": "e"})).await, (3, json!([a, b]), json!(1), json!(7200)));
        assert_eq!(change(json!({"reminder_seconds": null, "config_version": 3})).await, (4, json!([a, b]), json!(1), Value::Null));
        assert_eq!(change(json!({"channels": []})).await.1, json!([]));
        site.shutdown().await;
    }

    async fn what_does_not_fit_is_refused_by_name(kind) {
        let site = Site::start(kind).await;
        let (user, other) = (site.user("ann", Tier::Free).await, site.user("ben", Tier::Free).await);
        let theirs = hook(&other, "theirs").await["id"].clone();
        let own = hook(&user, "own").await;
        hook(&user, "second").await;
        let check = made(&user, "/api/checks", json!({"name": "c", "period_seconds": 300})).await;
        let (all, checks) = ("/api/channels", "/api/checks");
        let (one, check) = (format!("{all}/{}", own["id"].as_str().unwrap()), format!("{checks}/{}", check["id"].as_str().unwrap()));
        let hook = |field: &str, value: Value| {
            let mut spec = json!({"kind": "webhook", "name": "n", "url": "https://x.example/"});
            spec[field] = value;
            spec
        };
        let (post, patch) = (Method::POST, Method::PATCH);
        let channels = |ids: Value| json!({"name": "n", "period_seconds": 300, "channels": ids});
        for (method, path, body, status, code, field) in [
            (&post, all, hook("url", json!("ftp://x.example/")), 422, "invalid_field", "url"),
            (&post, all, hook("url", json!("https://u:p@x.example/")), 422, "invalid_field", "url"),
            (&post, all, hook("url", Value::Null), 422, "invalid_field", "url"),
            (&post, all, hook("address", json!("a@b.example")), 422, "invalid_field", "address"),
            (&post, all, hook("kind", json!("pager")), 422, "invalid_field", "kind"),
            (&post, all, hook("name", json!("a\u{202e}")), 422, "invalid_field", "name"),
            (&post, all, hook("name", json!("own")), 409, "name_taken", "name"),
            (&post, all, hook("secret", json!("whsec_x")), 422, "unknown_field", "secret"),
            (&post, all, hook("checks", json!("some")), 422, "invalid_field", "checks"),
            (&post, all, json!({"kind": "email", "name": "n", "address": "a@b.example"}), 422, "invalid_field", "kind"),
            (&patch, &one, json!({"url": "x"}), 422, "invalid_field", "url"),
            (&patch, &one, json!({"address": "a@b.example"}), 422, "invalid_field", "address"),
            (&patch, &one, json!({"name": "second"}), 409, "name_taken", "name"),
            (&patch, &one, json!({"kind": "slack"}), 422, "unknown_field", "kind"),
            (&post, checks, channels(json!([theirs])), 422, "invalid_field", "channels"),
            (&post, checks, channels(json!(["0190a000-0000-7000-8000-000000000000"])), 422, "invalid_field", "channels"),
            (&post, checks, channels(json!([own["id"], "x"])), 422, "invalid_field", "channels[1]"),
            (&patch, &check, json!({"channels": [theirs]}), 422, "invalid_field", "channels"),
            (&patch, &check, json!({"alert_after_failures": 11}), 422, "invalid_field", "alert_after_failures"),
            (&patch, &check, json!({"reminder_seconds": 3_599}), 422, "invalid_field", "reminder_seconds"),
        ] {
            let answer = refused(&user, method.clone(), path, Some(body.clone())).await;
            assert_eq!(answer, (status, code.to_owned(), field.to_owned()), "{path} {body}");
        }
        assert_eq!(user.get("/api/checks").await["checks"].as_array().unwrap().len(), 1, "nothing half-made");
        assert_eq!(user.get(&check).await["channels"].as_array().unwrap().len(), 2);
        site.shutdown().await;
    }

    async fn a_strangers_channel_is_no_channel_on_any_route(kind) {
        let site = Site::start(kind).await;
        let (ann, ben, visitor) = (site.user("ann", Tier::Free).await, site.user("ben", Tier::Free).await, site.anonymous().await);
        let theirs = hook(&ann, "a").await["id"].as_str().unwrap().to_owned();
        for id in [&theirs, "0190a000-0000-7000-8000-000000000000", "no-uuid", "%00", "%FF"] {
            for (method, tail, body) in [
                (Method::PATCH, "", Some(json!({"name": "b"}))),
                (Method::DELETE, "", None),
                (Method::POST, "/test", None),
                (Method::GET, "/deliveries", None),
            ] {
                let path = format!("/api/channels/{id}{tail}");
                let (status, code, _) = refused(&ben, method.clone(), &path, body.clone()).await;
                assert_eq!((status, code.as_str()), (404, "channel_not_found"), "{method} {path}");
                assert_eq!(refused(&visitor, method.clone(), &path, body).await.0, 401, "{method} {path}");
            }
        }
        assert_eq!(ben.get("/api/channels").await["channels"], json!([]));
        let check = made(&ann, "/api/checks", json!({"name": "c", "period_seconds": 300})).await;
        let path = format!("/api/checks/{}/notifications", check["id"].as_str().unwrap());
        assert_eq!(refused(&ben, Method::GET, &path, None).await.1, "check_not_found");
        assert_eq!(ann.get("/api/channels").await["channels"].as_array().unwrap().len(), 1);
        site.shutdown().await;
    }

    /// From the ping to the receiver, by the running site; and what is told of it.
    async fn who_was_told_is_listed(kind) {
        let receiver = Receiver::willing().await;
        let site = Plan::new(kind).config(|config| config.outgoing_allow = loopback()).start().await;
        let user = site.user("ann", Tier::Pro).await;
        let check = made(&user, "/api/checks", json!({"name": "c", "period_seconds": 300})).await;
        let channel = made(&user, "/api/channels", json!({"kind": "webhook", "name": "hook", "url": receiver.url("/")})).await;
        let ping = check["ping_url"].as_str().unwrap().strip_prefix(&site.base(0)).unwrap().to_owned();
        user.post(&format!("{ping}/fail")).await;
        user.post(&ping).await;
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        while receiver.count() < 2 {
            assert!(tokio::time::Instant::now() < deadline, "they arrive");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let path = format!("/api/checks/{}/notifications", check["id"].as_str().unwrap());
        let sent = async || user.get(&path).await["notifications"].as_array().unwrap().iter().all(|told| told["status"] == "sent");
        while !sent().await {
            assert!(tokio::time::Instant::now() < deadline, "they are told as sent");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let told = user.get(&path).await["notifications"].clone();
        assert_eq!((&told[0]["event"], &told[1]["event"]), (&json!("check.up"), &json!("check.down")));
        let keys: Vec<&String> = told[0].as_object().unwrap().keys().collect();
        let expected = ["id", "event", "channel", "check_id", "status", "attempts", "created_at", "finished_at", "next_attempt_at", "last_error"];
        assert_eq!(keys, expected);
        assert_eq!(told[0]["channel"], json!({"id": channel["id"], "name": "hook", "kind": "webhook"}));
        assert_eq!((&told[0]["check_id"], &told[0]["attempts"], &told[0]["next_attempt_at"], &told[0]["last_error"]), (&check["id"], &json!(1), &Value::Null, &Value::Null));
        let first = user.get(&format!("{path}?limit=1")).await;
        assert_eq!(first["notifications"], json!([told[0]]));
        let second = user.get(&format!("{path}?limit=1&before={}", first["next"].as_str().unwrap())).await;
        assert_eq!((&second["notifications"], &second["next"]), (&json!([told[1]]), &Value::Null));
        let of_channel = user.get(&format!("/api/channels/{}/deliveries", channel["id"].as_str().unwrap())).await;
        assert_eq!(of_channel["deliveries"], told);
        let urls: Vec<Value> = receiver.received().iter().map(|request| request.json()["data"]["url"].clone()).collect();
        assert!(urls.iter().all(|url| *url == format!("{}/", site.base(0))), "{urls:?}");
        site.shutdown().await;
    }
}
