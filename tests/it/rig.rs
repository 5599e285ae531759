//! A fresh database with an account and checks, a clock that moves when told, and two handles that stand for two
//! instances where the database allows several.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use flatline::checks::history::{Kind, Reason};
use flatline::checks::ping::{Outcome, Ping, ping};
use flatline::checks::store::{find_check, flips, pings};
use flatline::checks::{Check, Status};
use flatline::clock::{Clock, ManualClock, Millis, SharedClock};
use flatline::db::{Db, On, open};
use flatline::ids::{CheckId, UserId};
use flatline::limits::Tier;
use flatline::on_db;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::database::{self, Fresh, fresh};

/// When every test begins.
pub const START: Millis = Millis(1_790_000_000_000);
/// Every check's grace.
pub const GRACE: Duration = Duration::from_mins(10);
/// Every check's period.
pub const PERIOD: Duration = Duration::from_hours(1);

pub struct Rig {
    /// Two handles on one database; on SQLite the same one twice.
    pub instances: [Db; 2],
    pub clock: Arc<ManualClock>,
    pub owner: UserId,
    fresh: Fresh,
}

/// A check's id and the secret in its ping URL.
#[derive(Clone)]
pub struct Made {
    pub id: CheckId,
    pub key: String,
}

impl Rig {
    pub async fn new(kind: database::Kind, tier: Tier) -> Self {
        let fresh = fresh(kind).await;
        let db = fresh.db.clone();
        let other = if db.is_embedded() { db.clone() } else { open(&fresh.url).await.unwrap() };
        let owner = UserId::new(START);
        let sql = "INSERT INTO accounts (id, name, tier, created_at) VALUES ($1, 'owner', $2, $3)";
        on_db!(db.autocommit(), pool =>
            sqlx::query(sql).bind(&owner).bind(tier.as_str()).bind(START).execute(pool).await.map(|_| ()))
        .unwrap();
        let clock = Arc::new(ManualClock::new(START));
        Self { instances: [db, other], clock, owner, fresh }
    }

    pub fn db(&self) -> &Db {
        &self.instances[0]
    }

    /// Where the database is, for opening it once more.
    pub fn url(&self) -> &str {
        &self.fresh.url
    }

    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    pub fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub fn shared_clock(&self) -> SharedClock {
        Arc::<ManualClock>::clone(&self.clock)
    }

