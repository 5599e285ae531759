//! Undoing an executed action: as an action of its own, while it still applies.

mod kinds;
mod last_edit;
mod races;
mod refused;

use serde_json::{Value, json};

use crate::proposals::{id, tap, turn};
use crate::site::{Site, Visitor, cards};

/// Lets the model propose that in the conversation, and confirms it; the decided action.
async fn done(site: &Site, who: &Visitor, talk: &str, call: (&str, Value)) -> Value {
    let card = card(site, who, talk, call).await;
    confirmed(who, &card).await
}

/// Confirms a card whose effect must run; the decided action.
async fn confirmed(who: &Visitor, card: &Value) -> Value {
    let answer = tap(who, card).await;
    assert_eq!(answer.state(), ("EXECUTED", false), "{}", answer.body);
    answer.body["action"].clone()
}

/// The one card of one call.
async fn card(site: &Site, who: &Visitor, talk: &str, call: (&str, Value)) -> Value {
    let chunks = turn(site, who, talk, &[call]).await;
    let mut cards = cards(&chunks);
    assert_eq!(cards.len(), 1, "{chunks:#?}");
    cards.remove(0)
}

/// The card that undoes the last action, or the one of that number.
async fn undo(site: &Site, who: &Visitor, talk: &str, number: Option<i64>) -> Value {
    card(site, who, talk, ("undo_action", number.map_or_else(|| json!({}), |number| json!({"number": number})))).await
}

/// Why there is no card.
async fn refusal(site: &Site, who: &Visitor, talk: &str, arguments: Value) -> String {
    let chunks = turn(site, who, talk, &[("undo_action", arguments)]).await;
    assert!(cards(&chunks).is_empty(), "{chunks:#?}");
    let error = chunks.iter().find(|chunk| chunk["type"] == "tool-output-error").unwrap();
    error["errorText"].as_str().unwrap().to_owned()
}

/// The check as the API tells of it, without what every edit moves.
async fn look(who: &Visitor, check: &Value) -> Value {
    let mut check = who.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await;
    check.as_object_mut().unwrap().remove("config_version");
    check
}

/// Whether the row holds what takes it back.
async fn has_inverse(site: &Site, card: &Value) -> bool {
    let sql = "SELECT count(*) FROM pending_actions WHERE id = $1 AND inverse IS NOT NULL";
    crate::proposals::count(site, sql, id(card)).await == 1
}
