//! One message from arrival to last chunk.

pub mod approvals;
mod awaiting;
mod begin;
mod body_http;
pub mod cursor;
pub mod decide;
pub mod history;
pub mod http;
mod keep;
pub mod live;
pub mod message;
pub mod prompt;
mod quota_http;
pub mod receive;
mod request;
pub mod stop;
pub mod store;
pub mod stored;
pub mod streams;
pub mod tools;
pub mod transcript;
pub mod turn;
pub mod typed;

use std::sync::Arc;
use std::time::Duration;

use crate::clock::SharedClock;
use crate::config::Config;
use crate::db::Db;
use crate::llm::ChatModel;
use live::Turns;
use prompt::Prompts;
use streams::Streams;

/// A running answer whose row was not renewed for this long belongs to nobody.
pub const LEASE: Duration = Duration::from_secs(30);

/// What the flows of this slice work with.
#[derive(Clone)]
pub struct Chat {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: SharedClock,
    /// The settings.
    pub config: Arc<Config>,
    /// Who answers.
    pub model: Arc<dyn ChatModel>,
    /// What it is told.
    pub prompts: Arc<Prompts>,
    /// The turns that run here.
    pub turns: Turns,
    /// The streams that are open here.
    pub streams: Streams,
}
