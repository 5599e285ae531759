//! One ping after another: what is accepted, what is too soon, and what each leaves behind.

use std::time::Duration;

use flatline::checks::history::{Kind, PingView, Reason};
use flatline::checks::ping::{Outcome, Ping, TooSoon, ping};
use flatline::checks::store::{flips, pings};
use flatline::checks::{CheckError, Status};
use flatline::clock::Millis;
use flatline::ids::UserId;
use flatline::limits::Tier;
use uuid::Uuid;

use crate::rig::{GRACE, Made, PERIOD, Rig, START, of_kind};

fn too_soon(min_interval: u64, last_accepted_at: Millis, wait: Duration) -> Outcome {
    Outcome::TooSoon(TooSoon { min_interval: Duration::from_secs(min_interval), last_accepted_at, wait })
}

on_both! {
    async fn first_success_starts_the_clock(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
        let row = rig.row(&check).await;
        assert_eq!((row.status, row.last_ping_at, row.last_success_at), (Status::Up, Some(START), Some(START)));
        assert_eq!((row.due_at, row.deadline_at), (Some(START.plus(PERIOD)), Some(START.plus(PERIOD + GRACE))));
        assert_eq!(rig.flips(&check).await, [(Status::New, Status::Up, Reason::FirstPing, START)]);
        assert_eq!(rig.pings(&check).await.len(), 1);
    }

    async fn each_kind_has_a_floor_of_its_own(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.down_check().await;
        // On a check that is down already, a fail is no change of state.
        let kinds = [Kind::Start, Kind::Log, Kind::Fail];
        for kind in kinds {
            assert_eq!(rig.ping(&check, kind).await, Outcome::Accepted, "{kind}");
        }
        let first = rig.now();
        rig.advance(1);
        for kind in kinds {
            assert_eq!(rig.ping(&check, kind).await, too_soon(300, first, Duration::from_secs(299)), "{kind}");
        }
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
        rig.clock.set(first.plus(Duration::from_millis(299_999)));
        for kind in [Kind::Start, Kind::Log] {
            assert_eq!(rig.ping(&check, kind).await, too_soon(300, first, Duration::from_millis(1)), "{kind}");
        }
        rig.clock.set(first.plus(Duration::from_mins(5)));
        for kind in [Kind::Start, Kind::Log] {
            assert_eq!(rig.ping(&check, kind).await, Outcome::Accepted, "{kind}");
        }
        let last_success = first.plus(Duration::from_secs(1));
        assert_eq!(rig.ping(&check, Kind::Success).await, too_soon(300, last_success, Duration::from_secs(1)));
        rig.advance(1);
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
        assert_eq!(rig.row(&check).await.rejected_count, 6);
    }

    async fn the_floor_is_the_tiers(kind) {
        let rig = Rig::new(kind, Tier::Pro).await;
        let check = rig.up_check().await;
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
        let first = rig.now();
        rig.advance(59);
        assert_eq!(rig.ping(&check, Kind::Success).await, too_soon(60, first, Duration::from_secs(1)));
        rig.advance(1);
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
    }

    async fn a_change_of_state_never_waits_for_the_floor(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let began = rig.now();
        let at = |seconds| began.plus(Duration::from_secs(seconds));
        for (n, kind) in [(0, Kind::Success), (1, Kind::Fail), (2, Kind::Success)] {
            rig.clock.set(at(n));
            assert_eq!(rig.ping(&check, kind).await, Outcome::Accepted, "{kind} after {n} s");
        }
        rig.advance(1);
        let exit = Ping { exit_status: Some(3), ..of_kind(Kind::Fail) };
        assert_eq!(rig.send(&check, exit).await, Outcome::Accepted);
        rig.advance(1);
        // It is down: one more fail changes nothing and has to wait.
        assert_eq!(rig.ping(&check, Kind::Fail).await, too_soon(300, at(3), Duration::from_secs(299)));
        let row = rig.row(&check).await;
        assert_eq!((row.status, row.deadline_at, row.last_ping_at), (Status::Down, None, Some(at(3))));
        let expected = [
            (Status::Up, Status::Down, Reason::Fail, at(1)),
            (Status::Down, Status::Up, Reason::Recovered, at(2)),
            (Status::Up, Status::Down, Reason::Exit, at(3)),
        ];
        assert_eq!(rig.flips(&check).await[1..], expected);
    }
}

