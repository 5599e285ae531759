//! Sign-in links and the sessions they open: looking uses nothing up, posting does, once.

use std::sync::Arc;
use std::time::Duration;

use flatline::accounts::{LINK_LIFE, SESSION_LIFE, create_login_token};
use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::asking::{header, number, problem};
use crate::site::{Plan, Site, Visitor, json_of};

/// As little as a clock tells.
const MOMENT: Duration = Duration::from_millis(1);
const SESSIONS: &str = "SELECT count(*) FROM sessions";

async fn link(site: &Site, name: &str) -> String {
    let token = create_login_token(site.db(), site.apps[0].clock.as_ref(), name).await.unwrap();
    format!("/sign-in/{token}")
}

/// Signs `name` in and returns the session's token.
pub(super) async fn sign_in(site: &Site, name: &str) -> String {
    let response = site.visitor(None).post(&link(site, name).await).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    let cookie = header(&response, "set-cookie").unwrap();
    cookie.strip_prefix("flatline_session=").unwrap().split(';').next().unwrap().to_owned()
}

/// A browser with that session.
fn browser(site: &Site, session: &str) -> Visitor {
    site.visitor(Some(("cookie", format!("theme=dark; flatline_session={session}"))))
}

on_both! {
    async fn looking_uses_nothing_up_and_posting_does(kind) {
        let site = Site::start(kind).await;
        site.user("ada", Tier::Free).await;
        let link = link(&site, "ada").await;
        let nobody = site.visitor(None);
        for method in [Method::GET, Method::HEAD, Method::GET] {
            let response = nobody.send(method, &link, None).await;
            assert_eq!((response.status(), header(&response, "set-cookie")), (StatusCode::OK, None));
            assert_eq!(header(&response, "content-type"), Some("text/html; charset=utf-8"));
            assert_eq!(header(&response, "cache-control"), Some("no-store"));
        }
        assert_eq!(number(site.db(), SESSIONS).await, 0);
        let response = nobody.request(Method::POST, &link).header("origin", site.base(0)).send().await.unwrap();
        assert_eq!((response.status(), header(&response, "location")), (StatusCode::SEE_OTHER, Some("/")));
        let cookie = header(&response, "set-cookie").unwrap().to_owned();
        let (session, attributes) = cookie.split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax");
        let browser = browser(&site, session.strip_prefix("flatline_session=").unwrap());
        assert_eq!(browser.get("/api/checks").await["checks"], json!([]));
        problem(nobody.post(&link).await, 410, "link_expired").await;
        problem(nobody.post("/sign-in/fll_no-such-link").await, 410, "link_expired").await;
        problem(nobody.post("/sign-in/x").await, 410, "link_expired").await;
        assert_eq!(number(site.db(), SESSIONS).await, 1);
    }

    async fn under_https_the_cookie_is_secure(kind) {
        let site = Plan::new(kind)
            .config(|config| config.public_url = Some("https://flatline.example".to_owned()))
            .start()
            .await;
        site.user("ada", Tier::Free).await;
        let nobody = site.visitor(None);
        let signed_in = nobody.post(&link(&site, "ada").await).await;
        let minted = nobody.post("/api/session").await;
        for response in [signed_in, minted] {
            assert!(header(&response, "set-cookie").unwrap().ends_with("; HttpOnly; SameSite=Lax; Secure"));
        }
    }

    async fn a_link_works_for_ten_minutes(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        site.user("ada", Tier::Free).await;
        let (in_time, late) = (link(&site, "ada").await, link(&site, "ada").await);
        site.advance(LINK_LIFE.checked_sub(MOMENT).unwrap());
        assert_eq!(site.visitor(None).post(&in_time).await.status(), StatusCode::SEE_OTHER);
        site.advance(MOMENT);
        problem(site.visitor(None).post(&late).await, 410, "link_expired").await;
        assert_eq!(number(site.db(), SESSIONS).await, 1);
    }

    async fn of_twenty_at_once_one_signs_in(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        site.user("ada", Tier::Free).await;
        for round in 1..=10 {
            let (link, start) = (link(&site, "ada").await, Arc::new(Barrier::new(20)));
            let mut racers = JoinSet::new();
            for n in 0..20 {
                let (nobody, link, start) = (site.visitor(None).at(&site, n % 2), link.clone(), start.clone());
                racers.spawn(async move {
                    start.wait().await;
                    let response = nobody.post(&link).await;
                    if response.status() == StatusCode::SEE_OTHER {
                        return true;
                    }
                    problem(response, 410, "link_expired").await;
                    false
                });
            }
            let signed_in = racers.join_all().await.into_iter().filter(|signed_in| *signed_in).count();
            assert_eq!((signed_in, number(site.db(), SESSIONS).await), (1, round));
        }
    }

    async fn a_session_ends_when_it_is_told_to(kind) {
        let site = Site::start(kind).await;
        site.user("ada", Tier::Free).await;
        let (session, other) = (sign_in(&site, "ada").await, sign_in(&site, "ada").await);
        let browser_of_ada = browser(&site, &session);
        let own = site.base(0);
        let post = |path: &'static str| browser_of_ada.request(Method::POST, path).header("origin", &own).send();
        assert_eq!(json_of(post("/api/session").await.unwrap()).await["kind"], "user");
        // Not by another site.
        let forced = browser_of_ada.request(Method::POST, "/sign-out").header("origin", "https://evil.example");
        problem(forced.send().await.unwrap(), 403, "forbidden_origin").await;
        assert_eq!(browser_of_ada.get("/api/checks").await["checks"], json!([]));
        let response = post("/sign-out").await.unwrap();
        assert_eq!((response.status(), header(&response, "location")), (StatusCode::SEE_OTHER, Some("/")));
        assert_eq!(
            header(&response, "set-cookie"),
            Some("flatline_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")
        );
        // Whoever kept the cookie has nothing, and is told so; the other browser stays signed in.
        problem(browser_of_ada.send(Method::GET, "/api/checks", None).await, 401, "unauthorized").await;
        assert_eq!(post("/sign-out").await.unwrap().status(), StatusCode::SEE_OTHER);
        assert_eq!(browser(&site, &other).get("/api/checks").await["checks"], json!([]));
    }

    async fn a_session_ends_by_itself(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        site.user("ada", Tier::Free).await;
        let browser = browser(&site, &sign_in(&site, "ada").await);
        site.advance(SESSION_LIFE.checked_sub(MOMENT).unwrap());
        assert_eq!(browser.get("/api/checks").await["checks"], json!([]));
        site.advance(MOMENT);
        problem(browser.send(Method::GET, "/api/checks", None).await, 401, "unauthorized").await;
    }
}
