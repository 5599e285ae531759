//! Several actions decided at once that reach for the same rows: each for itself, and nobody waits in a circle.

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Arena, instances};
use crate::proposals::{at_once, count, create, effects, new_check, new_id, propose, reject, row};
use crate::provider::{Gate, Script};
use crate::site::{Plan, cards, chunks};

const ROUNDS: usize = 10;

/// A racer that may only succeed.
fn fine<T: Send + 'static>(racer: impl Future<Output = T> + Send + 'static) -> BoxFuture<'static, ()> {
    racer.map(|_| ()).boxed()
}

impl Arena {
    /// Sends something without a stream, and demands that it is not a failure of ours.
    fn send(&self, n: usize, method: Method, path: String, body: Option<Value>) -> BoxFuture<'static, ()> {
        let who = self.user(n);
        async move {
            let answer = who.send(method, &path, body).await;
            let status = answer.status();
            assert!(!status.is_server_error(), "{path}: {status} {:?}", answer.text().await);
        }
        .boxed()
    }
}

on_both! {
    async fn two_changes_of_one_version_are_not_both_made(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            let check = new_check(&arena.at[0], "db", json!({})).await;
            let look = async || arena.at[0].get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await;
            for round in 0..3 * ROUNDS {
                let version = look().await["config_version"].as_i64().unwrap();
                let calls = [
                    ("update_check", json!({"check": "db", "description": format!("round {round}")})),
                    ("rotate_ping_key", json!({"check": "db"})),
                ];
                let both = propose(&arena.site, &arena.at[0], &new_id(), &calls).await;
                let racers = (0..8).map(|n| arena.tap(n / 2, &both[(n + round) % 2])).collect();
                let answers = at_once(racers).await;
                let mut ends = Vec::new();
                for card in &both {
                    let stored = row(&arena.site, card).await;
                    assert_eq!(effects(&arena.site, card).await, i64::from(stored.status == "EXECUTED"));
                    ends.push((stored.status.clone(), stored.code().unwrap().to_owned()));
                }
                for answer in &answers {
                    let end = &ends[usize::from(answer.decided().0["id"] == both[1]["id"])];
                    assert_eq!(answer.state().0, end.0, "{answers:#?}");
                }
                assert_eq!(answers.iter().filter(|answer| !answer.decided().1).count(), 2, "{answers:#?}");
                ends.sort();
                let expected =
                    [("EXECUTED", "done"), ("FAILED", "check_changed")].map(|(a, b)| (a.to_owned(), b.to_owned()));
                assert_eq!(
                    (ends.as_slice(), look().await["config_version"].as_i64()),
                    (&expected[..], Some(version + 1))
                );
            }
            arena.executed(3 * ROUNDS).await;
        }
    }

    async fn one_word_for_all_and_a_tap_on_each(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            for round in 0..2 * ROUNDS {
                let talk = new_id();
                let cards = arena.five(&talk, round).await;
                let mut racers: Vec<_> = cards
                    .iter()
                    .rev()
                    .enumerate()
                    .map(|(n, card)| {
                        let tap = arena.tap(n, card);
                        fine(async move { assert_eq!(tap.await.state().0, "EXECUTED") })
                    })
                    .collect();
                racers.insert(round % 6, fine(arena.say(round, &talk, "confirm all")));
                at_once(racers).await;
                for card in &cards {
                    arena.ended(card, "EXECUTED").await;
                }
            }
            arena.executed(10 * ROUNDS).await;
        }
    }

    async fn one_word_for_all_and_changes_beside_it(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            let (a, b) = (new_check(&arena.at[0], "a", json!({})).await, new_check(&arena.at[0], "b", json!({})).await);
            let path = |check: &Value| format!("/api/checks/{}", check["id"].as_str().unwrap());
            for round in 0..2 * ROUNDS {
                let talk = new_id();
                let pause = |check: &Value| ("update_check", json!({"check": check["id"], "description": new_id()}));
                // The rows in one order here, in the other there, and the account between them.
                let calls = [pause(&b), create(&format!("check {round}")), pause(&a)];
                let cards = propose(&arena.site, &arena.at[0], &talk, &calls).await;
                let both = ("pause_checks", json!({"checks": [a["id"], b["id"]], "until": "2099-01-01T00:00:00Z"}));
                let all = propose(&arena.site, &arena.at[0], &new_id(), &[both]).await.remove(0);
                let racers = vec![
                    fine(arena.say(round, &talk, "confirm all")),
                    fine(arena.tap(round, &all).map(|answer| answer.decided().1)),
                    arena.send(round + 1, Method::PATCH, path(&a), Some(json!({"period_seconds": 3_600 + round}))),
                    arena.send(round, Method::PATCH, path(&b), Some(json!({"grace_seconds": 3_600 + round}))),
                    arena.send(round + 1, Method::PATCH, path(&b), Some(json!({"tags": [round.to_string()]}))),
                    arena.send(round, Method::POST, format!("{}/resume", path(&a)), None),
                ];
                at_once(racers).await;
                for card in cards.iter().chain([&all]) {
                    let stored = row(&arena.site, card).await;
                    let done = stored.status == "EXECUTED";
                    assert!(done || stored.code() == Some("check_changed"), "{stored:?}");
                    assert_eq!(effects(&arena.site, card).await, i64::from(done));
                }
                arena.ended(&cards[1], "EXECUTED").await;
                arena.at[0].post(&format!("{}/resume", path(&a))).await;
                arena.at[0].post(&format!("{}/resume", path(&b))).await;
            }
        }
    }

    async fn a_deleted_conversation_leaves_nothing_open(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            for round in 0..2 * ROUNDS {
                let talk = new_id();
                let open = arena.five(&talk, round).await;
                // A turn that is about to propose, so that it proposes while the conversation goes.
                let gate = Gate::default();
                let call = create(&format!("late {round}"));
                arena
                    .site
                    .provider
                    .push(Script::stream().say("Let me. ").hold(&gate).call(0, call.0, &call.1).finish("tool_calls"));
                let reading = arena.user(round).say(&talk, &new_id(), "one more").await;
                gate.reached().await;
                let taps = open.iter().enumerate().map(|(n, card)| {
                    let tap = arena.tap(n, card);
                    fine(async move { assert!(tap.await.status < 500) })
                });
                let mut racers: Vec<_> = taps.collect();
                racers.push(fine(chunks(reading)));
                racers.push(arena.send(round + 1, Method::DELETE, format!("/api/chat/{talk}"), None));
                racers.push(async move { gate.open() }.boxed());
                at_once(racers).await;
                for card in &open {
                    let status = row(&arena.site, card).await.status;
                    assert!(status == "EXECUTED" || status == "REJECTED", "{status}");
                    arena.ended(card, &status).await;
                }
                let pending = "SELECT count(*) FROM pending_actions WHERE status = 'PENDING' AND conversation_id = $1";
                assert_eq!(count(&arena.site, pending, &talk).await, 0, "round {round}");
            }
        }
    }

    async fn a_word_in_a_conversation_that_goes(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            for round in 0..2 * ROUNDS {
                let talk = new_id();
                let open = arena.five(&talk, round).await;
                let (who, asked) = (arena.user(round), talk.clone());
                let said = ["confirm all", "confirm 5", "cancel 5", "confirm 1"][round % 4];
                // It may come too late: then it is a message in a new conversation of that id.
                let word = async move {
                    let answer = who.say(&asked, &new_id(), said).await;
                    assert!(!answer.status().is_server_error());
                    answer.text().await.unwrap();
                };
                at_once(vec![word.boxed(), arena.send(round + 1, Method::DELETE, format!("/api/chat/{talk}"), None)])
                    .await;
                for card in &open {
                    let status = row(&arena.site, card).await.status;
                    assert!(status == "EXECUTED" || status == "REJECTED", "{status}");
                    arena.ended(card, &status).await;
                }
            }
        }
    }

    async fn twenty_are_open_whoever_proposes_at_once(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            let mut open = Vec::new();
            for round in 0..ROUNDS {
                // Up to 17 are open; three conversations propose five more at the same moment.
                while open.len() < 17 {
                    let calls: Vec<_> =
                        (open.len()..17).take(5).map(|n| create(&format!("open {round}.{n}"))).collect();
                    open.extend(propose(&arena.site, &arena.at[0], &new_id(), &calls).await);
                }
                let gate = Gate::default();
                let mut turns = Vec::new();
                for talk in 0..3 {
                    let script = (0..5).fold(Script::stream().say("Let me. ").hold(&gate), |script, n| {
                        let call = create(&format!("racer {round}.{talk}.{n}"));
                        script.call(n, call.0, &call.1)
                    });
                    arena.site.provider.push(script.finish("tool_calls"));
                    let answer = arena.user(talk).say(&new_id(), &new_id(), "please").await;
                    assert_eq!(answer.status(), StatusCode::OK);
                    gate.reached().await;
                    let gate = gate.clone();
                    turns.push(
                        async move {
                            gate.open();
                            cards(&chunks(answer).await)
                        }
                        .boxed(),
                    );
                }
                let made: Vec<Value> = at_once(turns).await.into_iter().flatten().collect();
                let rows = count(
                    &arena.site,
                    "SELECT count(*) FROM pending_actions WHERE status = 'PENDING' AND id <> $1",
                    "",
                );
                assert_eq!((made.len(), rows.await), (3, 20), "round {round}");
                for card in &made {
                    assert_eq!(reject(&arena.at[0], card).await.state(), ("REJECTED", false));
                }
            }
        }
    }
}
