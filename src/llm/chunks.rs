//! Frames in, deltas out: reads the chunks of a chat completion the way real servers send them.

use serde::Deserialize;
use serde_json::Value;

use super::sse::{Frame, FrameKind};
use super::tool_calls::{RawPiece, ToolCalls};
use super::{Delta, Finish, ModelError, Usage, failure};

/// Text, reasoning and calls of one answer together, in bytes; then it ends as if the model had reached its limit.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// A chunk, or a whole completion. Every member may be missing or null, and unknown ones are skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chunk {
    error: Value,
    object: Value,
    r#type: Value,
    choices: Option<Vec<Choice>>,
    usage: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: Value,
    delta: Option<Piece>,
    message: Option<Piece>,
    finish_reason: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Piece {
    content: Value,
    refusal: Value,
    reasoning: Value,
    reasoning_content: Value,
    tool_calls: Option<Vec<RawPiece>>,
}

/// One answer while it is read.
#[derive(Debug, Default)]
pub struct Answer {
    calls: ToolCalls,
    usage: Usage,
    finish: Option<Finish>,
    /// The index of the choice that is read; we ask for one, and two would be two answers mixed.
    choice: Option<Value>,
    bytes: usize,
    spoken: bool,
    over: bool,
}

impl Answer {
    /// Whether the first delta has come: text, reasoning, a piece of a call, or a finish reason.
    pub fn is_answered(&self) -> bool {
        self.spoken || self.finish.is_some()
    }

    /// Whether a finish reason has come. Usage, `[DONE]` and even text may still follow.
    pub fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether the answer is complete; nothing more need be read.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Reads one frame; its deltas are appended to `deltas`, also those before an error.
    pub fn read(&mut self, frame: &Frame, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        let data = frame.data.trim();
        if self.over {
            return Ok(());
        }
        if frame.kind == FrameKind::Error {
            let error = serde_json::from_str(data).unwrap_or(Value::Null);
            return Err(failure::from_body(&error).unwrap_or_else(|| failure::from_error(&error)));
        }
        if data == "[DONE]" {
            return self.done(deltas);
        }
        // A list is no chunk, though serde would read it as one, member by member.
        let chunk = if data.starts_with('[') { None } else { serde_json::from_str::<Option<Chunk>>(data).ok() };
        match chunk {
            Some(chunk) => self.read_chunk(chunk.unwrap_or_default(), frame, deltas),
            // The end of the body tells what a cut frame means.
            None if frame.cut => Ok(()),
            None => Err(error_in(data).unwrap_or_else(|| ModelError::malformed("a frame of the answer is broken"))),
        }
    }

    /// The body has ended, properly or not (`broken`). Only a finish reason makes the answer complete then.
    pub fn close(&mut self, broken: bool, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.over {
            Ok(())
        } else if let Some(finish) = self.finish {
            self.end(finish, deltas);
            Ok(())
        } else if broken {
            Err(ModelError::unreachable("the connection broke during the answer"))
        } else if self.spoken {
            Err(ModelError::malformed("the answer stopped without an end"))
        } else {
            Err(nothing_said())
        }
    }

