//! What is served where: the contract is generated from the code and covers every route, and metrics have an address
//! of their own.

use std::collections::BTreeSet;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::asking::{header, problem};
use crate::callers::operations;
use crate::site::{Plan, Site, Visitor, client};

/// The routes of http-api.md.
const ROUTES: &[(&str, &str)] = &[
    ("POST", "/api/chat"),
    ("GET DELETE", "/api/chat/{id}"),
    ("GET", "/api/chats"),
    ("GET", "/api/chat/{id}/stream"),
    ("POST", "/api/chat/{id}/stop"),
    ("GET", "/api/actions"),
    ("GET", "/api/actions/{id}"),
    ("POST", "/api/actions/{id}/confirm"),
    ("POST", "/api/actions/{id}/reject"),
    ("GET POST", "/api/checks"),
    ("GET PATCH DELETE", "/api/checks/{id}"),
    ("POST", "/api/checks/pause"),
    ("GET", "/api/checks/{id}/snippets"),
    ("POST", "/api/checks/{id}/pause"),
    ("POST", "/api/checks/{id}/resume"),
    ("POST", "/api/checks/{id}/rotate"),
    ("GET", "/api/checks/{id}/flips"),
    ("GET", "/api/checks/{id}/pings"),
    ("GET", "/api/checks/{id}/uptime"),
    ("GET", "/api/checks/{id}/notifications"),
    ("GET POST", "/api/channels"),
    ("PATCH DELETE", "/api/channels/{id}"),
    ("POST", "/api/channels/{id}/test"),
    ("GET", "/api/channels/{id}/deliveries"),
    ("GET", "/badge/{key}"),
    ("GET HEAD POST", "/ping/{key}"),
    ("GET HEAD POST", "/ping/{key}/{tail}"),
    ("POST", "/api/session"),
    ("GET POST", "/sign-in/{token}"),
    ("POST", "/sign-out"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
];

on_both! {
    async fn every_route_is_in_the_contract(kind) {
        let site = Site::start(kind).await;
        let contract = operations(&site, "/").await;
        for (methods, path) in ROUTES {
            for method in methods.split(' ') {
                let named = contract.iter().any(|(m, p)| m.as_str() == method && p == path);
                assert!(named, "{method} {path} is not in the contract");
            }
        }
    }

    async fn whatever_the_contract_names_is_there(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        for (method, path) in operations(&site, "/").await {
            let real =
                path.replace("{id}", "x").replace("{key}", "x").replace("{tail}", "start").replace("{token}", "x");
            let response = user.send(method.clone(), &real, None).await;
            assert_ne!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert!(response.status().as_u16() < 500, "{method} {path}");
            if response.status() == StatusCode::NOT_FOUND && method != Method::HEAD {
                let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
                assert_ne!(body["code"], "not_found", "{method} {path}");
            }
        }
        for (path, content_type) in [
            ("/", "text/html; charset=utf-8"),
            ("/embed", "text/html; charset=utf-8"),
            ("/widget.js", "text/javascript; charset=utf-8"),
            ("/openapi.json", "application/json"),
        ] {
            let response = site.visitor(None).send(Method::GET, path, None).await;
            assert_eq!((response.status(), header(&response, "content-type")), (StatusCode::OK, Some(content_type)));
            assert_eq!(header(&response, "x-content-type-options"), Some("nosniff"));
            assert!(header(&response, "x-request-id").is_some_and(|id| id.len() == 32));
        }
    }

    async fn the_contract_is_sound(kind) {
        let site = Site::start(kind).await;
        let contract = site.visitor(None).get("/openapi.json").await;
        assert!(contract["openapi"].as_str().unwrap().starts_with("3."));
        let mut names = BTreeSet::new();
        for (method, path) in operations(&site, "/").await {
            let operation = &contract["paths"][&path][method.as_str().to_lowercase()];
            assert!(names.insert(operation["operationId"].as_str().unwrap()), "{method} {path} has another's name");
            assert!(!operation["responses"].as_object().unwrap().is_empty());
            // Every parameter of the path is described.
            for name in path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()) {
                let described =
                    operation["parameters"].as_array().unwrap().iter().any(|p| p["name"] == name && p["in"] == "path");
                assert!(described, "{method} {path}: {name}");
            }
        }
        // Every shape that is referred to is there.
        let text = contract.to_string();
        for reference in text.split("\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(contract.pointer(reference).is_some(), "{reference}");
        }
    }

    async fn it_is_up_and_ready(kind) {
        let site = Site::start(kind).await;
        for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
            let response = site.visitor(None).send(Method::GET, path, None).await;
            assert_eq!((response.status(), response.text().await.unwrap().as_str()), (StatusCode::OK, body));
        }
    }

    async fn metrics_have_an_address_of_their_own(kind) {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        flatline::telemetry::metrics_handle();
        let site = Plan::new(kind).config(|config| config.metrics_addr = Some(free)).start().await;
        let user = site.user("ada", Tier::Free).await;
        user.chat("c", "m", "hi").await;
        user.send(Method::GET, "/ping/a-secret-key", None).await;
        let prometheus = Visitor::new(client(), format!("http://{free}"), None);
        site.provider.push(crate::provider::Script::error(403, "words of the provider's own"));
        problem(user.say("failing", "m", "hello").await, 502, "model_unavailable").await;
        let response = prometheus.send(Method::GET, "/metrics", None).await;
        assert_eq!(response.status(), StatusCode::OK);
        let told = response.text().await.unwrap();
        for line in told.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("flatline_") && value.parse::<f64>().is_ok(), "{line}");
        }
        for expected in [
            "flatline_http_requests_total{route=\"/api/chat\",status=\"200\"}",
            "flatline_http_requests_total{route=\"/ping/{key}\",status=\"404\"}",
            "flatline_turns_total{status=\"complete\"}",
            "flatline_model_tokens_total{direction=\"completion\"}",
            "flatline_model_errors_total{kind=\"KeyRefused\",status=\"403\"}",
            "flatline_streams_open",
        ] {
            assert!(told.lines().any(|line| line.starts_with(expected)), "{expected} in {told}");
        }
        assert!(!told.contains("a-secret-key"));
        // Nothing else is there, and it is nowhere else.
        for path in ["/", "/healthz", "/api/checks", "/metrics/x"] {
            assert_eq!(prometheus.send(Method::GET, path, None).await.status(), StatusCode::NOT_FOUND, "{path}");
        }
        assert_eq!(prometheus.send(Method::POST, "/api/chat", None).await.status(), StatusCode::NOT_FOUND);
        problem(user.send(Method::GET, "/metrics", None).await, 404, "not_found").await;
    }
}
