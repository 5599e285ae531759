//! Request bodies: bounded in size and time, refused with what is wrong.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::Problem;
use crate::fields;

/// The largest JSON body.
pub const MAX_BODY: usize = 64 * 1024;
/// A partial body is cut after this.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// A JSON body. Unknown fields are refused by name if the type denies them.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        require_json(&request)?;
        let RequestBody(bytes) = RequestBody::from_request(request, state).await?;
        parse_json(&bytes).map(Self)
    }
}

/// A body's bytes, at most [`MAX_BODY`].
#[derive(Debug, Clone)]
pub struct RequestBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for RequestBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read_body(request, MAX_BODY).await.map(Self)
    }
}

/// Reads a body of at most `limit` bytes.
pub async fn read_body(request: Request, limit: usize) -> Result<Bytes, Problem> {
    let read = Limited::new(request.into_body(), limit).collect();
    match timeout(BODY_TIMEOUT, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_body", "The body broke off before its end.")),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "The body did not arrive within 15 seconds.",
        )),
    }
}

/// The refusal of a body that is larger than `limit` bytes.
pub fn too_large(limit: usize) -> Problem {
    let detail = format!("The body is larger than {} KiB.", limit / 1024);
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", detail)
}

/// A JSON body that may also be absent.
#[derive(Debug, Clone)]
pub struct OptionalJson<T>(pub Option<T>);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let is_json = require_json(&request);
        let RequestBody(bytes) = RequestBody::from_request(request, state).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(None));
        }
        is_json?;
        parse_json(&bytes).map(|value| Self(Some(value)))
    }
}

/// A body, or a query, that has no members: there is nothing to say.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Refuses what is not JSON: a cross-site form can send every type but this one.
pub fn require_json(request: &Request) -> Result<(), Problem> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = "Send the body as application/json.";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail))
}

/// Parses JSON, whatever it says. Of a member that is there twice the last one counts.
pub fn parse_value(bytes: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        let detail = format!("The body is not JSON: {error}.");
        Problem::new(StatusCode::BAD_REQUEST, "invalid_json", detail)
    })
}

/// Parses a JSON object into `T`, naming the field that does not fit.
fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let value = parse_value(bytes)?;
    // A list would else pass for an object's members in their order.
    if !value.is_object() {
        return Err(Problem::invalid_field("body", "The body must be one JSON object."));
    }
    Ok(fields::read(value)?)
}