/// Fail and success in turn, a second apart, until the first refusal; how many passed.
async fn alternate(rig: &Rig, check: &Made) -> (usize, Outcome) {
    for n in 0..100 {
        let outcome = rig.ping(check, if n % 2 == 0 { Kind::Fail } else { Kind::Success }).await;
        if outcome != Outcome::Accepted {
            return (n, outcome);
        }
        rig.advance(1);
    }
    panic!("nothing was refused");
}

on_both! {
    async fn alternating_is_charged_to_check_flip(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let began = rig.now();
        let (passed, refused) = alternate(&rig, &check).await;
        assert_eq!(passed, 10);
        // The last fail was the ninth ping; the first of the ten leaves the window 300 s after it came.
        let last_fail = began.plus(Duration::from_secs(8));
        assert_eq!(refused, too_soon(300, last_fail, Duration::from_secs(290)));
        let row = rig.row(&check).await;
        assert_eq!((row.status, row.last_fail_at), (Status::Up, Some(last_fail)));
        assert_eq!((row.rejected_count, row.last_rejected_at), (1, Some(rig.now())));
        assert_eq!(rig.flips(&check).await.len(), 11);
        // The wait is true, to the millisecond.
        rig.clock.set(began.plus(Duration::from_millis(299_999)));
        assert_eq!(rig.ping(&check, Kind::Fail).await, too_soon(300, last_fail, Duration::from_millis(1)));
        rig.clock.advance(Duration::from_millis(1));
        assert_eq!(rig.ping(&check, Kind::Fail).await, Outcome::Accepted);
    }

    async fn a_change_outside_the_floor_passes_a_full_check_flip(kind) {
        let rig = Rig::new(kind, Tier::Pro).await;
        let check = rig.up_check().await;
        let began = rig.now();
        let (passed, refused) = alternate(&rig, &check).await;
        let last_fail = began.plus(Duration::from_secs(8));
        assert_eq!((passed, refused), (10, too_soon(60, last_fail, Duration::from_secs(58))));
        rig.clock.set(last_fail.plus(Duration::from_mins(1)));
        assert_eq!(rig.ping(&check, Kind::Fail).await, Outcome::Accepted);
    }

    async fn a_rejected_ping_is_counted_and_moves_nothing(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        rig.ping(&check, Kind::Success).await;
        let before = rig.row(&check).await;
        for n in 1..=3 {
            rig.advance(10);
            rig.ping(&check, Kind::Success).await;
            let after = rig.row(&check).await;
            assert_eq!((after.rejected_count, after.last_rejected_at), (n, Some(rig.now())));
            assert_eq!((after.due_at, after.deadline_at), (before.due_at, before.deadline_at));
            assert_eq!((after.last_ping_at, after.last_success_at), (before.last_ping_at, before.last_success_at));
        }
        // A storm must not fill the table.
        assert_eq!(rig.pings(&check).await.len(), 2);
    }

    async fn a_paused_check_notes_pings_and_nothing_else(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for check in [rig.up_check().await, rig.down_check().await, rig.new_check().await] {
            rig.set(&check, "paused_at = $2", rig.now().0).await;
            let (before, kept, flips) =
                (rig.row(&check).await, rig.pings(&check).await.len(), rig.flips(&check).await.len());
            for kind in Kind::ALL {
                for _ in 0..3 {
                    assert_eq!(rig.ping(&check, kind).await, Outcome::Paused);
                }
            }
            let after = rig.row(&check).await;
            assert_eq!(format!("{after:?}"), format!("{before:?}"));
            assert_eq!(rig.flips(&check).await.len(), flips);
            // One of a kind per floor is kept, so that a storm cannot fill the table.
            let pings = rig.pings(&check).await;
            assert_eq!(pings.len(), kept + 4);
            assert!(pings[..4].iter().all(|ping| !ping.accepted));
        }
    }

    async fn an_ended_pause_is_over(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        rig.set(&check, "paused_at = $2, paused_until = $2 + 1000", rig.now().0).await;
        rig.clock.advance(Duration::from_millis(999));
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Paused);
        rig.clock.advance(Duration::from_millis(1));
        assert_eq!(rig.ping(&check, Kind::Success).await, Outcome::Accepted);
    }

    async fn starts_give_the_run_its_deadline(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for check in [rig.new_check().await, rig.up_check().await] {
            let due = rig.row(&check).await.due_at;
            rig.ping(&check, Kind::Start).await;
            let row = rig.row(&check).await;
            assert_eq!((row.started_at, row.last_start_at), (Some(rig.now()), Some(rig.now())));
            assert_eq!((row.due_at, row.deadline_at), (due, Some(rig.now().plus(GRACE))));
            rig.ping(&check, Kind::Log).await;
            assert_eq!(rig.row(&check).await.deadline_at, Some(rig.now().plus(GRACE)));
            rig.ping(&check, Kind::Success).await;
            let row = rig.row(&check).await;
            assert_eq!((row.started_at, row.deadline_at), (None, Some(rig.now().plus(PERIOD + GRACE))));
        }
    }

    async fn a_run_is_timed_by_its_rid(kind) {
        let rig = Rig::new(kind, Tier::Pro).await;
        let check = rig.up_check().await;
        let [first, second, unknown] = [(); 3].map(|()| Some(Uuid::new_v4().to_string()));
        // Kind, rid, seconds to the next one, the duration that it ends.
        let story = [
            (Kind::Start, &first, 60, None),
            (Kind::Start, &second, 40, None),
            (Kind::Success, &first, 60, Some(100)),
            (Kind::Success, &second, 60, Some(100)),
            (Kind::Start, &None, 61, None),
            (Kind::Fail, &unknown, 1, None),
            (Kind::Success, &None, 1, None),
            (Kind::Start, &None, 33, None),
            (Kind::Fail, &None, 0, Some(33)),
        ];
        for (n, (kind, rid, seconds, duration)) in story.into_iter().enumerate() {
            let sent = Ping { rid: rid.clone(), ..of_kind(kind) };
            assert_eq!(rig.send(&check, sent).await, Outcome::Accepted, "{n}");
            let newest = PingView::from(rig.pings(&check).await.swap_remove(0));
            assert_eq!((newest.kind, newest.duration_seconds), (kind, duration), "{n}");
            rig.advance(seconds);
        }
    }

    async fn a_ping_keeps_its_body_and_sender(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.up_check().await;
        let body = b"caf\xC3\xA9 \0\xFF end".to_vec();
        let sent = Ping { exit_status: Some(255), body: body.clone(), body_length: 12_345, ..of_kind(Kind::Fail) };
        assert_eq!(rig.send(&check, sent).await, Outcome::Accepted);
        let row = rig.pings(&check).await.swap_remove(0);
        assert_eq!((row.exit_status, &row.body, row.body_length), (Some(255), &body, 12_345));
        let view = serde_json::to_value(PingView::from(row)).unwrap();
        assert_eq!(view["body"], "café \0\u{FFFD} end");
        assert_eq!(view["remote"], "203.0.113.9");
        assert_eq!(view["at"], rig.now().rfc3339());
        assert_eq!((&view["kind"], &view["accepted"]), (&"fail".into(), &true.into()));
    }

    async fn an_unknown_key_is_not_found(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let key = Uuid::new_v4().to_string();
        let refused = ping(rig.db(), &rig.shared_clock(), &key, of_kind(Kind::Success)).await.unwrap_err();
        assert!(matches!(refused, CheckError::Refused(refusal) if refusal.code == "check_not_found"));
    }

    async fn lists_are_the_owners_and_paged(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        for n in 0..6 {
            rig.ping(&check, if n % 2 == 0 { Kind::Success } else { Kind::Fail }).await;
            rig.advance(1);
        }
        let (db, owner) = (rig.db(), &rig.owner);
        let all = pings::list_pings(db, owner, &check.id, None, 10).await.unwrap();
        let page = pings::list_pings(db, owner, &check.id, Some(&all[1].id), 2).await.unwrap();
        assert_eq!((all.len(), [&page[0].id, &page[1].id]), (6, [&all[2].id, &all[3].id]));
        let all = flips::list_flips(db, owner, &check.id, None, 10).await.unwrap();
        let page = flips::list_flips(db, owner, &check.id, Some(&all[1].id), 2).await.unwrap();
        assert_eq!((all.len(), [&page[0].id, &page[1].id]), (6, [&all[2].id, &all[3].id]));
        assert!(all.is_sorted_by_key(|flip| std::cmp::Reverse(flip.at)));
        let stranger = UserId::new(START);
        assert!(pings::list_pings(db, &stranger, &check.id, None, 10).await.unwrap().is_empty());
        assert!(flips::list_flips(db, &stranger, &check.id, None, 10).await.unwrap().is_empty());
    }
}
