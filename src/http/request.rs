//! What every request goes through: an id, the client's address, one log line, and problems made into bodies.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use ipnet::IpNet;
use tokio::time::Instant;
use tracing::Instrument;
use uuid::Uuid;

use super::{AppState, Problem};
use crate::telemetry::{REQUEST_SECONDS, REQUESTS};

/// The client's address: the peer, or what a trusted proxy said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The outermost layer. It never logs paths, queries, headers or bodies: a ping URL is a secret.
pub async fn observe(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let id = Uuid::new_v4().simple().to_string();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    let address = client_address(peer, request.headers(), &state.config.trusted_proxies);
    request.extensions_mut().insert(ClientAddress(address));
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let span = tracing::info_span!("request", id = %id);
    let started = Instant::now();
    let response = if state.stopping.is_cancelled() && !route.ends_with('z') {
        axum::response::IntoResponse::into_response(Problem::unavailable("The server is stopping. Please try again."))
    } else {
        next.run(request).instrument(span.clone()).await
    };
    let response = finish(response, &id);
    let (status, elapsed) = (response.status().as_u16(), started.elapsed());
    metrics::counter!(REQUESTS, "route" => route.clone(), "status" => status.to_string()).increment(1);
    metrics::histogram!(REQUEST_SECONDS, "route" => route.clone()).record(elapsed.as_secs_f64());
    span.in_scope(|| {
        let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if route == "/ping/{key}" || route.ends_with('z') {
            tracing::debug!(%method, route, status, millis, "answered");
        } else {
            tracing::info!(%method, route, status, millis, "answered");
        }
    });
    response
}

/// Renders the problem that the response carries, or one for a bare status of the router's.
fn finish(mut response: Response, id: &str) -> Response {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        if let Some(cause) = problem.cause() {
            tracing::error!(request = id, status = problem.status().as_u16(), cause, "request failed");
        }
        let keep = std::mem::take(response.headers_mut());
        let mut rendered = problem.render(id);
        // Headers that layers added on the way out (CORS, cookies) stay; the empty body's own do not.
        for (name, value) in &keep {
            if name != CONTENT_TYPE && name != CONTENT_LENGTH && !rendered.headers().contains_key(name) {
                rendered.headers_mut().append(name, value.clone());
            }
        }
        response = rendered;
    } else if let Some(problem) = bare(&response) {
        let allow = response.headers_mut().remove(ALLOW);
        response = problem.render(id);
        if let Some(allow) = allow {
            response.headers_mut().insert(ALLOW, allow);
        }
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// The problem for a refusal that a library made: an empty body or a line of text. Pages are left alone.
fn bare(response: &Response) -> Option<Problem> {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !content_type.is_empty() && !content_type.starts_with("text/plain") {
        return None;
    }
    let (code, detail) = match response.status() {
        StatusCode::BAD_REQUEST => ("bad_request", "The address or its query cannot be read."),
        StatusCode::NOT_FOUND => ("not_found", "There is nothing at this address."),
        StatusCode::METHOD_NOT_ALLOWED => ("method_not_allowed", "This address does not take that method."),
        _ => return None,
    };
    Some(Problem::new(response.status(), code, detail))
}

/// Counted from the right: each trusted proxy vouches for the address before it, and nobody for more.
fn client_address(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let mut client = peer.unwrap_or(IpAddr::from([0, 0, 0, 0])).to_canonical();
    let forwarded: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    for hop in forwarded.into_iter().rev() {
        if !is_trusted(client) {
            break;
        }
        match hop.parse::<IpAddr>() {
            Ok(address) => client = address.to_canonical(),
            Err(_) => break,
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_addresses_count_from_the_right_and_only_from_trusted_proxies() {
        let trusted: Vec<IpNet> = vec!["127.0.0.1/32".parse().unwrap(), "10.0.0.0/8".parse().unwrap()];
        let client = |peer: &str, forwarded: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append("x-forwarded-for", HeaderValue::from_str(value).unwrap());
            }
            client_address(Some(peer.parse().unwrap()), &headers, &trusted).to_string()
        };
        assert_eq!(client("203.0.113.5", &["198.51.100.1"]), "203.0.113.5");
        assert_eq!(client("127.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &["1.1.1.1, 198.51.100.1, 10.0.0.7"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &["1.1.1.1", "198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &["1.1.1.1, nonsense"]), "127.0.0.1");
        assert_eq!(client("::ffff:127.0.0.1", &["::ffff:198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &[]), "127.0.0.1");
    }
}
