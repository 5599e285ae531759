//! Browsers: no write by cookie from any page but our own, and answers for listed origins alone.

use flatline::limits::Tier;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::json;

use super::api_token;
use super::sign_in::sign_in;
use crate::asking::{header, message, number, problem, send};
use crate::database::Kind;
use crate::site::{Plan, Site, Visitor, json_of};

const LISTED: &str = "https://site.example";

async fn listed_site(kind: Kind) -> Site {
    Plan::new(kind).config(|config| config.allowed_origins = vec![LISTED.to_owned()]).start().await
}

fn with(request: RequestBuilder, headers: &[(&str, &str)]) -> RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

async fn preflight(site: &Site, path: &str, origin: &str, method: &str) -> Response {
    let asked = [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", "authorization,content-type,flatline-session"),
    ];
    with(site.visitor(None).request(Method::OPTIONS, path), &asked).send().await.unwrap()
}

on_both! {
    async fn cookies_write_from_our_own_pages_alone(kind) {
        let site = listed_site(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let made = ada.send(Method::POST, "/api/checks", Some(json!({"name": "backup", "period_seconds": 3600}))).await;
        let check = json_of(made).await["id"].as_str().unwrap().to_owned();
        let (session, own) = (sign_in(&site, "ada").await, site.base(0));
        let other_port = format!("{own}1");
        let https = own.replace("http://", "https://");
        let cookie = format!("flatline_session={session}");
        let cases: &[(&[(&str, &str)], bool)] = &[
            (&[("origin", &own)], true),
            (&[("origin", &own), ("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[], false),
            (&[("origin", "null")], false),
            (&[("origin", "")], false),
            (&[("origin", "null"), ("sec-fetch-site", "same-origin")], false),
            (&[("origin", "https://evil.example")], false),
            (&[("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")], false),
            (&[("origin", LISTED)], false),
            (&[("origin", &other_port)], false),
            (&[("origin", "http://127.0.0.1")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("referer", &own)], false),
        ];
        for (headers, may) in cases {
            let writes = [
                (Method::POST, format!("/api/checks/{check}/pause"), ""),
                (Method::PATCH, format!("/api/checks/{check}"), "{\"description\":\"mine\"}"),
                (Method::POST, "/api/chat/x/stop".to_owned(), ""),
                (Method::DELETE, "/api/chat/x".to_owned(), ""),
            ];
            for (method, path, body) in writes {
                let request = site.visitor(Some(("cookie", cookie.clone()))).request(method, &path);
                let response =
                    with(request, headers).header("content-type", "application/json").body(body).send().await.unwrap();
                if *may {
                    assert_ne!(response.status(), StatusCode::FORBIDDEN, "{path} {headers:?}");
                } else {
                    problem(response, 403, "forbidden_origin").await;
                }
            }
        }
        // Behind a proxy that ends TLS, our page's origin is https and our address the same.
        let request =
            site.visitor(Some(("cookie", cookie))).request(Method::POST, &format!("/api/checks/{check}/resume"));
        assert_eq!(request.header("origin", https).send().await.unwrap().status(), StatusCode::OK);
        let row = ada.get(&format!("/api/checks/{check}")).await;
        assert_eq!((&row["description"], &row["paused_at"]), (&json!("mine"), &json!(null)));
    }

    async fn refused_writes_change_nothing(kind) {
        let site = listed_site(kind).await;
        site.user("ada", Tier::Free).await;
        let (session, token) = (sign_in(&site, "ada").await, api_token(&site, "ada").await);
        let visitor =
            json_of(site.visitor(None).post("/api/session").await).await["token"].as_str().unwrap().to_owned();
        let before = number(site.db(), "SELECT count(*) FROM checks").await;
        for credential in [
            ("cookie", format!("flatline_session={session}")),
            ("cookie", format!("flatline_anon={visitor}")),
            ("authorization", format!("Bearer {token}")),
            ("flatline-session", visitor),
            ("x-nothing", String::new()),
        ] {
            let stranger = site.visitor(Some(credential));
            for origin in [
                "https://evil.example",
                "null",
                "http://site.example",
                "https://site.example.evil.example",
                "https://site.example:444",
            ] {
                let json = |path: &str, body: serde_json::Value| {
                    stranger
                        .request(Method::POST, path)
                        .header("content-type", "application/json")
                        .body(body.to_string())
                };
                for request in [
                    json("/api/checks", json!({"name": origin, "period_seconds": 3600})),
                    json("/api/chat", json!({"id": "c", "message": message("m", "hi")})),
                    stranger.request(Method::POST, "/api/session"),
                    stranger.request(Method::POST, "/sign-out"),
                    stranger.request(Method::POST, "/sign-in/fll_x"),
                ] {
                    let response = request.header("origin", origin).send().await.unwrap();
                    assert_eq!(header(&response, "access-control-allow-origin"), None);
                    problem(response, 403, "forbidden_origin").await;
                }
            }
        }
        assert_eq!(number(site.db(), "SELECT count(*) FROM checks").await, before);
        assert_eq!(number(site.db(), "SELECT count(*) FROM sessions").await, 1);
        assert!(site.provider.requests().is_empty());
        // A ping is no user's act: it needs its key and nothing else.
        let ping =
            site.visitor(None).request(Method::POST, "/ping/no-such-key").header("origin", "https://evil.example");
        assert_eq!(ping.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    }

    async fn listed_origins_are_answered_and_no_other(kind) {
        let site = listed_site(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let allow = "access-control-allow-origin";
        for (path, method) in
            [("/api/chat", "POST"), ("/api/checks/x", "PATCH"), ("/api/chat/x", "DELETE"), ("/api/session", "POST")]
        {
            let listed = preflight(&site, path, LISTED, method).await;
            assert!(listed.status().is_success());
            assert_eq!(header(&listed, allow), Some(LISTED));
            let vary = header(&listed, "vary").unwrap().to_lowercase();
            assert!(vary.contains("origin"), "{vary}");
            assert!(header(&listed, "access-control-allow-methods").unwrap().contains(method));
            for name in ["authorization", "content-type", "flatline-session"] {
                assert!(header(&listed, "access-control-allow-headers").unwrap().contains(name), "{name}");
            }
            for other in [
                "https://evil.example",
                "null",
                "http://site.example",
                "https://site.example.evil.example",
                "https://site.example:444",
                "*",
                "",
            ] {
                assert_eq!(header(&preflight(&site, path, other, method).await, allow), None, "{other}");
            }
        }
        let ask = |origin: &'static str| {
            let request = user
                .request(Method::POST, "/api/chat")
                .header("origin", origin)
                .header("content-type", "application/json");
            request.body(json!({"id": "c", "message": message(origin, "hi")}).to_string()).send()
        };
        let answer = ask(LISTED).await.unwrap();
        assert_eq!((answer.status(), header(&answer, allow)), (StatusCode::OK, Some(LISTED)));
        assert_eq!(header(&answer, "access-control-allow-credentials"), None, "cookies do not travel");
        let exposed = header(&answer, "access-control-expose-headers").unwrap().to_owned();
        for name in ["retry-after", "ratelimit", "ratelimit-policy", "flatline-session"] {
            assert!(exposed.split(',').any(|exposed| exposed.trim() == name), "{name} in {exposed}");
        }
        // A refusal can be read as well: by a page that may, and by no other.
        let refusals = [(Some(LISTED), "Bearer flt_wrong"), (None, "Bearer flt_wrong")];
        for (origin, token) in refusals {
            let request = site.visitor(Some(("authorization", token.to_owned()))).request(Method::GET, "/api/checks");
            let response = request.header("origin", origin.unwrap_or("https://evil.example")).send().await.unwrap();
            assert_eq!(header(&response, allow), origin);
            problem(response, 401, "unauthorized").await;
        }
    }

    async fn a_page_of_a_listed_site_talks_with_a_session_of_its_own(kind) {
        let site = listed_site(kind).await;
        let nobody = site.visitor(None).request(Method::POST, "/api/session").header("origin", LISTED);
        let response = nobody.send().await.unwrap();
        let token = header(&response, "flatline-session").unwrap().to_owned();
        let page: Visitor = site.visitor(Some(("flatline-session", token)));
        let body = json!({"id": "c", "message": message("m", "hi")}).to_string();
        let request =
            page.request(Method::POST, "/api/chat").header("origin", LISTED).header("content-type", "application/json");
        assert_eq!(request.body(body).send().await.unwrap().status(), StatusCode::OK);
        // A program sends no origin.
        assert_eq!(send(&page, json!({"id": "c", "message": message("m2", "hi")})).await.status(), StatusCode::OK);
    }
}
