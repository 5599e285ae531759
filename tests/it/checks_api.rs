//! Checks over HTTP: the whole life of one, what is refused and how, and that they are their owner's alone.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::site::{Plan, Site, Visitor, json_of};

async fn create(user: &Visitor, spec: Value) -> Value {
    let response = user.send(Method::POST, "/api/checks", Some(spec)).await;
    assert_eq!(response.status(), StatusCode::CREATED);
    json_of(response).await
}

/// The status, and the problem's code and field, if it names one.
async fn refused(user: &Visitor, method: Method, path: &str, body: Option<Value>) -> (u16, String, String) {
    let response = user.send(method, path, body).await;
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem = json_of(response).await;
    assert!(problem["request_id"].is_string() && problem["detail"].is_string(), "{problem}");
    let text = |member: &str| problem[member].as_str().unwrap_or_default().to_owned();
    (status, text("code"), text("field"))
}

on_both! {
    async fn a_check_lives_and_dies(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ann", Tier::Pro).await;
        let spec = json!({"name": "nightly-backup", "period_seconds": 86_400, "tags": ["db"], "description": "a\nb"});
        let made = create(&user, spec).await;
        let keys: Vec<&str> = made.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, [
            "id", "name", "tags", "description", "period_seconds", "cron", "timezone", "grace_seconds",
            "max_runtime_seconds", "status", "paused_at", "paused_until", "late", "started", "config_version",
            "last_ping_at", "last_start_at", "due_at", "deadline_at", "channels", "alert_after_failures",
            "reminder_seconds", "rejected_count", "last_rejected_at", "ping_url", "badge_url",
            "created_at",
        ]);
        assert_eq!((&made["status"], &made["config_version"]), (&json!("new"), &json!(1)));
        assert_eq!((&made["grace_seconds"], &made["description"]), (&json!(3_600), &json!("a\nb")));
        let path = format!("/api/checks/{}", made["id"].as_str().unwrap());
        assert_eq!(user.get(&path).await, made);

        let ping = made["ping_url"].as_str().unwrap().strip_prefix(&site.base(0)).unwrap().to_owned();
        assert_eq!(user.post(&ping).await.status(), StatusCode::OK);
        assert_eq!(user.get(&path).await["status"], "up");
        assert_eq!(user.get(&format!("{path}/flips")).await["flips"][0]["reason"], "first_ping");
        assert_eq!(user.get(&format!("{path}/pings")).await["pings"][0]["kind"], "success");

        let changes = json!({"name": "backup", "max_runtime_seconds": 900, "config_version": 1});
        let edited = json_of(user.send(Method::PATCH, &path, Some(changes)).await).await;
        assert_eq!((&edited["name"], &edited["max_runtime_seconds"]), (&json!("backup"), &json!(900)));
        assert_eq!((&edited["tags"], &edited["config_version"]), (&json!(["db"]), &json!(2)));
        let cleared = user.send(Method::PATCH, &path, Some(json!({"max_runtime_seconds": null}))).await;
        assert_eq!(json_of(cleared).await["max_runtime_seconds"], Value::Null);

        let until = site.now().plus(Duration::from_mins(10));
        let pause = Some(json!({"until": until.rfc3339()}));
        let paused = json_of(user.send(Method::POST, &format!("{path}/pause"), pause).await).await;
        assert_eq!(paused["paused_until"], json!(until.rfc3339()));
        site.advance(Duration::from_mins(10));
        let over = user.get(&path).await;
        assert_eq!((&over["paused_at"], &over["paused_until"]), (&Value::Null, &Value::Null), "it has ended by itself");
        assert!(json_of(user.post(&format!("{path}/pause")).await).await["paused_at"].is_string());
        assert_eq!(json_of(user.post(&format!("{path}/resume")).await).await["paused_at"], Value::Null);
        assert_eq!(user.post(&format!("{path}/resume")).await.status(), StatusCode::OK);

        let rotated = json_of(user.post(&format!("{path}/rotate")).await).await;
        assert_ne!(rotated["ping_url"], made["ping_url"]);
        assert_eq!(user.post(&ping).await.status(), StatusCode::NOT_FOUND);

        assert_eq!(user.send(Method::DELETE, &path, None).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(refused(&user, Method::GET, &path, None).await.1, "check_not_found");
        assert_eq!(user.get("/api/checks").await, json!({"checks": [], "next": null}));
        site.shutdown().await;
    }

    async fn what_does_not_fit_is_refused_by_name(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ann", Tier::Free).await;
        let made = create(&user, json!({"name": "a", "period_seconds": 3_600})).await;
        create(&user, json!({"name": "b", "period_seconds": 3_600})).await;
        let path = format!("/api/checks/{}", made["id"].as_str().unwrap());
        let pause = format!("{path}/pause");
        let tight = json!({"name": "c", "period_seconds": 300, "grace_seconds": 60});
        let with = |field: &str, value: Value| {
            let mut spec = json!({"name": "c", "period_seconds": 300});
            spec[field] = value;
            spec
        };
        let (all, edit) = ("/api/checks", Method::PATCH);
        for (method, path, body, status, code, field) in [
            (Method::POST, all, json!({"name": "a", "period_seconds": 300}), 409, "name_taken", "name"),
            (Method::POST, all, json!({"name": "c", "period_seconds": 60}), 422, "invalid_field", "period_seconds"),
            (Method::POST, all, json!({"name": "c", "period_seconds": 3.5}), 422, "invalid_field", "period_seconds"),
            (Method::POST, all, json!({"name": "c"}), 422, "invalid_field", "period_seconds"),
            (Method::POST, all, tight, 422, "invalid_field", "grace_seconds"),
            (Method::POST, all, json!({"name": "", "period_seconds": 300}), 422, "invalid_field", "name"),
            (Method::POST, all, json!({"name": "c\u{202e}", "period_seconds": 300}), 422, "invalid_field", "name"),
            (Method::POST, all, with("tags", json!(["ok", "\u{0}"])), 422, "invalid_field", "tags[1]"),
            (Method::POST, all, with("channels", json!(["x"])), 422, "invalid_field", "channels[0]"),
            (Method::POST, all, json!(["c", 300]), 422, "invalid_field", "body"),
            (Method::POST, all, json!("c"), 422, "invalid_field", "body"),
            (Method::POST, all, with("status", json!("up")), 422, "unknown_field", "status"),
            (Method::POST, all, with("cron", json!("* * * * *")), 422, "invalid_field", "cron"),
            (edit.clone(), &path, json!({"name": "b"}), 409, "name_taken", "name"),
            (edit.clone(), &path, json!({"name": "c", "config_version": 7}), 409, "check_changed", ""),
            (edit.clone(), &path, json!({"config_version": "1"}), 422, "invalid_field", "config_version"),
            (edit.clone(), &path, json!({"period_seconds": 299}), 422, "invalid_field", "period_seconds"),
            (edit.clone(), &path, json!({"ping_key": "x"}), 422, "unknown_field", "ping_key"),
            (edit.clone(), &path, json!({"name": null}), 422, "invalid_field", "name"),
            (edit.clone(), &path, json!({"tags": null}), 422, "invalid_field", "tags"),
            (edit.clone(), &path, json!({"channels": null}), 422, "invalid_field", "channels"),
            (edit.clone(), &path, json!({"period_seconds": null}), 422, "invalid_field", "period_seconds"),
            (edit.clone(), &path, json!({"cron": null, "description": "x"}), 422, "invalid_field", "cron"),
            (Method::POST, &pause, json!({"until": "9999-12-31T23:59:59Z"}), 422, "invalid_field", "until"),
            (Method::POST, &pause, json!({"until": "2020-01-01T00:00:00Z"}), 422, "invalid_field", "until"),
            (Method::POST, &pause, json!({"until": "soon"}), 422, "invalid_field", "until"),
            (Method::POST, &pause, json!({"for": 60}), 422, "unknown_field", "for"),
        ] {
            let answer = refused(&user, method, path, Some(body.clone())).await;
            assert_eq!(answer, (status, code.to_owned(), field.to_owned()), "{path} {body}");
        }
        for query in ["limit=0", "limit=101", "limit=x", "before=%00", "before=a%20b", "tag=%00", "tag="] {
            let (status, code, _) = refused(&user, Method::GET, &format!("/api/checks?{query}"), None).await;
            assert_eq!((status, code.as_str()), (422, "invalid_field"), "{query}");
        }
        let uuid = "0190a000-0000-7000-8000-000000000000";
        let (twice, other_list) = (format!("before={uuid}&before={uuid}"), format!("1.{uuid}"));
        for (route, query, code, field) in [
            (all, "tags=x", "unknown_field", "tags"),
            (all, "tag=a&tag=b", "invalid_field", "tag"),
            (all, &twice, "invalid_field", "before"),
            (all, "before=zzz", "invalid_field", "before"),
            (all, "before=", "invalid_field", "before"),
            (all, &format!("before={other_list}"), "invalid_field", "before"),
            (&format!("{path}/uptime"), "days=7", "unknown_field", "days"),
            (&format!("{path}/flips"), "page=2", "unknown_field", "page"),
            (&format!("{path}/pings"), "before=zzz", "invalid_field", "before"),
            (&format!("{path}/notifications"), "before=zzz", "invalid_field", "before"),
            ("/api/channels", "limit=0", "invalid_field", "limit"),
            ("/api/channels", "kind=slack", "unknown_field", "kind"),
            ("/api/actions", "state=PENDING", "unknown_field", "state"),
            ("/api/actions", "conversation=a&conversation=b", "invalid_field", "conversation"),
            ("/api/actions", "before=zzz", "invalid_field", "before"),
            ("/api/chats", &format!("before={uuid}"), "invalid_field", "before"),
            ("/api/chats", "before=1.zzz", "invalid_field", "before"),
        ] {
            let answer = refused(&user, Method::GET, &format!("{route}?{query}"), None).await;
            assert_eq!(answer, (422, code.to_owned(), field.to_owned()), "{route}?{query}");
        }
        assert_eq!(user.get(&path).await["config_version"], 1);
        let checks = user.get("/api/checks").await["checks"].clone();
        assert_eq!(checks.as_array().unwrap().len(), 2);
        site.shutdown().await;
    }

    /// What is said of a misfit is for whoever sent it: no type of ours, and no full stop twice.
    async fn a_misfit_is_told_in_plain_words(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ann", Tier::Free).await;
        let detail = async |path: &str, body: Value| {
            let answer = user.send(Method::POST, path, Some(body)).await;
            (answer.status().as_u16(), json_of(answer).await["detail"].as_str().unwrap().to_owned())
        };
        let hook = |field: &str, value: Value| {
            let mut hook = json!({"kind": "webhook", "name": "ops", "url": "https://hooks.example/x"});
            hook[field] = value;
            hook
        };
        for (path, body, said) in [
            ("/api/checks", json!({"name": "a", "period_seconds": "300"}), "The field \"period_seconds\": a whole number is needed, not text."),
            ("/api/channels", hook("checks", json!(["x"])), "The field \"checks\": text is needed, not a list."),
            ("/api/channels", hook("kind", json!("pager")), "The field \"kind\": it is one of webhook, slack, email, not \"pager\"."),
            ("/api/channels", json!([]), "The body must be one JSON object."),
            ("/api/checks/pause", json!({"tag": "x", "until": "soon"}), "The field \"until\": not an RFC 3339 time with an offset."),
        ] {
            assert_eq!(detail(path, body.clone()).await, (422, said.to_owned()), "{path} {body}");
        }
        let seconds = detail("/api/checks", json!({"name": "a", "cron": "0 0 9 * * *"})).await.1;
        assert!(seconds.ends_with('.') && !seconds.ends_with(".."), "{seconds}");
        let reboot = detail("/api/checks", json!({"name": "a", "cron": "@reboot"})).await.1;
        assert!(reboot.ends_with('.') && !reboot.ends_with(".."), "{reboot}");
        site.shutdown().await;
    }

    async fn the_limit_is_told_with_its_numbers(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ann", Tier::Free).await;
        for n in 0..20 {
            create(&user, json!({"name": format!("check {n}"), "period_seconds": 300})).await;
        }
        let body = Some(json!({"name": "one more", "period_seconds": 300}));
        let full = user.send(Method::POST, "/api/checks", body.clone()).await;
        assert_eq!(full.status(), StatusCode::CONFLICT);
        let problem = json_of(full).await;
        assert_eq!(problem["code"], "check_limit_reached");
        assert_eq!(problem["detail"], "The free tier has room for 20 checks, and 20 exist. Delete one first.");
        let first = user.get("/api/checks?limit=1").await["checks"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(user.send(Method::DELETE, &format!("/api/checks/{first}"), None).await.status(), 204);
        assert_eq!(user.send(Method::POST, "/api/checks", body).await.status(), 201);
        site.shutdown().await;
    }

    async fn lists_come_in_pages_newest_first(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ann", Tier::Free).await;
        for n in 0..5 {
            let tags = if n % 2 == 0 { json!(["even"]) } else { json!([]) };
            create(&user, json!({"name": format!("check {n}"), "period_seconds": 300, "tags": tags})).await;
            site.advance(Duration::from_millis(2));
        }
        let names = |page: &Value| -> Vec<String> {
            page["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect()
        };
        let first = user.get("/api/checks?limit=2").await;
        assert_eq!(names(&first), ["check 4", "check 3"]);
        let second = user.get(&format!("/api/checks?limit=2&before={}", first["next"].as_str().unwrap())).await;
        assert_eq!(names(&second), ["check 2", "check 1"]);
        let last = user.get(&format!("/api/checks?limit=2&before={}", second["next"].as_str().unwrap())).await;
        assert_eq!((names(&last), &last["next"]), (vec!["check 0".to_owned()], &Value::Null));
        let ids = |page: &Value| -> Vec<String> {
            page["channels"].as_array().unwrap().iter().map(|channel| channel["name"].as_str().unwrap().to_owned()).collect()
        };
        for name in ["a", "b", "c"] {
            let hook = json!({"kind": "webhook", "name": name, "url": "https://hooks.example/x"});
            assert_eq!(user.send(Method::POST, "/api/channels", Some(hook)).await.status(), 201);
            site.advance(Duration::from_millis(2));
        }
        let first = user.get("/api/channels?limit=2").await;
        let rest = user.get(&format!("/api/channels?limit=2&before={}", first["next"].as_str().unwrap())).await;
        assert_eq!((ids(&first), ids(&rest), &rest["next"]), (vec!["a".into(), "b".into()], vec!["c".into()], &Value::Null));
        assert_eq!(names(&user.get("/api/checks?tag=even").await), ["check 4", "check 2", "check 0"]);
        assert_eq!(names(&user.get("/api/checks?tag=none").await), Vec::<String>::new());
        site.shutdown().await;
    }

    async fn a_strangers_check_is_no_check_on_any_route(kind) {
        let site = Site::start(kind).await;
        let (ann, ben) = (site.user("ann", Tier::Free).await, site.user("ben", Tier::Free).await);
        let made = create(&ann, json!({"name": "a", "period_seconds": 300})).await;
        create(&ben, json!({"name": "theirs", "period_seconds": 300})).await;
        let (theirs, visitor) = (made["id"].as_str().unwrap(), site.anonymous().await);
        for id in [theirs, "0190a000-0000-7000-8000-000000000000", "no-uuid", "%00", "%FF"] {
            for (method, path, body) in [
                (Method::GET, "", None),
                (Method::PATCH, "", Some(json!({"name": "b"}))),
                (Method::DELETE, "", None),
                (Method::POST, "/pause", None),
                (Method::POST, "/resume", None),
                (Method::POST, "/rotate", None),
                (Method::GET, "/flips", None),
                (Method::GET, "/pings", None),
            ] {
                let path = format!("/api/checks/{id}{path}");
                let (status, code, _) = refused(&ben, method.clone(), &path, body.clone()).await;
                assert_eq!((status, code.as_str()), (404, "check_not_found"), "{method} {path}");
                let (status, code, _) = refused(&visitor, method.clone(), &path, body).await;
                assert_eq!((status, code.as_str()), (401, "unauthorized"), "{method} {path}");
            }
        }
        assert_eq!(ann.get(&format!("/api/checks/{theirs}")).await, made);
        site.shutdown().await;
    }
}
