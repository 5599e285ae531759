//! One attempt: what a delivery is sent as, what that costs, and what follows from how it went.

use std::time::Duration;

use serde_json::json;

use super::{SendError, Sender, outgoing, webhook};
use crate::checks::channels::ChannelKind;
use crate::checks::store::claims::{Claimed, Ended};
use crate::clock::Millis;
use crate::db::DbError;
use crate::ids::UserId;
use crate::limits::{self, Charge, Decision, Policy, Receipt};

/// Waits after each failed attempt; the last one repeats.
const WAITS: [u64; 7] = [10, 30, 60, 120, 300, 600, 900];
/// So many attempts are made, which takes about two hours.
const MAX_ATTEMPTS: i64 = 14;
/// And it is tried for at least so long, however many attempts a sender that dies again and again has begun.
const TRIED_FOR: Duration = Duration::from_mins(90);

/// Why it is not sent although it could be. Old news after new ones would tell of a state that is over.
const OVERTAKEN: &str = "something newer about the check arrived there first";
/// Why a mail waits.
const TOO_MANY_MAILS: &str = "more than 60 mails in an hour";

/// What a mail is charged to: 60 an hour for an account, whoever it writes to.
pub fn mail_charge(account: &UserId) -> Charge {
    Charge::new(&Policy::named("mail", 60, Duration::from_hours(1)), account.as_str())
}

impl Sender {
    /// Sends a delivery, unless it is overtaken or has to wait.
    pub(super) async fn attempt(&self, delivery: &Claimed) -> Ended {
        if delivery.is_overtaken {
            return Ended::Skipped { reason: OVERTAKEN.to_owned() };
        }
        let receipt = match self.charge(delivery).await {
            Ok(Ok(receipt)) => receipt,
            Ok(Err(wait)) => return postponed(delivery, self.clock.now(), wait),
            Err(error) => {
                tracing::error!(%error, "a mail could not be charged");
                let at = self.clock.now().plus(Duration::from_secs(WAITS[0]));
                return Ended::Postponed { at, reason: "it could not be counted".to_owned() };
            }
        };
        let Err(error) = self.send(delivery).await else { return Ended::Sent };
        if let Some(receipt) = receipt {
            // Nobody got it. Should the server have taken it and its answer be lost: this is bounded too.
            if let Err(error) = limits::give_back(&self.db, self.clock.as_ref(), receipt).await {
                tracing::warn!(%error, "a mail that was not sent stays charged");
            }
        }
        after(delivery, error, self.clock.now(), rand::random())
    }

    /// Charges a mail; else how long to wait. Nothing else costs anything.
    async fn charge(&self, delivery: &Claimed) -> Result<Result<Option<Receipt>, Duration>, DbError> {
        match delivery.kind {
            ChannelKind::Webhook | ChannelKind::Slack => Ok(Ok(None)),
            ChannelKind::Email => {
                let charges = vec![mail_charge(&delivery.account_id)];
                Ok(match limits::take(&self.db, self.clock.as_ref(), charges).await? {
                    Decision::Admitted { receipt, .. } => Ok(Some(receipt)),
                    Decision::Refused(standings) => Err(standings.first().map_or(Duration::ZERO, |s| s.wait)),
                })
            }
        }
    }

    async fn send(&self, delivery: &Claimed) -> Result<(), SendError> {
        let Claimed { id, kind, target, secret, .. } = delivery;
        let mut notice = delivery.payload.clone();
        notice.data.url = format!("{}/", self.public_url);
        let now = self.clock.now();
        match kind {
            ChannelKind::Webhook => {
                let body = serde_json::to_string(&notice).map_err(|_| SendError::last("the message has no form"))?;
                let headers = webhook::headers(secret.as_deref().unwrap_or_default(), id, now, &body)?;
                self.outgoing.post(target, &headers, &body).await
            }
            ChannelKind::Slack => {
                let body = json!({"text": notice.chat_text()}).to_string();
                self.outgoing.post(target, &outgoing::json_headers(), &body).await
            }
            ChannelKind::Email => match &self.mailer {
                Some(mailer) => mailer.send(target, id, &notice, now).await,
                None => Err(SendError::retry("this site sends no mail")),
            },
        }
    }
}

/// What follows from a mail that may not be sent yet. It is no attempt, and it waits for no longer than one that fails.
fn postponed(delivery: &Claimed, now: Millis, wait: Duration) -> Ended {
    let reason = TOO_MANY_MAILS.to_owned();
    if now.since(delivery.created_at) >= TRIED_FOR {
        return Ended::Skipped { reason };
    }
    Ended::Postponed { at: now.plus(wait.max(Duration::from_secs(1))), reason }
}

/// What follows from a failed attempt.
fn after(delivery: &Claimed, error: SendError, now: Millis, random: f64) -> Ended {
    let SendError { reason, is_final } = error;
    if is_final || is_spent(delivery.attempts, now.since(delivery.created_at)) {
        return Ended::Failed { reason };
    }
    Ended::Retry { at: now.plus(wait_after(delivery.attempts, random)), reason }
}

/// Whether attempt number `attempt` of a delivery of that age was the last.
fn is_spent(attempt: i64, age: Duration) -> bool {
    attempt >= MAX_ATTEMPTS && age >= TRIED_FOR
}

/// How long to wait after the failed attempt number `attempt`. `random` is from 0 to 1 and spreads the wait by a fifth
/// either way, so that what failed together is not tried again together.
fn wait_after(attempt: i64, random: f64) -> Duration {
    let nth = usize::try_from(attempt.max(1) - 1).unwrap_or(0).min(WAITS.len() - 1);
    Duration::from_secs(WAITS[nth]).mul_f64(0.8 + 0.4 * random.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tried_for_more_than_an_hour_and_given_up_within_three() {
        let waits = |random: f64| (1..MAX_ATTEMPTS).map(move |attempt| wait_after(attempt, random));
        let total = |random: f64| waits(random).sum::<Duration>();
        let seconds: Vec<u64> = waits(0.5).map(|wait| wait.as_secs()).collect();
        assert_eq!(seconds, [10, 30, 60, 120, 300, 600, 900, 900, 900, 900, 900, 900, 900]);
        assert!(total(0.0) > TRIED_FOR && total(1.0) < Duration::from_hours(3));
        assert_eq!((wait_after(1, 0.0), wait_after(1, 1.0)), (Duration::from_secs(8), Duration::from_secs(12)));
    }

    #[test]
    fn neither_the_attempts_nor_the_time_alone_end_it() {
        let (soon, late) = (Duration::from_mins(89), Duration::from_mins(90));
        assert!(!is_spent(MAX_ATTEMPTS + 80, soon) && !is_spent(MAX_ATTEMPTS - 1, late * 9));
        assert!(is_spent(MAX_ATTEMPTS, late));
    }
}
