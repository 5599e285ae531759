//! The sender: takes what is in the outbox and delivers it, at least once, with an id that stays the same.
//!
//! Deliveries are claimed by lease, so a sender that dies loses nothing: its leases run out and somebody else sends.
//! Any number of instances may send at once.

pub mod addresses;
pub mod attempt;
pub mod mail;
pub mod outgoing;
pub mod webhook;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::addresses::Policy;
use self::mail::{MailSettingsError, Mailer};
use self::outgoing::{ClientError, Outgoing};
use super::store::claims::{Claimed, Ended, claim_deliveries, finish_delivery, is_any_due};
use crate::clock::SharedClock;
use crate::config::{Allowed, Smtp};
use crate::db::{Db, DbError};
use crate::telemetry::DELIVERIES;

/// How many are sent at once. They wait for others most of the time.
const AT_ONCE: usize = 32;
/// A claim lasts this long: six times what an attempt may take.
const LEASE: Duration = Duration::from_mins(1);
/// The outbox is looked into this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// When the process stops, attempts under way may take this long; the others' leases run out.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendError {
    /// A short reason of our own, never the other side's words.
    pub reason: String,
    /// Whether another attempt is pointless.
    pub is_final: bool,
}

impl SendError {
    /// Another attempt may succeed.
    pub fn retry(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_final: false }
    }

    /// No other attempt will.
    pub fn last(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_final: true }
    }
}

/// Why there is no sender.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    /// The settings of mail.
    #[error(transparent)]
    Mail(#[from] MailSettingsError),
    /// No HTTPS client could be built.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Delivers what is in the outbox.
pub struct Sender {
    db: Db,
    clock: SharedClock,
    outgoing: Outgoing,
    mailer: Option<Mailer>,
    public_url: String,
}

impl Sender {
    /// Prepares a sender; `public_url` is where people find the page.
    pub fn new(
        db: Db,
        clock: SharedClock,
        public_url: &str,
        allowed: Vec<Allowed>,
        smtp: Option<&Smtp>,
    ) -> Result<Self, SenderError> {
        let mailer = smtp.map(Mailer::new).transpose()?;
        let outgoing = Outgoing::new(Policy::new(allowed))?;
        Ok(Self { db, clock, outgoing, mailer, public_url: public_url.to_owned() })
    }

    /// Delivers until `stop`. A database that is away is told of once, and asked again.
    pub async fn run(self, stop: CancellationToken) {
        let sender = Arc::new(self);
        // Tasks, so that they go on while this one waits for the database: SQLite's one writer may be handed to a
        // delivery that ends, and whoever queues behind it would wait for somebody that nobody polls.
        let mut sending = JoinSet::new();
        let mut failing = false;
        while !stop.is_cancelled() {
            while sending.try_join_next().is_some() {}
            match sender.claim(AT_ONCE.saturating_sub(sending.len())).await {
                Ok(claimed) => {
                    failing = false;
                    let is_any = !claimed.is_empty();
                    for delivery in claimed {
                        let sender = Arc::clone(&sender);
                        sending.spawn(async move { sender.deliver(delivery).await });
                    }
                    if is_any {
                        // A claim takes a few of each account: there may be more.
                        continue;
                    }
                }
                Err(error) => {
                    if !failing {
                        tracing::error!(%error, "the outbox cannot be read");
                    }
                    failing = true;
                }
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(LOOK_EVERY) => {}
                // A place is free, and what else is due need not wait for the next look.
                Some(_) = sending.join_next() => {}
            }
        }
        let _ = timeout(LAST_WORDS, async { while sending.join_next().await.is_some() {} }).await;
    }

    /// Delivers what is due now and returns how many were claimed.
    ///
    /// # Errors
    /// The database's.
    pub async fn deliver_due(&self) -> Result<usize, DbError> {
        let mut count = 0;
        loop {
            let claimed = self.claim(AT_ONCE).await?;
            if claimed.is_empty() {
                return Ok(count);
            }
            count += claimed.len();
            join_all(claimed.into_iter().map(|delivery| self.deliver(delivery))).await;
        }
    }

    async fn claim(&self, places: usize) -> Result<Vec<Claimed>, DbError> {
        let now = self.clock.now();
        if places == 0 || !is_any_due(&self.db, now).await? {
            return Ok(Vec::new());
        }
        let places = i64::try_from(places).unwrap_or(i64::MAX);
        claim_deliveries(&self.db, now, now.plus(LEASE), places).await
    }

    /// One attempt, from the claim to its end in the row.
    async fn deliver(&self, delivery: Claimed) {
        let ended = self.attempt(&delivery).await;
        let outcome = match &ended {
            Ended::Sent => "sent",
            Ended::Retry { .. } => "retry",
            Ended::Failed { .. } => "failed",
            Ended::Postponed { .. } => "postponed",
            Ended::Skipped { .. } => "skipped",
        };
        let Claimed { id, kind, attempts: attempt, .. } = delivery;
        metrics::counter!(DELIVERIES, "kind" => kind.as_str(), "outcome" => outcome).increment(1);
        match finish_delivery(&self.db, &id, attempt, &ended, self.clock.now()).await {
            Ok(true) => tracing::info!(delivery = id, %kind, attempt, outcome, "a notification was attempted"),
            Ok(false) => tracing::warn!(delivery = id, "a notification was in other hands before its attempt ended"),
            // Its lease runs out, and it is sent again with the same id.
            Err(error) => tracing::error!(delivery = id, %error, "how an attempt ended could not be stored"),
        }
    }
}
