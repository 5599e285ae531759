//! What a provider's failure means: everything it may say comes down to a status number, and that to a kind.

use std::time::Duration;

use serde_json::Value;

use super::{ModelError, ModelErrorKind};

impl ModelError {
    /// No connection, or it broke.
    pub fn unreachable(reason: &str) -> Self {
        Self::new(ModelErrorKind::Unreachable, None, reason)
    }

    /// Nothing came in time.
    pub fn timeout(reason: &str) -> Self {
        Self::new(ModelErrorKind::Timeout, None, reason)
    }

    /// An answer came (status 200) that is not what a chat completion looks like.
    pub fn malformed(reason: &str) -> Self {
        Self::new(ModelErrorKind::Malformed, Some(200), reason)
    }

    /// Whether asking again may help: the connection broke or nothing was said, too many requests, a failing server.
    pub fn is_retryable(&self) -> bool {
        match self.kind {
            ModelErrorKind::Unreachable | ModelErrorKind::RateLimited => true,
            // An error in the body of a 200 that names no such status may be anything, so it is not tried again.
            ModelErrorKind::Failed => self.status.is_some_and(|status| status >= 500),
            ModelErrorKind::KeyRefused
            | ModelErrorKind::Refused
            | ModelErrorKind::Timeout
            | ModelErrorKind::Malformed => false,
        }
    }

    fn new(kind: ModelErrorKind, status: Option<u16>, reason: &str) -> Self {
        Self { kind, status, retry_after: None, reason: reason.to_owned() }
    }
}

/// The failure that an answer with another status than 2xx means. The status stands, whatever the body looks like;
/// the body (or as much of it as was read) only tells a used-up quota from too many requests, and a request that is
/// too long from any other.
pub fn from_status(status: u16, body: &[u8], retry_after: Option<Duration>) -> ModelError {
    let told = serde_json::from_slice(body).map(|body: Value| Told::by(find(&body).unwrap_or(&body)));
    let told = told.unwrap_or(Told { status: None, used_up: false, too_long: false });
    ModelError { retry_after, ..classify(status, &told) }
}

/// The error that stands in the body of a 200, if one does: a top-level `error`, an object that calls itself an
/// error, or either as the only entry of a list (Gemini).
pub fn from_body(body: &Value) -> Option<ModelError> {
    find(body).map(from_error)
}

/// The failure that an error object (or its bare message) means.
pub fn from_error(error: &Value) -> ModelError {
    let told = Told::by(error);
    classify(told.status.unwrap_or(200), &told)
}

/// Whether the value of a member `error` says that there is one: gateways also send null, "", false and {}.
pub fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

fn find(body: &Value) -> Option<&Value> {
    let body = body.get(0).unwrap_or(body);
    let calls_itself_error = ["object", "type"].iter().any(|key| body.get(key).is_some_and(|value| value == "error"));
    body.get("error").filter(|error| is_error(error)).or_else(|| calls_itself_error.then_some(body))
}

fn classify(status: u16, told: &Told) -> ModelError {
    let (kind, reason) = match status {
        401 | 403 => (ModelErrorKind::KeyRefused, "the provider refused the key".to_owned()),
        402 => (ModelErrorKind::Refused, "the provider's quota is used up (402)".to_owned()),
        429 if told.used_up => (ModelErrorKind::Refused, "the provider's quota is used up".to_owned()),
        429 => (ModelErrorKind::RateLimited, "the provider has too many requests".to_owned()),
        500..=599 => (ModelErrorKind::Failed, format!("the provider failed ({status})")),
        200..=299 => (ModelErrorKind::Failed, "the provider answered with an error of no known kind".to_owned()),
        _ if told.too_long => (ModelErrorKind::Refused, "the request is longer than the model's context".to_owned()),
        _ => (ModelErrorKind::Refused, format!("the provider refused the request ({status})")),
    };
    ModelError { kind, status: Some(status), retry_after: None, reason }
}

/// What an error object tells.
struct Told {
    status: Option<u16>,
    used_up: bool,
    too_long: bool,
}

