//! API tokens: present and wrong is refused, never taken for a visitor; revoked is over at once; none passes for
//! another kind.

use flatline::accounts::{Anonymous, create_login_token, revoke_token, store::list_tokens};
use flatline::ids::{SessionId, UserId};
use flatline::limits::Tier;
use flatline::on_db;
use reqwest::header::HeaderValue;
use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use super::sign_in::sign_in;
use super::{api_token, operations};
use crate::asking::{header, number, problem};
use crate::provider::Script;
use crate::site::{Site, cards, json_of};

/// 401, and no session of a visitor's for consolation.
async fn assert_unauthorized(response: Response) {
    assert_eq!(header(&response, "www-authenticate"), Some("Bearer"));
    assert_eq!((header(&response, "flatline-session"), header(&response, "set-cookie")), (None, None));
    problem(response, 401, "unauthorized").await;
}

on_both! {
    async fn a_right_token_is_its_user(kind) {
        let site = Site::start(kind).await;
        site.user("ada", Tier::Pro).await;
        let token = api_token(&site, "ada").await;
        for value in [format!("Bearer {token}"), format!("bearer {token}"), format!("BEARER   {token} ")] {
            let session = json_of(site.visitor(Some(("authorization", value))).post("/api/session").await).await;
            assert_eq!(
                (&session["kind"], &session["user"]["name"], &session["user"]["tier"]),
                (&json!("user"), &json!("ada"), &json!("pro"))
            );
            assert!(session.get("token").is_none());
        }
        // What is stored is no token.
        let sql = "SELECT hash FROM api_tokens";
        let stored: Vec<String> =
            on_db!(site.db().read(), pool => sqlx::query_scalar(sql).fetch_all(pool).await).unwrap();
        assert_eq!(stored.len(), 2);
        assert!(stored.iter().all(|hash| hash.len() == 64 && !hash.contains("flt_")));
    }

    async fn a_wrong_token_is_refused(kind) {
        let site = Site::start(kind).await;
        site.user("ada", Tier::Free).await;
        let token = api_token(&site, "ada").await;
        let last = token.chars().last().unwrap();
        let altered = format!("{}{}", &token[..token.len() - 1], if last == 'A' { 'B' } else { 'A' });
        let wrong = [
            String::new(),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
            "Bearer flt_".to_owned(),
            format!("Bearer {altered}"),
            format!("Bearer {token}A"),
            format!("Bearer {}", token.to_uppercase()),
            format!("Bearer {token} {token}"),
            format!("Bearer {token},"),
            format!("Bearer \"{token}\""),
            format!("Token {token}"),
            format!("Basic {token}"),
            token.clone(),
            format!("Bearer flt_{}", "A".repeat(5_000)),
            "Bearer ' OR 1=1 --".to_owned(),
        ];
        for value in wrong {
            for (method, path) in
                [(Method::POST, "/api/session"), (Method::GET, "/api/checks"), (Method::GET, "/api/chats")]
            {
                assert_unauthorized(
                    site.visitor(Some(("authorization", value.clone()))).send(method, path, None).await,
                )
                .await;
            }
        }
        let bytes = HeaderValue::from_bytes(b"Bearer flt_\xff").unwrap();
        assert_unauthorized(
            site.visitor(None)
                .request(Method::POST, "/api/session")
                .header("authorization", bytes)
                .send()
                .await
                .unwrap(),
        )
        .await;
    }

    async fn wrong_credentials_are_refused_on_every_route(kind) {
        let site = Site::start(kind).await;
        let own = site.base(0);
        for (name, value) in [
            ("authorization", "Bearer flt_wrong"),
            ("cookie", "flatline_session=fls_wrong"),
            ("cookie", "a=b; flatline_session="),
        ] {
            for (method, path) in operations(&site, "/api/").await {
                let request = site.visitor(Some((name, value.to_owned()))).request(method, &path.replace("{id}", "x"));
                // The right origin, so that nothing else refuses; a good visitor's token changes nothing.
                let request = request.header("origin", &own).header("content-type", "application/json").body("{}");
                assert_unauthorized(request.send().await.unwrap()).await;
            }
        }
        assert!(site.provider.requests().is_empty());
    }

    async fn a_revoked_token_is_over_at_once(kind) {
        let site = Site::start(kind).await;
        let clock = site.apps[0].clock.clone();
        let ada = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("create_check", json!({"name": "backup", "period_seconds": 3600})));
        site.provider.push(Script::text("Please confirm."));
        let card = cards(&ada.chat("c", "m", "watch my backup").await).remove(0);
        let confirm = format!("/api/actions/{}/confirm", card["id"].as_str().unwrap());
        let session = json_of(ada.post("/api/session").await).await;
        let user = UserId(session["user"]["id"].as_str().unwrap().to_owned());
        // By itself, or by the id that the list shows.
        for by_id in [false, true] {
            let token = api_token(&site, "ada").await;
            let visitor = site.visitor(Some(("authorization", format!("Bearer {token}"))));
            assert_eq!(visitor.get("/api/actions").await["actions"].as_array().unwrap().len(), 1);
            let newest = list_tokens(site.db(), &user).await.unwrap().remove(0);
            revoke_token(site.db(), clock.as_ref(), if by_id { &newest.id } else { &token }).await.unwrap();
            assert_unauthorized(visitor.post(&confirm).await).await;
            assert_unauthorized(visitor.say("c", "m2", "hi").await).await;
            assert!(revoke_token(site.db(), clock.as_ref(), &token).await.is_err(), "twice");
        }
        assert_eq!(number(site.db(), "SELECT count(*) FROM action_effects").await, 0);
        // The others go on.
        assert_eq!(ada.post(&confirm).await.status(), StatusCode::OK);
    }

    async fn kinds_never_pass_for_each_other(kind) {
        let site = Site::start(kind).await;
        let clock = site.apps[0].clock.clone();
        site.user("ada", Tier::Free).await;
        let api = api_token(&site, "ada").await;
        let session = sign_in(&site, "ada").await;
        let link = create_login_token(site.db(), clock.as_ref(), "ada").await.unwrap();
        let visitor =
            json_of(site.visitor(None).post("/api/session").await).await["token"].as_str().unwrap().to_owned();
        let signed_by_another =
            Anonymous { session: SessionId("x".to_owned()), issued_at: clock.now() }.sign(b"another secret");
        for bearer in [&session, &link, &visitor, &signed_by_another] {
            let stranger = site.visitor(Some(("authorization", format!("Bearer {bearer}"))));
            assert_unauthorized(stranger.post("/api/session").await).await;
        }
        for cookie in [&api, &link, &visitor, &signed_by_another] {
            let stranger = site.visitor(Some(("cookie", format!("flatline_session={cookie}"))));
            assert_unauthorized(stranger.send(Method::GET, "/api/checks", None).await).await;
        }
        for path in [&api, &session, &visitor, &signed_by_another] {
            problem(site.visitor(None).post(&format!("/sign-in/{path}")).await, 410, "link_expired").await;
        }
        // What is no visitor's token carries no rights: whoever brings it is somebody new.
        for token in [&api, &session, &link, &signed_by_another] {
            for stranger in [("flatline-session", token.clone()), ("cookie", format!("flatline_anon={token}"))] {
                let request =
                    site.visitor(Some(stranger)).request(Method::POST, "/api/session").header("origin", site.base(0));
                let response = request.send().await.unwrap();
                let minted = header(&response, "flatline-session").unwrap().to_owned();
                let session = json_of(response).await;
                assert_eq!((&session["kind"], &session["user"]), (&json!("anonymous"), &json!(null)));
                assert_eq!(session["token"], minted);
                assert!(minted.starts_with("fla_") && minted != *token);
            }
        }
        // Trying used the link up for nobody.
        assert_eq!(site.visitor(None).post(&format!("/sign-in/{link}")).await.status(), StatusCode::SEE_OTHER);
    }
}
