//! The same message id is the same message: one model call, one charge, one answer, however often it is sent.

use std::sync::Arc;

use flatline::limits::Tier;
use serde_json::Value;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::stream::assert_contract;
use crate::asking::{Reading, Rows, problem, remaining, rows};
use crate::provider::{Gate, Script};
use crate::site::{Plan, Site, chunks, text};

on_both! {
    async fn sent_again_it_is_replayed(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("list_checks", serde_json::json!({})));
        site.provider.push(Script::text("Nothing is there."));
        let first = user.chat("c", "m", "list").await;
        let again = user.chat("c", "m", "list").await;
        assert_contract(&again);
        let without_deltas = |said: &[Value]| -> Vec<Value> {
            said.iter().filter(|chunk| chunk["type"] != "text-delta").cloned().collect()
        };
        assert_eq!(without_deltas(&again), without_deltas(&first));
        assert_eq!(text(&again), "Nothing is there.");
        // A client whose user edited the message: the old answer would not be to these words.
        let refusal = problem(user.say("c", "m", "other words").await, 422, "invalid_message").await;
        assert_eq!(refusal["field"], "message.id");
        assert_eq!(site.provider.requests().len(), 2, "the model was not asked again");
        assert_eq!(remaining(&user).await, [19]);
        assert_eq!(rows(site.db()).await, Rows { conversations: 1, messages: 2, actions: 0 });
    }

    async fn sent_while_the_answer_streams_it_is_joined_from_the_start(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut first = Reading::new(user.say("c", "m", "count").await);
        let begun = first.until_said("one ").await;
        let mut second = Reading::new(user.say("c", "m", "count").await);
        assert_eq!(second.until_said("one ").await[0], begun[0], "the same answer");
        gate.open();
        assert_eq!(text(&first.rest().await), "two");
        assert_eq!(text(&second.rest().await), "two");
        assert_eq!(site.provider.requests().len(), 1);
        assert_eq!(remaining(&user).await, [19]);
        assert_eq!(rows(site.db()).await, Rows { conversations: 1, messages: 2, actions: 0 });
    }

    async fn twenty_at_once_are_one(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let start = Arc::new(Barrier::new(20));
        for round in 0..10 {
            let user = site.user(&format!("user-{round}"), Tier::Free).await;
            let asked = site.provider.requests().len();
            let before = rows(site.db()).await;
            let mut racers = JoinSet::new();
            for n in 0..20 {
                let (user, start) = (user.at(&site, n % 2), start.clone());
                racers.spawn(async move {
                    start.wait().await;
                    let response = user.say("c", "m", "once").await;
                    if response.status() == 200 {
                        return Some(chunks(response).await);
                    }
                    // A user may read three streams at once; who comes fourth is told so and asks again.
                    problem(response, 429, "too_many_streams").await;
                    None
                });
            }
            let answers: Vec<Vec<Value>> = racers.join_all().await.into_iter().flatten().collect();
            assert!(!answers.is_empty());
            for answer in answers.iter().chain([&user.chat("c", "m", "once").await]) {
                assert_contract(answer);
                assert_eq!((&answer[0], text(answer).as_str()), (&answers[0][0], "ok"), "round {round}");
            }
            assert_eq!(site.provider.requests().len(), asked + 1, "round {round}: one model call");
            assert_eq!(remaining(&user).await, [19], "round {round}: one charge");
            let after = rows(site.db()).await;
            assert_eq!((after.conversations, after.messages), (before.conversations + 1, before.messages + 2));
        }
    }

    async fn a_message_without_an_id_is_new_each_time(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let part = serde_json::json!([{"type": "text", "text": "hi"}]);
        for _ in 0..2 {
            let body = serde_json::json!({"id": "c", "message": {"role": "user", "parts": part}});
            chunks(crate::asking::send(&user, body).await).await;
        }
        assert_eq!(site.provider.requests().len(), 2);
        assert_eq!(remaining(&user).await, [18]);
    }
}
