//! The cases of `tests/fixtures/provider_streams*.json`, and the comparison of what a client made of one.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use flatline::llm::{Delta, Finish, ModelError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::provider::Script;

/// One thing that a provider may send, and what a correct client makes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    #[serde(rename = "why")]
    _why: String,
    pub status: u16,
    content_type: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    chunks: Vec<Repeated>,
    #[serde(default)]
    chunks_b64: Vec<String>,
    pub then: Then,
    pub expect: Expect,
}

/// How the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    Close,
    Hang,
    Reset,
}

/// What a correct client makes of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    text: Repeated,
    reasoning: Repeated,
    tool_calls: Vec<Value>,
    usage: Option<Value>,
    outcome: String,
    #[serde(default)]
    also_ok: Vec<String>,
    #[serde(default)]
    rejected_tool_calls: Vec<String>,
    retryable: Option<bool>,
    retry_after_seconds: Option<u64>,
}

impl Expect {
    /// Whether the answer fails before anything was said.
    pub fn is_before_first_delta(&self) -> bool {
        self.outcome == "error_before_first_delta"
    }

    /// How many requests a client sends that tries twice more, if the case tells.
    pub fn tries(&self) -> Option<usize> {
        let too_long = self.retry_after_seconds.is_some_and(|seconds| seconds > 10);
        self.retryable.map(|retryable| if retryable && !too_long { 3 } else { 1 })
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Repeated {
    Once(String),
    Often { repeat: Repeat },
}

#[derive(Debug, Deserialize)]
struct Repeat {
    chunk: String,
    times: usize,
}

impl Repeated {
    fn whole(&self) -> String {
        match self {
            Self::Once(text) => text.clone(),
            Self::Often { repeat } => repeat.chunk.repeat(repeat.times),
        }
    }
}

impl Case {
    /// All cases; names are unique over both files.
    pub fn all() -> Vec<Self> {
        let files = [
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/provider_streams.json")),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/provider_streams_more.json")),
        ];
        let cases: Vec<Self> = files.iter().flat_map(|file| serde_json::from_str::<Vec<Self>>(file).unwrap()).collect();
        let names: std::collections::HashSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len(), "a name stands twice");
        cases
    }

    /// The writes of the body, and how often each is repeated.
    fn writes(&self) -> Vec<(Vec<u8>, usize)> {
        let decode = |text: &String| (base64::engine::general_purpose::STANDARD.decode(text).unwrap(), 1);
        let plain = self.chunks.iter().map(|chunk| match chunk {
            Repeated::Once(text) => (text.clone().into_bytes(), 1),
            Repeated::Often { repeat } => (repeat.chunk.clone().into_bytes(), repeat.times),
        });
        plain.chain(self.chunks_b64.iter().map(decode)).collect()
    }

    /// The whole body.
    pub fn body(&self) -> Vec<u8> {
        self.writes().into_iter().flat_map(|(bytes, times)| bytes.repeat(times)).collect()
    }

    /// The answer, byte for byte, each entry a write of its own a few milliseconds after the one before.
    pub fn script(&self) -> Script {
        let mut headers: Vec<_> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        headers.extend(self.content_type.as_deref().map(|value| ("content-type", value)));
        let mut script = Script::respond(self.status, &headers);
        for (bytes, times) in self.writes() {
            script = script.pause(Duration::from_millis(3)).write_times(bytes, times);
        }
        match self.then {
            Then::Close => script,
            Then::Hang => script.hang(),
            Then::Reset => script.reset(),
        }
    }
}

/// What a client made of an answer.
#[derive(Debug, Default)]
pub struct Seen {
    pub text: String,
    pub reasoning: String,
    pub tool_calls: Vec<Value>,
    pub ids: Vec<String>,
    pub rejected: Vec<String>,
    pub usage: Option<Value>,
    pub outcome: &'static str,
    pub error: Option<ModelError>,
}

impl Seen {
    /// The failure before the first delta.
    pub fn failed(error: ModelError) -> Self {
        Self { outcome: "error_before_first_delta", error: Some(error), ..Self::default() }
    }

    /// Takes the next item of the stream.
    pub fn take(&mut self, item: Result<Delta, ModelError>) {
        assert_eq!(self.outcome, "", "something came after the end");
        match item {
            Ok(Delta::Text(text)) => self.text += &text,
            Ok(Delta::Reasoning(text)) => self.reasoning += &text,
            Ok(Delta::ToolCallBegun { .. }) => {}
            Ok(Delta::ToolCall(call)) => {
                assert!(!self.ids.contains(&call.id) && !call.id.is_empty(), "id {:?} stands twice", call.id);
                self.ids.push(call.id);
                self.tool_calls.push(json!({"name": call.name, "arguments": call.arguments}));
            }
            Ok(Delta::RejectedToolCall { name }) => self.rejected.push(name),
            Ok(Delta::Usage(usage)) => {
                self.usage =
                    Some(json!({"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}));
            }
            Ok(Delta::Finished(finish)) => {
                self.outcome = match finish {
                    Finish::Complete => "complete",
                    Finish::Length => "length",
                    Finish::Filter => "filtered",
                }
            }
            Err(error) => {
                self.outcome = "error_mid_stream";
                self.error = Some(error);
            }
        }
    }

    /// What is not as the case expects it.
    pub fn difference(&self, case: &Case) -> Option<String> {
        let expect = &case.expect;
        // To a user an answer that stopped and one that broke are the same.
        let ok =
            |outcome: &str| outcome == self.outcome || (outcome == "incomplete" && self.outcome == "error_mid_stream");
        let outcome_ok = ok(&expect.outcome) || expect.also_ok.iter().any(|outcome| ok(outcome));
        let retryable = self.error.as_ref().map(ModelError::is_retryable);
        let retry_after = self.error.as_ref().and_then(|error| error.retry_after).map(|wait| wait.as_secs());
        let status = self.error.as_ref().and_then(|error| error.status);
        let same = self.text == expect.text.whole()
            && self.reasoning == expect.reasoning.whole()
            && self.tool_calls == expect.tool_calls
            && self.rejected == expect.rejected_tool_calls
            && self.usage == expect.usage
            && outcome_ok
            && (expect.retryable.is_none() || retryable == expect.retryable)
            && retry_after == expect.retry_after_seconds
            && (case.status == 200 || status == Some(case.status));
        (!same).then(|| {
            let mut seen = format!("{self:?}");
            seen.truncate(seen.floor_char_boundary(1_500));
            format!("{}: seen {seen}\n   expected {:?} {:?}", case.name, expect.outcome, expect.tool_calls)
        })
    }
}
