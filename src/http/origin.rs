//! Who may call from a browser: exact origins under CORS, and no cookie write from anywhere but our own pages.

use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, ORIGIN, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{AppState, Problem};

/// The header that carries an anonymous session where cookies do not go.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("flatline-session");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// CORS for the listed origins: exact, never `*`, never a reflection, no cookies.
pub fn cors(allowed: &[String]) -> CorsLayer {
    let origins: Vec<HeaderValue> = allowed.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, ACCEPT, SESSION_HEADER])
        .expose_headers([
            RETRY_AFTER,
            HeaderName::from_static("ratelimit"),
            HeaderName::from_static("ratelimit-policy"),
            SESSION_HEADER,
            HeaderName::from_static("x-request-id"),
        ])
}

/// Refuses writes from pages that may not make them: 403 `forbidden_origin`.
pub async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    // A ping is no user's act: it needs the key in its URL and nothing else.
    if safe || request.uri().path().starts_with("/ping/") {
        return next.run(request).await;
    }
    if may_write(request.headers(), &state.public_url, &state.config.allowed_origins) {
        return next.run(request).await;
    }
    let detail = "This page may not do that: its origin is neither our own nor listed.";
    Problem::new(StatusCode::FORBIDDEN, "forbidden_origin", detail).into_response()
}

/// Browsers say where a write comes from; other clients say nothing and carry no ambient cookies.
fn may_write(headers: &HeaderMap, public_url: &str, allowed: &[String]) -> bool {
    let with_cookie = !headers.contains_key(AUTHORIZATION) && has_our_cookie(headers);
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("null")) {
        Some(origin) if is_own(origin, public_url, text(&HOST)) => true,
        // A listed site brings its own credential; our cookies are for our own pages.
        Some(origin) => !with_cookie && allowed.iter().any(|listed| listed == origin),
        None if with_cookie => text(&SEC_FETCH_SITE) == Some("same-origin"),
        None => matches!(text(&SEC_FETCH_SITE), None | Some("same-origin" | "none")),
    }
}

/// Our own origin is the public address, or the very host that was asked: a page there can only be ours.
fn is_own(origin: &str, public_url: &str, host: Option<&str>) -> bool {
    let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    origin == public_url || (authority.is_some() && authority == host)
}

fn has_our_cookie(headers: &HeaderMap) -> bool {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .any(|pair| pair.trim_start().starts_with("flatline_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "https://flatline.example";

    fn allowed(pairs: &[(&str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        may_write(&headers, OWN, &["https://site.example".to_owned()])
    }

    #[test]
    fn cookie_writes_need_our_own_origin() {
        let cookie = ("cookie", "theme=dark; flatline_session=fls_x");
        assert!(allowed(&[cookie, ("origin", OWN)]));
        assert!(allowed(&[cookie, ("sec-fetch-site", "same-origin")]));
        assert!(allowed(&[cookie, ("origin", "http://localhost:8080"), ("host", "localhost:8080")]));
        assert!(!allowed(&[cookie]));
        assert!(!allowed(&[cookie, ("origin", "null")]));
        assert!(!allowed(&[cookie, ("origin", "https://evil.example")]));
        assert!(!allowed(&[cookie, ("origin", "https://site.example")]), "listed sites bring their own credential");
        assert!(!allowed(&[cookie, ("origin", "https://flatline.example.evil.example")]));
        assert!(!allowed(&[cookie, ("sec-fetch-site", "same-site")]));
        assert!(!allowed(&[("cookie", "flatline_anon=fla_x"), ("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn other_credentials_need_a_listed_origin_if_they_come_from_a_page() {
        let bearer = ("authorization", "Bearer flt_x");
        assert!(allowed(&[bearer]));
        assert!(allowed(&[bearer, ("origin", "https://site.example")]));
        assert!(!allowed(&[bearer, ("origin", "https://evil.example")]));
        assert!(!allowed(&[bearer, ("origin", "null")]));
        assert!(allowed(&[("flatline-session", "fla_x"), ("origin", "https://site.example")]));
        assert!(allowed(&[]));
        assert!(!allowed(&[("sec-fetch-site", "cross-site")]));
    }
}
