//! Event streams: chunks in, `data:` frames out, with a comment when nothing happens.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use serde_json::Value;
use tokio::time::{Instant, interval_at};

/// A comment at least this often keeps proxies from closing a quiet stream (http-api.md says 10 s at most).
const HEARTBEAT: Duration = Duration::from_secs(8);

/// An answer that streams `chunks` and then `[DONE]`.
pub fn response(chunks: impl Stream<Item = Value> + Send + 'static) -> Response {
    let frames = chunks.map(|chunk| frame(&chunk)).chain(futures::stream::once(async { DONE }));
    // `timeout_repeating` yields an error each time that nothing came: the moment for a comment.
    // The first tick of an interval is immediate, and at the start something is always about to come.
    let heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    let frames = tokio_stream::StreamExt::timeout_repeating(frames, heartbeat)
        .map(|frame| Ok::<Bytes, Infallible>(frame.unwrap_or(COMMENT)));
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("cache-control", "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
        ("x-vercel-ai-ui-message-stream", "v1"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");
const COMMENT: Bytes = Bytes::from_static(b": \n\n");

/// JSON escapes line ends, so a chunk is always one line.
fn frame(chunk: &Value) -> Bytes {
    format!("data: {chunk}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use serde_json::json;

    #[tokio::test(start_paused = true)]
    async fn frames_then_done_and_comments_when_quiet() {
        let chunks = async_chunks();
        let body = response(chunks).into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert_eq!(text, "data: {\"a\":\"x\\ny\"}\n\n: \n\n: \n\ndata: {\"b\":1}\n\ndata: [DONE]\n\n");
    }

    fn async_chunks() -> impl Stream<Item = Value> + Send + 'static {
        let late = async {
            tokio::time::sleep(Duration::from_secs(17)).await;
            json!({"b": 1})
        };
        futures::stream::iter([json!({"a": "x\ny"})]).chain(futures::stream::once(late))
    }
}
