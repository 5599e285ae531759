//! A model that gives no words: its reader is told so, and the talk goes on.

use flatline::limits::Tier;
use flatline::on_db;
use serde_json::{Value, json};
use sqlx::types::Json;

use super::stream::{assert_contract, delta};
use crate::asking::{Reading, told};
use crate::provider::{Gate, Script};
use crate::site::{Site, text};

fn thoughts(words: &str) -> Script {
    Script::stream().write(delta(&json!({"reasoning_content": words})))
}

on_both! {
    async fn an_answer_of_thoughts_alone_ends_in_a_sentence(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let silent = [thoughts("on and on").finish("length"), thoughts("hm").finish("stop"), Script::stream().finish("stop")];
        for (n, script) in silent.into_iter().enumerate() {
            site.provider.push(script);
            let said = user.chat(&format!("c{n}"), "m", "hello").await;
            assert_contract(&said);
            assert!(text(&said).starts_with("The model gave no answer."), "{n}: {}", text(&said));
        }
        // A card is an answer.
        site.provider.push(Script::tool_call("create_check", json!({"name": "x", "period_seconds": 3600})));
        site.provider.push(Script::stream().finish("stop"));
        assert_eq!(text(&user.chat("card", "m", "make one").await), "");
    }

    async fn stopped_while_it_thinks_it_leaves_a_talk_that_goes_on(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
        site.provider.push(thoughts("hm").write(format!("data: {usage}\n\n")).hold(&gate).say("no").finish("stop"));
        let reading = Reading::new(user.say("c", "m1", "first").await);
        gate.reached().await;
        user.post("/api/chat/c/stop").await;
        assert_eq!(reading.rest().await.last().unwrap()["type"], "abort");
        assert_eq!(told(site.db(), "c").await[1].1, "interrupted");
        let tokens: Json<Value> = on_db!(site.db().read(), pool =>
            sqlx::query_scalar("SELECT usage FROM messages WHERE role = 'assistant'").fetch_one(pool).await)
        .unwrap();
        assert_eq!(tokens.0, json!({"prompt_tokens": 5, "completion_tokens": 2}), "what was told before the stop is kept");
        assert_eq!(text(&user.chat("c", "m2", "second").await), "ok");
        // Templates of some models refuse two messages of the user's in a row.
        let sent = site.provider.request(2).await.body["messages"].clone();
        let roles: Vec<&str> = sent.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user"]);
        assert_eq!(sent[1]["content"], "first\n\nsecond");
    }
}
