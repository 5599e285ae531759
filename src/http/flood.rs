//! The flood guard in front of everything: in memory, per client network. It may only say no; its yes means
//! "ask the database".

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::Problem;
use super::caller::Network;
use super::request::ClientAddress;
use crate::config::FloodLimit;

/// More networks than this are forgotten at the next tidy even if they are still counted: the table stays bounded.
const MAX_NETWORKS: usize = 100_000;
/// Pings are machines' traffic, often of many jobs behind one address; a page's modules come some thirty at a time.
const LIGHT_FACTOR: u32 = 10;

/// Two limiters: one for pings and a page's modules, one for the rest.
#[derive(Clone)]
pub struct FloodGuard {
    light: Arc<DefaultKeyedRateLimiter<Network>>,
    rest: Arc<DefaultKeyedRateLimiter<Network>>,
}

impl FloodGuard {
    /// A guard for `limit`.
    pub fn new(limit: FloodLimit) -> Self {
        let limiter = |factor: u32| {
            let count = |n: u32| NonZeroU32::new(n.saturating_mul(factor)).unwrap_or(NonZeroU32::MIN);
            let quota = Quota::per_second(count(limit.per_second)).allow_burst(count(limit.burst));
            Arc::new(RateLimiter::keyed(quota))
        };
        Self { light: limiter(LIGHT_FACTOR), rest: limiter(1) }
    }

    /// Forgets networks that are quiet again. Call it every minute.
    pub fn tidy(&self) {
        for limiter in [&self.light, &self.rest] {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }

    fn check(&self, network: Network, is_light: bool) -> Result<(), std::time::Duration> {
        let limiter = if is_light { &self.light } else { &self.rest };
        if limiter.len() > MAX_NETWORKS {
            limiter.retain_recent();
        }
        limiter.check_key(&network).map_err(|not_until| not_until.wait_time_from(DefaultClock::default().now()))
    }
}

/// Answers 429 `abnormal_usage` to a network that asks too fast.
pub async fn guard(State(guard): State<Option<FloodGuard>>, request: Request, next: Next) -> Response {
    let address = request.extensions().get::<ClientAddress>().copied();
    if let (Some(guard), Some(ClientAddress(address))) = (guard, address) {
        let path = request.uri().path();
        let is_light = path.starts_with("/ping/") || path.starts_with("/assets/");
        if let Err(wait) = guard.check(Network::of(address), is_light) {
            let detail = "Too many requests from your network at once. Please slow down.";
            return Problem::new(StatusCode::TOO_MANY_REQUESTS, "abnormal_usage", detail).wait(wait).into_response();
        }
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_the_next_one_waits() {
        let guard = FloodGuard::new(FloodLimit { per_second: 1, burst: 3 });
        let here = Network::of([203, 0, 113, 9].into());
        let there = Network::of([203, 0, 113, 10].into());
        assert!((0..3).all(|_| guard.check(here, false).is_ok()));
        assert!(guard.check(here, false).is_err());
        assert!(guard.check(there, false).is_ok(), "another network is not concerned");
        assert!((0..30).all(|_| guard.check(here, true).is_ok()), "pings have their own, larger guard");
        guard.tidy();
    }
}
