//! How many event streams are open. Only ever says no: a stream is a place in this process, so the count is too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::http::Caller;
use crate::telemetry::STREAMS;

/// Open streams of one user.
const PER_USER: usize = 3;
/// Open streams of one anonymous session.
const PER_SESSION: usize = 2;
/// Open streams of all anonymous sessions of one network.
const PER_NETWORK: usize = 20;
/// Open streams in all: below the connection cap, so that other requests still get through.
const IN_ALL: usize = 600;

/// The streams that are open.
#[derive(Clone, Default)]
pub struct Streams {
    open: Arc<Mutex<HashMap<String, usize>>>,
}

/// A stream's place; given up when dropped.
pub struct Place {
    streams: Streams,
    keys: Vec<String>,
}

impl Streams {
    /// A place for one more stream of `caller`, if there is one.
    pub fn enter(&self, caller: &Caller) -> Option<Place> {
        let limits: Vec<(String, usize)> = match caller {
            Caller::User(_) => vec![(caller.owner(), PER_USER), (String::new(), IN_ALL)],
            Caller::Anonymous { network, .. } => {
                vec![
                    (caller.owner(), PER_SESSION),
                    (format!("network:{network}"), PER_NETWORK),
                    (String::new(), IN_ALL),
                ]
            }
        };
        let mut open = self.lock();
        if limits.iter().any(|(key, limit)| open.get(key).copied().unwrap_or(0) >= *limit) {
            return None;
        }
        let keys: Vec<String> = limits.into_iter().map(|(key, _)| key).collect();
        for key in &keys {
            *open.entry(key.clone()).or_default() += 1;
        }
        metrics::gauge!(STREAMS).increment(1.0);
        Some(Place { streams: self.clone(), keys })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        for key in &self.keys {
            if let Some(count) = open.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    open.remove(key);
                }
            }
        }
        metrics::gauge!(STREAMS).decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::User;
    use crate::http::caller::Network;
    use crate::ids::{SessionId, UserId};

    #[test]
    fn places_are_counted_and_given_up() {
        let streams = Streams::default();
        let user = Caller::User(User(UserId("u".to_owned())));
        let places: Vec<Place> = (0..PER_USER).filter_map(|_| streams.enter(&user)).collect();
        assert_eq!(places.len(), PER_USER);
        assert!(streams.enter(&user).is_none());
        drop(places);
        assert!(streams.enter(&user).is_some());
        assert!(streams.lock().is_empty(), "nothing is kept for callers without streams");
    }

    #[test]
    fn a_network_is_bounded_over_all_its_sessions() {
        let streams = Streams::default();
        let network = Network::of([203, 0, 113, 9].into());
        let enter = |n: usize| {
            let session = SessionId(n.to_string());
            streams.enter(&Caller::Anonymous { session, network, minted: None })
        };
        let places: Vec<Place> = (0..PER_NETWORK + 5).filter_map(enter).collect();
        assert_eq!(places.len(), PER_NETWORK);
    }
}
