//! Durable quotas: exact over any window, decided by the write that records the admission (limits.md).

pub mod headers;
mod store;
mod tier;

use std::time::Duration;

use crate::clock::{Clock, Millis};
use crate::db::{Db, DbError, Tx};

pub use store::delete_dead;
pub use tier::Tier;

/// At most `limit` admissions in any `window`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// `user-10min`, `anon-1h` …: what the answer calls it.
    pub name: String,
    /// Admissions; 0 refuses all.
    pub limit: u32,
    /// The window.
    pub window: Duration,
}

impl Policy {
    /// A policy whose name is `prefix` and its window: `user-10min`, `user-30s`, `anon-2h`.
    pub fn named(prefix: &str, limit: u32, window: Duration) -> Self {
        let seconds = window.as_secs();
        let span = if seconds.is_multiple_of(3_600) {
            format!("{}h", seconds / 3_600)
        } else if seconds.is_multiple_of(60) {
            format!("{}min", seconds / 60)
        } else {
            format!("{seconds}s")
        };
        Self { name: format!("{prefix}-{span}"), limit, window }
    }

    /// State changes of one check by pings inside its floor: 10 in any 300 s.
    pub fn check_flip() -> Self {
        Self { name: "check-flip".to_owned(), limit: 10, window: Duration::from_mins(5) }
    }
}

/// One policy to be charged for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The policy.
    pub policy: Policy,
    /// Whom: unique over all policies, as `user-10min:<user id>`.
    pub key: String,
}

impl Charge {
    /// Charges `who` under `policy`.
    pub fn new(policy: &Policy, who: &str) -> Self {
        Self { key: format!("{}:{who}", policy.name), policy: policy.clone() }
    }
}

/// How a key stands under its policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The policy.
    pub policy: Policy,
    /// Admissions left at this moment.
    pub remaining: u32,
    /// How long until the next call passes; zero when one passes now.
    pub wait: Duration,
    /// How long until `remaining` grows; zero when nothing is used.
    pub reset: Duration,
}

/// Proof of an admission, good for giving it back.
#[derive(Debug, Clone)]
pub struct Receipt {
    stamps: Vec<(Charge, Millis)>,
}

/// What the limiter said.
#[derive(Debug)]
pub enum Decision {
    /// All charges were recorded.
    Admitted {
        /// For [`give_back`].
        receipt: Receipt,
        /// How each key stands after it.
        standings: Vec<Standing>,
    },
    /// Nothing was recorded; these policies refused.
    Refused(Vec<Standing>),
}

/// Charges all of `charges`, or none.
///
/// # Errors
/// [`DbError`] when the database does not answer: then there is no passage.
pub async fn take(db: &Db, clock: &dyn Clock, mut charges: Vec<Charge>) -> Result<Decision, DbError> {
    // Sorted, so that two callers with the same keys cannot wait for each other.
    charges.sort_by(|a, b| a.key.cmp(&b.key));
    let standings = standings(db, clock, &charges).await?;
    let refused: Vec<Standing> = standings.into_iter().filter(|s| s.remaining == 0).collect();
    if !refused.is_empty() {
        return Ok(Decision::Refused(refused));
    }
    // The read above only ever says no. Only this write says yes.
    let admitted = if let [charge] = charges.as_slice() {
        let hits = store::admit(db.autocommit(), charge, clock.now()).await?;
        hits.map(|hits| vec![(charge.clone(), hits)])
    } else {
        let (now, pending) = (clock.now(), charges.clone());
        match db.write(move |tx| Box::pin(admit_all(tx, pending, now))).await {
            Ok(admitted) => Some(admitted),
            Err(TakeError::Refused) => None,
            Err(TakeError::Db(error)) => return Err(error),
        }
    };
    match admitted {
        Some(admitted) => Ok(admitted_all(admitted)),
        None => refused_now(db, clock, &charges).await,
    }
}

/// Charges one policy inside a short transaction of the caller's own; `false` means refused.
pub async fn take_in(tx: &mut Tx, charge: &Charge, now: Millis) -> Result<bool, DbError> {
    Ok(charge.policy.limit > 0 && store::admit_in(tx, charge, now).await?.is_some())
}

/// How each key stands, without charging anything.
pub async fn standings(db: &Db, clock: &dyn Clock, charges: &[Charge]) -> Result<Vec<Standing>, DbError> {
    let mut standings = Vec::with_capacity(charges.len());
    for charge in charges {
        let now = clock.now();
        let mut hits = store::find_hits(db, &charge.key).await?;
        if hits.iter().any(|hit| store::is_far_future(*hit, now)) {
            // The clock was set back. Written down once, so that the stamps age from now on.
            store::clamp_future(db, &charge.key, now).await?;
            hits = store::find_hits(db, &charge.key).await?;
        }
        standings.push(standing(&charge.policy, &hits, now));
    }
    Ok(standings)
}

