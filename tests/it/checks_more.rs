//! What the API adds for those who keep their checks in files and scripts: upsert by name, a pause by tag.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::asking::{number, problem};
use crate::proposals::{at_once, names, new_check};
use crate::site::{Site, Visitor, json_of};

async fn upsert(who: &Visitor, body: Value) -> (StatusCode, Value) {
    let answer = who.send(Method::POST, "/api/checks", Some(body)).await;
    (answer.status(), json_of(answer).await)
}

on_both! {
    async fn a_check_sent_again_is_changed_and_not_made_twice(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let body = json!({"name": "backup", "period_seconds": 3_600, "tags": ["a"], "unique": ["name"]});
        let (status, made) = upsert(&user, body.clone()).await;
        assert_eq!(status, StatusCode::CREATED);
        let (status, same) = upsert(&user, body).await;
        assert_eq!((status, &same), (StatusCode::OK, &made), "nothing was changed");
        let nightly = json!({"name": "backup", "cron": "@daily", "timezone": "Europe/Berlin", "unique": ["name"]});
        let (status, changed) = upsert(&user, nightly).await;
        assert_eq!((status, &changed["id"], &changed["cron"]), (StatusCode::OK, &made["id"], &json!("@daily")));
        assert_eq!((&changed["tags"], &changed["ping_url"]), (&json!(["a"]), &made["ping_url"]), "what is left out stays");
        // Without a schedule it can be changed and not made.
        let bare = json!({"name": "backup", "description": "x", "unique": ["name"]});
        assert_eq!(upsert(&user, bare).await.0, StatusCode::OK);
        for (body, field) in [
            (json!({"name": "new", "unique": ["name"]}), "period_seconds"),
            (json!({"period_seconds": 300, "unique": ["name"]}), "name"),
            (json!({"name": "x", "period_seconds": 300, "unique": ["tags"]}), "unique"),
            (json!({"name": "x", "period_seconds": 300, "unique": "name"}), "unique"),
            (json!({"name": "backup", "period_seconds": 60, "unique": ["name"]}), "period_seconds"),
        ] {
            let refusal = user.send(Method::POST, "/api/checks", Some(body.clone())).await;
            assert_eq!(problem(refusal, 422, "invalid_field").await["field"], field, "{body}");
        }
        let taken = json!({"name": "backup", "period_seconds": 300});
        problem(user.send(Method::POST, "/api/checks", Some(taken)).await, 409, "name_taken").await;
        assert_eq!(names(&user).await, ["backup"]);
    }

    async fn of_twenty_sent_at_once_one_is_made(kind) {
        let site = crate::site::Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        for round in 0..5 {
            let name = format!("check-{round}");
            let racers = (0..20).map(|n| {
                let (user, name) = (user.at(&site, n % 2), name.clone());
                let body = json!({"name": name, "period_seconds": 300 + n, "unique": ["name"]});
                async move { upsert(&user, body).await.0 }
            });
            let answers = at_once(racers.collect()).await;
            assert_eq!(answers.iter().filter(|status| **status == StatusCode::CREATED).count(), 1, "{answers:?}");
            assert_eq!(answers.iter().filter(|status| **status == StatusCode::OK).count(), 19, "{answers:?}");
        }
        assert_eq!(names(&user).await.len(), 5);
        let owned = "SELECT check_count FROM accounts WHERE name = 'ada'";
        assert_eq!(number(site.db(), owned).await, 5);
    }

    async fn a_tag_is_paused_all_or_none(kind) {
        let site = Site::start(kind).await;
        let (user, other) = (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await);
        for name in ["a", "b"] {
            new_check(&user, name, json!({"tags": ["prod", name]})).await;
        }
        new_check(&user, "c", json!({"tags": ["test"]})).await;
        new_check(&other, "theirs", json!({"tags": ["prod"]})).await;
        let until = site.now().plus(Duration::from_hours(1)).rfc3339();
        let body = json!({"tag": "prod", "until": until});
        let answer = user.send(Method::POST, "/api/checks/pause", Some(body)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let paused = json_of(answer).await;
        let paused = paused["checks"].as_array().unwrap();
        let mut told: Vec<&str> = paused.iter().map(|check| check["name"].as_str().unwrap()).collect();
        told.sort_unstable();
        assert_eq!(told, ["a", "b"]);
        assert!(paused.iter().all(|check| check["paused_until"] == until.as_str()));
        let count = "SELECT count(*) FROM checks WHERE paused_at IS NOT NULL";
        assert_eq!(number(site.db(), count).await, 2);
        let ask = async |body: Value| user.send(Method::POST, "/api/checks/pause", Some(body)).await;
        problem(ask(json!({"tag": "nobody's"})).await, 404, "check_not_found").await;
        assert_eq!(problem(ask(json!({})).await, 422, "invalid_field").await["field"], "tag");
        let past = json!({"tag": "test", "until": "2020-01-01T00:00:00Z"});
        assert_eq!(problem(ask(past).await, 422, "invalid_field").await["field"], "until");
        assert_eq!(problem(ask(json!({"tag": "test", "for": 5})).await, 422, "unknown_field").await["field"], "for");
        assert_eq!(number(site.db(), count).await, 2);
    }
}
