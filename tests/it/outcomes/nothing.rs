//! A provider that gives nothing: an ordinary refusal, nothing left behind, the charge given back. The last argument
//! tells how often it is asked. (Further lines of the table stand in `refusals.rs`.)

use std::time::Duration;

use flatline::limits::Tier;
use serde_json::json;
use tokio::time::timeout;

use crate::asking::{Rows, remaining, rows};
use crate::database::Kind;
use crate::provider::Script;
use crate::refusals::refused;
use crate::site::{Plan, Site, text};

/// Asks a provider that answers each of so many tries like this; nothing has happened then, and the very same message
/// can be sent again.
async fn gives_nothing(site: &Site, answer: &Script, tries: usize, status: u16, code: &str) {
    let user = site.user("ada", Tier::Free).await;
    for _ in 0..tries {
        site.provider.push(answer.clone());
    }
    refused(user.say("c", "m", "hello").await, status, code).await;
    assert_eq!(site.provider.requests().len(), tries);
    assert_eq!(rows(site.db()).await, Rows { conversations: 0, messages: 0, actions: 0 });
    assert_eq!(remaining(&user).await, [20]);
    assert_eq!(text(&user.chat("c", "m", "hello").await), "ok");
    assert_eq!(remaining(&user).await, [19]);
}

/// 502, after this many tries that all went the same way.
async fn unavailable(kind: Kind, answer: Script, tries: usize) {
    gives_nothing(&Site::start(kind).await, &answer, tries, 502, "model_unavailable").await;
}

/// 504, when the time for the first word is over, which is a second here.
async fn too_late(kind: Kind, answer: Script) {
    let site = Plan::new(kind).config(|config| config.model_timeouts.first = Duration::from_secs(1)).start().await;
    let refused = gives_nothing(&site, &answer, 1, 504, "model_timeout");
    timeout(Duration::from_secs(10), refused).await.expect("the time was over long ago");
}

/// A 200 that is no stream.
fn json_answer(body: &serde_json::Value) -> Script {
    Script::respond(200, &[("content-type", "application/json")]).write(body.to_string())
}

on_both! {
    async fn a_request_that_it_refuses(kind) {
        unavailable(kind, Script::error(400, "context_length_exceeded"), 1).await;
    }

    async fn a_model_that_it_does_not_have(kind) {
        unavailable(kind, Script::error(404, "model_not_found"), 1).await;
    }

    async fn a_quota_that_is_used_up(kind) {
        unavailable(kind, Script::error(429, "insufficient_quota"), 1).await;
    }

    async fn a_bill_that_is_not_paid(kind) {
        unavailable(kind, Script::error(402, "payment_required"), 1).await;
    }

    async fn a_redirect(kind) {
        unavailable(kind, Script::respond(308, &[("location", "http://127.0.0.1:9/v1/chat/completions")]), 1).await;
    }

    async fn a_wait_that_is_too_long(kind) {
        unavailable(kind, Script::respond(429, &[("retry-after", "11")]).write("busy"), 1).await;
    }

    async fn a_wait_that_is_short_is_no_failure(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::respond(503, &[("retry-after", "1")]));
        assert_eq!(text(&user.chat("c", "m", "hi").await), "ok");
        assert_eq!((site.provider.requests().len(), remaining(&user).await), (2, vec![19]));
    }

    async fn an_error_inside_of_a_200(kind) {
        let error = json!({"error": {"message": "words of the provider's", "code": 503}});
        unavailable(kind, json_answer(&error), 3).await;
    }

    async fn json_that_is_no_answer(kind) {
        unavailable(kind, json_answer(&json!({"words of the provider": true})), 1).await;
    }

    async fn a_200_without_a_body(kind) {
        unavailable(kind, Script::stream(), 3).await;
    }

    async fn done_and_nothing_else(kind) {
        unavailable(kind, Script::chunks(["data: [DONE]\n\n"]), 3).await;
    }

    async fn usage_and_nothing_else(kind) {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 0}});
        unavailable(kind, Script::chunks([format!("data: {usage}\n\ndata: [DONE]\n\n")]), 3).await;
    }

    async fn a_role_and_nothing_else(kind) {
        let role = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]});
        unavailable(kind, Script::chunks([format!("data: {role}\n\n")]), 3).await;
    }

    async fn a_connection_that_breaks_before_the_first_word(kind) {
        unavailable(kind, Script::stream().write(": wait\n\n").reset(), 3).await;
    }

    async fn a_broken_frame_before_the_first_word(kind) {
        unavailable(kind, Script::chunks(["data: {\"choices\":[{\"delta\":\n\n"]).hang(), 1).await;
    }

    async fn signs_of_life_and_no_word(kind) {
        let comment = |script: Script, _| script.write(": alive\n\n").pause(Duration::from_millis(50));
        too_late(kind, (0..1_000).fold(Script::stream(), comment)).await;
    }

    async fn a_role_and_then_silence(kind) {
        let role = json!({"choices": [{"index": 0, "delta": {"role": "assistant"}}]});
        too_late(kind, Script::chunks([format!("data: {role}\n\n")]).hang()).await;
    }
}
