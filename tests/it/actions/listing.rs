//! The list of actions, and what deleting their conversation does to them.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::proposals::{
    Answer, confirm, create, effects, events, id, names, new_check, new_id, propose, reject, row, status,
};
use crate::site::{Plan, Site, Visitor, text};

/// The ids of a list, and its cursor.
async fn list(who: &Visitor, query: &str) -> (Vec<String>, Value) {
    let page = who.get(&format!("/api/actions{query}")).await;
    let ids = page["actions"].as_array().unwrap().iter().map(|action| id(action).to_owned()).collect();
    (ids, page["next"].clone())
}

fn ids(cards: &[&Value]) -> Vec<String> {
    cards.iter().map(|card| id(card).to_owned()).collect()
}

on_both! {
    async fn own_actions_are_listed_newest_first_and_filtered(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let (ada, eve) = (site.user("ada", Tier::Free).await, site.user("eve", Tier::Free).await);
        let check = new_check(&ada, "db", json!({})).await;
        let late = propose(&site, &ada, "one", &[create("late")]).await.remove(0);
        site.advance(Duration::from_mins(15));
        let (pause, rotate) = (("pause_check", json!({"check": "db"})), ("rotate_ping_key", json!({"check": "db"})));
        let one = propose(&site, &ada, "one", &[create("a"), create("b"), pause.clone()]).await;
        let two = propose(&site, &ada, "two", &[create("c"), rotate]).await;
        let pause_again = propose(&site, &ada, "one", &[pause]).await.remove(0);
        propose(&site, &eve, "one", &[create("eves")]).await;
        assert_eq!(confirm(&ada, &one[0]).await.state(), ("EXECUTED", false));
        assert_eq!(reject(&ada, &one[1]).await.state(), ("REJECTED", false));
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        assert_eq!(ada.send(Method::PATCH, &path, Some(json!({"tags": ["x"]}))).await.status(), StatusCode::OK);
        assert_eq!(confirm(&ada, &two[1]).await.state(), ("FAILED", false));

        let all = [&pause_again, &two[1], &two[0], &one[2], &one[1], &one[0], &late];
        assert_eq!(list(&ada, "").await, (ids(&all), Value::Null));
        assert_eq!(list(&ada, "?conversation=one").await.0, ids(&[&pause_again, &one[2], &one[1], &one[0], &late]));
        assert_eq!(list(&ada, "?conversation=two").await.0, ids(&[&two[1], &two[0]]));
        for (state, expected) in [
            ("PENDING", vec![&pause_again, &two[0]]),
            ("EXECUTED", vec![&one[0]]),
            ("REJECTED", vec![&one[1]]),
            ("FAILED", vec![&two[1]]),
            ("SUPERSEDED", vec![&one[2]]),
            ("EXPIRED", vec![&late]),
        ] {
            assert_eq!(list(&ada, &format!("?status={state}")).await.0, ids(&expected), "{state}");
            let page = ada.get(&format!("/api/actions?status={}", state.to_lowercase())).await;
            assert!(page["actions"].as_array().unwrap().iter().all(|action| action["status"] == state), "{page}");
        }
        assert_eq!(list(&ada, "?status=pending&conversation=two").await.0, ids(&[&two[0]]));
        assert_eq!(list(&ada, "?conversation=nowhere").await.0, Vec::<String>::new());
        assert_eq!(list(&eve, "").await.0.len(), 1);
        for query in ["?status=open", "?limit=0", "?limit=101", "?conversation=a%00b", "?before=%00"] {
            let refused = Answer::of(ada.send(Method::GET, &format!("/api/actions{query}"), None).await).await;
            assert_eq!(refused.refusal(), (422, "invalid_field"), "{query}");
        }
        let nobody = Answer::of(site.anonymous().await.send(Method::GET, "/api/actions", None).await).await;
        assert_eq!(nobody.refusal(), (401, "unauthorized"));
    }

    async fn pages_follow_each_other_without_gap_or_repeat(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let mut all = Vec::new();
        for talk in 0..2 {
            let calls: Vec<_> = (0..5).map(|n| create(&format!("check {talk}.{n}"))).collect();
            all.extend(propose(&site, &ada, &format!("talk-{talk}"), &calls).await);
        }
        let newest_first: Vec<String> = all.iter().rev().map(|card| id(card).to_owned()).collect();
        for limit in [1, 3, 5, 10] {
            let (mut seen, mut pages, mut query) = (Vec::new(), 0, format!("?limit={limit}"));
            loop {
                let (ids, next) = list(&ada, &query).await;
                assert!(ids.len() <= limit, "{ids:?}");
                seen.extend(ids);
                pages += 1;
                let Some(cursor) = next.as_str() else { break };
                query = format!("?limit={limit}&before={cursor}");
            }
            assert_eq!((&seen, pages), (&newest_first, 10_usize.div_ceil(limit)), "limit {limit}");
        }
    }

    async fn deleting_the_conversation_cancels_what_is_open(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        let late = propose(&site, &ada, "talk", &[create("late")]).await.remove(0);
        site.advance(Duration::from_mins(15));
        let cards = propose(&site, &ada, "talk", &[create("done"), create("open"), create("no")]).await;
        let elsewhere = propose(&site, &ada, "other", &[create("elsewhere")]).await.remove(0);
        assert_eq!(confirm(&ada, &cards[0]).await.state(), ("EXECUTED", false));
        assert_eq!(reject(&ada, &cards[2]).await.state(), ("REJECTED", false));
        let decided = [row(&site, &cards[0]).await, row(&site, &cards[2]).await];
        assert_eq!(ada.send(Method::DELETE, "/api/chat/talk", None).await.status(), StatusCode::NO_CONTENT);

        assert_eq!(confirm(&ada, &cards[1]).await.refusal(), (409, "action_rejected"));
        assert_eq!(events(&site, &cards[1]).await, ["PROPOSED", "REJECTED"]);
        assert_eq!([row(&site, &cards[0]).await, row(&site, &cards[2]).await], decided);
        // What has expired was not cancelled, and what is elsewhere is still open.
        assert_eq!(confirm(&ada, &late).await.refusal(), (410, "action_expired"));
        assert_eq!(status(&site, &elsewhere).await, "PENDING");
        assert_eq!(confirm(&ada, &cards[0]).await.state(), ("EXECUTED", true));
        assert_eq!((names(&ada).await, effects(&site, &cards[1]).await), (vec!["done".to_owned()], 0));
        // A new conversation of that id is another one: the word means nothing in it.
        assert_eq!(text(&ada.chat("talk", &new_id(), "confirm 2").await), "ok");
        assert_eq!(status(&site, &cards[1]).await, "REJECTED");
        assert_eq!(ada.get("/api/actions?conversation=other").await["actions"].as_array().unwrap().len(), 1);
    }
}
