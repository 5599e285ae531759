//! What the tests of chat, quotas and callers share: answers read piece by piece, refusals taken apart, a look into
//! the tables, and waiting for a condition.

use std::future::Future;
use std::time::Duration;

use flatline::db::Db;
use flatline::on_db;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::types::Json;
use tokio::time::{Instant, sleep, timeout};

use crate::site::Visitor;

/// Longer than anything here takes, shorter than anybody's patience.
const PATIENCE: Duration = Duration::from_secs(20);

/// A stream that is read chunk by chunk. Dropping it is a reader that leaves.
pub struct Reading {
    response: Response,
    unread: Vec<u8>,
}

impl Reading {
    /// Reads `response`; panics unless it is an event stream.
    pub fn new(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(header(&response, "content-type"), Some("text/event-stream; charset=utf-8"));
        Self { response, unread: Vec::new() }
    }

    /// The next chunk, or nothing at `[DONE]`.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|bytes| bytes == b"\n\n") {
                let frame = String::from_utf8(self.unread.drain(..end + 2).collect()).unwrap();
                match frame.trim_end().strip_prefix("data: ") {
                    Some("[DONE]") => return None,
                    Some(chunk) => return Some(serde_json::from_str(chunk).unwrap()),
                    None => assert!(frame.starts_with(':'), "{frame:?} is neither data nor a comment"),
                }
            }
            let bytes = timeout(PATIENCE, self.response.chunk()).await.expect("nothing came").unwrap();
            self.unread.extend(bytes.expect("the stream was cut"));
        }
    }

    /// Reads until all of `text` was said, and returns the chunks up to there.
    pub async fn until_said(&mut self, text: &str) -> Vec<Value> {
        let mut chunks = Vec::new();
        while crate::site::text(&chunks) != text {
            chunks.push(self.next().await.expect("the stream ended too early"));
        }
        chunks
    }

    /// All that is still to come.
    pub async fn rest(mut self) -> Vec<Value> {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.next().await {
            chunks.push(chunk);
        }
        chunks
    }
}

/// A header of an answer.
pub fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

/// The body of a refusal; panics unless it is a whole problem with that status and code.
pub async fn problem(response: Response, status: u16, code: &str) -> Value {
    let answered = response.status();
    let (kind, cache) = (header(&response, "content-type"), header(&response, "cache-control"));
    let (kind, cache) = (kind.map(str::to_owned), cache.map(str::to_owned));
    let request_id = header(&response, "x-request-id").map(str::to_owned);
    assert_eq!(header(&response, "x-vercel-ai-ui-message-stream"), None, "a refusal is no stream");
    let text = response.text().await.unwrap();
    assert_eq!(answered.as_u16(), status, "{text}");
    assert_eq!(kind.as_deref(), Some("application/problem+json"), "{text}");
    assert_eq!(cache.as_deref(), Some("no-store"));
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&body["code"], &body["status"]), (&json!(code), &json!(status)), "{text}");
    for member in ["type", "title", "detail"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "no {member} in {text}");
    }
    assert_eq!(body["request_id"].as_str(), request_id.as_deref());
    body
}

/// Waits until `condition` holds; panics after 20 s.
pub async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// How many rows there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    pub conversations: i64,
    pub messages: i64,
    pub actions: i64,
}

/// Counts them.
pub async fn rows(db: &Db) -> Rows {
    Rows {
        conversations: number(db, "SELECT count(*) FROM conversations").await,
        messages: number(db, "SELECT count(*) FROM messages").await,
        actions: number(db, "SELECT count(*) FROM pending_actions").await,
    }
}

/// The number that a query without arguments returns.
pub async fn number(db: &Db, sql: &'static str) -> i64 {
    on_db!(db.read(), pool => sqlx::query_scalar(sql).fetch_one(pool).await).unwrap()
}

/// A message's row.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    pub id: String,
    pub role: String,
    pub status: String,
    pub text: String,
    pub replaced: bool,
    pub has_reader: bool,
}

/// The messages of every conversation of that id, in order.
pub async fn messages(db: &Db, conversation: &str) -> Vec<Stored> {
    let sql = "SELECT m.id, m.role, m.status, m.parts, m.replaced, m.has_reader FROM messages m
        JOIN conversations c ON c.ref = m.conversation WHERE c.id = $1 ORDER BY c.ref, m.seq";
    macro_rules! stored {
        ($row:expr) => {{
            let Json(parts): Json<Value> = $row.get("parts");
            let text = parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect();
            Stored {
                id: $row.get("id"),
                role: $row.get("role"),
                status: $row.get("status"),
                replaced: $row.get("replaced"),
                has_reader: $row.get("has_reader"),
                text,
            }
        }};
    }
    on_db!(db.read(), pool => sqlx::query(sql).bind(conversation).fetch_all(pool).await
        .map(|rows| rows.iter().map(|row| stored!(row)).collect()))
    .unwrap()
}

/// Roles, states and words of the messages of a conversation.
pub async fn told(db: &Db, conversation: &str) -> Vec<(String, String, String)> {
    let messages = messages(db, conversation).await;
    messages.into_iter().map(|message| (message.role, message.status, message.text)).collect()
}

/// The same as a test writes it down.
pub fn lines(expected: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    let own = |text: &str| text.to_owned();
    expected.iter().map(|(role, status, text)| (own(role), own(status), own(text))).collect()
}

/// Waits until the last message of the conversation has that status.
pub async fn wait_for_status(db: &Db, conversation: &str, status: &str) {
    eventually(status, || async {
        messages(db, conversation).await.last().is_some_and(|message| message.status == status)
    })
    .await;
}

/// Waits until the running answer's row says whether anybody reads it. It is written once a second.
pub async fn wait_for_reader(db: &Db, conversation: &str, is_read: bool) {
    eventually("a reader that left is still counted, or one that came is not", || async {
        messages(db, conversation).await.last().is_some_and(|message| message.has_reader == is_read)
    })
    .await;
}

/// Every row of the limiter, as text.
pub async fn ledger(db: &Db) -> Vec<(String, String)> {
    let sql = "SELECT key, CAST(hits AS TEXT) AS hits FROM rate_limits ORDER BY key";
    on_db!(db.read(), pool => sqlx::query_as(sql).fetch_all(pool).await).unwrap()
}

/// What each policy leaves this caller.
pub async fn remaining(visitor: &Visitor) -> Vec<u64> {
    let session = crate::site::json_of(visitor.post("/api/session").await).await;
    session["limits"].as_array().unwrap().iter().map(|limit| limit["remaining"].as_u64().unwrap()).collect()
}

/// A user's message as a client sends it.
pub fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

/// Sends a body to the chat.
pub async fn send(visitor: &Visitor, body: Value) -> Response {
    visitor.send(Method::POST, "/api/chat", Some(body)).await
}
