//! Decisions while the action's time runs out, and while the sweeper looks.

use std::sync::Arc;
use std::time::Duration;

use flatline::actions::expire::expire;
use flatline::clock::ManualClock;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::{Arena, all_refused, instances, one_outcome};
use crate::proposals::{Answer, at_once, confirm, create, new_id, propose_one, row};
use crate::site::Plan;

const ROUNDS: usize = 16;
/// The life of a pending action.
const TTL: Duration = Duration::from_mins(15);

/// What a racer reports.
enum Told {
    Confirm(Answer),
    /// How many the sweeper expired.
    Swept(u64),
    Moved,
}

impl Arena {
    fn clock(&self) -> Arc<ManualClock> {
        self.site.clock.clone().unwrap()
    }

    /// Moves the clock to the end of what is open, after giving way so many times.
    fn move_clock(&self, yields: usize) -> BoxFuture<'static, Told> {
        let clock = self.clock();
        async move {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            clock.advance(TTL);
            Told::Moved
        }
        .boxed()
    }

    fn sweep(&self, n: usize) -> BoxFuture<'static, Told> {
        let (db, clock) = (self.site.apps[n % self.site.apps.len()].db.clone(), self.clock());
        async move { Told::Swept(expire(&db, clock.as_ref()).await.unwrap()) }.boxed()
    }

    /// Runs confirms, sweepers and the clock against each other, and demands that one of them has won.
    async fn run_out(&self, card: &Value, sweepers: usize, yields: usize) -> bool {
        let before = self.site.now();
        let mut racers: Vec<BoxFuture<'static, Told>> =
            (0..15).map(|n| self.tap(n, card).map(Told::Confirm).boxed()).collect();
        racers.insert(7, self.move_clock(yields));
        racers.extend((0..sweepers).map(|n| self.sweep(n)));
        let (mut confirms, mut swept) = (Vec::new(), 0);
        for told in at_once(racers).await {
            match told {
                Told::Confirm(answer) => confirms.push(answer),
                Told::Swept(number) => swept += number,
                Told::Moved => {}
            }
        }
        let stored = row(&self.site, card).await;
        let is_executed = stored.status == "EXECUTED";
        if is_executed {
            one_outcome(&confirms, "EXECUTED");
            assert!(stored.decided_at.unwrap() < stored.expires_at, "{stored:?}");
            assert_eq!(swept, 0);
        } else {
            all_refused(&confirms, (410, "action_expired"));
            assert!(stored.decided_at.unwrap() >= stored.expires_at && stored.decided_via.is_none(), "{stored:?}");
            assert!(swept <= 1, "{swept} were swept");
        }
        self.ended(card, if is_executed { "EXECUTED" } else { "EXPIRED" }).await;
        // A clock set back re-opens nothing.
        self.clock().set(before);
        let again = confirm(&self.at[0], card).await;
        if is_executed {
            assert_eq!(again.state(), ("EXECUTED", true));
        } else {
            assert_eq!(again.refusal(), (410, "action_expired"));
        }
        assert_eq!(row(&self.site, card).await, stored);
        self.clock().advance(2 * TTL);
        is_executed
    }
}

on_both! {
    async fn a_confirm_is_in_time_or_too_late_and_never_both(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind).manual_clock(), *instances).await;
            let mut executed = 0;
            for round in 0..ROUNDS {
                let name = format!("check {round}");
                let card = propose_one(&arena.site, &arena.at[0], create(&name)).await;
                executed += usize::from(arena.run_out(&card, 0, round * 6).await);
            }
            arena.executed(executed).await;
        }
    }

    async fn the_sweeper_takes_nothing_that_was_confirmed(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind).manual_clock(), *instances).await;
            let mut executed = 0;
            for round in 0..ROUNDS {
                let name = format!("check {round}");
                let card = propose_one(&arena.site, &arena.at[0], create(&name)).await;
                executed += usize::from(arena.run_out(&card, 4, round * 6).await);
            }
            arena.executed(executed).await;
        }
    }

    async fn several_sweepers_and_one_word_for_all(kind) {
        for instances in instances(kind) {
            let arena = Arena::new(Plan::new(kind).manual_clock(), *instances).await;
            for round in 0..ROUNDS / 4 {
                let talk = new_id();
                let cards = arena.five(&talk, round).await;
                let said = arena.say(round, &talk, "confirm all").map(|_| Told::Moved).boxed();
                let mut racers = vec![said, arena.move_clock(round * 10)];
                racers.extend((0..6).map(|n| arena.sweep(n)));
                at_once(racers).await;
                arena.site.advance(TTL);
                expire(arena.site.db(), arena.clock().as_ref()).await.unwrap();
                for card in &cards {
                    let status = row(&arena.site, card).await.status;
                    assert!(status == "EXECUTED" || status == "EXPIRED", "{status}");
                    arena.ended(card, &status).await;
                }
            }
        }
    }
}
