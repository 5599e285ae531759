//! The ids that travel through the program, each a type of its own so that none passes for another.

use std::fmt::{self, Write as _};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::{Builder, ContextV7, Timestamp, Uuid};

use crate::clock::Millis;

/// Orders the ids of one millisecond: a flip and the one that undoes it may share it.
static SEQUENCE: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// A uuid v7 for `now`: those made by one process sort in the order of their making, whatever its clock does.
pub fn new_v7(now: Millis) -> String {
    let millis = now.0.max(0).unsigned_abs();
    let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(Timestamp::from_unix(&SEQUENCE, millis / 1000, nanos)).to_string()
}

/// The least uuid v7 of the moment `at`: those that were made before it are less.
pub fn least_v7(at: Millis) -> String {
    Builder::from_unix_timestamp_millis(at.0.max(0).unsigned_abs(), &[0; 10]).into_uuid().to_string()
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Declares a text id. A function cannot declare types, hence the macro.
macro_rules! text_id {
    ($(#[$doc:meta] $name:ident),+ $(,)?) => {$(
        #[$doc]
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema, sqlx::Type)]
        #[serde(transparent)]
        #[sqlx(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )+};
}

text_id! {
    /// An account, which is one user (uuid v7).
    UserId,
    /// A check (uuid v7).
    CheckId,
    /// A place where alerts go (uuid v7).
    ChannelId,
    /// A pending or decided action (uuid v7).
    ActionId,
    /// A conversation's id as its client chose it: unique per caller only.
    ConversationId,
    /// A conversation's row (uuid v7): unique for all callers.
    ConversationRef,
    /// A message, unique within its conversation; a user's message carries the client's id.
    MessageId,
    /// An anonymous visitor's session (uuid v7, from a signed token).
    SessionId,
}

impl UserId {
    /// A new id.
    pub fn new(now: Millis) -> Self {
        Self(new_v7(now))
    }
}

impl CheckId {
    /// A new id.
    pub fn new(now: Millis) -> Self {
        Self(new_v7(now))
    }

    /// The id that `text` is, if it is a uuid at all: nothing else reaches the database.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::parse_str(text).ok().map(|id| Self(id.to_string()))
    }
}

impl ChannelId {
    /// A new id.
    pub fn new(now: Millis) -> Self {
        Self(new_v7(now))
    }

    /// The id that `text` is, if it is a uuid at all: nothing else reaches the database.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::parse_str(text).ok().map(|id| Self(id.to_string()))
    }
}

impl ActionId {
    /// A new id.
    pub fn new(now: Millis) -> Self {
        Self(new_v7(now))
    }

    /// The id that `text` is, if it is a uuid at all: nothing else reaches the database.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::parse_str(text).ok().map(|id| Self(id.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_as_they_were_made_within_a_millisecond_and_on_a_clock_set_back() {
        let ids: Vec<String> = (0..10_000).map(|n| new_v7(Millis(1_790_000_000_000 - n / 5_000))).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn the_least_id_of_a_moment_parts_those_before_from_those_after() {
        let at = 1_790_000_000_123;
        let made = |ms: u64, byte: u8| Builder::from_unix_timestamp_millis(ms, &[byte; 10]).into_uuid().to_string();
        let least = least_v7(Millis(at));
        let at = at.unsigned_abs();
        assert_eq!(least, made(at, 0));
        assert!(made(at - 1, 255) < least && least < made(at, 1) && least < made(at + 1, 0));
    }
}
