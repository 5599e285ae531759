//! An account with a clock that moves when told: checks, pings, channels and the sweep, and the read tools on them.

use std::sync::Arc;
use std::time::Duration;

use flatline::checks::apply::{Effect, apply};
use flatline::checks::channels::{self, ChannelSpec};
use flatline::checks::draft::{Draft, ProposalKind, draft};
use flatline::checks::history::Kind as PingKind;
use flatline::checks::ping::{Outcome, Ping, ping};
use flatline::checks::read::{Found, read};
use flatline::checks::store::claims::{Ended, claim_deliveries, finish_delivery};
use flatline::checks::sweep::sweep;
use flatline::checks::tools::ReadKind;
use flatline::checks::{Check, CheckError, Refusal, store};
use flatline::clock::{Clock, ManualClock, Millis, SharedClock};
use flatline::db::Db;
use flatline::ids::UserId;
use flatline::limits::Tier;
use flatline::on_db;
use serde_json::{Map, Value, json};

use crate::checks_flow;
use crate::database::{Fresh, Kind, fresh};

pub struct Ground {
    pub clock: Arc<ManualClock>,
    pub owner: UserId,
    pub fresh: Fresh,
}

pub fn at(text: &str) -> Millis {
    Millis::parse(text).unwrap()
}

pub fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("not an object") };
    object
}

pub fn refusal<T>(result: Result<T, CheckError>) -> Refusal {
    match result {
        Err(CheckError::Refused(refusal)) => refusal,
        Err(CheckError::Db(error)) => panic!("the database refused: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

impl Ground {
    pub async fn new(kind: Kind, tier: Tier, start: &str) -> Self {
        let fresh = fresh(kind).await;
        let owner = checks_flow::account(&fresh.db, tier).await;
        let its = Self { clock: Arc::new(ManualClock::new(at(start))), owner, fresh };
        its.pass(0).await;
        its
    }

    pub fn db(&self) -> &Db {
        &self.fresh.db
    }

    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    fn ticking(&self) -> SharedClock {
        Arc::<ManualClock>::clone(&self.clock)
    }

    /// Lets seconds pass in which pings were taken in, and takes down what is late then; how many that were.
    pub async fn pass(&self, seconds: u64) -> usize {
        self.clock.advance(Duration::from_secs(seconds));
        let sql = "UPDATE intake SET marked_at = $1";
        on_db!(self.db().autocommit(), pool => sqlx::query(sql).bind(self.now()).execute(pool).await.map(|_| ()))
            .unwrap();
        sweep(self.db(), &*self.clock).await.unwrap()
    }

    pub async fn run(&self, effect: Effect) -> Result<flatline::checks::apply::Applied, CheckError> {
        let (owner, now) = (self.owner.clone(), self.now());
        self.db().write(move |tx| Box::pin(async move { apply(tx, now, &owner, &effect).await })).await
    }

    pub async fn draft(&self, kind: ProposalKind, arguments: Value) -> Result<Draft, CheckError> {
        draft(self.db(), self.now(), &self.owner, kind, object(arguments)).await
    }

    /// A new check, through the tool.
    pub async fn check(&self, spec: Value) -> Check {
        let draft = self.draft(ProposalKind::CreateCheck, spec).await.unwrap();
        let made = self.run(draft.effect).await.unwrap();
        store::find_check(self.db(), &self.owner, &made.check_id.unwrap()).await.unwrap().unwrap()
    }

    /// A check of an hour and ten minutes' grace that was pinged now.
    pub async fn pinged(&self, name: &str, body: &str) -> Check {
        let check = self.check(json!({"name": name, "period_seconds": 3_600, "grace_seconds": 600})).await;
        self.ping(&check, PingKind::Success, body).await;
        check
    }

    pub async fn row(&self, check: &Check) -> Check {
        store::find_check(self.db(), &self.owner, &check.id).await.unwrap().unwrap()
    }

    pub async fn ping(&self, check: &Check, kind: PingKind, body: &str) -> Outcome {
        self.send(check, Ping { body: body.into(), ..plain(kind) }).await
    }

    pub async fn send(&self, check: &Check, sent: Ping) -> Outcome {
        ping(self.db(), &self.ticking(), &check.ping_key, sent).await.unwrap()
    }

    pub async fn channel(&self, name: &str) -> channels::Made {
        let spec = json!({"kind": "webhook", "name": name, "url": "https://hooks.example/x"});
        let spec: ChannelSpec = serde_json::from_value(spec).unwrap();
        channels::create(self.db(), self.now(), &self.owner, false, spec).await.unwrap()
    }

    /// Attempts every delivery that is due; each ends like that.
    pub async fn deliver(&self, ended: &Ended) {
        let lease = self.now().plus(Duration::from_mins(1));
        loop {
            let claimed = claim_deliveries(self.db(), self.now(), lease, 100).await.unwrap();
            if claimed.is_empty() {
                return;
            }
            for claimed in claimed {
                assert!(finish_delivery(self.db(), &claimed.id, claimed.attempts, ended, self.now()).await.unwrap());
            }
        }
    }

    pub async fn read(&self, kind: ReadKind, arguments: Value) -> Result<Found, CheckError> {
        read(self.db(), self.now(), &self.owner, kind, object(arguments)).await
    }

    pub async fn found(&self, kind: ReadKind, arguments: Value) -> Value {
        self.read(kind, arguments).await.unwrap().result
    }

    /// `get_check` of that name.
    pub async fn get(&self, name: &str) -> Value {
        self.found(ReadKind::GetCheck, json!({"check": name})).await
    }

    pub async fn why(&self, name: &str) -> Value {
        self.get(name).await["why"].clone()
    }
}

pub fn plain(kind: PingKind) -> Ping {
    Ping { kind, exit_status: None, rid: None, remote: "192.0.2.1".to_owned(), body: Vec::new(), body_length: 0 }
}
