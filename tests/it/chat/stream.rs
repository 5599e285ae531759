//! The stream as the contract has it: headers, order, exact keys, and an end that is always told.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::asking::{Reading, header, remaining};
use crate::provider::{Gate, Script};
use crate::site::{Site, chunks, text, types};
use flatline::limits::Tier;

/// Exactly these keys beside `type`, for each chunk type that there is (http-api.md, "The stream").
const KEYS: &[(&str, &[&str])] = &[
    ("start", &["messageId"]),
    ("start-step", &[]),
    ("finish-step", &[]),
    ("text-start", &["id"]),
    ("text-delta", &["id", "delta"]),
    ("text-end", &["id"]),
    ("reasoning-start", &["id"]),
    ("reasoning-delta", &["id", "delta"]),
    ("reasoning-end", &["id"]),
    ("tool-input-start", &["toolCallId", "toolName"]),
    ("tool-input-delta", &["toolCallId", "inputTextDelta"]),
    ("tool-input-available", &["toolCallId", "toolName", "input"]),
    ("tool-output-available", &["toolCallId", "output"]),
    ("tool-output-error", &["toolCallId", "errorText"]),
    ("tool-approval-request", &["approvalId", "toolCallId"]),
    ("tool-output-denied", &["toolCallId"]),
    ("data-action", &["id", "data"]),
    ("finish", &[]),
    ("abort", &[]),
    ("error", &["errorText"]),
];

/// The keys of an action (actions.md).
const ACTION: &[&str] = &[
    "id",
    "number",
    "conversation_id",
    "kind",
    "title",
    "summary",
    "changes",
    "warnings",
    "destructive",
    "status",
    "created_at",
    "expires_at",
    "decided_at",
    "decided_via",
    "outcome",
    "digest",
];

