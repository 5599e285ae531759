//! Rounds of twenty pending actions of one user, and what the database says became of them.

use std::collections::HashMap;

use flatline::db::Db;
use flatline::on_db;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::provider::{FakeProvider, Script};
use crate::site::{Visitor, cards, json_of};

/// Actions in a round: as many as one caller may have open.
pub const ACTIONS: usize = 20;
/// Proposals in one turn: as many as it may make.
const PER_TURN: usize = 5;

/// A pending action, and what it will do to which check.
#[derive(Debug, Clone)]
pub struct Proposed {
    pub id: String,
    digest: String,
    effect: Effect,
}

#[derive(Debug, Clone)]
enum Effect {
    /// A check of this name is made.
    Create(String),
    /// The check of this name is described as the round and moves to the next version.
    Describe(String),
}

/// What is stored of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub status: String,
    /// Rows in `action_effects` and EXECUTED rows in the audit log.
    pub recorded: (i64, i64),
    /// How often its check shows that it ran.
    pub effects: i64,
}

/// Makes the checks that the rounds change; they start at version 1.
pub async fn create_targets(asker: &Visitor) {
    for target in 0..ACTIONS / 2 {
        let body = json!({"name": format!("target-{target}"), "period_seconds": 3600});
        let created = asker.send(Method::POST, "/api/checks", Some(body)).await;
        assert_eq!(created.status(), StatusCode::CREATED);
    }
}

/// Proposes a round of actions, half of them new checks and half of them changes.
pub async fn propose(asker: &Visitor, provider: &FakeProvider, round: i64) -> Vec<Proposed> {
    let effect = |number: usize| match number % 2 {
        0 => Effect::Create(format!("round-{round}-{number}")),
        _ => Effect::Describe(format!("target-{}", number / 2)),
    };
    let effects: Vec<Effect> = (0..ACTIONS).map(effect).collect();
    let mut proposed = Vec::new();
    for (turn, effects) in effects.chunks(PER_TURN).enumerate() {
        let call = |effect: &Effect| match effect {
            Effect::Create(name) => ("create_check", json!({"name": name, "period_seconds": 3600})),
            Effect::Describe(name) => ("update_check", json!({"check": name, "description": format!("round {round}")})),
        };
        provider.push(Script::tool_calls(effects.iter().map(call)));
        provider.push(Script::text("Please confirm."));
        let chunks = asker.chat(&format!("round-{round}"), &format!("turn-{turn}"), "Do all of it.").await;
        let cards = cards(&chunks);
        assert_eq!(cards.len(), effects.len(), "{chunks:?}");
        proposed.extend(cards.iter().zip(effects).map(|(card, effect)| Proposed {
            id: card["id"].as_str().unwrap().to_owned(),
            digest: card["digest"].as_str().unwrap().to_owned(),
            effect: effect.clone(),
        }));
    }
    proposed
}

/// Confirms as the button does. Nothing if the connection broke before the whole answer was there.
pub async fn confirm(asker: &Visitor, action: &Proposed) -> Option<(StatusCode, Value)> {
    let body = json!({"digest": action.digest}).to_string();
    let request = asker.request(Method::POST, &format!("/api/actions/{}/confirm", action.id));
    let response = request.header("content-type", "application/json").body(body).send().await.ok()?;
    let status = response.status();
    Some((status, serde_json::from_str(&response.text().await.ok()?).unwrap()))
}

/// What is stored of these actions of this round.
pub async fn look(db: &Db, actions: &[Proposed], round: i64) -> Vec<Stored> {
    let rows: Vec<(String, String, i64, i64)> = {
        let sql = "SELECT id, status, (SELECT count(*) FROM action_effects WHERE action_id = id),
            (SELECT count(*) FROM audit_log WHERE action_id = id AND event = 'EXECUTED') FROM pending_actions";
        on_db!(db.read(), pool => sqlx::query_as(sql).fetch_all(pool).await).unwrap()
    };
    let rows: HashMap<String, (String, i64, i64)> =
        rows.into_iter().map(|(id, status, effects, audited)| (id, (status, effects, audited))).collect();
    let checks: Vec<(String, String, i64)> = {
        let sql = "SELECT name, description, config_version FROM checks";
        on_db!(db.read(), pool => sqlx::query_as(sql).fetch_all(pool).await).unwrap()
    };
    let stored = |action: &Proposed| {
        let (status, effects, audited) = rows[&action.id].clone();
        let (Effect::Create(name) | Effect::Describe(name)) = &action.effect;
        let mut named = checks.iter().filter(|check| check.0 == *name);
        let effects_seen = match &action.effect {
            Effect::Create(_) => i64::try_from(named.count()).unwrap(),
            Effect::Describe(_) => {
                let (_, description, version) = named.next().unwrap();
                let moved = version - (round + 1);
                assert_eq!(*description == format!("round {round}"), moved > 0, "half an effect: {action:?}");
                moved
            }
        };
        Stored { status, recorded: (effects, audited), effects: effects_seen }
    };
    actions.iter().map(stored).collect()
}

/// Lists what of the user's actions is still open.
pub async fn open(asker: &Visitor) -> usize {
    let listed = asker.send(Method::GET, "/api/actions?status=pending&limit=100", None).await;
    json_of(listed).await["actions"].as_array().unwrap().len()
}