    /// A new check that nothing has pinged.
    pub async fn new_check(&self) -> Made {
        let made = Made { id: CheckId::new(self.now()), key: Uuid::new_v4().to_string() };
        let sql =
            "INSERT INTO checks (id, account_id, ping_key, name, tags, description, period_seconds, grace_seconds,
            status, created_at) VALUES ($1, $2, $3, $4, $5, '', $6, $7, 'new', $8)";
        let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap();
        on_db!(self.db().autocommit(), pool => sqlx::query(sql)
            .bind(&made.id).bind(&self.owner).bind(&made.key).bind(&made.key)
            .bind(sqlx::types::Json(Vec::<String>::new())).bind(seconds(PERIOD)).bind(seconds(GRACE)).bind(self.now())
            .execute(pool).await.map(|_| ()))
        .unwrap();
        made
    }

    /// A check that was pinged an hour ago, and is due now.
    pub async fn up_check(&self) -> Made {
        let made = self.new_check().await;
        assert_eq!(self.ping(&made, Kind::Success).await, Outcome::Accepted);
        self.clock.advance(PERIOD);
        made
    }

    /// A check that failed an hour ago, and never did before.
    pub async fn down_check(&self) -> Made {
        let made = self.new_check().await;
        assert_eq!(self.ping(&made, Kind::Fail).await, Outcome::Accepted);
        self.clock.advance(PERIOD);
        made
    }

    pub async fn ping(&self, made: &Made, kind: Kind) -> Outcome {
        self.send(made, of_kind(kind)).await
    }

    pub async fn send(&self, made: &Made, sent: Ping) -> Outcome {
        ping(self.db(), &self.shared_clock(), &made.key, sent).await.unwrap()
    }

    pub async fn row(&self, made: &Made) -> Check {
        find_check(self.db(), &self.owner, &made.id).await.unwrap().unwrap()
    }

    /// The check's pings, newest first.
    pub async fn pings(&self, made: &Made) -> Vec<pings::PingRow> {
        pings::list_pings(self.db(), &self.owner, &made.id, None, 1_000).await.unwrap()
    }

    /// The check's flips, oldest first.
    pub async fn flips(&self, made: &Made) -> Vec<(Status, Status, Reason, Millis)> {
        let mut rows = flips::list_flips(self.db(), &self.owner, &made.id, None, 1_000).await.unwrap();
        rows.reverse();
        rows.into_iter().map(|row| (row.from_status, row.to_status, row.reason, row.at)).collect()
    }

    /// Changes columns of the check's row by hand: `sets` may use `$2`, a number.
    pub async fn set(&self, made: &Made, sets: &str, number: i64) {
        let sql = format!("UPDATE checks SET {sets} WHERE id = $1 AND coalesce($2, 0) = $2");
        on_db!(self.db().autocommit(), pool => sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&made.id).bind(number).execute(pool).await.map(|_| ()))
        .unwrap();
    }

    /// From now on the database refuses to make any check one of which this SQL says yes.
    pub async fn refuse(&self, condition: &str) {
        let texts = match self.db().autocommit() {
            On::Sqlite(_) => vec![format!(
                "CREATE TRIGGER refuse BEFORE UPDATE ON checks WHEN {condition}
                BEGIN SELECT RAISE(ABORT, 'refused by the test'); END"
            )],
            On::Postgres(_) => vec![
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'refused by the test'; END $$"
                    .to_owned(),
                format!(
                    "CREATE TRIGGER refuse BEFORE UPDATE ON checks FOR EACH ROW WHEN ({condition})
                    EXECUTE FUNCTION refuse()"
                ),
            ],
        };
        for text in texts {
            on_db!(self.db().autocommit(), pool =>
                sqlx::query(sqlx::AssertSqlSafe(text)).execute(pool).await.map(|_| ()))
            .unwrap();
        }
    }

    /// `count` pings at once, `kind_of(n)` the nth, half of them by each instance, with `clock`.
    pub async fn storm(
        &self,
        made: &Made,
        clock: &SharedClock,
        count: usize,
        kind_of: impl Fn(usize) -> Kind,
    ) -> Vec<(Kind, Outcome)> {
        let barrier = Arc::new(Barrier::new(count));
        let mut racers = JoinSet::new();
        for n in 0..count {
            let (db, clock, kind) = (self.instances[n % 2].clone(), SharedClock::clone(clock), kind_of(n));
            let (barrier, key) = (Arc::clone(&barrier), made.key.clone());
            racers.spawn(async move {
                barrier.wait().await;
                (kind, ping(&db, &clock, &key, of_kind(kind)).await.unwrap())
            });
        }
        racers.join_all().await
    }
}

/// A ping without a body.
pub fn of_kind(kind: Kind) -> Ping {
    Ping { kind, exit_status: None, rid: None, remote: "203.0.113.9".to_owned(), body: Vec::new(), body_length: 0 }
}

/// Refused, with a reason to wait.
pub fn is_too_soon(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::TooSoon(numbers) if !numbers.wait.is_zero())
}

/// A clock that never tells one time twice, so that rows show in which order things happened.
pub struct TickingClock(AtomicI64);

impl TickingClock {
    pub fn shared(start: Millis) -> SharedClock {
        Arc::new(Self(AtomicI64::new(start.0)))
    }
}

impl Clock for TickingClock {
    fn now(&self) -> Millis {
        Millis(self.0.fetch_add(1, Ordering::SeqCst))
    }
}