/// Panics unless these are the chunks of one whole answer that a stock client accepts.
pub fn assert_contract(chunks: &[Value]) {
    let mut open_span: Option<(String, &Value)> = None;
    let (mut in_step, mut inputs, mut outputs) = (false, Vec::new(), Vec::new());
    for (at, chunk) in chunks.iter().enumerate() {
        let kind = chunk["type"].as_str().unwrap();
        let (_, keys) = KEYS.iter().find(|(known, _)| *known == kind).unwrap_or_else(|| panic!("what is {chunk}?"));
        let expected: BTreeSet<&str> = keys.iter().copied().chain(["type"]).collect();
        assert_eq!(chunk.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(), expected, "{chunk}");
        assert_eq!(kind == "start", at == 0, "start comes first, once");
        let is_last = at + 1 == chunks.len();
        assert_eq!(matches!(kind, "finish" | "abort" | "error"), is_last, "the end comes last, once: {chunk}");
        match kind.rsplit_once('-') {
            Some((span @ ("text" | "reasoning"), "start")) => {
                assert!(in_step && open_span.is_none(), "{chunk}");
                open_span = Some((span.to_owned(), &chunk["id"]));
            }
            Some((span @ ("text" | "reasoning"), part)) => {
                assert_eq!(open_span, Some((span.to_owned(), &chunk["id"])), "{chunk}");
                if part == "end" {
                    open_span = None;
                }
            }
            _ => assert!(open_span.is_none(), "{chunk} while a span is open"),
        }
        match kind {
            "start" => assert!(chunk["messageId"].as_str().is_some_and(|id| !id.is_empty())),
            "start-step" => assert!(!std::mem::replace(&mut in_step, true)),
            "finish-step" => assert!(std::mem::take(&mut in_step)),
            "finish" | "abort" | "error" => assert!(!in_step, "steps are closed before the end"),
            "tool-input-available" => {
                assert!(chunk["input"].is_object());
                inputs.push(&chunk["toolCallId"]);
            }
            "tool-output-available" | "tool-output-error" => outputs.push(&chunk["toolCallId"]),
            "data-action" => {
                assert_eq!(chunk["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ACTION);
                assert_eq!(chunk["id"], chunk["data"]["id"]);
            }
            _ => {}
        }
    }
    assert_eq!(inputs, outputs, "every call is answered, once and in order");
}

/// A provider's frame with this delta.
pub(super) fn delta(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

on_both! {
    async fn headers_and_frames_are_exact(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::stream().say("Hel").say("lo\n\nthere").finish("stop"));
        let response = user.say("c", "m", "hi").await;
        for (name, value) in [
            ("content-type", Some("text/event-stream; charset=utf-8")),
            ("cache-control", Some("no-cache, no-transform")),
            ("x-accel-buffering", Some("no")),
            ("x-vercel-ai-ui-message-stream", Some("v1")),
            ("content-encoding", None),
            ("ratelimit-policy", Some("\"user-10min\";q=20;w=600")),
            ("ratelimit", Some("\"user-10min\";a=19;w=0;r=19;t=600")),
        ] {
            assert_eq!(header(&response, name), value, "{name}");
        }
        let body = response.text().await.unwrap();
        let frames: Vec<&str> = body.split("\n\n").collect();
        assert!(frames.iter().all(|frame| frame.is_empty() || frame.starts_with("data: ") || *frame == ": "), "{body}");
        assert!(body.ends_with("data: {\"type\":\"finish\"}\n\ndata: [DONE]\n\n"), "{body}");
        assert!(!body.contains('\r'));
    }

    async fn a_plain_answer(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("Hello ").hold(&gate).say("there").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m", "hi").await);
        let mut said = reading.until_said("Hello ").await;
        // What has been said is read before the rest is there.
        assert_eq!(types(&said), ["start", "start-step", "text-start", "text-delta"]);
        gate.open();
        said.extend(reading.rest().await);
        assert_contract(&said);
        assert_eq!(types(&said)[4..], ["text-delta", "text-end", "finish-step", "finish"]);
        assert_eq!(text(&said), "Hello there");
    }

    async fn reasoning_comes_before_the_words(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let thought = delta(&json!({"reasoning_content": "The user greets me."}));
        site.provider.push(Script::stream().write(thought).say("Hello").finish("stop"));
        let said = user.chat("c", "m", "hi").await;
        assert_contract(&said);
        let kinds: Vec<&str> = types(&said).into_iter().filter(|kind| !kind.ends_with("-delta")).collect();
        assert_eq!(
            kinds,
            [
                "start",
                "start-step",
                "reasoning-start",
                "reasoning-end",
                "text-start",
                "text-end",
                "finish-step",
                "finish"
            ]
        );
        let thought: String =
            said.iter().filter(|c| c["type"] == "reasoning-delta").filter_map(|c| c["delta"].as_str()).collect();
        assert_eq!((thought.as_str(), text(&said).as_str()), ("The user greets me.", "Hello"));
        // It is shown in history, and not sent back to the model.
        let history = user.get("/api/chat/c").await;
        assert_eq!(
            history["messages"][1]["parts"][1],
            json!({"type": "reasoning", "text": "The user greets me.", "state": "done"})
        );
        user.chat("c", "m2", "and now").await;
        assert!(!site.provider.request(2).await.body.to_string().contains("greets me"));
    }

    async fn each_model_call_is_a_step(kind) {
        let site = Site::start(kind).await;
        let user = site.owner().await;
        site.provider.push(
            Script::stream()
                .say("Let me look.")
                .call(0, "list_checks", &json!({}))
                .call(1, "get_account", &json!({}))
                .finish("tool_calls"),
        );
        site.provider.push(Script::tool_call("get_check", json!({"check": "no such check"})));
        site.provider.push(Script::text("All is well."));
        let said = user.chat("c", "m", "how are my checks?").await;
        assert_contract(&said);
        let kinds: Vec<&str> = types(&said).into_iter().filter(|kind| !kind.ends_with("-delta")).collect();
        let call = ["tool-input-start", "tool-input-available"];
        let step = |inner: &[&'static str]| [&["start-step"], inner, &["finish-step"]].concat();
        let first =
            [&["text-start", "text-end"], &call[..], &["tool-output-available"], &call, &["tool-output-available"]]
                .concat();
        let second = [&call[..], &["tool-output-error"]].concat();
        let expected =
            [vec!["start"], step(&first), step(&second), step(&["text-start", "text-end"]), vec!["finish"]].concat();
        assert_eq!(kinds, expected);
        // The second call was sent the first one's results, each with its call.
        let sent = site.provider.request(2).await.body["messages"].clone();
        let tail: Vec<&Value> = sent.as_array().unwrap().iter().rev().take(3).rev().collect();
        let calls = tail[0]["tool_calls"].as_array().unwrap();
        assert_eq!((calls.len(), &tail[0]["content"]), (2, &json!("Let me look.")));
        for (call, result) in calls.iter().zip(&tail[1..]) {
            assert_eq!((&result["role"], &result["tool_call_id"]), (&json!("tool"), &call["id"]));
            let available =
                said.iter().find(|c| c["type"] == "tool-output-available" && c["toolCallId"] == call["id"]).unwrap();
            let content: Value = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
            assert_eq!(content, available["output"], "the model and the page are told the same");
        }
        assert_eq!(remaining(&user).await, [19], "three model calls, one message");
    }

    async fn a_proposal_is_a_card(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("create_check", json!({"name": "backup", "period_seconds": 3600})));
        site.provider.push(Script::text("Please confirm."));
        let said = user.chat("c", "m", "watch my backup").await;
        assert_contract(&said);
        assert_eq!(
            types(&said)[..6],
            ["start", "start-step", "tool-input-start", "tool-input-available", "tool-output-available", "data-action"]
        );
        let output = &said[4]["output"];
        assert_eq!((&output["status"], &output["number"]), (&json!("PENDING"), &json!(1)));
    }

    async fn a_model_that_never_ends_is_ended(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.default(Script::tool_call("get_account", json!({})));
        let said = user.chat("c", "calls", "go on for ever").await;
        assert_contract(&said);
        assert_eq!(site.provider.requests().len(), 6, "at most six model calls");
        assert!(text(&said).starts_with("I stop here"), "{}", text(&said));
        let calls: Vec<(&str, Value)> = (0..10).map(|_| ("get_account", json!({}))).collect();
        site.provider.push(Script::tool_calls(calls));
        let said = user.chat("c", "tools", "all at once").await;
        assert_contract(&said);
        let count = |kind: &str| types(&said).iter().filter(|found| **found == kind).count();
        assert_eq!((count("tool-output-available"), count("tool-output-error")), (8, 2), "at most eight tool calls");
        assert_eq!(site.provider.requests().len(), 7);
    }

    async fn an_answer_on_another_instance_is_the_same(kind) {
        let site = crate::site::Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let here = Reading::new(user.say("c", "m", "count").await);
        let there = Reading::new(user.at(&site, 1).say("c", "m", "count").await);
        let resumed = user.at(&site, 1).send(reqwest::Method::GET, "/api/chat/c/stream", None).await;
        gate.open();
        let (here, there, resumed) = (here.rest().await, there.rest().await, chunks(resumed).await);
        for said in [&here, &there, &resumed] {
            assert_contract(said);
            assert_eq!((text(said).as_str(), &said[0]), ("one two", &here[0]));
            assert_eq!(said.last().unwrap()["type"], "finish");
        }
        assert_eq!(site.provider.requests().len(), 1);
    }
}
