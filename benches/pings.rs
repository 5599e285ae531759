//! How many pings a second are accepted and refused, beside a bare guarded UPDATE of the same table by the same number
//! of callers: what a ping's other statements cost. And that it does not cost more when a check has much history.

use std::sync::Arc;
use std::time::Duration;

use flatline::checks::history::Kind as Said;
use flatline::checks::ping::{Outcome, ping};
use flatline::clock::Clock;
use flatline::limits::Tier;
use flatline::on_db;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::database::{Kind, postgres_is_skipped};
use crate::rig::{Made, PERIOD, Rig, is_too_soon, of_kind};

/// Checks that are pinged, one after the other, each once in a round.
const CHECKS: usize = 400;
/// Measured rounds; one more goes before them.
const ROUNDS: u32 = 5;
/// Pings that each check has kept already where there is much history.
const HISTORY: i64 = 1_000;

/// A read-then-write has no place even here: the floor is part of the statement.
const BARE: &str = "UPDATE checks SET last_success_at = $2 WHERE ping_key = $1 AND paused_at IS NULL
    AND (last_success_at IS NULL OR last_success_at + 300000 <= $2)";

/// Prints the figures.
pub async fn measure() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        if kind == Kind::Postgres && postgres_is_skipped() {
            continue;
        }
        println!("pings/s on {kind:?}, by callers at once; in brackets as a ratio to the bare guarded UPDATE");
        println!("{:>8} {:>18} {:>18} {:>26}", "callers", "accepted", "refused", "accepted, much history");
        for callers in [1, 16] {
            line(kind, callers).await;
        }
    }
}

/// What is compared alternates, so that what slows one slows all.
async fn line(kind: Kind, callers: usize) {
    let bench = Bench::new(kind, callers).await;
    let [mut updated, mut unchanged, mut accepted, mut refused, mut long_lived] = [0.0; 5];
    for round in 0..=ROUNDS {
        bench.rig.clock.advance(PERIOD);
        let rates = [
            bench.bare(true).await,
            bench.whole(&bench.young, true).await,
            bench.whole(&bench.old, true).await,
            bench.bare(false).await,
            bench.whole(&bench.young, false).await,
        ];
        // The first round warms up.
        if round > 0 {
            let sums = [&mut updated, &mut accepted, &mut long_lived, &mut unchanged, &mut refused];
            sums.into_iter().zip(rates).for_each(|(sum, rate)| *sum += rate);
        }
    }
    let shown = |rate: f64, bare: f64| format!("{:.0} ({:.2})", rate / f64::from(ROUNDS), rate / bare);
    let (accepted, refused) = (shown(accepted, updated), shown(refused, unchanged));
    println!("{callers:>8} {accepted:>18} {refused:>18} {:>26}", shown(long_lived, updated));
}

struct Bench {
    rig: Arc<Rig>,
    callers: usize,
    /// These get the bare statement.
    updated: Vec<Made>,
    /// These get pings, and had none before.
    young: Vec<Made>,
    /// These get pings, and have [`HISTORY`] each.
    old: Vec<Made>,
}

impl Bench {
    async fn new(kind: Kind, callers: usize) -> Self {
        let rig = Arc::new(Rig::new(kind, Tier::Free).await);
        let [mut updated, mut young, mut old] = [const { Vec::new() }; 3];
        for _ in 0..CHECKS {
            for checks in [&mut updated, &mut young, &mut old] {
                checks.push(rig.new_check().await);
            }
        }
        let bench = Self { rig, callers, updated, young, old };
        bench.grow_history().await;
        bench
    }

    /// Pings of each check once, a second.
    async fn whole(&self, checks: &[Made], passes: bool) -> f64 {
        self.rate(checks, |rig, check| async move {
            let outcome = ping(rig.db(), &rig.shared_clock(), &check.key, of_kind(Said::Success)).await.unwrap();
            assert!(if passes { outcome == Outcome::Accepted } else { is_too_soon(&outcome) });
        })
        .await
    }

    /// Bare statements on each check once, a second.
    async fn bare(&self, passes: bool) -> f64 {
        self.rate(&self.updated, |rig, check| async move {
            let now = rig.clock.now();
            let rows = on_db!(rig.db().autocommit(), pool =>
                sqlx::query(BARE).bind(&check.key).bind(now).execute(pool).await.map(|done| done.rows_affected()));
            assert_eq!(rows.unwrap(), u64::from(passes));
        })
        .await
    }

    async fn rate<F>(&self, checks: &[Made], ask: impl Fn(Arc<Rig>, Made) -> F) -> f64
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let started = Instant::now();
        let mut waiting = checks.iter();
        let mut asked = JoinSet::new();
        let mut next = || waiting.next().map(|check| ask(Arc::clone(&self.rig), check.clone()));
        for first in (0..self.callers).filter_map(|_| next()).collect::<Vec<_>>() {
            asked.spawn(first);
        }
        while let Some(done) = asked.join_next().await {
            done.unwrap();
            if let Some(another) = next() {
                asked.spawn(another);
            }
        }
        f64::from(u32::try_from(checks.len()).unwrap()) / started.elapsed().as_secs_f64()
    }

    /// Gives the old checks the pings of a long life, a hundred each at a time.
    async fn grow_history(&self) {
        let sql = "INSERT INTO pings (id, check_id, at, kind, accepted, remote, body, body_length)
            WITH RECURSIVE n(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM n WHERE n < $2)
            SELECT checks.id || ':' || n, checks.id, $3 + n * 1000, 'success', true, '', $4, 0 FROM checks, n
            WHERE checks.description = 'old'";
        for check in &self.old {
            self.rig.set(check, "description = 'old'", 0).await;
        }
        let long_ago = self.rig.clock.now().minus(Duration::from_hours(1_000));
        for first in (0..HISTORY).step_by(100) {
            on_db!(self.rig.db().autocommit(), pool => sqlx::query(sql)
                .bind(first).bind(first + 99).bind(long_ago).bind(Vec::<u8>::new()).execute(pool).await.map(|_| ()))
            .unwrap();
        }
    }
}
