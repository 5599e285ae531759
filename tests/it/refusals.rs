//! A model that gives nothing: an ordinary answer before there is a stream, nothing left behind, and the charge given
//! back. A model that broke off later: what was said is kept, and paid for.

use std::time::Duration;

use flatline::config::Provider;
use flatline::limits::{Policy, Tier};
use reqwest::{Method, Response, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;

use crate::asking::{Reading, Rows, lines, problem, remaining, rows, told, wait_for_reader, wait_for_status};
use crate::database::Kind;
use crate::provider::{Gate, Script};
use crate::site::{Plan, Site, Visitor, text, types};

/// Panics unless `response` is a problem that says nothing of the provider's.
pub async fn refused(response: Response, status: u16, code: &str) {
    let headers = format!("{:?}", response.headers());
    let answer = headers + &problem(response, status, code).await.to_string();
    for secret in ["test-key", "words of the provider", "<html>", "127.0.0.1"] {
        assert!(!answer.contains(secret), "{secret} in {answer}");
    }
}

/// Asks a model that fails in a conversation that is new and in one that is not: each time nothing has happened.
async fn gives_nothing(site: &Site, user: &Visitor, failures: &[Script], status: u16, code: &str) {
    user.chat("old", "before", "hi").await;
    for conversation in ["new", "old"] {
        let asked = site.provider.requests().len();
        let before = (rows(site.db()).await, told(site.db(), conversation).await, remaining(user).await);
        for failure in failures {
            site.provider.push(failure.clone());
        }
        refused(user.say(conversation, "m", "hello").await, status, code).await;
        let after = (rows(site.db()).await, told(site.db(), conversation).await, remaining(user).await);
        assert_eq!(after, before, "something is left, or was not given back");
        assert_eq!(site.provider.requests().len(), asked + failures.len());
        // The very same message can be sent again.
        assert_eq!(text(&user.chat(conversation, "m", "hello").await), "ok");
    }
    assert_eq!(remaining(user).await, [17]);
    assert_eq!(rows(site.db()).await, Rows { conversations: 2, messages: 6, actions: 0 });
}

async fn site_and_user(kind: Kind) -> (Site, Visitor) {
    let site = Site::start(kind).await;
    let user = site.user("ada", Tier::Free).await;
    (site, user)
}

on_both! {
    async fn a_refused_key(kind) {
        for status in [401, 403] {
            let (site, user) = site_and_user(kind).await;
            gives_nothing(&site, &user, &[Script::error(status, "invalid_api_key")], 502, "model_unavailable").await;
        }
    }

    async fn too_many_requests_three_times(kind) {
        let (site, user) = site_and_user(kind).await;
        let failures = vec![Script::error(429, "rate_limit_exceeded"); 3];
        gives_nothing(&site, &user, &failures, 502, "model_unavailable").await;
    }

    async fn a_server_that_fails_three_times(kind) {
        let (site, user) = site_and_user(kind).await;
        let failures = [Script::error(500, "server_error"), Script::error(503, "overloaded"), Script::disconnect()];
        gives_nothing(&site, &user, &failures, 502, "model_unavailable").await;
    }

    async fn a_server_that_comes_back_in_time_is_no_failure(kind) {
        let (site, user) = site_and_user(kind).await;
        site.provider.push(Script::error(500, "server_error"));
        site.provider.push(Script::disconnect());
        assert_eq!(text(&user.chat("c", "m", "hi").await), "ok");
        assert_eq!((site.provider.requests().len(), remaining(&user).await), (3, vec![19]));
    }

    async fn a_page_instead_of_a_stream(kind) {
        let (site, user) = site_and_user(kind).await;
        let page = Script::respond(200, &[("content-type", "text/html")]).write("<html>words of the provider's</html>");
        gives_nothing(&site, &user, &[page], 502, "model_unavailable").await;
    }

    async fn an_error_inside_of_a_stream(kind) {
        let (site, user) = site_and_user(kind).await;
        let error = json!({"error": {"message": "words of the provider's own", "code": 400}});
        let stream = Script::stream().write(format!("data: {error}\n\n"));
        gives_nothing(&site, &user, &[stream], 502, "model_unavailable").await;
    }

    async fn nobody_listens(kind) {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let provider = Provider {
            api_key: Some("test-key".to_owned()),
            base_url: format!("http://{closed}/v1"),
            model: "gone".to_owned(),
        };
        let site = Plan::new(kind).config(|config| config.provider = Some(provider)).start().await;
        let user = site.user("ada", Tier::Free).await;
        refused(user.say("c", "m", "hello").await, 502, "model_unavailable").await;
        assert_eq!(rows(site.db()).await, Rows { conversations: 0, messages: 0, actions: 0 });
        assert_eq!(remaining(&user).await, [20]);
    }

    async fn a_server_that_says_nothing(kind) {
        let site = Plan::new(kind).config(|config| config.model_timeouts.first = Duration::from_secs(1)).start().await;
        let user = site.user("ada", Tier::Free).await;
        for (n, silent) in [Script::silence(), Script::stream().hang()].into_iter().enumerate() {
            site.provider.push(silent);
            refused(user.say("c", "m", "hello").await, 504, "model_timeout").await;
            site.provider.requests()[n].wait_for_client_to_leave().await;
            assert_eq!(rows(site.db()).await, Rows { conversations: 0, messages: 0, actions: 0 });
            assert_eq!(remaining(&user).await, [20]);
        }
        assert_eq!(text(&user.chat("c", "m", "hello").await), "ok");
    }

    async fn a_model_that_falls_silent_later(kind) {
        for times in ["idle", "turn"] {
            let site = Plan::new(kind).config(|config| match times {
                "idle" => config.model_timeouts.idle = Duration::from_secs(1),
                _ => config.model_timeouts.turn = Duration::from_secs(2),
            });
            let site = site.start().await;
            let user = site.user("ada", Tier::Free).await;
            site.provider.push(Script::stream().say("one ").hang());
            let said = user.chat("c", "m", "count").await;
            assert_eq!(types(&said)[types(&said).len() - 3..], ["text-end", "finish-step", "error"], "{times}");
            assert_eq!(
                told(site.db(), "c").await,
                lines(&[("user", "complete", "count"), ("assistant", "failed", "one ")])
            );
            site.provider.requests()[0].wait_for_client_to_leave().await;
            assert_eq!(remaining(&user).await, [19], "{times}");
        }
    }

    async fn whoever_has_joined_is_refused_too(kind) {
        let (site, user) = site_and_user(kind).await;
        let error = json!({"error": {"message": "words of the provider's own", "code": 400}});
        for way in ["the same message", "resumed"] {
            let gate = Gate::default();
            site.provider.push(Script::stream().hold(&gate).write(format!("data: {error}\n\n")));
            {
                let first = user.say("c", "m", "hello");
                tokio::pin!(first);
                tokio::select! {
                    _ = &mut first => panic!("nothing has been said"),
                    () = gate.reached() => {}
                }
            }
            wait_for_reader(site.db(), "c", false).await;
            let joined = async {
                match way {
                    "resumed" => user.send(Method::GET, "/api/chat/c/stream", None).await,
                    _ => user.say("c", "m", "hello").await,
                }
            };
            let opened = async {
                wait_for_reader(site.db(), "c", true).await;
                gate.open();
            };
            let (joined, ()) = tokio::join!(joined, opened);
            refused(joined, 502, "model_unavailable").await;
            assert_eq!(rows(site.db()).await, Rows { conversations: 0, messages: 0, actions: 0 });
            assert_eq!(remaining(&user).await, [20], "{way}");
        }
        assert_eq!(site.provider.requests().len(), 2);
    }

    async fn a_visitor_gets_both_charges_back(kind) {
        let site = Site::start(kind).await;
        let visitor = site.anonymous().await;
        site.provider.push(Script::error(401, "invalid_api_key"));
        refused(visitor.say("c", "m", "hello").await, 502, "model_unavailable").await;
        assert_eq!(remaining(&visitor).await, [30, 120]);
        site.provider.push(Script::stream().say("one").reset());
        visitor.chat("c", "m", "hello").await;
        assert_eq!(remaining(&visitor).await, [29, 119]);
    }

    async fn a_window_gives_back_as_often_as_it_admits(kind) {
        let site = Plan::new(kind).manual_clock().user_limit(3).start().await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.default(Script::error(401, "invalid_api_key"));
        for left in [3, 3, 3, 2, 1, 0] {
            refused(user.say("c", "m", "hello").await, 502, "model_unavailable").await;
            assert_eq!(remaining(&user).await, [left]);
            site.advance(Duration::from_secs(1));
        }
        let asked = site.provider.requests().len();
        problem(user.say("c", "m", "hello").await, 429, "quota_exceeded").await;
        assert_eq!(site.provider.requests().len(), asked, "failures are no way to ask without end");
        assert_eq!(rows(site.db()).await, Rows { conversations: 0, messages: 0, actions: 0 });
        site.advance(Duration::from_mins(10));
        refused(user.say("c", "m", "hello").await, 502, "model_unavailable").await;
        assert_eq!(remaining(&user).await, [3]);
    }

    async fn what_has_begun_is_paid_for(kind) {
        let site = Plan::new(kind)
            .config(|config| config.user_limit = Policy::named("user", 4, Duration::from_mins(10)))
            .start()
            .await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.default(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        // Stopped, deleted, left alone, and broken off.
        let stopped = Reading::new(user.say("stopped", "m", "hi").await);
        assert_eq!(user.post("/api/chat/stopped/stop").await.status(), StatusCode::NO_CONTENT);
        assert_eq!(stopped.rest().await.last().unwrap()["type"], "abort");
        let deleted = Reading::new(user.say("deleted", "m", "hi").await);
        user.send(Method::DELETE, "/api/chat/deleted", None).await;
        deleted.rest().await;
        drop(Reading::new(user.say("left", "m", "hi").await));
        gate.open();
        wait_for_status(site.db(), "left", "complete").await;
        site.provider.push(Script::stream().say("one").reset());
        assert_eq!(user.chat("broken", "m", "hi").await.last().unwrap()["type"], "error");
        assert_eq!(remaining(&user).await, [0]);
        problem(user.say("one too many", "m", "hi").await, 422, "invalid_message").await;
        problem(user.say("one-too-many", "m", "hi").await, 429, "quota_exceeded").await;
    }
}
