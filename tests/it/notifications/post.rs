//! What these tests have in common: channels of a rig's owner, senders that may reach this machine, and the outbox.

use flatline::checks::channels::{self, ChannelSpec, Made};
use flatline::checks::notify::Sender;
use flatline::clock::Millis;
use flatline::config::Allowed;
use flatline::db::Db;
use flatline::ids::{ChannelId, UserId, new_v7};
use flatline::on_db;
use serde_json::{Value, json};
use sqlx::FromRow;
use sqlx::types::Json;

use crate::rig::Rig;

/// A delivery's row.
#[derive(Debug, Clone, FromRow)]
pub struct Row {
    pub id: String,
    pub channel_id: String,
    pub check_id: Option<String>,
    pub event: String,
    pub payload: Json<Value>,
    pub status: String,
    pub attempts: i64,
    pub next_attempt_at: Millis,
    pub claimed_until: Option<Millis>,
    pub last_error: Option<String>,
}

/// The whole outbox, in the order of its writing.
pub async fn rows(db: &Db) -> Vec<Row> {
    let sql = "SELECT id, channel_id, check_id, event, payload, status, attempts, next_attempt_at, claimed_until,
        last_error FROM deliveries ORDER BY id";
    on_db!(db.read(), pool => sqlx::query_as(sql).fetch_all(pool).await).unwrap()
}

/// The events in the outbox, in the order of their writing.
pub async fn events(db: &Db) -> Vec<String> {
    rows(db).await.into_iter().map(|row| row.event).collect()
}

/// A new channel that every check of the rig's owner tells.
pub async fn channel(rig: &Rig, spec: Value) -> Made {
    let spec: ChannelSpec = serde_json::from_value(spec).unwrap();
    channels::create(rig.db(), rig.now(), &rig.owner, true, spec).await.unwrap()
}

/// A new webhook.
pub async fn webhook(rig: &Rig, name: &str, url: &str) -> Made {
    channel(rig, json!({"kind": "webhook", "name": name, "url": url})).await
}

/// This machine.
pub fn loopback() -> Vec<Allowed> {
    vec![Allowed::Network("127.0.0.0/8".parse().unwrap())]
}

/// A sender on one of the rig's instances that may reach this machine.
pub fn sender(rig: &Rig, instance: usize) -> Sender {
    sender_to(rig, instance, loopback())
}

/// A sender that may reach only what is allowed.
pub fn sender_to(rig: &Rig, instance: usize, allowed: Vec<Allowed>) -> Sender {
    Sender::new(rig.instances[instance].clone(), rig.shared_clock(), "https://flatline.example", allowed, None).unwrap()
}

/// Another account.
pub async fn stranger(rig: &Rig) -> UserId {
    let id = UserId::new(rig.now());
    let sql = "INSERT INTO accounts (id, name, tier, created_at) VALUES ($1, $1, 'free', $2)";
    on_db!(rig.db().autocommit(), pool => sqlx::query(sql).bind(&id).bind(rig.now()).execute(pool).await.map(|_| ()))
        .unwrap();
    id
}

/// A chat channel of an account to `url`.
pub async fn chat_of(rig: &Rig, owner: &UserId, url: &str) -> ChannelId {
    let name = new_v7(rig.now());
    let spec = serde_json::from_value(json!({"kind": "slack", "name": name, "url": url})).unwrap();
    channels::create(rig.db(), rig.now(), owner, false, spec).await.unwrap().channel.id
}

/// Writes `count` tests of a channel into the outbox, at `at`; all with that status.
pub async fn fill(rig: &Rig, owner: &UserId, channel: &ChannelId, count: i64, status: &str, at: Millis) {
    let sql = "INSERT INTO deliveries
            (id, account_id, channel_id, event, payload, status, next_attempt_at, created_at, finished_at)
        SELECT CAST(1000000 + n.i AS TEXT) || substr($1, 8), $2, $3, 'channel.test', $4, $5, $6, $6, $7 FROM
            (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $8) SELECT i FROM n) n";
    let finished = (status != "pending").then_some(at);
    let payload = Json(json!({"type": "channel.test", "timestamp": at, "data": {}}));
    on_db!(rig.db().autocommit(), pool => sqlx::query(sql)
        .bind(new_v7(at)).bind(owner).bind(channel).bind(payload).bind(status).bind(at).bind(finished).bind(count)
        .execute(pool).await.map(|_| ()))
    .unwrap();
}

/// Waits, for a while at most, until something has come about.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), waiting).await.expect(what);
}
