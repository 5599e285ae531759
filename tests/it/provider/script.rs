//! What the scripted provider answers: one step after another, and gates where it waits for the test.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// A place in a script where it waits for the test. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: Arc<Semaphore>,
    opened: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: Arc::new(Semaphore::new(0)), opened: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Lets one script pass; may be called before it arrives.
    pub fn open(&self) {
        self.opened.add_permits(1);
    }

    /// Waits until a script has arrived here (each arrival is told once).
    pub async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    pub(super) async fn pass(&self) {
        self.reached.add_permits(1);
        self.opened.acquire().await.unwrap().forget();
    }
}

/// What a script does next.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Head { status: u16, headers: Vec<(String, String)> },
    Write { bytes: Vec<u8>, times: usize },
    Pause(Duration),
    Wait(Gate),
    Hang,
    Reset,
}

/// One answer, step by step. Ends with a proper end of the body unless a step says otherwise.
#[derive(Debug, Clone)]
pub struct Script {
    pub(super) steps: Vec<Step>,
}

impl Script {
    /// An answer with this status and these headers, and an empty body so far.
    pub fn respond(status: u16, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { steps: vec![Step::Head { status, headers }] }
    }

    /// The head of an event stream; nothing said yet.
    pub fn stream() -> Self {
        Self::respond(200, &[("content-type", "text/event-stream; charset=utf-8")])
    }

    /// No answer at all: the connection is torn down as soon as the request is read.
    pub fn disconnect() -> Self {
        Self { steps: vec![Step::Reset] }
    }

    /// No answer at all: the connection stays open, silent.
    pub fn silence() -> Self {
        Self { steps: vec![Step::Hang] }
    }

    /// An event stream of exactly these writes.
    pub fn chunks<B: AsRef<[u8]>>(chunks: impl IntoIterator<Item = B>) -> Self {
        chunks.into_iter().fold(Self::stream(), Self::write)
    }

    /// A whole answer: this text, said word by word.
    pub fn text(text: &str) -> Self {
        text.split_inclusive(' ').fold(Self::stream(), Self::say).finish("stop")
    }

    /// A whole answer: one call of this tool.
    pub fn tool_call(name: &str, arguments: Value) -> Self {
        Self::tool_calls([(name, arguments)])
    }

    /// A whole answer: several calls.
    pub fn tool_calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls.into_iter().enumerate();
        calls
            .fold(Self::stream(), |script, (index, (name, arguments))| script.call(index, name, &arguments))
            .finish("tool_calls")
    }

    /// A whole answer: an error in the usual shape.
    pub fn error(status: u16, code: &str) -> Self {
        let body = json!({"error": {"message": "words of the provider's own", "type": code, "code": code}});
        Self::respond(status, &[("content-type", "application/json")]).write(body.to_string())
    }

    /// Writes these bytes, in one write.
    pub fn write(self, bytes: impl AsRef<[u8]>) -> Self {
        self.write_times(bytes, 1)
    }

    /// Writes these bytes so many times, back to back.
    pub fn write_times(self, bytes: impl AsRef<[u8]>, times: usize) -> Self {
        self.then(Step::Write { bytes: bytes.as_ref().to_vec(), times })
    }

    /// A chunk with this text.
    pub fn say(self, text: &str) -> Self {
        self.delta(&json!({"content": text}), &Value::Null)
    }

    /// A chunk with this whole call.
    pub fn call(self, index: usize, name: &str, arguments: &Value) -> Self {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call =
            json!({"index": index, "id": format!("call_{index}_{name}"), "type": "function", "function": function});
        self.delta(&json!({"tool_calls": [call]}), &Value::Null)
    }

    /// The proper end: finish reason, usage (12 in, 34 out), `[DONE]`.
    pub fn finish(self, reason: &str) -> Self {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46}});
        self.delta(&json!({}), &json!(reason)).write(format!("data: {usage}\n\ndata: [DONE]\n\n"))
    }

    /// Waits.
    pub fn pause(self, pause: Duration) -> Self {
        self.then(Step::Pause(pause))
    }

    /// Waits for the test.
    pub fn hold(self, gate: &Gate) -> Self {
        self.then(Step::Wait(gate.clone()))
    }

    /// Keeps the connection open, silent.
    pub fn hang(self) -> Self {
        self.then(Step::Hang)
    }

    /// Drops the connection without a proper end of the body, a little after the last byte.
    pub fn reset(self) -> Self {
        self.pause(Duration::from_millis(30)).then(Step::Reset)
    }

    fn delta(self, delta: &Value, finish_reason: &Value) -> Self {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "demo", "choices": [choice]});
        self.write(format!("data: {chunk}\n\n"))
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}
