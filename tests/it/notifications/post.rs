//! What these tests have in common: channels of a rig's owner, senders that may reach this machine, and the outbox.

use flatline::checks::channels::{self, ChannelSpec, Made};
use flatline::checks::notify::Sender;
use flatline::clock::Millis;
use flatline::config::Allowed;
use flatline::db::Db;
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
