//! The last message answered once more: costs one, hides the answer before it, and repeats nothing that was proposed.

use flatline::limits::Tier;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::stream::assert_contract;
use crate::asking::{Rows, message, messages, number, problem, remaining, rows, send};
use crate::provider::Script;
use crate::site::{Site, Visitor, cards, chunks, json_of, text};

/// As stock `useChat` asks for it: the history up to the user's message.
fn again(conversation: &str, question: &str, words: &str) -> Value {
    json!({"id": conversation, "messages": [message(question, words)],
        "trigger": "regenerate-message", "messageId": "an-answer"})
}

async fn regenerate(user: &Visitor, conversation: &str, question: &str, words: &str) -> Vec<Value> {
    let response = send(user, again(conversation, question, words)).await;
    assert_eq!(response.status(), StatusCode::OK);
    chunks(response).await
}

on_both! {
    async fn the_new_answer_takes_the_old_ones_place(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        for (id, words, answer) in [("m1", "first", "one"), ("m2", "second", "two")] {
            site.provider.push(Script::text(answer));
            user.chat("c", id, words).await;
        }
        site.provider.push(Script::text("another two"));
        let said = regenerate(&user, "c", "m2", "second").await;
        assert_contract(&said);
        assert_eq!(text(&said), "another two");
        assert_eq!(remaining(&user).await, [17], "it costs one");
        // The model is asked as if the old answer had not been given, with the words that are stored.
        let sent = site.provider.request(3).await.body["messages"].clone();
        let words: Vec<&str> = sent.as_array().unwrap()[1..].iter().map(|m| m["content"].as_str().unwrap()).collect();
        assert_eq!(words, ["first", "one", "second"]);
        let shown = user.get("/api/chat/c").await;
        let shown: Vec<&str> = shown["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["parts"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap())
            .collect();
        assert_eq!(shown, ["first", "one", "second", "another two"]);
        let stored = messages(site.db(), "c").await;
        assert_eq!(stored.iter().filter(|row| row.replaced).map(|row| row.text.as_str()).collect::<Vec<_>>(), ["two"]);
        // The message sent again is answered with the answer that is shown; the next one goes on from there.
        assert_eq!(text(&user.chat("c", "m2", "second").await), "another two");
        user.chat("c", "m3", "third").await;
        let sent = site.provider.request(4).await.body["messages"].to_string();
        assert!(sent.contains("another two") && !sent.contains("\"two\""), "{sent}");
    }

    async fn a_proposal_stays_as_it_was(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("create_check", json!({"name": "backup", "period_seconds": 3600})));
        site.provider.push(Script::text("Please confirm."));
        let card = cards(&user.chat("c", "m", "watch my backup").await).remove(0);
        site.provider.push(Script::text("I proposed it already."));
        let said = regenerate(&user, "c", "m", "watch my backup").await;
        assert!(cards(&said).is_empty());
        assert_eq!(rows(site.db()).await, Rows { conversations: 1, messages: 3, actions: 1 });
        assert_eq!(number(site.db(), "SELECT count(*) FROM action_effects").await, 0);
        let id = card["id"].as_str().unwrap();
        assert_eq!(user.get(&format!("/api/actions/{id}")).await, card, "nothing of it has changed");
        let confirmed = json_of(user.post(&format!("/api/actions/{id}/confirm")).await).await;
        assert_eq!((&confirmed["action"]["status"], &confirmed["replayed"]), (&json!("EXECUTED"), &json!(false)));
        // Answered once more after it was done: it is not done again.
        site.provider.push(Script::text("It is done."));
        regenerate(&user, "c", "m", "watch my backup").await;
        assert_eq!(number(site.db(), "SELECT count(*) FROM action_effects").await, 1);
        assert_eq!(user.get("/api/checks").await["checks"].as_array().unwrap().len(), 1);
    }

    async fn the_old_answer_stays_if_there_is_no_new_one(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::text("one"));
        user.chat("c", "m", "first").await;
        site.provider.push(Script::error(401, "invalid_api_key"));
        problem(send(&user, again("c", "m", "first")).await, 502, "model_unavailable").await;
        let shown = user.get("/api/chat/c").await;
        assert_eq!(shown["messages"].as_array().unwrap().len(), 2);
        assert_eq!(shown["messages"][1]["parts"][1]["text"], "one");
        assert_eq!(remaining(&user).await, [19], "what gave nothing costs nothing");
        assert_eq!(rows(site.db()).await, Rows { conversations: 1, messages: 2, actions: 0 });
    }

    async fn a_word_that_decides_is_not_decided_again(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        for name in ["backup", "mail"] {
            site.provider.push(Script::tool_call("create_check", json!({"name": name, "period_seconds": 3600})));
            site.provider.push(Script::text("Please confirm."));
            user.chat("c", name, "watch it").await;
        }
        user.chat("c", "word", "confirm 2").await;
        assert_eq!(number(site.db(), "SELECT count(*) FROM action_effects").await, 1);
        regenerate(&user, "c", "word", "confirm 2").await;
        assert_eq!(number(site.db(), "SELECT count(*) FROM action_effects").await, 1);
        let open = user.get("/api/actions?status=PENDING").await;
        assert_eq!(open["actions"].as_array().unwrap().len(), 1, "the first one waits on");
    }

    async fn only_the_last_message_is_answered_again(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        user.chat("c", "m1", "first").await;
        user.chat("c", "m2", "second").await;
        let refusal = problem(send(&user, again("c", "m1", "first")).await, 422, "invalid_message").await;
        assert_eq!(refusal["field"], "messageId");
        // Edited and refused, and then retried: the old words are not what is asked.
        let refusal = problem(send(&user, again("c", "m2", "edited")).await, 422, "invalid_message").await;
        assert_eq!(refusal["field"], "message.id");
        assert_eq!((site.provider.requests().len(), remaining(&user).await), (2, vec![18]));
    }

    async fn of_a_message_that_is_not_there_it_is_a_message(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        assert_eq!(text(&regenerate(&user, "c", "m", "hello").await), "ok");
        assert_eq!(messages(site.db(), "c").await[0].text, "hello");
    }
}
