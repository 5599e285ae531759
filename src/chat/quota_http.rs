//! Quotas over HTTP: the headers of an answer, and the 429 that a person and a stock client can read.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use crate::clock::wait_seconds;
use crate::http::Problem;
use crate::limits::Standing;
use crate::limits::headers::{rate_limit, rate_limit_policy};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const TYPE: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// Adds `RateLimit` and `RateLimit-Policy`; nothing if nothing was charged.
pub fn describe(standings: &[Standing], headers: &mut HeaderMap) {
    if standings.is_empty() {
        return;
    }
    for (name, text) in [(RATE_LIMIT_POLICY, rate_limit_policy(standings)), (RATE_LIMIT, rate_limit(standings))] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
}

/// 429 `quota_exceeded`. The wait stands in the body too: stock clients see only the body.
pub fn quota_exceeded(refused: &[Standing]) -> Problem {
    // The one that takes longest decides when a call passes.
    let longest = refused.iter().max_by_key(|standing| standing.wait);
    let (detail, wait) = longest.map_or_else(Default::default, |standing| (detail(standing), standing.wait));
    let violated: Vec<&str> = refused.iter().map(|standing| standing.policy.name.as_str()).collect();
    let mut headers = HeaderMap::new();
    describe(refused, &mut headers);
    let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", detail)
        .registered(TYPE, "Quota Exceeded")
        .with("violated-policies", json!(violated))
        .wait(wait);
    for (name, value) in headers {
        if let Some(name) = name {
            problem = problem.header(name, value);
        }
    }
    problem
}

fn detail(standing: &Standing) -> String {
    let (limit, window) = (standing.policy.limit, span(standing.policy.window.as_secs()));
    let who = if standing.policy.name.starts_with("anon-net") { "Your network has" } else { "You have" };
    let next = span(wait_seconds(standing.wait));
    match limit {
        0 => "No messages are taken at present.".to_owned(),
        1 => format!("{who} sent 1 message in the last {window}. You can send the next one in {next}."),
        _ => format!("{who} sent {limit} messages in the last {window}. You can send the next one in {next}."),
    }
}

/// `37 seconds`, `10 minutes`, `1 hour`: the largest unit that is exact.
fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        s if s >= 3_600 && s.is_multiple_of(3_600) => (s / 3_600, "hour"),
        s if s >= 60 && s.is_multiple_of(60) => (s / 60, "minute"),
        s => (s, "second"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Policy;
    use std::time::Duration;

    #[test]
    fn the_sentence_has_the_numbers() {
        let policy = Policy::named("user", 20, Duration::from_mins(10));
        let wait = Duration::from_millis(36_001);
        let standing = Standing { policy, remaining: 0, wait, reset: wait };
        let expected = "You have sent 20 messages in the last 10 minutes. You can send the next one in 37 seconds.";
        assert_eq!(detail(&standing), expected);
    }
}
