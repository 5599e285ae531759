//! The worker beside everything else: what it waits for, nobody else waits for.

use flatline::checks::history::Kind;
use flatline::checks::ping::{Outcome, ping};
use flatline::limits::Tier;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::post::{chat_of, fill, rows, sender, stranger, until, webhook};
use super::receiver::{Receiver, answer};
use crate::rig::{Rig, of_kind};

on_both! {
    /// Deliveries end while the worker claims and others ping: on SQLite all of them want the one writer.
    async fn instantly_failing_receivers_refuse_no_ping(kind) {
        // A check may flip ten times in five minutes.
        const FLIPS: usize = 8;
        let rig = Rig::new(kind, Tier::Business).await;
        let receiver = Receiver::start(|_, _| answer(500)).await;
        let mut checks = Vec::new();
        for _ in 0..8 {
            checks.push(rig.new_check().await);
        }
        for n in 0..4 {
            webhook(&rig, &format!("hook {n}"), &receiver.url("/")).await;
        }
        let stop = CancellationToken::new();
        let mut worker = JoinSet::new();
        worker.spawn(sender(&rig, 0).run(stop.clone()));
        let mut pingers = JoinSet::new();
        for (n, check) in checks.into_iter().enumerate() {
            let (db, clock) = (rig.instances[n % 2].clone(), rig.shared_clock());
            pingers.spawn(async move {
                for flip in 0..FLIPS {
                    let sent = of_kind(if flip % 2 == 0 { Kind::Fail } else { Kind::Success });
                    assert_eq!(ping(&db, &clock, &check.key, sent).await.unwrap(), Outcome::Accepted);
                }
            });
        }
        pingers.join_all().await;
        until("each is tried", async || {
            let rows = rows(rig.db()).await;
            assert_eq!(rows.len(), 8 * FLIPS * 4);
            rows.iter().all(|row| row.attempts == 1 && row.claimed_until.is_none())
        }).await;
        stop.cancel();
        worker.join_all().await;
        assert!(rows(rig.db()).await.iter().all(|row| row.last_error.as_deref() == Some("HTTP 500")));
    }

    /// A hundred messages to somebody who does not answer: other accounts and other channels do not notice.
    async fn who_hangs_delays_nobody_else(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let slow = stranger(&rig).await;
        let held = chat_of(&rig, &slow, &receiver.url("/held")).await;
        fill(&rig, &slow, &held, 100, "pending", rig.now()).await;
        let stop = CancellationToken::new();
        let mut worker = JoinSet::new();
        worker.spawn(sender(&rig, 0).run(stop.clone()));
        until("some hang", async || receiver.count() == 2).await;
        let other = stranger(&rig).await;
        for owner in [&slow, &other] {
            let good = chat_of(&rig, owner, &receiver.url("/good")).await;
            fill(&rig, owner, &good, 3, "pending", rig.now()).await;
        }
        let sent = async || rows(rig.db()).await.iter().filter(|row| row.status == "sent").count();
        until("theirs are sent", async || sent().await == 6).await;
        let paths: Vec<String> = receiver.received().into_iter().map(|request| request.path).collect();
        assert_eq!(paths.iter().filter(|path| *path == "/held").count(), 2, "{paths:?}");
        receiver.release();
        until("all are sent", async || sent().await == 106).await;
        stop.cancel();
        worker.join_all().await;
    }
}
