//! What a typed word costs (nothing), how it is kept, and that a refusal of it has decided nothing.

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{say, states, with_cards};
use crate::asking::problem;
use crate::proposals::{Answer, count, create, effects, names, new_id, propose};
use crate::provider::{Gate, Script};
use crate::site::{Plan, Site, Visitor, chunks, json_of, text};

async fn remaining(who: &Visitor) -> i64 {
    json_of(who.post("/api/session").await).await["limits"][0]["remaining"].as_i64().unwrap()
}

async fn messages(who: &Visitor, conversation: &str) -> Vec<Value> {
    who.get(&format!("/api/chat/{conversation}")).await["messages"].as_array().unwrap().clone()
}

on_both! {
    async fn it_costs_no_message(kind) {
        let site = Plan::new(kind).user_limit(2).start().await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a"), create("b"), create("c")]).await;
        assert_eq!(remaining(&ada).await, 1);
        for word in ["confirm", "confirm 9", "confirm 1", "confirm 1", "cancel 2"] {
            say(&site, &ada, "talk", word).await;
            assert_eq!(remaining(&ada).await, 1, "{word}");
        }
        assert_eq!(text(&ada.chat("talk", &new_id(), "confirm?").await), "ok");
        assert_eq!(remaining(&ada).await, 0);
        // Nothing is left, and the word still works; what only looks like it does not.
        for text in ["hello", "confirm it"] {
            let refused = Answer::of(ada.say("talk", &new_id(), text).await).await;
            assert_eq!(refused.refusal(), (429, "quota_exceeded"));
        }
        assert_eq!(say(&site, &ada, "talk", "confirm 3").await.0, "Created c (action 3).");
        assert_eq!(states(&site, &open).await, ["EXECUTED", "REJECTED", "EXECUTED"]);
        // Where there is nothing to confirm it is a message, and costs one.
        let refused = Answer::of(ada.say("new", &new_id(), "confirm").await).await;
        assert_eq!(refused.refusal(), (429, "quota_exceeded"));
    }

    async fn the_same_message_again_is_answered_the_same(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let first_open = propose(&site, &ada, "talk", &[create("a")]).await;
        let (first, cards) = with_cards(ada.say("talk", "word-1", "confirm").await).await;
        assert_eq!((text(&first).as_str(), &cards[0]["status"]), ("Created a (action 1).", &json!("EXECUTED")));
        // Another is proposed; the old word does not reach it, whatever else is sent under its id.
        let second_open = propose(&site, &ada, "talk", &[create("b")]).await;
        for _ in 0..3 {
            let (chunks, _) = with_cards(ada.say("talk", "word-1", "confirm").await).await;
            assert_eq!(chunks, first);
        }
        for other_words in ["confirm 2", "hello"] {
            problem(ada.say("talk", "word-1", other_words).await, 422, "invalid_message").await;
        }
        assert_eq!(
            (states(&site, &first_open).await, states(&site, &second_open).await),
            (vec!["EXECUTED".into()], vec!["PENDING".into()])
        );
        assert_eq!((names(&ada).await, effects(&site, &first_open[0]).await), (vec!["a".to_owned()], 1));
        let told = messages(&ada, "talk").await;
        assert_eq!(told.iter().filter(|message| message["id"] == "word-1").count(), 1);
        assert_eq!(told.len(), 6, "{told:#?}");
        assert_eq!(told[3]["id"], first[0]["messageId"]);
    }

    async fn question_and_answer_are_kept_with_the_card_of_now(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        propose(&site, &ada, "talk", &[create("a"), create("b")]).await;
        let (_, cards) = say(&site, &ada, "talk", "Cancel 2!").await;
        let told = messages(&ada, "talk").await;
        let [question, answer] = [&told[2], &told[3]];
        assert_eq!((&question["role"], &question["parts"][0]["text"]), (&json!("user"), &json!("Cancel 2!")));
        assert_eq!((&answer["role"], &answer["metadata"]["status"]), (&json!("assistant"), &json!("complete")));
        assert_eq!(
            answer["parts"],
            json!([{"type": "step-start"},
            {"type": "text", "text": "Cancelled action 2: Create b. Nothing has changed.", "state": "done"},
            {"type": "data-action", "id": cards[0]["id"], "data": cards[0]}])
        );
        // The card of the proposal itself says so too.
        let card = |part: &&Value| part["type"] == "data-action" && part["id"] == cards[0]["id"];
        assert_eq!(told[1]["parts"].as_array().unwrap().iter().find(card).unwrap()["data"], cards[0]);
    }

    async fn a_word_during_a_turn_that_somebody_reads_is_refused_and_decides_nothing(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a")]).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("Let me").hold(&gate).finish("stop"));
        let reading = ada.say("talk", &new_id(), "tell me more").await;
        gate.reached().await;
        let refused = Answer::of(ada.say("talk", "word", "confirm").await).await;
        assert_eq!(refused.refusal(), (409, "turn_in_progress"));
        assert_eq!((states(&site, &open).await, effects(&site, &open[0]).await), (vec!["PENDING".to_owned()], 0));
        gate.open();
        assert_eq!(text(&chunks(reading).await), "Let me");
        // The very same message, sent again, is new: nothing of it was kept.
        let (chunks, _) = with_cards(ada.say("talk", "word", "confirm").await).await;
        assert_eq!(text(&chunks), "Created a (action 1).");
    }

    async fn a_word_without_a_free_stream_is_refused_and_decides_nothing(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a")]).await;
        let gate = Gate::default();
        let mut reading = Vec::new();
        for n in 0..3 {
            site.provider.push(Script::stream().say("Let me").hold(&gate).finish("stop"));
            reading.push(ada.say(&format!("elsewhere-{n}"), &new_id(), "tell me").await);
            gate.reached().await;
        }
        let refused = Answer::of(ada.say("talk", "word", "confirm").await).await;
        assert_eq!(refused.refusal(), (429, "too_many_streams"));
        assert_eq!((states(&site, &open).await, effects(&site, &open[0]).await), (vec!["PENDING".to_owned()], 0));
        assert_eq!(count(&site, "SELECT count(*) FROM messages WHERE id = $1", "word").await, 0);
        for answer in reading {
            gate.open();
            assert_eq!(text(&chunks(answer).await), "Let me");
        }
        let (chunks, _) = with_cards(ada.say("talk", "word", "confirm").await).await;
        assert_eq!(text(&chunks), "Created a (action 1).");
    }

    async fn a_deleted_conversations_actions_cannot_be_typed_to(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a")]).await;
        assert_eq!(ada.send(Method::DELETE, "/api/chat/talk", None).await.status(), StatusCode::NO_CONTENT);
        let asked = site.provider.requests().len();
        assert_eq!(text(&ada.chat("talk", &new_id(), "confirm 1").await), "ok");
        assert_eq!(
            (site.provider.requests().len(), states(&site, &open).await),
            (asked + 1, vec!["REJECTED".to_owned()])
        );
    }
}
