//! One decision: by button, typed word or API, once, by its owner, in time, of what was shown.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::{Value, json};

use crate::proposals::{
    Answer, audit, checks, confirm, create, effects, events, id, names, new_check, new_id, post, propose, propose_one,
    reject, row, status, tap,
};
use crate::site::{Plan, Site, Visitor, cards, text};

/// The life of a pending action.
const TTL: Duration = Duration::from_mins(15);

on_both! {
    async fn it_is_confirmed_by_button_api_and_typed_word(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let proposed = propose(&site, &ada, "talk", &[create("a"), create("b"), create("c")]).await;
        let [a, b, c] = [&proposed[0], &proposed[1], &proposed[2]];
        assert_eq!(tap(&ada, a).await.state(), ("EXECUTED", false));
        assert_eq!(confirm(&ada, b).await.state(), ("EXECUTED", false));
        let answer = ada.chat("talk", &new_id(), "confirm 3").await;
        assert_eq!(
            (text(&answer), &cards(&answer)[0]["status"]),
            ("Created c (action 3).".to_owned(), &json!("EXECUTED"))
        );
        for (card, name, via) in [(a, "a", "button"), (b, "b", "api"), (c, "c", "typed")] {
            let stored = row(&site, card).await;
            assert_eq!((stored.status.as_str(), stored.decided_via.as_deref()), ("EXECUTED", Some(via)));
            assert_eq!((stored.code(), effects(&site, card).await), (Some("done"), 1));
            let shown = ada.get(&format!("/api/actions/{}", id(card))).await;
            assert_eq!(
                (&shown["decided_via"], &shown["outcome"]["message"]),
                (&json!(via), &json!(format!("Created {name}")))
            );
            assert_eq!(shown["outcome"]["check_id"], find(&ada, name).await["id"]);
            assert!(shown["decided_at"].is_string());
            let owner = audit(&site, card).await.remove(1);
            assert_eq!((owner.0.as_str(), owner.2.as_deref()), ("EXECUTED", Some(via)));
            assert_ne!(owner.1, "assistant");
        }
        assert_eq!(names(&ada).await, ["a", "b", "c"]);
    }

    async fn a_repeated_confirm_answers_the_stored_outcome(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let card = propose_one(&site, &ada, create("a")).await;
        let first = tap(&ada, &card).await;
        assert_eq!(first.state(), ("EXECUTED", false));
        let stored = row(&site, &card).await;
        for again in [tap(&ada, &card).await, confirm(&ada, &card).await] {
            assert_eq!((again.decided().0, again.state()), (first.decided().0, ("EXECUTED", true)));
        }
        assert_eq!((row(&site, &card).await, effects(&site, &card).await), (stored, 1));
        assert_eq!(events(&site, &card).await, ["PROPOSED", "EXECUTED"]);
        assert_eq!(names(&ada).await, ["a"]);
    }

    async fn a_confirmed_create_is_not_repeated_when_its_name_is_free_again(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let card = propose_one(&site, &ada, create("a")).await;
        let made = confirm(&ada, &card).await.decided().0["outcome"]["check_id"].as_str().unwrap().to_owned();
        let renamed = ada.send(Method::PATCH, &format!("/api/checks/{made}"), Some(json!({"name": "b"}))).await;
        assert_eq!(renamed.status(), 200);
        // Nothing in the check's own rules stands in the way of a second one now.
        assert_eq!(confirm(&ada, &card).await.state(), ("EXECUTED", true));
        assert_eq!((names(&ada).await, effects(&site, &card).await), (vec!["b".to_owned()], 1));
    }

    async fn rejected_stays_rejected_and_executed_stays_executed(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let proposed = propose(&site, &ada, "talk", &[create("a"), create("b")]).await;
        let [a, b] = [&proposed[0], &proposed[1]];
        assert_eq!(reject(&ada, a).await.state(), ("REJECTED", false));
        assert_eq!(reject(&ada, a).await.state(), ("REJECTED", true));
        assert_eq!(confirm(&ada, a).await.refusal(), (409, "action_rejected"));
        assert_eq!(tap(&ada, a).await.refusal(), (409, "action_rejected"));
        assert_eq!((status(&site, a).await.as_str(), effects(&site, a).await), ("REJECTED", 0));
        assert_eq!(events(&site, a).await, ["PROPOSED", "REJECTED"]);

        assert_eq!(confirm(&ada, b).await.state(), ("EXECUTED", false));
        assert_eq!(reject(&ada, b).await.refusal(), (409, "action_executed"));
        assert_eq!((status(&site, b).await.as_str(), effects(&site, b).await), ("EXECUTED", 1));
        assert_eq!(events(&site, b).await, ["PROPOSED", "EXECUTED"]);
        assert_eq!(names(&ada).await, ["b"]);
    }

    async fn in_its_last_millisecond_it_can_be_confirmed(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        let card = propose_one(&site, &ada, create("a")).await;
        site.advance(Duration::from_millis(15 * 60 * 1_000 - 1));
        assert_eq!(confirm(&ada, &card).await.state(), ("EXECUTED", false));
    }

    async fn too_late_is_stored_and_a_clock_set_back_re_opens_nothing(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        let proposed = propose(&site, &ada, "talk", &[create("a"), create("b"), create("c")]).await;
        let before = site.now();
        site.advance(TTL);
        // Already told so before anything has stored it.
        assert_eq!(ada.get(&format!("/api/actions/{}", id(&proposed[2]))).await["status"], "EXPIRED");
        assert_eq!(tap(&ada, &proposed[0]).await.refusal(), (410, "action_expired"));
        assert_eq!(reject(&ada, &proposed[1]).await.refusal(), (410, "action_expired"));
        site.clock.as_ref().unwrap().set(before);
        for card in &proposed[..2] {
            let stored = row(&site, card).await;
            assert_eq!((stored.status.as_str(), stored.decided_via.as_deref()), ("EXPIRED", None));
            assert_eq!(confirm(&ada, card).await.refusal(), (410, "action_expired"));
            assert_eq!(tap(&ada, card).await.refusal(), (410, "action_expired"));
            assert_eq!(reject(&ada, card).await.refusal(), (410, "action_expired"));
            assert_eq!((row(&site, card).await, effects(&site, card).await), (stored, 0));
            assert_eq!(audit(&site, card).await[1], ("EXPIRED".to_owned(), "system".to_owned(), None));
        }
        assert_eq!(checks(&ada).await["checks"], json!([]));
    }

    async fn a_newer_proposal_takes_the_place_of_the_open_one(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        new_check(&ada, "db", json!({})).await;
        let to = |period: i64| ("update_check", json!({"check": "db", "period_seconds": period}));
        let late = propose(&site, &ada, "talk", &[to(7_000)]).await.remove(0);
        site.advance(TTL);
        let old = propose(&site, &ada, "talk", &[to(7_200)]).await.remove(0);
        let elsewhere = propose(&site, &ada, "other-talk", &[to(7_300)]).await.remove(0);
        let other_kind = propose(&site, &ada, "talk", &[("pause_check", json!({"check": "db"}))]).await.remove(0);
        let new = propose(&site, &ada, "talk", &[to(7_400)]).await.remove(0);
        for refused in [confirm(&ada, &old).await, tap(&ada, &old).await, reject(&ada, &old).await] {
            assert_eq!(refused.refusal(), (410, "action_superseded"));
        }
        assert_eq!(events(&site, &old).await, ["PROPOSED", "SUPERSEDED"]);
        // What had expired did not come back to be superseded, and nothing else lost its place.
        assert_eq!(confirm(&ada, &late).await.refusal(), (410, "action_expired"));
        assert_eq!(
            (status(&site, &elsewhere).await, status(&site, &other_kind).await),
            ("PENDING".into(), "PENDING".into())
        );
        assert_eq!(confirm(&ada, &new).await.state(), ("EXECUTED", false));
        assert_eq!(find(&ada, "db").await["period_seconds"], 7_400);
    }

    async fn another_digest_than_the_rows_decides_nothing(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let proposed = propose(&site, &ada, "talk", &[create("a"), create("b")]).await;
        let card = &proposed[0];
        let wrong = [
            "",
            "0",
            "a\0b",
            "not hex",
            &"0".repeat(64),
            proposed[1]["digest"].as_str().unwrap(),
            &card["digest"].as_str().unwrap().to_uppercase(),
        ]
        .map(|digest| json!({"digest": digest}));
        for shown in &wrong {
            assert_eq!(
                post(&ada, card, "confirm", Some(shown.clone())).await.refusal(),
                (409, "action_changed"),
                "{shown}"
            );
            assert_eq!(
                post(&ada, card, "reject", Some(shown.clone())).await.refusal(),
                (409, "action_changed"),
                "{shown}"
            );
        }
        for unreadable in [json!({"digest": 7}), json!({"digests": []}), json!([]), json!({"action": "all"})] {
            assert_eq!(post(&ada, card, "confirm", Some(unreadable.clone())).await.status, 422, "{unreadable}");
        }
        assert_eq!((row(&site, card).await.decided_at, effects(&site, card).await), (None, 0));
        assert_eq!((status(&site, card).await.as_str(), checks(&ada).await["checks"].clone()), ("PENDING", json!([])));
        assert_eq!(events(&site, card).await, ["PROPOSED"]);
        assert_eq!(tap(&ada, card).await.state(), ("EXECUTED", false));
        // What happened is told to whoever asks, also from a card that shows something else.
        assert_eq!(post(&ada, card, "confirm", Some(wrong[0].clone())).await.state(), ("EXECUTED", true));
    }

    async fn nobody_else_can_decide_or_look(kind) {
        let site = Site::start(kind).await;
        let (ada, eve) = (site.user("ada", Tier::Free).await, site.user("eve", Tier::Free).await);
        let card = propose_one(&site, &ada, create("a")).await;
        let unknown = json!({"id": new_id(), "digest": card["digest"]});
        let (visitor, nobody) = (site.anonymous().await, site.visitor(None));
        let forger = site.visitor(Some(("authorization", format!("Bearer flt_{}", "x".repeat(43)))));
        let mut told = Vec::new();
        for target in [&card, &unknown] {
            for answer in [
                confirm(&eve, target).await,
                tap(&eve, target).await,
                reject(&eve, target).await,
                Answer::of(eve.send(Method::GET, &format!("/api/actions/{}", id(target)), None).await).await,
            ] {
                assert_eq!(answer.refusal(), (404, "action_not_found"));
                told.push(without_request_id(answer.body));
            }
            for caller in [&visitor, &nobody, &forger] {
                for answer in [confirm(caller, target).await, tap(caller, target).await, reject(caller, target).await] {
                    assert_eq!(answer.refusal(), (401, "unauthorized"));
                }
            }
        }
        assert!(
            told.iter().all(|body| *body == told[0]),
            "another owner's is told apart from a missing one: {told:#?}"
        );
        assert_eq!((status(&site, &card).await.as_str(), effects(&site, &card).await), ("PENDING", 0));
        assert_eq!(events(&site, &card).await, ["PROPOSED"]);
        assert_eq!(
            (checks(&ada).await["checks"].clone(), checks(&eve).await["checks"].clone()),
            (json!([]), json!([]))
        );
        assert_eq!(confirm(&ada, &card).await.state(), ("EXECUTED", false));
        // Nor can they learn the outcome.
        assert_eq!(confirm(&eve, &card).await.refusal(), (404, "action_not_found"));
    }

    async fn an_id_of_any_shape_is_an_answer(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        for odd in ["0", "%00", "a%00b", "%27%20OR%201=1", "%F0%9F%92%A9", &"x".repeat(4_000)] {
            for (method, verb) in [(Method::GET, ""), (Method::POST, "/confirm"), (Method::POST, "/reject")] {
                let path = format!("/api/actions/{odd}{verb}");
                let answer = Answer::of(ada.send(method, &path, None).await).await;
                assert_eq!(answer.refusal(), (404, "action_not_found"), "{path}");
            }
        }
    }
}

fn without_request_id(mut body: Value) -> Value {
    body.as_object_mut().unwrap().shift_remove("request_id");
    body
}

async fn find(who: &Visitor, name: &str) -> Value {
    let checks = checks(who).await;
    checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap().clone()
}
