//! Approvals when the conversation has gone on: long answers, several calls in one step, an answer given anew, and a
//! conversation that is gone.

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::json;

use super::{answer, decide, paused, propose_natively, tool_part};
use crate::asking::{messages, problem};
use crate::proposals::{effects, new_check, new_id, row};
use crate::provider::Script;
use crate::site::{Site, cards, chunks, text, types};

on_both! {
    async fn an_answer_of_any_length_can_be_approved(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let check = new_check(&user, "backup", json!({})).await;
        let call = ("pause_check", json!({"check": "backup"}));
        let card = cards(&propose_natively(&site, &user, "c", &[call]).await).remove(0);
        let read = json!({"type": "tool-list_checks", "toolCallId": "r", "state": "output-available",
            "input": {}, "output": "x".repeat(200_000)});
        let part = json!({"type": "tool-pause_check", "toolCallId": "t", "state": "approval-responded",
            "input": {}, "approval": {"id": card["id"].as_str().unwrap().to_uppercase(), "approved": true}});
        let answer = json!({"id": "a", "role": "assistant", "parts": [read, part]});
        // As stock clients send it, and as those that send their last message only.
        for body in [json!({"id": "c", "messages": [answer]}), json!({"id": "c", "message": answer})] {
            let response = user.send(Method::POST, "/api/chat", Some(body)).await;
            assert_eq!(types(&chunks(response).await)[..2], ["start", "tool-output-available"]);
        }
        assert!(paused(&user, &check).await);
        assert_eq!(effects(&site, &card).await, 1);
    }

    async fn the_same_call_twice_leaves_one_to_approve(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        new_check(&user, "backup", json!({})).await;
        let call = || ("pause_check", json!({"check": "backup"}));
        let said = propose_natively(&site, &user, "c", &[call(), call()]).await;
        let kinds = types(&said);
        let count = |kind: &str| kinds.iter().filter(|found| **found == kind).count();
        assert_eq!((count("tool-approval-request"), count("tool-output-error"), count("data-action")), (2, 1, 3));
        let dead = said.iter().find(|chunk| chunk["type"] == "tool-output-error").unwrap();
        assert!(dead["errorText"].as_str().unwrap().contains("newer proposal"), "{dead}");
        let told = cards(&said);
        assert_eq!((&told[2]["id"], &told[2]["status"]), (&told[0]["id"], &json!("SUPERSEDED")));
        assert_eq!(decide(&user, "c", &told[1], true).await[1]["type"], "tool-output-available");
        // Without native approvals the first card is told of in the same way.
        new_check(&user, "other", json!({})).await;
        let call = || ("pause_check", json!({"check": "other"}));
        let said = crate::proposals::turn(&site, &user, "plain", &[call(), call()]).await;
        let told = cards(&said);
        assert_eq!((told.len(), &told[2]["id"], &told[2]["status"]), (3, &told[0]["id"], &json!("SUPERSEDED")));
    }

    async fn a_read_beside_a_proposal_is_spoken_of_in_the_same_step(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        new_check(&user, "backup", json!({})).await;
        let calls = [("get_check", json!({"check": "backup"})), ("pause_check", json!({"check": "backup"}))];
        site.provider.push(Script::tool_calls(calls.clone()));
        site.provider.push(Script::text("It is new. Approve the pause."));
        let parts = json!([{"type": "text", "text": "how is it, and pause it"}]);
        let message = json!({"id": new_id(), "role": "user", "parts": parts});
        let body = json!({"id": "c", "approvals": "native", "messages": [message]});
        let said = chunks(user.send(Method::POST, "/api/chat", Some(body)).await).await;
        let steps = types(&said).into_iter().filter(|kind| *kind == "start-step").count();
        assert_eq!((steps, text(&said).as_str()), (1, "It is new. Approve the pause."));
        let card = cards(&said).remove(0);
        assert_eq!(decide(&user, "c", &card, true).await[1]["type"], "tool-output-available");
    }

    async fn an_answer_given_anew_leaves_its_approvals_open(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let check = new_check(&user, "backup", json!({})).await;
        let call = ("pause_check", json!({"check": "backup"}));
        let card = cards(&propose_natively(&site, &user, "c", &[call]).await).remove(0);
        let question = messages(site.db(), "c").await[0].id.clone();
        let message = json!({"id": question, "role": "user", "parts": [{"type": "text", "text": "please"}]});
        let again = json!({"id": "c", "trigger": "regenerate-message", "messages": [message]});
        let said = chunks(user.send(Method::POST, "/api/chat", Some(again)).await).await;
        assert_eq!(text(&said), "ok");
        assert_eq!(decide(&user, "c", &card, true).await[1]["type"], "tool-output-available");
        assert!(paused(&user, &check).await);
    }

    async fn after_a_proposal_the_talk_goes_on_with_any_model(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        new_check(&user, "backup", json!({})).await;
        let call = ("pause_check", json!({"check": "backup"}));
        let card = cards(&propose_natively(&site, &user, "c", &[call]).await).remove(0);
        assert_eq!(text(&user.chat("c", "m2", "what does that do?").await), "ok");
        let sent = site.provider.request(2).await.body["messages"].clone();
        let roles: Vec<&str> = sent.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
        // Models of Mistral's refuse a user's message right after a tool's, and call ids of any other form.
        assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
        assert_eq!(sent[4]["content"], "Action 1 is still open.");
        let id = sent[3]["tool_call_id"].as_str().unwrap();
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert_eq!(id, sent[2]["tool_calls"][0]["id"]);
        assert_eq!(tool_part(&user, "c").await["state"], "approval-requested");
        assert_eq!(decide(&user, "c", &card, false).await[1]["type"], "tool-output-denied");
    }

    async fn with_its_conversation_an_approval_is_gone(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        new_check(&user, "backup", json!({})).await;
        let call = ("pause_check", json!({"check": "backup"}));
        let card = cards(&propose_natively(&site, &user, "c", &[call]).await).remove(0);
        user.send(Method::DELETE, "/api/chat/c", None).await;
        let id = card["id"].as_str().unwrap();
        problem(answer(&user, "c", &[(id, true.into())]).await, 404, "action_not_found").await;
        assert_eq!((row(&site, &card).await.status.as_str(), effects(&site, &card).await), ("REJECTED", 0));
    }
}
