//! What every handler can reach: handles only, cheap to clone.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::clock::SharedClock;
use crate::config::Config;
use crate::db::Db;
use crate::llm::ChatModel;

/// The router's state. Flow functions take the parts that they need, never this.
#[derive(Clone)]
pub struct AppState {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: SharedClock,
    /// The settings.
    pub config: Arc<Config>,
    /// Who answers.
    pub model: Arc<dyn ChatModel>,
    /// The key that signs anonymous sessions.
    pub secret: Arc<[u8]>,
    /// Where the site is reached, without a trailing slash: for links, ping URLs and cookies.
    pub public_url: Arc<str>,
    /// Cancelled when the process stops taking requests.
    pub stopping: CancellationToken,
}
