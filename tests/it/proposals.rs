//! Actions as a test handles them: proposed through the chat, decided over HTTP, and as the rows tell of them.

use std::future::Future;
use std::sync::Arc;

use flatline::on_db;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::provider::Script;
use crate::site::{Site, Visitor, cards, json_of};

/// An id that nobody has used.
pub fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// The call that proposes an hourly check.
pub fn create(name: &str) -> (&'static str, Value) {
    ("create_check", json!({"name": name, "period_seconds": 3_600}))
}

/// Lets the model make these calls in one turn, and returns the stream's chunks.
pub async fn turn(site: &Site, who: &Visitor, conversation: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    site.provider.push(Script::tool_calls(calls.iter().cloned()));
    who.chat(conversation, &new_id(), "please").await
}

/// The cards of what the model proposes with these calls: as many as there are calls.
pub async fn propose(site: &Site, who: &Visitor, conversation: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let chunks = turn(site, who, conversation, calls).await;
    let mut cards = cards(&chunks);
    // One that another took the place of is told of a second time.
    let mut seen = std::collections::HashSet::new();
    cards.retain(|card| seen.insert(id(card).to_owned()));
    assert_eq!(cards.len(), calls.len(), "{chunks:#?}");
    cards
}

/// The card of one proposal, in a conversation of its own.
pub async fn propose_one(site: &Site, who: &Visitor, call: (&str, Value)) -> Value {
    propose(site, who, &new_id(), &[call]).await.remove(0)
}

/// A new check, made without the assistant: hourly, unless `settings` say otherwise.
pub async fn new_check(who: &Visitor, name: &str, settings: Value) -> Value {
    let mut body = json!({"name": name, "period_seconds": 3_600});
    body.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let made = who.send(Method::POST, "/api/checks", Some(body)).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    json_of(made).await
}

/// Everything the API tells of the caller's checks.
pub async fn checks(who: &Visitor) -> Value {
    who.get("/api/checks?limit=100").await
}

/// The names of the caller's checks, in alphabetical order.
pub async fn names(who: &Visitor) -> Vec<String> {
    let checks = checks(who).await;
    let name = |check: &Value| check["name"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = checks["checks"].as_array().unwrap().iter().map(name).collect();
    names.sort();
    names
}

/// What an answer said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: Value,
}

impl Answer {
    /// Reads a response to its end.
    pub async fn of(response: Response) -> Self {
        Self { status: response.status().as_u16(), body: json_of(response).await }
    }

    /// The action of a decision, and whether it had been decided before; panics unless it is a 200.
    pub fn decided(&self) -> (&Value, bool) {
        assert_eq!(self.status, 200, "{}", self.body);
        (&self.body["action"], self.body["replayed"].as_bool().unwrap())
    }

    /// The action's state and whether it was there before; panics unless it is a 200.
    pub fn state(&self) -> (&str, bool) {
        let (action, replayed) = self.decided();
        (action["status"].as_str().unwrap(), replayed)
    }

    /// Status and code of a refusal.
    pub fn refusal(&self) -> (u16, &str) {
        (self.status, self.body["code"].as_str().unwrap_or("none"))
    }
}

/// Posts to an action, with a body if there is one.
pub async fn post(who: &Visitor, card: &Value, verb: &str, body: Option<Value>) -> Answer {
    let path = format!("/api/actions/{}/{verb}", id(card));
    Answer::of(who.send(Method::POST, &path, body).await).await
}

/// Taps Confirm: the request carries the digest that the card showed.
pub async fn tap(who: &Visitor, card: &Value) -> Answer {
    post(who, card, "confirm", Some(json!({"digest": card["digest"]}))).await
}

/// Confirms through the API, without a body.
pub async fn confirm(who: &Visitor, card: &Value) -> Answer {
    post(who, card, "confirm", None).await
}

/// Rejects through the API, without a body.
pub async fn reject(who: &Visitor, card: &Value) -> Answer {
    post(who, card, "reject", None).await
}

/// The card's action id.
pub fn id(card: &Value) -> &str {
    card["id"].as_str().unwrap()
}

/// An action's row.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct Row {
    pub status: String,
    pub decided_at: Option<i64>,
    pub decided_via: Option<String>,
    pub digest: String,
    pub expires_at: i64,
    #[sqlx(json(nullable))]
    pub outcome: Option<Value>,
}

impl Row {
    /// The outcome's code, if it has one.
    pub fn code(&self) -> Option<&str> {
        self.outcome.as_ref().map(|outcome| outcome["code"].as_str().unwrap())
    }
}

/// The row of a card's action.
pub async fn row(site: &Site, card: &Value) -> Row {
    let sql = "SELECT status, decided_at, decided_via, digest, expires_at, outcome FROM pending_actions WHERE id = $1";
    on_db!(site.db().read(), pool => sqlx::query_as(sql).bind(id(card)).fetch_one(pool).await).unwrap()
}

/// The row's state.
pub async fn status(site: &Site, card: &Value) -> String {
    row(site, card).await.status
}

/// How many rows a query counts; `bound` is its `$1`.
pub async fn count(site: &Site, sql: &'static str, bound: &str) -> i64 {
    on_db!(site.db().read(), pool => sqlx::query_scalar(sql).bind(bound).fetch_one(pool).await).unwrap()
}

/// How many effects the action has had.
pub async fn effects(site: &Site, card: &Value) -> i64 {
    count(site, "SELECT count(*) FROM action_effects WHERE action_id = $1", id(card)).await
}

/// The action's transitions in the audit log: event, actor, via, in the order of their writing.
pub async fn audit(site: &Site, card: &Value) -> Vec<(String, String, Option<String>)> {
    let sql = "SELECT event, actor, via FROM audit_log WHERE action_id = $1 AND digest = $2
        ORDER BY CASE event WHEN 'PROPOSED' THEN 0 ELSE 1 END, event";
    let shown = card["digest"].as_str().unwrap();
    on_db!(site.db().read(), pool => sqlx::query_as(sql).bind(id(card)).bind(shown).fetch_all(pool).await).unwrap()
}

/// The events alone.
pub async fn events(site: &Site, card: &Value) -> Vec<String> {
    audit(site, card).await.into_iter().map(|(event, _, _)| event).collect()
}

/// The caller's places taken, as the guarded counter has them, and checks, as there are.
pub async fn places(site: &Site, who: &Visitor) -> (i64, i64) {
    let user = who.send(Method::POST, "/api/session", None).await;
    let user = json_of(user).await["user"]["id"].as_str().unwrap().to_owned();
    let counted = count(site, "SELECT check_count FROM accounts WHERE id = $1", &user).await;
    (counted, count(site, "SELECT count(*) FROM checks WHERE account_id = $1", &user).await)
}

/// Runs all of them at once, from one barrier; the results are in the order given.
pub async fn at_once<T: Send + 'static>(racers: Vec<impl Future<Output = T> + Send + 'static>) -> Vec<T> {
    let start = Arc::new(Barrier::new(racers.len()));
    let mut running = JoinSet::new();
    for (n, racer) in racers.into_iter().enumerate() {
        let start = start.clone();
        running.spawn(async move {
            start.wait().await;
            (n, racer.await)
        });
    }
    let mut results = running.join_all().await;
    results.sort_by_key(|(n, _)| *n);
    results.into_iter().map(|(_, result)| result).collect()
}
