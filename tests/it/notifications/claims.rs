//! What a sender claims: no more than it asked for, a few of each, and whatever is due though clocks and senders fail.

use std::collections::BTreeSet;
use std::time::Duration;

use flatline::checks::history::Kind;
use flatline::checks::remind::remind;
use flatline::checks::store::claims::{Claimed, Ended, claim_deliveries, finish_delivery};
use flatline::clock::Millis;
use flatline::db::On;
use flatline::limits::Tier;

use super::post::{Row, chat_of, fill, rows, sender, stranger, webhook};
use super::receiver::{Receiver, answer};
use crate::rig::{Rig, START};

async fn claim(rig: &Rig, limit: i64) -> Vec<Claimed> {
    claim_deliveries(rig.db(), rig.now(), rig.now().plus(Duration::from_mins(1)), limit).await.unwrap()
}

/// Claims until there is nothing that may be claimed.
async fn claim_all(rig: &Rig) -> Vec<Claimed> {
    let mut all = Vec::new();
    loop {
        let some = claim(rig, 100).await;
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

async fn in_hands(rig: &Rig) -> usize {
    rows(rig.db()).await.iter().filter(|row| row.claimed_until.is_some()).count()
}

on_both! {
    /// PostgreSQL plans by what it last saw: a long history and nothing pending. It may then run a sub-select for each
    /// row, and one that locks finds others each time.
    async fn a_claim_takes_no_more_than_it_may(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let mut accounts = Vec::new();
        for _ in 0..12 {
            let owner = stranger(&rig).await;
            let channel = chat_of(&rig, &owner, "https://hooks.example/").await;
            fill(&rig, &owner, &channel, 400, "sent", rig.now()).await;
            accounts.push((owner, channel));
        }
        match rig.db().autocommit() {
            On::Sqlite(_) => {}
            On::Postgres(pool) => {
                sqlx::query("VACUUM ANALYZE deliveries").execute(pool).await.unwrap();
            }
        }
        for (owner, channel) in &accounts {
            fill(&rig, owner, channel, 20, "pending", rig.now()).await;
        }
        assert_eq!((claim(&rig, 8).await.len(), in_hands(&rig).await), (8, 8));
        // Those that have none under way come first.
        let next = claim(&rig, 4).await;
        let owners: BTreeSet<_> = next.iter().map(|claimed| claimed.account_id.as_str()).collect();
        assert_eq!((owners.len(), in_hands(&rig).await), (4, 12));
        assert_eq!(claim_all(&rig).await.len(), 12);
        assert_eq!(in_hands(&rig).await, 24, "two of each channel");
    }

    async fn a_few_of_each_account_are_under_way(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let mut channels = Vec::new();
        for _ in 0..6 {
            channels.push(chat_of(&rig, &rig.owner, "https://hooks.example/").await);
        }
        for channel in &channels {
            fill(&rig, &rig.owner, channel, 5, "pending", rig.now()).await;
        }
        let claimed = claim_all(&rig).await;
        let of = |id: &str, rows: &[Row]| rows.iter().find(|row| row.id == id).unwrap().channel_id.clone();
        let all = rows(rig.db()).await;
        let busy: BTreeSet<String> = claimed.iter().map(|claimed| of(&claimed.id, &all)).collect();
        assert_eq!((claimed.len(), busy.len()), (4, 4), "each through another channel");
        assert!(finish_delivery(rig.db(), &claimed[0].id, 1, &Ended::Sent, rig.now()).await.unwrap());
        let [next] = claim_all(&rig).await.try_into().ok().unwrap();
        let still_busy: Vec<String> = claimed[1..].iter().map(|claimed| of(&claimed.id, &all)).collect();
        assert!(!still_busy.contains(&of(&next.id, &all)), "a channel with none under way");
    }

    /// Its machine's clock was ten hours ahead: what was written then does not wait for ten hours.
    async fn what_was_written_before_the_clock_was_set_back_is_due(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let ahead = START.plus(Duration::from_hours(10));
        rig.clock.set(ahead);
        let (late, held) = (rig.new_check().await, rig.new_check().await);
        rig.set(&late, "reminder_seconds = $2", 3_600).await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        rig.ping(&held, Kind::Fail).await;
        assert_eq!(claim(&rig, 1).await.len(), 1, "and its sender dies");
        rig.ping(&late, Kind::Fail).await;
        rig.clock.set(START);
        assert_eq!(sender(&rig, 0).deliver_due().await.unwrap(), 2);
        assert_eq!(receiver.count(), 2);
        assert_eq!(remind(rig.db(), &*rig.clock).await.unwrap(), 1);
        assert_eq!(remind(rig.db(), &*rig.clock).await.unwrap(), 0);
        assert_eq!(sender(&rig, 0).deliver_due().await.unwrap(), 1);
        // An ordinary wait and an ordinary lease are none of that.
        rig.advance(3_600);
        assert_eq!(remind(rig.db(), &*rig.clock).await.unwrap(), 1);
        assert_eq!((claim(&rig, 1).await.len(), claim(&rig, 1).await.len()), (1, 0));
    }

    /// An attempt is counted when it begins. A process that is killed each time spends them all in a quarter of an hour.
    async fn a_sender_that_dies_again_and_again_uses_nothing_up(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::start(|_, _| answer(503)).await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        rig.ping(&check, Kind::Fail).await;
        let begun = rig.now();
        for attempt in 1..=20 {
            let [claimed] = claim(&rig, 8).await.try_into().ok().unwrap();
            assert_eq!(claimed.attempts, attempt);
            rig.advance(60);
        }
        let sender = sender(&rig, 0);
        let given_up = begun.plus(Duration::from_mins(90));
        while rig.now() < given_up {
            assert_eq!(sender.deliver_due().await.unwrap(), 1);
            let row = rows(rig.db()).await.remove(0);
            assert_eq!(row.status, "pending", "{} attempts by {:?}", row.attempts, rig.now());
            rig.clock.set(Millis(row.next_attempt_at.0.max(rig.now().0)));
        }
        sender.deliver_due().await.unwrap();
        let row = rows(rig.db()).await.remove(0);
        assert_eq!((row.status.as_str(), row.last_error.as_deref()), ("failed", Some("HTTP 503")));
    }
}
