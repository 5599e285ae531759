//! Refusals as RFC 9457 problems: made anywhere at the edge, rendered once, where the request's id is known.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::clock::wait_seconds;
use crate::db::DbError;
use crate::fields::Misfit;

/// What went wrong, in words that a person or program at the other end can act on.
///
/// A 500 never carries a cause: the log does, once.
#[derive(Debug, Clone)]
pub struct Problem(Box<Details>);

/// Boxed, because every handler's `Result` carries the room for it.
#[derive(Debug, Clone)]
struct Details {
    status: StatusCode,
    code: &'static str,
    kind: &'static str,
    title: Option<&'static str>,
    detail: String,
    extra: Map<String, Value>,
    headers: HeaderMap,
    cause: Option<String>,
}

impl Problem {
    /// A problem with a stable `code` and a sentence.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Details {
            status,
            code,
            kind: "about:blank",
            title: None,
            detail: detail.into(),
            extra: Map::new(),
            headers: HeaderMap::new(),
            cause: None,
        }))
    }

    /// 422 `invalid_field`, naming the field.
    pub fn invalid_field(field: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_field", detail).with("field", field)
    }

    /// 404 with a `…_not_found` code: for what is missing and what is somebody else's alike.
    pub fn not_found(code: &'static str, what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, format!("There is no such {what}."))
    }

    /// 401 `unauthorized`.
    pub fn unauthorized(detail: impl Into<String>) -> Self {
        let mut problem = Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail);
        problem.0.headers.insert("www-authenticate", HeaderValue::from_static("Bearer"));
        problem
    }

    /// 503 `temporarily_unavailable` with a wait.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", detail).retry_after(2)
    }

    /// 500 `internal`; `cause` goes to the log alone.
    pub fn internal(cause: impl Into<String>) -> Self {
        let mut problem = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Something went wrong on our side.");
        problem.0.cause = Some(cause.into());
        problem
    }

    /// Another member of the body.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.extra.insert(name.to_owned(), value.into());
        self
    }

    /// The problem's `type` and `title`, where it is a registered one.
    #[must_use]
    pub fn registered(mut self, kind: &'static str, title: &'static str) -> Self {
        self.0.kind = kind;
        self.0.title = Some(title);
        self
    }

    /// A header of the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.insert(name, value);
        self
    }

    /// `Retry-After` in whole seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// `Retry-After` for a wait, also as `retry_after_seconds` in the body: stock clients see only the body.
    #[must_use]
    pub fn wait(self, wait: std::time::Duration) -> Self {
        let seconds = wait_seconds(wait);
        self.retry_after(seconds).with("retry_after_seconds", seconds)
    }

    /// The status that it will be answered with.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The cause for the log, if any.
    pub fn cause(&self) -> Option<&str> {
        self.0.cause.as_deref()
    }

    /// The response, with the request's id in it.
    pub fn render(self, request_id: &str) -> Response {
        let title = self.0.title.or(self.0.status.canonical_reason()).unwrap_or("Error");
        let mut body = json!({"type": self.0.kind, "title": title, "status": self.0.status.as_u16(), "code": self.0.code,
            "detail": self.0.detail});
        if let Value::Object(members) = &mut body {
            members.extend(self.0.extra);
            members.insert("request_id".to_owned(), request_id.into());
        }
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.0.status;
        response.headers_mut().extend(self.0.headers);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl IntoResponse for Problem {
    /// An empty response that carries the problem to the layer that renders it.
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Misfit> for Problem {
    fn from(Misfit { field, is_unknown, message }: Misfit) -> Self {
        let code = if is_unknown { "unknown_field" } else { "invalid_field" };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message).with("field", field)
    }
}

impl From<DbError> for Problem {
    fn from(error: DbError) -> Self {
        let cause = error.to_string();
        let mut problem = match error {
            error if error.is_outage() => {
                Self::unavailable("The database does not answer. Nothing was changed; please try again.")
            }
            DbError::ShuttingDown => Self::unavailable("The server is stopping. Please try again."),
            DbError::CommitUnknown(_) => {
                Self::unavailable("Whether this was stored is not known: look again before you repeat it.")
            }
            DbError::Sqlx(_) | DbError::Corrupt { .. } | DbError::Migrate(_) => Self::internal(""),
        };
        problem.0.cause = Some(cause);
        problem
    }
}
