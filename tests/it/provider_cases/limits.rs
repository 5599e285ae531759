//! Nothing that a provider sends grows without end: text, calls, arguments, frames, or what waits for a slow reader.

use std::time::Duration;

use flatline::llm::chunks::MAX_ANSWER_BYTES;
use flatline::llm::tool_calls::{MAX_ARGUMENT_BYTES, MAX_CALLS};
use flatline::llm::{ChatModel, Delta, Finish, ModelErrorKind};
use futures::StreamExt;
use serde_json::json;

use super::{LONG, ask, client, question, timeouts};
use crate::provider::{FakeProvider, Gate, Script};

#[tokio::test]
async fn a_reader_who_waits_makes_the_provider_wait() {
    let provider = FakeProvider::start().await;
    let gate = Gate::default();
    let comment = format!(": {}\n", "x".repeat(64 << 10));
    provider.push(Script::stream().say("Well").write_times(comment, 1_000).hold(&gate).finish("stop"));
    gate.open();
    let request = question();
    let mut deltas = client(&provider, timeouts(LONG)).open(&request).await.unwrap();
    let ran_ahead = tokio::time::timeout(Duration::from_millis(700), gate.reached()).await;
    assert!(ran_ahead.is_err(), "64 MB were taken although nobody read");
    let mut last = None;
    while let Some(delta) = deltas.next().await {
        last = Some(delta.unwrap());
    }
    assert_eq!(last, Some(Delta::Finished(Finish::Complete)));
}

#[tokio::test]
async fn an_endless_answer_ends_as_length() {
    let provider = FakeProvider::start().await;
    let piece = json!({"choices": [{"delta": {"content": "0123456789abcdef".repeat(4_096)}}]});
    let call = Script::stream().call(0, "pause_check", &json!({"check": "a"}));
    provider.push(call.write_times(format!("data: {piece}\n\n"), 1_000_000));
    let seen = ask(&provider, timeouts(LONG)).await;
    assert_eq!(seen.outcome, "length");
    assert!((MAX_ANSWER_BYTES - 100..=MAX_ANSWER_BYTES).contains(&seen.text.len()), "{}", seen.text.len());
    assert_eq!((seen.tool_calls.len(), seen.rejected), (0, vec!["pause_check".to_owned()]));
    provider.request(1).await.wait_for_client_to_leave().await;
}

#[tokio::test]
async fn too_many_calls_and_too_long_arguments_are_rejected() {
    let provider = FakeProvider::start().await;
    provider.push(Script::tool_calls((0..10_000).map(|_| ("list_checks", json!({})))));
    let seen = ask(&provider, timeouts(LONG)).await;
    assert_eq!((seen.outcome, seen.tool_calls.len(), seen.rejected.len()), ("complete", MAX_CALLS, 1));

    let long = "x".repeat(MAX_ARGUMENT_BYTES);
    let script = Script::stream().call(0, "rename_check", &json!({"name": long})).call(1, "list_checks", &json!({}));
    provider.push(script.finish("tool_calls"));
    let seen = ask(&provider, timeouts(LONG)).await;
    assert_eq!((seen.tool_calls.len(), seen.rejected), (1, vec!["rename_check".to_owned()]));

    let piece = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "rename_check", "arguments": "x".repeat(1 << 20)}}]}}]});
    provider.push(Script::stream().write_times(format!("data: {piece}\n\n"), 1_000));
    let seen = ask(&provider, timeouts(LONG)).await;
    assert_eq!((seen.outcome, seen.rejected), ("length", vec!["rename_check".to_owned()]));
}

#[tokio::test]
async fn an_endless_frame_is_an_error() {
    let provider = FakeProvider::start().await;
    let endless = "x".repeat(64 << 10);
    for (said, outcome) in
        [(Script::stream(), "error_before_first_delta"), (Script::stream().say("Well"), "error_mid_stream")]
    {
        provider.push(said.write("data: ").write_times(&endless, 1_000_000));
        let seen = ask(&provider, timeouts(LONG)).await;
        assert_eq!((seen.outcome, seen.error.unwrap().kind), (outcome, ModelErrorKind::Malformed));
    }
}
