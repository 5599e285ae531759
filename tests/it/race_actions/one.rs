//! Many decisions of one action.

use futures::FutureExt;

use super::{Arena, all_refused, instances, one_outcome};
use crate::proposals::{at_once, new_id, row};
use crate::site::Plan;

/// Each proposes five actions, and each action is a race.
const TURNS: usize = 4;

on_both! {
    async fn fifty_confirms_have_one_effect_and_one_answer(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            for turn in 0..TURNS {
                for card in arena.five("talk", turn).await {
                    let answers = at_once((0..50).map(|n| arena.tap(n, &card)).collect()).await;
                    one_outcome(&answers, "EXECUTED");
                    arena.ended(&card, "EXECUTED").await;
                }
            }
            arena.executed(5 * TURNS).await;
        }
    }

    async fn confirm_and_reject_have_one_winner(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            let mut executed = 0;
            for turn in 0..TURNS {
                for (n, card) in arena.five("talk", turn).await.into_iter().enumerate() {
                    // Who is first at the start takes turns, for what it is worth.
                    let racers = (0..20).map(|racer| match (racer + n) % 2 {
                        0 => arena.tap(racer / 2, &card),
                        _ => arena.reject(racer / 2, &card),
                    });
                    let answers = at_once(racers.collect()).await;
                    let by = |verb: usize| answers.iter().enumerate().filter(move |(racer, _)| (racer + n) % 2 == verb);
                    let confirms: Vec<_> = by(0).map(|(_, answer)| answer.clone()).collect();
                    let rejects: Vec<_> = by(1).map(|(_, answer)| answer.clone()).collect();
                    let winner = row(&arena.site, &card).await.status;
                    if winner == "EXECUTED" {
                        one_outcome(&confirms, "EXECUTED");
                        all_refused(&rejects, (409, "action_executed"));
                        executed += 1;
                    } else {
                        one_outcome(&rejects, "REJECTED");
                        all_refused(&confirms, (409, "action_rejected"));
                    }
                    arena.ended(&card, &winner).await;
                }
            }
            arena.executed(executed).await;
        }
    }

    async fn button_and_typed_word_have_one_effect(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind), *instances).await;
            for turn in 0..TURNS {
                let talk = new_id();
                for (n, card) in arena.five(&talk, turn).await.into_iter().enumerate() {
                    let number = n + 1;
                    let word = format!("confirm {number}");
                    let typed = |at: usize| arena.say(at, &talk, &word).map(Err).boxed();
                    let tapped = |at: usize| arena.tap(at, &card).map(Ok).boxed();
                    let racers = vec![tapped(0), typed(1), tapped(1), typed(0), tapped(2), tapped(3)];
                    let (mut taps, mut words) = (Vec::new(), Vec::new());
                    for told in at_once(racers).await {
                        told.map_or_else(|sentence| words.push(sentence), |answer| taps.push(answer));
                    }
                    words.sort();
                    let done = format!("Created check {turn}.{n}");
                    let (already, just) = (
                        format!("Action {number} was carried out already: {done}."),
                        format!("{done} (action {number})."),
                    );
                    if row(&arena.site, &card).await.decided_via.as_deref() == Some("typed") {
                        assert_eq!(words, [already, just]);
                        assert!(taps.iter().all(|answer| answer.state() == ("EXECUTED", true)), "{taps:#?}");
                    } else {
                        assert_eq!(words, [already.clone(), already]);
                        one_outcome(&taps, "EXECUTED");
                    }
                    arena.ended(&card, "EXECUTED").await;
                }
            }
            arena.executed(5 * TURNS).await;
        }
    }
}
