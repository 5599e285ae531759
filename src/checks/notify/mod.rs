//! The sender: takes what is in the outbox and delivers it, at least once, with an id that stays the same.
//!
//! Deliveries are claimed by lease, so a sender that dies loses nothing: its leases run out and somebody else sends.
//! Any number of instances may send at once.

pub mod addresses;
pub mod mail;
pub mod outgoing;
pub mod webhook;

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::json;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::addresses::Policy;
use self::mail::{MailSettingsError, Mailer};
use self::outgoing::{ClientError, Outgoing};
use super::channels::ChannelKind;
use super::store::deliveries::{Claimed, Ended, claim_deliveries, finish_delivery, is_any_due};
use crate::clock::SharedClock;
use crate::config::{Allowed, Smtp};
use crate::db::{Db, DbError};
use crate::telemetry::DELIVERIES;

/// How many are sent at once.
const AT_ONCE: usize = 8;
/// A claim lasts this long: six times what an attempt may take.
const LEASE: Duration = Duration::from_mins(1);
/// The outbox is looked into this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// When the process stops, attempts under way may take this long; the others' leases run out.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Waits after each failed attempt; the last one repeats.
const WAITS: [u64; 7] = [10, 30, 60, 120, 300, 600, 900];
/// So many attempts are made, which takes about two hours; with the shortest jitter still an hour and a half.
const MAX_ATTEMPTS: i64 = 14;

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
        let mut sending = FuturesUnordered::new();
        let mut failing = false;
        while !stop.is_cancelled() {
            match self.claim(AT_ONCE - sending.len()).await {
                Ok(claimed) => {
                    sending.extend(claimed.into_iter().map(|delivery| self.deliver(delivery)));
                    failing = false;
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
                Some(()) = sending.next() => {}
            }
        }
        let _ = timeout(LAST_WORDS, async { while sending.next().await.is_some() {} }).await;
    }

    /// Delivers what is due now and returns how many attempts were made.
    ///
    /// # Errors
    /// The database's.
    pub async fn deliver_due(&self) -> Result<usize, DbError> {
        let mut attempts = 0;
        loop {
            let claimed = self.claim(AT_ONCE).await?;
            if claimed.is_empty() {
                return Ok(attempts);
            }
            attempts += claimed.len();
            let sending: FuturesUnordered<_> = claimed.into_iter().map(|delivery| self.deliver(delivery)).collect();
            sending.collect::<Vec<()>>().await;
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
        let (id, attempt, kind) = (delivery.id.clone(), delivery.attempts, delivery.kind);
        let ended = match self.send(delivery).await {
            Ok(()) => Ended::Sent,
            Err(SendError { reason, is_final }) => match wait_after(attempt, rand::random()) {
                Some(wait) if !is_final => Ended::Retry { at: self.clock.now().plus(wait), reason },
                Some(_) | None => Ended::Failed { reason },
            },
        };
        let outcome = match &ended {
            Ended::Sent => "sent",
            Ended::Retry { .. } => "retry",
            Ended::Failed { .. } => "failed",
        };
        metrics::counter!(DELIVERIES, "kind" => kind.as_str(), "outcome" => outcome).increment(1);
        match finish_delivery(&self.db, &id, attempt, &ended, self.clock.now()).await {
            Ok(true) => tracing::info!(delivery = id, %kind, attempt, outcome, "a notification was attempted"),
            Ok(false) => tracing::warn!(delivery = id, "a notification was in other hands before its attempt ended"),
            // Its lease runs out, and it is sent again with the same id.
            Err(error) => tracing::error!(delivery = id, %error, "how an attempt ended could not be stored"),
        }
    }

    async fn send(&self, delivery: Claimed) -> Result<(), SendError> {
        let Claimed { id, payload: mut notice, kind, target, secret, .. } = delivery;
        notice.data.url = format!("{}/", self.public_url);
        let now = self.clock.now();
        match kind {
            ChannelKind::Webhook => {
                let body = serde_json::to_string(&notice).map_err(|_| SendError::last("the message has no form"))?;
                let headers = webhook::headers(secret.as_deref().unwrap_or_default(), &id, now, &body)?;
                self.outgoing.post(&target, &headers, &body).await
            }
            ChannelKind::Slack => {
                let body = json!({"text": notice.chat_text()}).to_string();
                self.outgoing.post(&target, &outgoing::json_headers(), &body).await
            }
            ChannelKind::Email => match &self.mailer {
                Some(mailer) => mailer.send(&target, &id, &notice, now).await,
                None => Err(SendError::retry("this site sends no mail")),
            },
        }
    }
}

/// How long to wait after the failed attempt number `attempt`; `None`: it was the last. `random` is from 0 to 1 and
/// spreads the wait by a fifth either way, so that what failed together is not tried again together.
fn wait_after(attempt: i64, random: f64) -> Option<Duration> {
    if attempt >= MAX_ATTEMPTS {
        return None;
    }
    let nth = usize::try_from(attempt.max(1) - 1).unwrap_or(0).min(WAITS.len() - 1);
    Some(Duration::from_secs(WAITS[nth]).mul_f64(0.8 + 0.4 * random.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tried_for_more_than_an_hour_and_given_up_within_three() {
        let waits = |random: f64| (1..).map_while(move |attempt| wait_after(attempt, random)).collect::<Vec<_>>();
        let total = |random: f64| waits(random).into_iter().sum::<Duration>();
        let seconds: Vec<u64> = waits(0.5).iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [10, 30, 60, 120, 300, 600, 900, 900, 900, 900, 900, 900, 900]);
        assert!(total(0.0) > Duration::from_mins(90) && total(1.0) < Duration::from_hours(3));
        assert_eq!(
            (wait_after(1, 0.0), wait_after(1, 1.0)),
            (Some(Duration::from_secs(8)), Some(Duration::from_secs(12)))
        );
    }
}
