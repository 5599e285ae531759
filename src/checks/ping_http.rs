//! `/ping/{key}`: what jobs call. No credentials, no cookies, any origin: the key in the URL is the right to ping.

use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use utoipa::openapi::content::Content;
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Object, Type};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::history::Kind;
use super::ping::{self, MAX_BODY, Outcome, Ping, TooSoon};
use crate::clock::wait_seconds;
use crate::http::body::BODY_TIMEOUT;
use crate::http::request::ClientAddress;
use crate::http::{AppState, Problem};
use crate::telemetry::PINGS;

/// Reading stops here and the ping is answered; what is left is not worth the wire.
const MAX_READ: usize = 10 * 1024 * 1024;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    let mut router = OpenApiRouter::new().routes(routes!(ping)).routes(routes!(ping_with_tail));
    // Three methods share a handler, and in a description of the API no two operations may share a name.
    for item in router.get_openapi_mut().paths.paths.values_mut() {
        if let Some(post) = &mut item.post {
            let text = Content::new(Some(Object::with_type(Type::String)));
            let what = "Whatever the job has to say: the first 10,000 bytes are kept, of any type.";
            let body = RequestBodyBuilder::new().description(Some(what)).content("*/*", text).build();
            post.request_body = Some(body.into());
        }
        for (method, operation) in [("head", &mut item.head), ("post", &mut item.post)] {
            if let Some(id) = operation.as_mut().and_then(|operation| operation.operation_id.as_mut()) {
                *id = format!("{id}_{method}");
            }
        }
    }
    router
}

/// An accepted ping's answer.
#[derive(Debug, Serialize, ToSchema)]
struct Pong {
    ok: bool,
    /// Why the ping changed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<Ignored>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Ignored {
    Paused,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Run {
    /// A uuid that pairs a start with its end.
    #[param(required = false, value_type = String, format = "uuid")]
    rid: Option<String>,
}

/// The job is done.
#[utoipa::path(
    method(get, head, post), path = "/ping/{key}", tag = "pings",
    params(("key" = String, Path, description = "The secret in the check's ping URL"), Run),
    responses(
        (status = 200, body = Pong),
        (status = 400, description = "The rid is no uuid"),
        (status = 404, description = "`check_not_found`"),
        (status = 429, description = "`ping_too_soon` with `min_interval_seconds` and `last_accepted_at`"),
    ),
)]
async fn ping(
    state: State<AppState>,
    key: Result<Path<String>, PathRejection>,
    run: Result<Query<Run>, QueryRejection>,
    address: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let Path(key) = key.map_err(|_| unknown_key())?;
    take(state, &key, Said { kind: Kind::Success, exit_status: None }, run, address, &headers, body).await
}

/// The job starts (`start`), failed (`fail`), has something to note (`log`) or ended with an exit status (0 to 255).
#[utoipa::path(
    method(get, head, post), path = "/ping/{key}/{tail}", tag = "pings",
    params(
        ("key" = String, Path, description = "The secret in the check's ping URL"),
        ("tail" = String, Path, description = "`start`, `fail`, `log` or an exit status from 0 to 255"),
        Run,
    ),
    responses(
        (status = 200, body = Pong),
        (status = 400, description = "No such tail, or the rid is no uuid"),
        (status = 404, description = "`check_not_found`"),
        (status = 429, description = "`ping_too_soon` with `min_interval_seconds` and `last_accepted_at`"),
    ),
)]
async fn ping_with_tail(
    state: State<AppState>,
    path: Result<Path<(String, String)>, PathRejection>,
    run: Result<Query<Run>, QueryRejection>,
    address: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let Path((key, tail)) = path.map_err(|_| unknown_tail())?;
    let said = Said::parse(&tail).ok_or_else(unknown_tail)?;
    take(state, &key, said, run, address, &headers, body).await
}

async fn take(
    State(state): State<AppState>,
    key: &str,
    said: Said,
    run: Result<Query<Run>, QueryRejection>,
    address: Option<Extension<ClientAddress>>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let rid = parse_rid(run)?;
    let key = parse_key(key).ok_or_else(unknown_key)?;
    let remote =
        address.map_or_else(String::new, |Extension(ClientAddress(address))| address.to_canonical().to_string());
    let (body, body_length) = read(body, headers, BODY_TIMEOUT).await?;
    let ping = Ping { kind: said.kind, exit_status: said.exit_status, rid, remote, body, body_length };
    let (outcome, answer) = match ping::ping(&state.db, &state.clock, &key, ping).await? {
        Outcome::Accepted => ("accepted", Ok(None)),
        Outcome::Paused => ("paused", Ok(Some(Ignored::Paused))),
        Outcome::TooSoon(numbers) => ("too_soon", Err(too_soon(said.kind, numbers))),
    };
    metrics::counter!(PINGS, "outcome" => outcome).increment(1);
    answer.map(|ignored| ([(CACHE_CONTROL, "no-store")], Json(Pong { ok: true, ignored })).into_response())
}

/// What the end of a ping URL says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    kind: Kind,
    exit_status: Option<u8>,
}

impl Said {
    fn parse(tail: &str) -> Option<Self> {
        let (kind, exit_status) = match tail {
            "start" => (Kind::Start, None),
            "fail" => (Kind::Fail, None),
            "log" => (Kind::Log, None),
            // As a shell writes it: no sign, no leading zeros.
            _ => match tail.parse::<u8>().ok().filter(|status| status.to_string() == tail)? {
                0 => (Kind::Success, Some(0)),
                status => (Kind::Fail, Some(status)),
            },
        };
        Some(Self { kind, exit_status })
    }
}

/// A key in its stored form. Nothing but a uuid is worth a look into the database.
fn parse_key(key: &str) -> Option<String> {
    Uuid::try_parse(key).ok().map(|key| key.to_string())
}

