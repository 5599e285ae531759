//! Whole calls against the scripted provider: what is sent, what is tried again, and how long anything is waited for.

use std::time::Duration;

use flatline::llm::{ChatModel, Delta, Finish, Message, ModelErrorKind, ModelRequest, Timeouts, ToolCall, ToolSpec};
use futures::StreamExt;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{LONG, ask, client, question, timeouts};
use crate::provider::{FakeProvider, Gate, Script};

fn arguments(value: Value) -> serde_json::Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

#[tokio::test]
async fn the_request_says_all_it_must() {
    let provider = FakeProvider::start().await;
    let parameters =
        json!({"type": "object", "properties": {"check": {"type": "string"}}, "additionalProperties": false});
    let call =
        ToolCall { id: "call_7".into(), name: "check_status".into(), arguments: arguments(json!({"check": "a"})) };
    let request = ModelRequest {
        system: "You are Flatline.".into(),
        messages: vec![
            Message::User("Hi".into()),
            Message::Assistant { text: "Hello.".into(), tool_calls: vec![] },
            Message::User("How is a?".into()),
            Message::Assistant { text: String::new(), tool_calls: vec![call] },
            Message::Tool { call_id: "call_7".into(), name: "check_status".into(), content: json!({"status": "up"}) },
        ],
        tools: vec![ToolSpec { name: "check_status", description: "Tells.".into(), parameters: parameters.clone() }],
        zone: TimeZone::UTC,
    };
    provider.push(Script::tool_call("check_status", json!({"check": "b"})));
    let answer: Vec<_> = client(&provider, timeouts(LONG)).open(&request).await.unwrap().collect().await;
    assert_eq!(answer.first(), Some(&Ok(Delta::ToolCallBegun { name: "check_status".into() })));
    assert_eq!(answer.last(), Some(&Ok(Delta::Finished(Finish::Complete))));
    let received = provider.request(1).await;
    let function = json!({"name": "check_status", "description": "Tells.", "parameters": parameters});
    let sent_call = json!({"type": "function", "id": "call_7", "function": {"name": "check_status", "arguments": r#"{"check":"a"}"#}});
    let expected = json!({
        "model": "demo-model",
        "messages": [
            {"role": "system", "content": "You are Flatline."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "How is a?"},
            {"role": "assistant", "tool_calls": [sent_call]},
            {"role": "tool", "tool_call_id": "call_7", "content": r#"{"status":"up"}"#},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 1024,
        "tools": [{"type": "function", "function": function}],
    });
    assert_eq!(received.body, expected);
    assert_eq!(received.target, "POST /v1/chat/completions");
    assert_eq!(received.header("authorization"), Some("Bearer sk-our-own"));
    assert_eq!(received.header("content-type"), Some("application/json"));
}

/// The library's configuration begins with the environment; a child process with a hostile one shows that nothing
/// of it is sent.
#[tokio::test]
async fn no_environment_reaches_the_request() {
    if std::env::var_os("FLATLINE_TEST_HOSTILE_ENVIRONMENT").is_none() {
        let name = format!("{}::no_environment_reaches_the_request", module_path!().split_once("::").unwrap().1);
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([&name, "--exact"])
            .envs([
                ("FLATLINE_TEST_HOSTILE_ENVIRONMENT", "1"),
                ("OPENAI_API_KEY", "sk-hostile"),
                ("OPENAI_ADMIN_KEY", "sk-hostile"),
                ("OPENAI_BASE_URL", "http://127.0.0.1:9/hostile"),
                ("OPENAI_ORG_ID", "hostile"),
                ("OPENAI_PROJECT_ID", "hostile"),
                ("HTTP_PROXY", "http://127.0.0.1:9"),
                ("ALL_PROXY", "http://127.0.0.1:9"),
            ])
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && output.contains("1 passed"), "{output}");
        return;
    }
    let provider = FakeProvider::start().await;
    let base_url = format!("{}/", provider.base_url());
    let config = |api_key| super::OpenAiConfig {
        api_key,
        base_url: base_url.clone(),
        model: "m".into(),
        timeouts: timeouts(LONG),
    };
    for (number, key) in [None, Some(String::new()), Some("sk-our-own".to_owned())].into_iter().enumerate() {
        super::OpenAi::new(config(key.clone())).unwrap().open(&question()).await.map(drop).unwrap();
        let received = provider.request(number + 1).await;
        let key = key.filter(|key| !key.is_empty());
        assert_eq!(received.header("authorization").map(str::to_owned), key.map(|key| format!("Bearer {key}")));
        assert!(!format!("{received:?}").contains("hostile"), "{received:?}");
        assert_eq!(received.target, "POST /v1/chat/completions");
    }
}

#[tokio::test]
async fn two_retries_and_only_where_they_may_help() {
    let page = || Script::respond(200, &[("content-type", "text/html")]).write("<html>Sign in</html>");
    let busy = |seconds| Script::respond(429, &[("retry-after", seconds)]).write("busy");
    let cases: Vec<(&str, Vec<Script>, usize, &str)> = vec![
        ("503, 500, then an answer", vec![Script::error(503, "x"), Script::error(500, "x")], 3, "ok"),
        ("429 without a wait, then an answer", vec![Script::error(429, "rate_limit_exceeded")], 2, "ok"),
        ("broken twice, then an answer", vec![Script::disconnect(), Script::stream().reset()], 3, "ok"),
        ("three failures", vec![Script::error(502, "x"), Script::disconnect(), Script::error(503, "x")], 3, ""),
        ("400", vec![Script::error(400, "invalid_request_error")], 1, ""),
        ("401", vec![Script::error(401, "invalid_api_key")], 1, ""),
        ("403", vec![Script::error(403, "forbidden")], 1, ""),
        ("404", vec![Script::error(404, "model_not_found")], 1, ""),
        ("quota used up", vec![Script::error(429, "insufficient_quota")], 1, ""),
        ("a page", vec![page()], 1, ""),
        ("a wait that is too long", vec![busy("11")], 1, ""),
        ("broken after the first delta", vec![Script::stream().say("Well").reset()], 1, "Well"),
    ];
    let outcomes = cases.into_iter().map(|(name, scripts, requests, text)| async move {
        let provider = FakeProvider::start().await;
        for script in scripts {
            provider.push(script);
        }
        let seen = ask(&provider, timeouts(LONG)).await;
        assert_eq!((provider.requests().len(), seen.text.as_str()), (requests, text), "{name}: {seen:?}");
        assert_eq!(seen.error.is_none(), text == "ok", "{name}");
        if let Some(error) = &seen.error {
            assert!(!format!("{error:?}").contains("words of the provider"), "{name}: {error:?}");
        }
    });
    futures::future::join_all(outcomes).await;
}

#[tokio::test]
async fn retry_after_is_waited_for() {
    let provider = FakeProvider::start().await;
    provider.push(Script::respond(503, &[("retry-after", "1")]));
    assert_eq!(ask(&provider, timeouts(LONG)).await.text, "ok");
    let [first, second] = &provider.requests()[..] else { panic!("two requests") };
    assert!(second.at - first.at >= Duration::from_secs(1));
    assert_eq!(first.body, second.body);
}

#[tokio::test]
async fn one_deadline_covers_all_that_precedes_the_first_delta() {
    let drip =
        (0..1_000).fold(Script::stream(), |script, _| script.write(": alive\n\n").pause(Duration::from_millis(20)));
    let role_only = Script::chunks(["data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"]).hang();
    let wait = Script::respond(429, &[("retry-after", "5")]);
    for (name, scripts, kind, requests) in [
        ("no head", vec![Script::silence()], ModelErrorKind::Timeout, 1),
        ("only comments", vec![drip], ModelErrorKind::Timeout, 1),
        ("only a role", vec![role_only], ModelErrorKind::Timeout, 1),
        ("a failure, then silence", vec![Script::disconnect(), Script::silence()], ModelErrorKind::Timeout, 2),
        ("a wait that does not fit", vec![wait], ModelErrorKind::RateLimited, 1),
    ] {
        let provider = FakeProvider::start().await;
        for script in scripts {
            provider.push(script);
        }
        let begun = Instant::now();
        let error = ask(&provider, timeouts(2_000)).await.error.unwrap();
        assert_eq!((error.kind, provider.requests().len()), (kind, requests), "{name}");
        assert!((Duration::from_millis(1_900)..Duration::from_millis(5_500)).contains(&begun.elapsed()), "{name}");
    }
}

#[tokio::test]
async fn a_connection_that_cannot_be_made_fails_in_time() {
    // A listener with a full backlog lets nobody in; a closed port says so at once.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(connected) =
        tokio::time::timeout(Duration::from_millis(200), tokio::net::TcpStream::connect(address)).await
    {
        waiting.push(connected);
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [address, closed] {
        let timeouts = Timeouts { connect: Duration::from_millis(200), ..timeouts(LONG) };
        let config = super::OpenAiConfig {
            api_key: None,
            base_url: format!("http://{address}/v1"),
            model: "m".into(),
            timeouts,
        };
        let model = super::OpenAi::new(config).unwrap();
        let begun = Instant::now();
        let error = model.open(&question()).await.err().unwrap();
        assert_eq!((error.kind, error.reason.as_str()), (ModelErrorKind::Unreachable, "no connection"));
        assert!(
            (Duration::from_millis(700)..Duration::from_secs(15)).contains(&begun.elapsed()),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test]
async fn silence_ends_an_answer_and_signs_of_life_do_not() {
    let provider = FakeProvider::start().await;
    let slow = |script: Script| script.pause(Duration::from_millis(500)).write(": alive\n\n");
    provider.push((0..5).fold(Script::stream().say("Still"), |script, _| slow(script)).say(" here").finish("stop"));
    let seen = ask(&provider, timeouts(2_000)).await;
    assert_eq!((seen.text.as_str(), seen.outcome), ("Still here", "complete"));

    provider.push(Script::stream().say("Still").hang());
    let seen = ask(&provider, Timeouts { first: Duration::from_secs(20), ..timeouts(500) }).await;
    assert_eq!((seen.text.as_str(), seen.error.map(|error| error.kind)), ("Still", Some(ModelErrorKind::Timeout)));
}

#[tokio::test]
async fn done_ends_the_answer_at_once_and_closes_the_connection() {
    let provider = FakeProvider::start().await;
    provider.push(Script::text("Over.").hang());
    let begun = Instant::now();
    assert_eq!(ask(&provider, timeouts(LONG)).await.outcome, "complete");
    assert!(begun.elapsed() < Duration::from_secs(2));
    provider.request(1).await.wait_for_client_to_leave().await;

    // Without [DONE] a finish reason is waited on for a few seconds, not for the whole idle time.
    let reason = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    provider.push(Script::stream().say("Over.").write(format!("data: {reason}\n\n")).hang());
    let begun = Instant::now();
    assert_eq!(ask(&provider, timeouts(LONG)).await.outcome, "complete");
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn who_stops_asking_stops_the_request() {
    let provider = FakeProvider::start().await;
    let (gate, model) = (Gate::default(), client(&provider, timeouts(LONG)));

    provider.push(Script::stream().say("Well").hold(&gate).finish("stop"));
    let request = question();
    let mut deltas = model.open(&request).await.unwrap();
    assert_eq!(deltas.next().await, Some(Ok(Delta::Text("Well".into()))));
    gate.reached().await;
    assert!(!provider.request(1).await.client_left());
    drop(deltas);
    provider.request(1).await.wait_for_client_to_leave().await;

    provider.push(Script::silence());
    let asked = tokio::select! {
        _ = model.open(&request) => panic!("the provider said nothing"),
        received = provider.request(2) => received,
    };
    asked.wait_for_client_to_leave().await;
}

#[tokio::test]
async fn a_redirect_takes_the_request_nowhere() {
    let (provider, other) = (FakeProvider::start().await, FakeProvider::start().await);
    let location = format!("{}/chat/completions", other.base_url());
    provider.push(Script::respond(307, &[("location", &location)]));
    let error = ask(&provider, timeouts(LONG)).await.error.unwrap();
    assert_eq!((error.kind, error.status), (ModelErrorKind::Refused, Some(307)));
    assert!(other.requests().is_empty());
}
