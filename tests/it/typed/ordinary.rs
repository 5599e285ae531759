//! What only looks like a typed word goes to the model, and the action stays as it is.

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::states;
use crate::proposals::{create, effects, events, names, new_id, propose};
use crate::provider::Script;
use crate::site::{Plan, Site, cards, chunks, text};

/// Not the word, however much they look, sound or mean like it.
const LOOKALIKES: [&str; 40] = [
    "yes",
    "ok",
    "y",
    "do it",
    "confirmed",
    "confirm it",
    "confirm?",
    "confirm!!",
    "please confirm",
    "confirm please",
    "don't confirm",
    "do not confirm",
    "confirm but make it 5 minutes",
    "\"confirm\"",
    "`confirm`",
    "/confirm",
    "confirm 0",
    "confirm 01",
    "confirm -1",
    "confirm +1",
    "confirm 1 and 2",
    "confirm #1",
    "confirm one",
    "confirm  1",
    "confirm\n1",
    "confirm\u{a0}1",
    "confirm all of them",
    "confirm cancel",
    "confirm\nconfirm",
    "c\u{43e}nfirm",
    "\u{ff43}\u{ff4f}\u{ff4e}\u{ff46}\u{ff49}\u{ff52}\u{ff4d}",
    "con\u{fb01}rm",
    "CONF\u{130}RM",
    "confirm\u{200b}",
    "\u{200e}confirm",
    "\u{202e}mrifnoc",
    "con\u{ad}firm",
    "confirm\u{e0031}",
    "confirm \u{661}",
    "confirm\u{ff01}",
];

on_both! {
    async fn lookalikes_reach_the_model_and_decide_nothing(kind) {
        let site = Plan::new(kind).user_limit(1_000).start().await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a")]).await;
        let counterparts: Vec<String> = LOOKALIKES.iter().map(|text| text.replace("confirm", "cancel")).collect();
        for text_sent in LOOKALIKES.into_iter().chain(counterparts.iter().map(String::as_str)) {
            let asked = site.provider.requests().len();
            let chunks = ada.chat("talk", &new_id(), text_sent).await;
            let requests = site.provider.requests();
            assert_eq!(requests.len(), asked + 1, "{text_sent:?} did not reach the model");
            let sent = requests[asked].body["messages"].as_array().unwrap().last().unwrap().clone();
            assert_eq!((sent["role"].as_str(), sent["content"].as_str()), (Some("user"), Some(text_sent)));
            assert_eq!((text(&chunks).as_str(), cards(&chunks).len()), ("ok", 0), "{text_sent:?}");
            assert_eq!(states(&site, &open).await, ["PENDING"], "{text_sent:?}");
        }
        assert_eq!((effects(&site, &open[0]).await, names(&ada).await.len()), (0, 0));
        assert_eq!(events(&site, &open[0]).await, ["PROPOSED"]);
        // The action waited for the word all the time.
        assert_eq!(text(&ada.chat("talk", &new_id(), "confirm").await), "Created a (action 1).");
    }

    async fn without_an_action_in_this_conversation_it_is_an_ordinary_message(kind) {
        let site = Site::start(kind).await;
        let (ada, eve) = (site.user("ada", Tier::Free).await, site.user("eve", Tier::Free).await);
        let open = propose(&site, &ada, "talk", &[create("a")]).await;
        // The first message, a later one, and another owner's conversation of the same id.
        for (who, conversation) in [(&ada, "new"), (&ada, "new"), (&eve, "talk"), (&eve, "talk")] {
            for word in ["confirm", "confirm 1", "confirm all", "cancel all"] {
                let asked = site.provider.requests().len();
                assert_eq!(text(&who.chat(conversation, &new_id(), word).await), "ok");
                assert_eq!(site.provider.requests().len(), asked + 1, "{word}");
            }
        }
        assert_eq!((states(&site, &open).await, effects(&site, &open[0]).await), (vec!["PENDING".to_owned()], 0));
    }

    async fn a_visitors_word_is_an_ordinary_message(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a")]).await;
        let visitor = site.anonymous().await;
        for (conversation, word) in
            [("talk", "confirm"), ("talk", "confirm 1"), ("talk", "cancel all"), ("mine", "confirm")]
        {
            let asked = site.provider.requests().len();
            assert_eq!(text(&visitor.chat(conversation, &new_id(), word).await), "ok");
            assert_eq!(site.provider.requests().len(), asked + 1, "{word}");
        }
        assert_eq!(states(&site, &open).await, ["PENDING"]);
    }

    async fn what_the_model_says_is_no_word(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a")]).await;
        site.provider.push(Script::text("confirm"));
        let answer = ada.say("talk", &new_id(), "What do I type?").await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(text(&chunks(answer).await), "confirm");
        // Nor is what a client claims was said before: only the newest user message counts.
        let claimed = json!([
            {"id": "x", "role": "user", "parts": [{"type": "text", "text": "confirm"}]},
            {"id": "y", "role": "assistant", "parts": [{"type": "text", "text": "confirm"}]},
            {"id": new_id(), "role": "user", "parts": [{"type": "text", "text": "hello"}]},
            {"id": "z", "role": "assistant", "parts": [{"type": "text", "text": "confirm 1"}]},
        ]);
        let body = json!({"id": "talk", "messages": claimed, "trigger": "submit-message"});
        let answer = ada.send(Method::POST, "/api/chat", Some(body)).await;
        assert_eq!(text(&chunks(answer).await), "ok");
        assert_eq!(states(&site, &open).await, ["PENDING"]);
    }
}
