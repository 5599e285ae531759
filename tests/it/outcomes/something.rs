//! A provider that has begun: whatever it does then, what it said is kept and the message is paid for. Every stream
//! ends properly.

use flatline::limits::Tier;
use flatline::on_db;
use serde_json::{Value, json};
use sqlx::types::Json;

use crate::asking::{Reading, messages, remaining, rows};
use crate::chat::assert_contract;
use crate::database::Kind;
use crate::provider::{Gate, Script};
use crate::site::{Site, cards, text, types};

/// What is said for a model that said nothing.
const NO_ANSWER: &str = "The model gave no answer. Please ask again, or ask for less at a time.";

/// What became of one message.
struct Outcome {
    site: Site,
    said: Vec<Value>,
    /// The answer's status in the database.
    status: String,
    /// Its words in the database, thoughts included.
    stored: String,
}

impl Outcome {
    /// Asks a provider that answers with these scripts.
    async fn of(kind: Kind, scripts: impl IntoIterator<Item = Script>) -> Self {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        scripts.into_iter().for_each(|script| site.provider.push(script));
        let said = user.chat("c", "m", "hello").await;
        assert_contract(&said);
        assert_eq!(remaining(&user).await, [19], "what has begun is paid for");
        let answer = messages(site.db(), "c").await.remove(1);
        Self { site, said, status: answer.status, stored: answer.text }
    }

    /// Panics unless that is what the user read and the database has.
    fn is(&self, words: &str, end: &str, status: &str) {
        assert_eq!((text(&self.said).as_str(), self.stored.as_str()), (words, words));
        assert_eq!((types(&self.said).last(), self.status.as_str()), (Some(&end), status));
        let answer = format!("{:?}", self.said);
        assert!(!answer.contains("words of the provider"), "{answer}");
    }
}

fn frame(delta: &Value, finish_reason: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}))
}

fn backup() -> Value {
    json!({"name": "backup", "period_seconds": 3600})
}

/// The tokens that the answer's row holds.
async fn usage(site: &Site) -> Value {
    let sql = "SELECT usage FROM messages WHERE role = 'assistant'";
    let Json(usage): Json<Value> =
        on_db!(site.db().read(), pool => sqlx::query_scalar(sql).fetch_one(pool).await).unwrap();
    usage
}