impl Told {
    /// A number that is a status wins over words, because words are shared: llama.cpp, vLLM, Gemini and gateways put
    /// it into different members, as number or text. The message is never looked at.
    fn by(error: &Value) -> Self {
        let members = || ["code", "status_code", "status", "type"].iter().filter_map(|key| error.get(key));
        let number = members().find_map(|value| match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        let words = || members().filter_map(Value::as_str).map(plain);
        Self {
            status: number
                .and_then(|number| u16::try_from(number).ok())
                .filter(|status| (400..600).contains(status))
                .or_else(|| words().find_map(|word| status_of(&word))),
            used_up: words().any(|word| is_used_up(&word)),
            too_long: words().any(|word| is_too_long(&word)),
        }
    }
}

/// `InternalServerError`, `internal_server_error` and `internal-server-error` are one word.
fn plain(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn is_used_up(word: &str) -> bool {
    ["insufficientquota", "insufficientbalance", "insufficientcredit", "exceededcurrentquota", "billing"]
        .iter()
        .any(|part| word.contains(part))
}

/// llama.cpp says exceed_context_size_error, OpenAI and others context_length_exceeded.
fn is_too_long(word: &str) -> bool {
    ["exceedcontextsize", "contextlengthexceeded"].iter().any(|part| word.contains(part))
}

/// The status behind a word that an error calls itself by, for servers that send no number.
fn status_of(word: &str) -> Option<u16> {
    if is_used_up(word) {
        return Some(429);
    }
    let known = [
        (429, &["ratelimit", "toomanyrequests", "resourceexhausted"][..]),
        (401, &["apikey", "authentication", "unauthenticated", "unauthorized"]),
        (403, &["permission", "forbidden"]),
        (400, &["invalid", "badrequest", "notfound", "unsupported", "contextlength", "contextsize"]),
        (503, &["overloaded", "unavailable"]),
        (504, &["timeout", "deadlineexceeded"]),
        (500, &["servererror", "internal"]),
    ];
    known.iter().find(|(_, parts)| parts.iter().any(|part| word.contains(part))).map(|(status, _)| *status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind::{Failed, KeyRefused, RateLimited, Refused};
    use serde_json::json;

    #[test]
    fn errors_in_a_body_say_what_kind_they_are() {
        for (body, kind, status, retryable) in [
            (json!({"error": {"code": 503, "type": "server_error"}}), Failed, 503, true),
            (json!({"error": {"code": "502"}}), Failed, 502, true),
            (json!({"error": {"type": "overloaded_error"}}), Failed, 503, true),
            (json!({"error": {"code": "rate_limit_exceeded"}}), RateLimited, 429, true),
            (json!({"error": {"code": 429, "type": "insufficient_quota"}}), Refused, 429, false),
            (json!({"error": {"code": 402}}), Refused, 402, false),
            (json!({"error": {"code": "invalid_api_key", "type": "invalid_request_error"}}), KeyRefused, 401, false),
            (json!({"error": {"code": 400, "type": "server_error"}}), Refused, 400, false),
            (json!({"error": {"code": "tool_use_failed", "status_code": 400}}), Refused, 400, false),
            (json!({"error": "it broke"}), Failed, 200, false),
            (json!({"object": "error", "code": 500}), Failed, 500, true),
            (json!({"type": "error", "error": {"type": "api_error"}}), Failed, 200, false),
            (json!([{"error": {"code": 503, "status": "UNAVAILABLE"}}]), Failed, 503, true),
            (json!({"error": {"code": 1302}}), Failed, 200, false),
        ] {
            let error = from_body(&body).unwrap();
            assert_eq!((error.kind, error.status, error.is_retryable()), (kind, Some(status), retryable), "{body}");
        }
        for body in
            [json!({"error": null}), json!({"error": ""}), json!({"error": {}}), json!({"choices": []}), json!([])]
        {
            assert_eq!(from_body(&body), None, "{body}");
        }
    }

    #[test]
    fn a_request_that_is_too_long_is_told_from_others_that_are_refused() {
        for body in [
            r#"{"error":{"code":400,"type":"exceed_context_size_error"}}"#,
            r#"{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}"#,
        ] {
            let error = from_status(400, body.as_bytes(), None);
            assert_eq!(
                (error.kind, error.reason.as_str()),
                (Refused, "the request is longer than the model's context")
            );
        }
        assert_eq!(from_status(400, b"{}", None).reason, "the provider refused the request (400)");
    }

    #[test]
    fn a_status_stands_whatever_the_body() {
        for (status, body, kind) in [
            (401, r#"{"error":{"code":503}}"#, KeyRefused),
            (404, r#"{"error":"no such model"}"#, Refused),
            (429, "slow down\n", RateLimited),
            (429, r#"{"error":{"code":"insufficient_quota"}}"#, Refused),
            (429, r#"[{"error":{"status":"RESOURCE_EXHAUSTED"}}]"#, RateLimited),
            (308, "", Refused),
            (500, "<html>", Failed),
            (529, "", Failed),
        ] {
            let error = from_status(status, body.as_bytes(), None);
            assert_eq!((error.kind, error.status), (kind, Some(status)), "{status} {body}");
        }
    }
}
