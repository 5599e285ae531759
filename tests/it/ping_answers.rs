//! `/ping` over HTTP: the answers of every form of a ping, to anybody, from anywhere.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::site::{Plan, Site, Visitor, json_of};

/// A site whose clock stands still, a user with one check, and that check's id and ping path.
async fn site(kind: crate::database::Kind) -> (Site, Visitor, String, String) {
    let site = Plan::new(kind).manual_clock().start().await;
    let user = site.user("pinged", Tier::Free).await;
    let spec = json!({"name": "nightly", "period_seconds": 3_600, "grace_seconds": 600});
    let made = user.send(Method::POST, "/api/checks", Some(spec)).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let check = json_of(made).await;
    let key = check["ping_url"].as_str().unwrap().rsplit('/').next().unwrap();
    let (path, id) = (format!("/ping/{key}"), check["id"].as_str().unwrap().to_owned());
    (site, user, id, path)
}

async fn problem(response: Response, status: StatusCode, code: &str) -> Value {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let body = json_of(response).await;
    assert_eq!(body["code"], code, "{body}");
    body
}

on_both! {
    async fn every_form_is_accepted_from_anybody(kind) {
        let (site, user, id, path) = site(kind).await;
        let nobody = site.visitor(None);
        let forms = [
            (Method::GET, "/start"), (Method::HEAD, "/log"), (Method::POST, ""), (Method::GET, "/fail"),
            (Method::HEAD, "/0"), (Method::POST, "/255"), (Method::GET, ""),
        ];
        for (method, tail) in forms {
            let sent = nobody.request(method.clone(), &format!("{path}{tail}"));
            // A form on somebody's page, with their cookies: a ping asks for none of it.
            let sent = sent.header("origin", "https://elsewhere.example").header("cookie", "flatline_session=stolen");
            let answer = sent.send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{method} {tail:?}");
            assert_eq!(answer.headers()["content-type"], "application/json");
            assert!(!answer.headers().contains_key("set-cookie"));
            let body = answer.text().await.unwrap();
            assert_eq!(body, if method == Method::HEAD { "" } else { r#"{"ok":true}"# });
            site.advance(Duration::from_secs(1));
        }
        let kept = user.get(&format!("/api/checks/{id}/pings")).await;
        let said: Vec<(&str, Option<i64>)> = kept["pings"].as_array().unwrap().iter()
            .map(|ping| (ping["kind"].as_str().unwrap(), ping["exit_status"].as_i64())).collect();
        let expected = [
            ("success", None), ("fail", Some(255)), ("success", Some(0)), ("fail", None), ("success", None),
            ("log", None), ("start", None),
        ];
        assert_eq!(said, expected);
        assert_eq!(kept["pings"][0]["remote"], "127.0.0.1");
        let flips = user.get(&format!("/api/checks/{id}/flips")).await;
        let reasons: Vec<&str> =
            flips["flips"].as_array().unwrap().iter().map(|flip| flip["reason"].as_str().unwrap()).collect();
        assert_eq!(reasons, ["recovered", "exit", "recovered", "fail", "first_ping"]);
        site.shutdown().await;
    }

    async fn too_soon_says_how_long(kind) {
        let (site, _, _, path) = site(kind).await;
        let nobody = site.visitor(None);
        let accepted_at = site.now().rfc3339();
        assert_eq!(nobody.post(&path).await.status(), StatusCode::OK);
        site.advance(Duration::from_millis(10_500));
        let answer = nobody.post(&path).await;
        assert_eq!(answer.headers()["retry-after"], "290");
        let body = problem(answer, StatusCode::TOO_MANY_REQUESTS, "ping_too_soon").await;
        assert_eq!(
            (&body["min_interval_seconds"], &body["retry_after_seconds"], &body["last_accepted_at"]),
            (&json!(300), &json!(290), &json!(accepted_at))
        );
        site.advance(Duration::from_secs(290));
        assert_eq!(nobody.post(&path).await.status(), StatusCode::OK);
        site.shutdown().await;
    }

    async fn a_paused_check_answers_that_it_ignores(kind) {
        let (site, user, id, path) = site(kind).await;
        assert_eq!(user.post(&format!("/api/checks/{id}/pause")).await.status(), StatusCode::OK);
        let answer = site.visitor(None).post(&path).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(json_of(answer).await, json!({"ok": true, "ignored": "paused"}));
        assert_eq!(user.get(&format!("/api/checks/{id}")).await["status"], "new");
        site.shutdown().await;
    }

    async fn what_is_malformed_or_unknown_is_refused(kind) {
        let (site, user, id, path) = site(kind).await;
        let nobody = site.visitor(None);
        for tail in ["256", "-1", "007", "success", "starts", "1e1", "%00", "%ff", "start%20"] {
            let answer = nobody.post(&format!("{path}/{tail}")).await;
            assert_eq!(problem(answer, StatusCode::BAD_REQUEST, "invalid_field").await["field"], "tail", "{tail}");
        }
        for rid in ["rid=", "rid=7", "rid=%00", "rid=%ff", "rid=a&rid=b"] {
            let answer = nobody.post(&format!("{path}/start?{rid}")).await;
            assert_eq!(problem(answer, StatusCode::BAD_REQUEST, "invalid_field").await["field"], "rid", "{rid}");
        }
        let stranger = "/ping/0b0f2f1e-6f0a-4b6e-9a54-3f1f4f7d8c11";
        for unknown in [stranger, &format!("{stranger}/start"), "/ping/x", "/ping/%00", "/ping/%ff", "/ping/x/255"] {
            problem(nobody.post(unknown).await, StatusCode::NOT_FOUND, "check_not_found").await;
        }
        for method in [Method::PUT, Method::DELETE, Method::PATCH] {
            let answer = nobody.send(method, &path, None).await;
            problem(answer, StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed").await;
        }
        // None of it left a trace.
        assert_eq!(user.get(&format!("/api/checks/{id}/pings")).await["pings"], json!([]));
        let check = user.get(&format!("/api/checks/{id}")).await;
        assert_eq!((&check["status"], &check["rejected_count"]), (&json!("new"), &json!(0)));
        site.shutdown().await;
    }

    async fn a_long_body_is_kept_in_part(kind) {
        let (site, user, id, path) = site(kind).await;
        let body = "ä".repeat(35_000);
        let run = "?rid=7b1c9b64-95c4-4a53-8a60-3f0b9a8c2f11";
        let start = site.visitor(None).post(&format!("{path}/start{run}")).await;
        assert_eq!(start.status(), StatusCode::OK);
        site.advance(Duration::from_secs(42));
        let end = site.visitor(None).request(Method::POST, &format!("{path}{run}")).body(body).send().await.unwrap();
        assert_eq!(end.status(), StatusCode::OK);
        let ping = &user.get(&format!("/api/checks/{id}/pings?limit=1")).await["pings"][0];
        assert_eq!(ping["body"], "ä".repeat(5_000));
        assert_eq!((&ping["body_length"], &ping["duration_seconds"]), (&json!(70_000), &json!(42)));
        site.shutdown().await;
    }
}