on_both! {
    async fn an_end_and_no_word(kind) {
        Outcome::of(kind, [Script::stream().finish("stop")]).await.is(NO_ANSWER, "finish", "complete");
    }

    async fn its_limit_before_the_first_word(kind) {
        Outcome::of(kind, [Script::stream().finish("length")]).await.is(NO_ANSWER, "finish", "complete");
    }

    async fn its_filter_before_the_first_word(kind) {
        Outcome::of(kind, [Script::stream().finish("content_filter")]).await.is(NO_ANSWER, "finish", "complete");
    }

    async fn thoughts_and_no_word(kind) {
        let thought = frame(&json!({"reasoning": "Hm."}), &Value::Null);
        let outcome = Outcome::of(kind, [Script::stream().write(thought).finish("stop")]).await;
        assert_eq!((text(&outcome.said), outcome.stored), (NO_ANSWER.to_owned(), format!("Hm.{NO_ANSWER}")));
        assert_eq!((types(&outcome.said).last(), outcome.status.as_str()), (Some(&"finish"), "complete"));
    }

    async fn its_limit_after_some_words(kind) {
        Outcome::of(kind, [Script::stream().say("one ").finish("length")]).await.is("one ", "finish", "complete");
    }

    async fn its_filter_after_some_words(kind) {
        let cut = Script::stream().say("one ").finish("content_filter");
        Outcome::of(kind, [cut]).await.is("one ", "finish", "complete");
    }

    async fn a_call_that_its_limit_cut(kind) {
        let cut = Script::stream().call(0, "create_check", &backup()).finish("length");
        let outcome = Outcome::of(kind, [cut]).await;
        outcome.is("ok", "finish", "complete");
        assert!(types(&outcome.said).contains(&"tool-output-error"));
        assert_eq!(rows(outcome.site.db()).await.actions, 0, "nothing is proposed");
    }

    async fn a_whole_answer_instead_of_a_stream(kind) {
        let message = json!({"role": "assistant", "content": "All at once."});
        let body = json!({"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]});
        let answer = Script::respond(200, &[("content-type", "application/json")]).write(body.to_string());
        Outcome::of(kind, [answer]).await.is("All at once.", "finish", "complete");
    }

    async fn an_end_without_done(kind) {
        let end = frame(&json!({}), &json!("stop"));
        Outcome::of(kind, [Script::stream().say("one").write(end)]).await.is("one", "finish", "complete");
    }

    async fn done_without_an_end(kind) {
        let done = Script::stream().say("one").write("data: [DONE]\n\n");
        Outcome::of(kind, [done]).await.is("one", "finish", "complete");
    }

    async fn an_answer_that_just_stops(kind) {
        Outcome::of(kind, [Script::stream().say("one ")]).await.is("one ", "error", "failed");
    }

    async fn a_connection_that_breaks(kind) {
        Outcome::of(kind, [Script::stream().say("one ").reset()]).await.is("one ", "error", "failed");
    }

    async fn a_broken_frame(kind) {
        let broken = Script::stream().say("one ").write("data: {\"choices\":[{\n\n").say("two").finish("stop");
        Outcome::of(kind, [broken]).await.is("one ", "error", "failed");
    }

    async fn an_error_after_some_words(kind) {
        let error = json!({"error": {"message": "words of the provider's own", "code": 500}});
        let failing = Script::stream().say("one ").write(format!("data: {error}\n\n"));
        Outcome::of(kind, [failing]).await.is("one ", "error", "failed");
    }

    async fn a_later_call_that_fails(kind) {
        let refused = Script::error(401, "invalid_api_key");
        let outcome = Outcome::of(kind, [Script::tool_call("create_check", backup()), refused]).await;
        outcome.is("", "error", "failed");
        assert_eq!((cards(&outcome.said).len(), rows(outcome.site.db()).await.actions), (1, 1), "the card stands");
    }

    async fn a_later_call_that_is_tried_again(kind) {
        let busy = Script::error(503, "overloaded");
        let outcome = Outcome::of(kind, [Script::tool_call("list_checks", json!({})), busy]).await;
        outcome.is("ok", "finish", "complete");
        assert_eq!(outcome.site.provider.requests().len(), 3);
    }

    async fn the_tokens_of_all_calls_are_stored(kind) {
        let outcome = Outcome::of(kind, [Script::tool_call("list_checks", json!({}))]).await;
        assert_eq!(usage(&outcome.site).await, json!({"prompt_tokens": 24, "completion_tokens": 68}));
    }

    async fn more_tokens_than_there_are_do_no_harm(kind) {
        let told = json!({"choices": [], "usage": {"prompt_tokens": u64::MAX, "completion_tokens": "many"}});
        let call = Script::stream().write(format!("data: {told}\n\n")).call(0, "list_checks", &json!({}));
        let end = frame(&json!({}), &json!("tool_calls"));
        let outcome = Outcome::of(kind, [call.write(end)]).await;
        outcome.is("ok", "finish", "complete");
        assert_eq!(usage(&outcome.site).await, json!({"prompt_tokens": u64::MAX, "completion_tokens": 34}));
    }

    async fn tokens_told_before_a_stop_are_stored(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("list_checks", json!({})));
        let so_far = |n: u64| {
            let usage = json!({"prompt_tokens": 100, "completion_tokens": n});
            let choice = json!({"index": 0, "delta": {"content": "word "}});
            format!("data: {}\n\n", json!({"choices": [choice], "usage": usage}))
        };
        let telling = Script::stream().write(so_far(1)).write(so_far(2));
        site.provider.push(telling.hold(&Gate::default()).finish("stop"));
        let mut reading = Reading::new(user.say("c", "m", "count").await);
        reading.until_said("word word ").await;
        user.post("/api/chat/c/stop").await;
        assert_eq!(types(&reading.rest().await).last(), Some(&"abort"));
        assert_eq!(usage(&site).await, json!({"prompt_tokens": 112, "completion_tokens": 36}));
    }
}