    fn read_chunk(&mut self, chunk: Chunk, frame: &Frame, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if failure::is_error(&chunk.error) || chunk.object == "error" || chunk.r#type == "error" {
            return Err(error_in(&frame.data).unwrap_or_else(|| failure::from_error(&chunk.error)));
        }
        if frame.kind == FrameKind::Document && chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(ModelError::malformed("the answer is JSON but no chat completion"));
        }
        self.read_usage(&chunk.usage, deltas);
        for choice in chunk.choices.unwrap_or_default() {
            let ours =
                choice.index.is_null() || self.choice.get_or_insert_with(|| choice.index.clone()) == &choice.index;
            if ours {
                self.read_choice(choice, deltas)?;
            }
        }
        Ok(())
    }

    fn read_choice(&mut self, choice: Choice, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        // A whole message is the answer of a server that does not stream; after deltas it would only repeat them.
        let message = choice.message.filter(|_| !self.spoken);
        let piece = choice.delta.or(message).unwrap_or_default();
        let reasoning =
            [piece.reasoning_content, piece.reasoning].into_iter().map(plain_text).find(|text| !text.is_empty());
        self.say(reasoning.unwrap_or_default(), Delta::Reasoning, deltas);
        self.read_content(piece.content, deltas)?;
        self.say(plain_text(piece.refusal), Delta::Text, deltas);
        for raw in piece.tool_calls.unwrap_or_default() {
            self.read_call(raw, deltas);
        }
        self.read_finish(&choice.finish_reason)
    }

    /// Text, or a list of parts of which some are text and some thoughts (Mistral).
    fn read_content(&mut self, content: Value, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        match content {
            Value::Null => {}
            Value::String(text) => self.say(text, Delta::Text, deltas),
            Value::Array(parts) => {
                for mut part in parts {
                    let thought = part.get_mut("thinking").map(Value::take).unwrap_or_default();
                    self.say(plain_text(thought), Delta::Reasoning, deltas);
                    self.say(plain_text(part), Delta::Text, deltas);
                }
            }
            Value::Object(_) => self.say(plain_text(content), Delta::Text, deltas),
            Value::Bool(_) | Value::Number(_) => {
                return Err(ModelError::malformed("a piece of the answer is neither text nor parts"));
            }
        }
        Ok(())
    }

    fn read_call(&mut self, raw: RawPiece, deltas: &mut Vec<Delta>) {
        if self.over {
            return;
        }
        let (bytes, begun) = self.calls.add(raw);
        self.bytes += bytes;
        self.spoken |= bytes > 0;
        deltas.extend(begun.map(|name| Delta::ToolCallBegun { name }));
        if self.bytes > MAX_ANSWER_BYTES {
            self.end(Finish::Length, deltas);
        }
    }

    fn read_finish(&mut self, reason: &Value) -> Result<(), ModelError> {
        let word = match reason {
            Value::Null | Value::Bool(false) => return Ok(()),
            Value::String(word) if word.is_empty() => return Ok(()),
            Value::String(word) => word.to_ascii_lowercase(),
            // A server's own code for an end; nothing more is known.
            Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_) => String::new(),
        };
        let finish = match word.as_str() {
            // OpenAI, Gemini, Mistral.
            "length" | "max_tokens" | "model_length" => Finish::Length,
            // OpenAI, Gemini.
            "content_filter" | "safety" => Finish::Filter,
            // OpenRouter; vLLM and SGLang; DeepSeek; Z.ai: the server gave up.
            "error" | "abort" | "insufficient_system_resource" | "network_error" => {
                return Err(failure::from_error(&Value::Null));
            }
            _ => Finish::Complete,
        };
        if matches!(self.finish, None | Some(Finish::Complete)) {
            self.finish = Some(finish);
        }
        Ok(())
    }

    /// Totals so far, not additions: what is told later replaces what was told before.
    fn read_usage(&mut self, usage: &Value, deltas: &mut Vec<Delta>) {
        let told = |key: &str| usage.get(key).and_then(Value::as_u64);
        let now = Usage {
            prompt_tokens: told("prompt_tokens").or(self.usage.prompt_tokens),
            completion_tokens: told("completion_tokens").or(self.usage.completion_tokens),
        };
        if now != self.usage {
            self.usage = now;
            deltas.push(Delta::Usage(now));
        }
    }

    /// Passes text on as far as the answer has room for it.
    fn say(&mut self, mut text: String, delta: fn(String) -> Delta, deltas: &mut Vec<Delta>) {
        if text.is_empty() || self.over {
            return;
        }
        let room = MAX_ANSWER_BYTES - self.bytes;
        let full = text.len() > room;
        text.truncate(text.floor_char_boundary(room));
        self.bytes += text.len();
        self.spoken = true;
        if !text.is_empty() {
            deltas.push(delta(text));
        }
        if full {
            self.end(Finish::Length, deltas);
        }
    }

    /// `[DONE]` ends an answer, but it is none.
    fn done(&mut self, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if !self.is_answered() {
            return Err(nothing_said());
        }
        self.end(self.finish.unwrap_or(Finish::Complete), deltas);
        Ok(())
    }

    fn end(&mut self, finish: Finish, deltas: &mut Vec<Delta>) {
        self.over = true;
        self.finish = Some(finish);
        deltas.extend(std::mem::take(&mut self.calls).finish(finish == Finish::Complete));
        deltas.push(Delta::Finished(finish));
    }
}

fn nothing_said() -> ModelError {
    ModelError { status: Some(200), ..ModelError::unreachable("the answer ended before anything was said") }
}

fn error_in(data: &str) -> Option<ModelError> {
    serde_json::from_str(data).ok().and_then(|body| failure::from_body(&body))
}

/// The text of a string, of a text part, or of a list of them; anything else has none.
fn plain_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Array(parts) => parts.into_iter().map(plain_text).collect(),
        Value::Object(mut part) => match part.get("type").and_then(Value::as_str) {
            None | Some("text" | "output_text") => {
                part.remove("text").filter(Value::is_string).map(plain_text).unwrap_or_default()
            }
            Some(_) => String::new(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
