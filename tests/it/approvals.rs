//! Native approvals: a proposal as a stock client's tool call that awaits its approval, and the approval as one more
//! way to the one claim. What a client sends of its history is never believed.

mod forged;
mod kept;

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::asking::{messages, remaining};
use crate::proposals::{Answer, at_once, audit, effects, events, new_check, new_id, post, propose, row, tap};
use crate::provider::Script;
use crate::site::{Plan, Site, Visitor, cards, chunks, text, types};

/// Asks as a client with approvals of its own does, and lets the model make these calls.
async fn propose_natively(site: &Site, who: &Visitor, talk: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    site.provider.push(Script::tool_calls(calls.iter().cloned()));
    let parts = json!([{"type": "text", "text": "please"}]);
    let message = json!({"id": new_id(), "role": "user", "parts": parts});
    let body = json!({"id": talk, "approvals": "native", "trigger": "submit-message", "messages": [message]});
    let response = who.send(Method::POST, "/api/chat", Some(body)).await;
    assert_eq!(response.status(), StatusCode::OK);
    chunks(response).await
}

/// Answers these approvals as a stock client does: in the history that it sends.
async fn answer(who: &Visitor, talk: &str, verdicts: &[(&str, Value)]) -> Response {
    let part = |(id, approved): &(&str, Value)| {
        json!({"type": "tool-pause_check", "toolCallId": "theirs", "state": "approval-responded",
            "input": {"check": "whatever"}, "approval": {"id": id, "approved": approved}})
    };
    let parts: Vec<Value> = verdicts.iter().map(part).collect();
    let messages = json!([{"id": "q", "role": "user", "parts": []}, {"id": "a", "role": "assistant", "parts": parts}]);
    let body = json!({"id": talk, "approvals": "native", "trigger": "submit-message", "messageId": "a",
        "messages": messages});
    who.send(Method::POST, "/api/chat", Some(body)).await
}

/// The chunks that answer one approval; panics unless it is a 200.
async fn decide(who: &Visitor, talk: &str, card: &Value, approved: bool) -> Vec<Value> {
    let response = answer(who, talk, &[(card["id"].as_str().unwrap(), approved.into())]).await;
    assert_eq!(response.status(), StatusCode::OK);
    chunks(response).await
}

/// A tool part in the history.
async fn tool_part(who: &Visitor, talk: &str) -> Value {
    let history = who.get(&format!("/api/chat/{talk}")).await;
    let parts = history["messages"][1]["parts"].as_array().unwrap();
    parts.iter().find(|part| part["type"].as_str().unwrap().starts_with("tool-")).unwrap().clone()
}

async fn paused(who: &Visitor, check: &Value) -> bool {
    !who.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await["paused_at"].is_null()
}

