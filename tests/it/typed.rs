//! The typed word over HTTP: what decides without any model, and what only looks as if it did.

mod cost;
mod double;
mod ordinary;
mod word;

use reqwest::StatusCode;
use serde_json::Value;

use crate::proposals::{new_id, status};
use crate::site::{Site, Visitor, cards, chunks, text, types};

/// Says a word that decides or explains, and returns the server's sentence and the cards with it. Panics if it is
/// not the stream of a typed confirmation, or if the model was asked.
async fn say(site: &Site, who: &Visitor, conversation: &str, word: &str) -> (String, Vec<Value>) {
    let asked = site.provider.requests().len();
    let answer = who.say(conversation, &new_id(), word).await;
    assert_eq!(answer.status(), StatusCode::OK, "{word}");
    let (chunks, cards) = with_cards(answer).await;
    let expected = ["start", "start-step", "text-start", "text-delta", "text-end"].into_iter();
    let expected = expected.chain(cards.iter().map(|_| "data-action")).chain(["finish-step", "finish"]);
    assert_eq!(types(&chunks), expected.collect::<Vec<_>>(), "{word}");
    assert_eq!(site.provider.requests().len(), asked, "{word}: the model was asked");
    (text(&chunks), cards)
}

async fn with_cards(answer: reqwest::Response) -> (Vec<Value>, Vec<Value>) {
    let chunks = chunks(answer).await;
    let cards = cards(&chunks);
    (chunks, cards)
}

/// The states of the cards' rows, in their order.
async fn states(site: &Site, cards: &[Value]) -> Vec<String> {
    let mut states = Vec::new();
    for card in cards {
        states.push(status(site, card).await);
    }
    states
}