fn parse_rid(run: Result<Query<Run>, QueryRejection>) -> Result<Option<String>, Problem> {
    let problem = || malformed("rid", "The rid must be one uuid, such as `uuidgen` prints.");
    let Query(Run { rid }) = run.map_err(|_| problem())?;
    rid.map(|rid| Uuid::try_parse(&rid).map(|rid| rid.to_string()).map_err(|_| problem())).transpose()
}

/// Keeps the first [`MAX_BODY`] bytes, and returns them with the true length: counted, or, of a body that is larger
/// than [`MAX_READ`], as its sender declared it.
async fn read(mut body: Body, headers: &HeaderMap, patience: Duration) -> Result<(Vec<u8>, i64), Problem> {
    let reading = async {
        let (mut kept, mut length) = (Vec::new(), 0_usize);
        while length < MAX_READ {
            let Some(frame) = body.frame().await else { break };
            let Ok(data) = frame?.into_data() else { continue };
            kept.extend_from_slice(&data[..data.len().min(MAX_BODY - kept.len())]);
            length += data.len();
        }
        Ok::<_, axum::Error>((kept, length))
    };
    match timeout(patience, reading).await {
        Ok(Ok((kept, counted))) => {
            let declared = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse::<i64>().ok());
            let counted = i64::try_from(counted).unwrap_or(i64::MAX);
            Ok((kept, declared.map_or(counted, |declared| declared.max(counted))))
        }
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_body", "The body broke off before its end.")),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "The body did not arrive within 15 seconds. The ping was not taken.",
        )),
    }
}

fn too_soon(kind: Kind, numbers: TooSoon) -> Problem {
    let (floor, wait) = (numbers.min_interval.as_secs(), wait_seconds(numbers.wait));
    let last = numbers.last_accepted_at.rfc3339();
    let detail = format!(
        "A {kind} ping of this check is accepted every {floor} seconds; the last one was at {last}. The next one is \
         accepted in {wait} seconds."
    );
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "ping_too_soon", detail)
        .with("min_interval_seconds", floor)
        .with("last_accepted_at", last)
        .wait(numbers.wait)
}

fn unknown_key() -> Problem {
    Problem::not_found("check_not_found", "check")
}

fn unknown_tail() -> Problem {
    malformed("tail", "After the key come start, fail, log, an exit status from 0 to 255, or nothing.")
}

fn malformed(field: &str, detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_field", detail).with("field", field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_a_word_or_an_exit_status() {
        let said = |tail: &str| Said::parse(tail).map(|said| (said.kind, said.exit_status));
        assert_eq!(said("start"), Some((Kind::Start, None)));
        assert_eq!(said("fail"), Some((Kind::Fail, None)));
        assert_eq!(said("log"), Some((Kind::Log, None)));
        assert_eq!(said("0"), Some((Kind::Success, Some(0))));
        assert_eq!(said("1"), Some((Kind::Fail, Some(1))));
        assert_eq!(said("255"), Some((Kind::Fail, Some(255))));
        for tail in ["256", "-1", "+1", "007", "1.0", "", "Start", "success", "٣", "99999999999999999999"] {
            assert_eq!(said(tail), None, "{tail:?}");
        }
    }

    #[test]
    fn only_a_uuid_is_a_key() {
        let key = "0b0f2f1e-6f0a-4b6e-9a54-3f1f4f7d8c11";
        assert_eq!(parse_key(&key.to_uppercase()).as_deref(), Some(key));
        for text in ["", "x", "0b0f2f1e", "\0", "0b0f2f1e-6f0a-4b6e-9a54-3f1f4f7d8c1\0"] {
            assert_eq!(parse_key(text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn a_long_body_is_kept_in_part_and_counted_whole() {
        for (length, kept) in [(0, 0), (9_999, 9_999), (10_000, 10_000), (10_001, 10_000), (3_000_000, 10_000)] {
            let (body, counted) = read(Body::from(vec![7_u8; length]), &HeaderMap::new(), BODY_TIMEOUT).await.unwrap();
            assert_eq!((body.len(), counted), (kept, i64::try_from(length).unwrap()));
        }
        let mut headers = HeaderMap::new();
        headers.insert("content-length", "30000000".parse().unwrap());
        let chunks = std::iter::repeat_n(Ok::<_, std::convert::Infallible>(vec![7_u8; 100_000]), 300);
        let (_, length) = read(Body::from_stream(futures::stream::iter(chunks)), &headers, BODY_TIMEOUT).await.unwrap();
        assert_eq!(length, 30_000_000);
    }

    #[tokio::test]
    async fn a_body_that_stalls_is_cut_and_one_that_breaks_off_is_refused() {
        let stalled = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        assert_eq!(
            read(stalled, &HeaderMap::new(), Duration::from_millis(20)).await.unwrap_err().status(),
            StatusCode::REQUEST_TIMEOUT
        );
        let broken = [Ok(vec![1_u8]), Err(std::io::Error::other("gone"))];
        let broken = Body::from_stream(futures::stream::iter(broken));
        assert_eq!(read(broken, &HeaderMap::new(), BODY_TIMEOUT).await.unwrap_err().status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let api = serde_json::to_value(routes().into_openapi()).unwrap();
        let operations = |path: &str| {
            let ids = ["get", "head", "post"].map(|method| api["paths"][path][method]["operationId"].clone());
            ids.map(|id| id.as_str().unwrap().to_owned())
        };
        assert_eq!(operations("/ping/{key}"), ["ping", "ping_head", "ping_post"]);
        assert_eq!(operations("/ping/{key}/{tail}"), ["ping_with_tail", "ping_with_tail_head", "ping_with_tail_post"]);
    }
}