on_both! {
    async fn a_proposal_awaits_its_approval(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        new_check(&user, "backup", json!({})).await;
        let said = propose_natively(&site, &user, "c", &[("pause_check", json!({"check": "backup"}))]).await;
        let expected = ["start", "start-step", "tool-input-start", "tool-input-available", "tool-approval-request",
            "data-action", "finish-step", "finish"];
        assert_eq!(types(&said), expected);
        let card = &cards(&said)[0];
        assert_eq!(said[4]["approvalId"], card["id"]);
        assert_eq!(said[4]["toolCallId"], said[3]["toolCallId"]);
        assert_eq!(site.provider.requests().len(), 1, "a stock client answers approvals of the last step alone");
        let part = tool_part(&user, "c").await;
        assert_eq!((&part["state"], &part["approval"]), (&json!("approval-requested"), &json!({"id": card["id"]})));
        assert_eq!(part["input"], json!({"check": "backup"}));
        // The same message again is the same stream.
        let question = messages(site.db(), "c").await[0].id.clone();
        assert_eq!(user.chat("c", &question, "please").await, said);
    }

    async fn approved_it_is_done_once_however_often_it_is_sent(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let check = new_check(&user, "backup", json!({})).await;
        let said = propose_natively(&site, &user, "c", &[("pause_check", json!({"check": "backup"}))]).await;
        let card = &cards(&said)[0];
        let told = decide(&user, "c", card, true).await;
        let expected =
            ["start", "tool-output-available", "data-action", "text-start", "text-delta", "text-end", "finish"];
        assert_eq!(types(&told), expected);
        assert_eq!(told[0]["messageId"], said[0]["messageId"], "it goes on with the message that proposed it");
        assert_eq!(told[1]["toolCallId"], said[3]["toolCallId"]);
        assert_eq!((&told[1]["output"]["status"], &told[2]["data"]["status"]), (&json!("EXECUTED"), &json!("EXECUTED")));
        assert!(text(&told).starts_with("Paused backup"), "{}", text(&told));
        assert!(paused(&user, &check).await);
        for _ in 0..3 {
            assert_eq!(decide(&user, "c", card, true).await, told);
        }
        let racers = (0..20).map(|_| {
            let (user, card) = (user.clone(), card.clone());
            async move { decide(&user, "c", &card, true).await }
        });
        assert!(at_once(racers.collect()).await.into_iter().all(|again| again == told));
        assert_eq!(effects(&site, card).await, 1);
        assert_eq!(events(&site, card).await, ["PROPOSED", "EXECUTED"]);
        assert_eq!(audit(&site, card).await[1].2.as_deref(), Some("api"));
        assert_eq!((site.provider.requests().len(), remaining(&user).await), (1, vec![19]), "no model, no charge");
        // The history tells the same, and so does the message sent again.
        let part = tool_part(&user, "c").await;
        assert_eq!((&part["state"], &part["output"]), (&json!("output-available"), &told[1]["output"]));
        assert_eq!(part["approval"], json!({"id": card["id"], "approved": true}));
        let history = user.get("/api/chat/c").await;
        assert_eq!(history["messages"][1]["parts"].as_array().unwrap().last().unwrap()["text"], text(&told));
        let question = messages(site.db(), "c").await[0].id.clone();
        let replayed = user.chat("c", &question, "please").await;
        assert_eq!((text(&replayed), cards(&replayed)), (text(&told), cards(&told)));
    }

    async fn denied_it_stays_denied(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let check = new_check(&user, "backup", json!({})).await;
        let said = propose_natively(&site, &user, "c", &[("pause_check", json!({"check": "backup"}))]).await;
        let card = &cards(&said)[0];
        let told = decide(&user, "c", card, false).await;
        assert_eq!(types(&told)[..3], ["start", "tool-output-denied", "data-action"]);
        assert_eq!(told[1]["toolCallId"], said[3]["toolCallId"]);
        assert!(text(&told).starts_with("Cancelled action 1"), "{}", text(&told));
        // A history in which the verdict was turned over.
        assert_eq!(decide(&user, "c", card, true).await, told);
        assert_eq!((row(&site, card).await.status.as_str(), effects(&site, card).await), ("REJECTED", 0));
        assert!(!paused(&user, &check).await);
        let part = tool_part(&user, "c").await;
        assert_eq!(part["state"], "output-denied");
        assert_eq!(part["approval"], json!({"id": card["id"], "approved": false}));
    }

    async fn what_can_no_longer_be_done_is_told_so(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Free).await;
        let check = new_check(&user, "backup", json!({})).await;
        let call = ("pause_check", json!({"check": "backup"}));
        let expired = cards(&propose_natively(&site, &user, "late", std::slice::from_ref(&call)).await).remove(0);
        site.advance(Duration::from_mins(15));
        let told = decide(&user, "late", &expired, true).await;
        assert_eq!(types(&told), ["start", "tool-output-error", "data-action", "finish"]);
        assert!(told[1]["errorText"].as_str().unwrap().contains("has expired"), "{}", told[1]);
        assert_eq!(tool_part(&user, "late").await["state"], "output-error");
        // Its check was changed after the proposal.
        let stale = cards(&propose_natively(&site, &user, "stale", &[call]).await).remove(0);
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        user.send(Method::PATCH, &path, Some(json!({"name": "other"}))).await;
        let told = decide(&user, "stale", &stale, true).await;
        assert_eq!(types(&told)[..3], ["start", "tool-output-error", "data-action"]);
        assert_eq!(told[2]["data"]["outcome"]["code"], "check_changed");
        let part = tool_part(&user, "stale").await;
        assert_eq!(part["approval"], json!({"id": stale["id"], "approved": true}));
        assert_eq!((effects(&site, &expired).await, effects(&site, &stale).await), (0, 0));
        assert!(!paused(&user, &check).await);
    }

    async fn several_are_answered_together_or_one_by_one(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        for name in ["a", "b", "c"] {
            new_check(&user, name, json!({})).await;
        }
        let calls = ["a", "b", "c"].map(|name| ("pause_check", json!({"check": name})));
        let proposed = cards(&propose_natively(&site, &user, "talk", &calls).await);
        let id = |n: usize| proposed[n]["id"].as_str().unwrap();
        let told = chunks(answer(&user, "talk", &[(id(0), true.into()), (id(1), false.into())]).await).await;
        let outcomes = types(&told)[..5].to_vec();
        assert_eq!(outcomes, ["start", "tool-output-available", "tool-output-denied", "data-action", "data-action"]);
        assert_eq!(row(&site, &proposed[2]).await.status, "PENDING");
        // One that was decided by its card in the meantime.
        assert_eq!(tap(&user, &proposed[2]).await.state(), ("EXECUTED", false));
        let told = decide(&user, "talk", &proposed[2], false).await;
        assert_eq!(types(&told)[..3], ["start", "tool-output-available", "data-action"], "the row tells, not the client");
        assert_eq!(effects(&site, &proposed[2]).await, 1);
    }

    async fn approvals_cards_and_words_have_one_winner(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Pro).await;
        for round in 0..12 {
            let talk = format!("talk-{round}");
            let name = format!("check-{round}");
            let call = ("create_check", json!({"name": name, "period_seconds": 3600}));
            let card = cards(&propose_natively(&site, &user, &talk, &[call]).await).remove(0);
            let racers = (0..8).map(|n| {
                let (user, card, talk) = (user.at(&site, n % 2), card.clone(), talk.clone());
                async move {
                    match n % 4 {
                        0 => drop(decide(&user, &talk, &card, true).await),
                        1 => drop(decide(&user, &talk, &card, false).await),
                        2 => drop(tap(&user, &card).await),
                        _ => drop(post(&user, &card, "reject", None).await),
                    }
                }
            });
            at_once(racers.collect()).await;
            let status = row(&site, &card).await.status;
            let expected = i64::from(status == "EXECUTED");
            assert_eq!(effects(&site, &card).await, expected, "{status}");
            assert_eq!(events(&site, &card).await, ["PROPOSED", status.as_str()]);
            let told = decide(&user.at(&site, 1), &talk, &card, true).await;
            assert_eq!(told[2]["data"]["status"], status.as_str());
        }
    }

    async fn a_card_without_native_approvals_awaits_none(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        new_check(&user, "backup", json!({})).await;
        let card = propose(&site, &user, "c", &[("pause_check", json!({"check": "backup"}))]).await.remove(0);
        let refused = Answer::of(answer(&user, "c", &[(card["id"].as_str().unwrap(), true.into())]).await).await;
        assert_eq!(refused.refusal(), (404, "action_not_found"));
        assert_eq!(row(&site, &card).await.status, "PENDING");
    }
}