/// Takes an admission back, because nobody got anything for it. At most `limit` times per window and key: beyond
/// that it stays charged, so that failures cannot be used to ask without end.
pub async fn give_back(db: &Db, clock: &dyn Clock, receipt: Receipt) -> Result<(), DbError> {
    for (charge, stamp) in &receipt.stamps {
        store::refund(db, charge, *stamp, clock.now()).await?;
    }
    Ok(())
}

/// Takes an admission back that turned out to be none: no model was asked. Not counted, so that what costs nothing
/// never costs anything.
pub async fn withdraw(db: &Db, receipt: Receipt) -> Result<(), DbError> {
    for (charge, stamp) in &receipt.stamps {
        store::remove(db, charge, *stamp).await?;
    }
    Ok(())
}

enum TakeError {
    Refused,
    Db(DbError),
}

impl From<DbError> for TakeError {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

async fn admit_all(tx: &mut Tx, charges: Vec<Charge>, now: Millis) -> Result<Vec<(Charge, Vec<Millis>)>, TakeError> {
    let mut admitted = Vec::with_capacity(charges.len());
    for charge in charges {
        match store::admit_in(tx, &charge, now).await? {
            Some(hits) => admitted.push((charge, hits)),
            None => return Err(TakeError::Refused),
        }
    }
    Ok(admitted)
}

fn admitted_all(admitted: Vec<(Charge, Vec<Millis>)>) -> Decision {
    let newest = |hits: &[Millis]| hits.first().copied().unwrap_or(Millis(0));
    let standings = admitted.iter().map(|(charge, hits)| standing(&charge.policy, hits, newest(hits))).collect();
    let stamps = admitted.into_iter().map(|(charge, hits)| (charge, newest(&hits))).collect();
    Decision::Admitted { receipt: Receipt { stamps }, standings }
}

/// The write refused what the read had let pass: somebody else took the last place in between.
async fn refused_now(db: &Db, clock: &dyn Clock, charges: &[Charge]) -> Result<Decision, DbError> {
    let standings = standings(db, clock, charges).await?;
    let refused: Vec<Standing> = standings.iter().filter(|s| s.remaining == 0).cloned().collect();
    if refused.is_empty() {
        // A place came free since the refusal; the refusal stands, with the shortest true wait.
        let next = |s: Standing| Standing { remaining: 0, wait: Duration::from_secs(1), ..s };
        return Ok(Decision::Refused(standings.into_iter().map(next).collect()));
    }
    Ok(Decision::Refused(refused))
}

fn standing(policy: &Policy, hits: &[Millis], now: Millis) -> Standing {
    let leaves = |hit: Millis| hit.plus(policy.window);
    let live: Vec<Millis> = hits.iter().copied().filter(|hit| leaves(*hit) > now).collect();
    let used = u32::try_from(live.len()).unwrap_or(u32::MAX);
    let remaining = policy.limit.saturating_sub(used);
    let reset = live.iter().copied().min().map_or(Duration::ZERO, |oldest| leaves(oldest).since(now));
    let wait = match (remaining, policy.limit) {
        (0, 0) => policy.window,
        (0, limit) => {
            let nth = usize::try_from(limit).unwrap_or(usize::MAX) - 1;
            hits.get(nth).map_or(Duration::ZERO, |hit| leaves(*hit).since(now))
        }
        _ => Duration::ZERO,
    };
    Standing { policy: policy.clone(), remaining, wait, reset }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_window() {
        let name = |limit: &str, seconds| Policy::named(limit, 1, Duration::from_secs(seconds)).name;
        assert_eq!(name("user", 600), "user-10min");
        assert_eq!(name("user", 30), "user-30s");
        assert_eq!(name("anon", 7_200), "anon-2h");
    }

    #[test]
    fn the_wait_is_until_the_nth_newest_leaves() {
        let policy = Policy::named("user", 2, Duration::from_secs(10));
        let at = |seconds: i64| Millis(seconds * 1000);
        let full = standing(&policy, &[at(9), at(5)], at(10));
        assert_eq!((full.remaining, full.wait, full.reset), (0, Duration::from_secs(5), Duration::from_secs(5)));
        let one = standing(&policy, &[at(9), at(0)], at(10));
        assert_eq!((one.remaining, one.wait, one.reset), (1, Duration::ZERO, Duration::from_secs(9)));
    }
}
