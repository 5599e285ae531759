//! One answer in several tabs, some of them opened or reloaded while it is being given: all show the same.

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::stream::assert_contract;
use crate::asking::{Reading, Rows, eventually, remaining, rows};
use crate::provider::{Gate, Script};
use crate::site::{Plan, Site, Visitor, text};

/// What a client has in the end: deltas that came in pieces, put together.
fn put_together(chunks: Vec<Value>) -> Vec<Value> {
    let mut whole: Vec<Value> = Vec::new();
    for chunk in chunks {
        match whole.last_mut() {
            Some(last)
                if chunk["type"] == "text-delta" && last["type"] == "text-delta" && last["id"] == chunk["id"] =>
            {
                last["delta"] = (last["delta"].as_str().unwrap().to_owned() + chunk["delta"].as_str().unwrap()).into();
            }
            _ => whole.push(chunk),
        }
    }
    whole
}

async fn tab(user: &Visitor) -> Reading {
    Reading::new(user.send(Method::GET, "/api/chat/c/stream", None).await)
}

/// Panics unless nothing runs there.
async fn nothing_runs(user: &Visitor) {
    let response = user.send(Method::GET, "/api/chat/c/stream", None).await;
    assert_eq!((response.status(), response.text().await.unwrap().as_str()), (StatusCode::NO_CONTENT, ""));
}

/// The messages of the conversation as `[id, role, status]`, and the last one's parts.
async fn history(user: &Visitor) -> (Vec<[String; 3]>, Value) {
    let chat = user.get("/api/chat/c").await;
    let messages = chat["messages"].as_array().unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |m: &Value| [word(&m["id"]), word(&m["role"]), word(&m["metadata"]["status"])];
    (messages.iter().map(row).collect(), messages.last().unwrap()["parts"].clone())
}

/// Until another instance knows what was said: it reads the text from the database, at most a second later.
async fn until_stored(site: &Site, words: &str) {
    eventually("what was said is not stored", || async {
        crate::asking::messages(site.db(), "c").await.last().is_some_and(|message| message.text == words)
    })
    .await;
}

on_both! {
    async fn all_show_the_same_and_it_is_there_once(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let there = user.at(&site, 1);
        let (in_words, at_card) = (Gate::default(), Gate::default());
        let call = json!({"name": "backup", "period_seconds": 3600});
        let propose = Script::stream().say("I ").say("propose ").hold(&in_words).say("this:");
        site.provider.push(propose.call(0, "create_check", &call).finish("tool_calls"));
        site.provider.push(Script::stream().say("Please ").hold(&at_card).say("confirm.").finish("stop"));

        let mut asked = Reading::new(user.say("c", "m", "watch my backup").await);
        let begun = asked.until_said("I propose ").await;
        let id = begun[0]["messageId"].as_str().unwrap().to_owned();
        // A second tab at the same instance and one at the other, in the middle of a sentence.
        let mut beside = tab(&user).await;
        let mut beside_said = beside.until_said("I propose ").await;
        until_stored(&site, "I propose ").await;
        let mut elsewhere = tab(&there).await;
        let mut elsewhere_said = elsewhere.until_said("I propose ").await;

        // The tab that asked is reloaded: it leaves, reads the history, and takes the stream up again.
        drop(asked);
        let running = [["m", "user", "complete"], [&id, "assistant", "streaming"]].map(|row| row.map(str::to_owned));
        assert_eq!(history(&user).await.0, running);
        let mut reloaded = tab(&user).await;
        let mut reloaded_said = reloaded.until_said("I propose ").await;
        in_words.open();
        at_card.reached().await;

        // And a last one comes when the card is there.
        drop(reloaded);
        let mut late = tab(&user).await;
        let mut late_said = late.until_said("I propose this:Please ").await;
        at_card.open();
        beside_said.extend(beside.rest().await);
        elsewhere_said.extend(elsewhere.rest().await);
        late_said.extend(late.rest().await);

        let whole = put_together(beside_said);
        assert_contract(&whole);
        assert_eq!(text(&whole), "I propose this:Please confirm.");
        assert_eq!(whole[0]["messageId"], json!(id));
        assert_eq!(put_together(elsewhere_said), whole, "at the other instance");
        assert_eq!(put_together(late_said), whole, "from the middle");
        assert_eq!(put_together(user.chat("c", "m", "watch my backup").await), whole, "when all is over");
        // What the reloaded tab had read until then is the beginning of the same.
        assert_eq!(put_together(begun), put_together(reloaded_said.split_off(0)));

        nothing_runs(&user).await;
        nothing_runs(&there).await;
        let over = [["m", "user", "complete"], [&id, "assistant", "complete"]].map(|row| row.map(str::to_owned));
        let (messages, parts) = history(&there).await;
        assert_eq!(messages, over);
        let words: String = parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect();
        assert_eq!(words, "I propose this:Please confirm.");
        assert_eq!(rows(site.db()).await, Rows { conversations: 1, messages: 2, actions: 1 });
        assert_eq!(site.provider.requests().len(), 2);
        assert_eq!(remaining(&user).await, [19], "tabs cost nothing");
    }
}
