//! SIGKILL during a storm of confirms: what was answered is done, once, and everything else is still confirmable.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

use crate::child::Child;
use crate::ground::{Ground, number};
use crate::proposals::{ACTIONS, Proposed, Stored, confirm, create_targets, look, open, propose};
use crate::provider::FakeProvider;

const ROUNDS: i64 = 8;

/// Confirms all actions at once and kills the server after so many answers; returns which were answered.
async fn kill_in_a_storm(child: &mut Child, token: &str, actions: &[Proposed], answers: u32) -> Vec<bool> {
    let start = Arc::new(Barrier::new(actions.len() + 1));
    let answered = Arc::new(Semaphore::new(0));
    let mut clients = JoinSet::new();
    for (index, action) in actions.iter().cloned().enumerate() {
        let (asker, start, answered) = (child.user(token), Arc::clone(&start), Arc::clone(&answered));
        clients.spawn(async move {
            start.wait().await;
            let answer = confirm(&asker, &action).await;
            answered.add_permits(usize::from(answer.is_some()));
            (index, answer)
        });
    }
    start.wait().await;
    let wait = tokio::time::timeout(Duration::from_secs(20), answered.acquire_many(answers)).await;
    drop(wait.expect("so many answers do not come").unwrap());
    child.kill();
    let mut acknowledged = vec![false; actions.len()];
    while let Some(client) = clients.join_next().await {
        let (index, answer) = client.unwrap();
        if let Some((status, body)) = answer {
            assert_eq!(status, StatusCode::OK, "{body}");
            assert_eq!((&body["action"]["status"], &body["replayed"]), (&"EXECUTED".into(), &false.into()), "{body}");
            acknowledged[index] = true;
        }
    }
    acknowledged
}

on_both! {
    async fn a_killed_storm_leaves_every_action_done_once_or_still_confirmable(kind) {
        let executed = Stored { status: "EXECUTED".to_owned(), recorded: (1, 1), effects: 1 };
        let pending = Stored { status: "PENDING".to_owned(), recorded: (0, 0), effects: 0 };
        let provider = FakeProvider::start().await;
        let ground = Ground::new(kind).await.provider(&provider).set("FLATLINE_USER_LIMIT", "1000/10m");
        let mut child = ground.serve().await;
        ground.print(&["user", "add", "storm", "--tier", "business"]).await;
        let token = ground.token("storm").await;
        create_targets(&child.user(&token)).await;
        let (mut was_done, mut was_open) = (0, 0);
        for round in 0..ROUNDS {
            let actions = propose(&child.user(&token), &provider, round).await;
            let answers = rand::random_range(0..10);
            let acknowledged = kill_in_a_storm(&mut child, &token, &actions, answers).await;
            ground.settle().await;

            child = ground.serve().await;
            let asker = child.user(&token);
            let db = ground.open().await;
            let stored = look(&db, &actions, round).await;
            for ((action, stored), acknowledged) in actions.iter().zip(&stored).zip(acknowledged) {
                let is_done = *stored == executed;
                assert!(is_done || (*stored == pending && !acknowledged), "killed after {answers}: {action:?} {stored:?}");
                let (status, body) = confirm(&asker, action).await.unwrap();
                assert_eq!((status, &body["action"]["status"]), (StatusCode::OK, &"EXECUTED".into()), "{body}");
                assert_eq!(body["replayed"], is_done, "{body}");
                *(if is_done { &mut was_done } else { &mut was_open }) += 1;
            }
            assert_eq!(look(&db, &actions, round).await, vec![executed.clone(); ACTIONS]);
            assert_eq!(open(&asker).await, 0);
            let all = i64::try_from(ACTIONS).unwrap() * (round + 1);
            for (sql, expected) in [
                ("SELECT count(*) FROM pending_actions WHERE status = 'EXECUTED'", all),
                ("SELECT count(*) FROM pending_actions WHERE status <> 'EXECUTED'", 0),
                ("SELECT count(*) FROM action_effects", all),
                ("SELECT count(*) FROM audit_log WHERE event = 'EXECUTED'", all),
                ("SELECT count(*) FROM checks WHERE name LIKE 'round-%'", all / 2),
                ("SELECT CAST(sum(config_version - 1) AS bigint) FROM checks WHERE name LIKE 'target-%'", all / 2),
                ("SELECT count(*) FROM accounts a WHERE check_count <>
                    (SELECT count(*) FROM checks WHERE account_id = a.id)", 0),
            ] {
                assert_eq!(number(&db, sql).await, expected, "{sql}");
            }
            db.close().await;
        }
        // Kills that all came too early or too late would have shown nothing.
        assert!(was_done > 0 && was_open > 0, "{was_done} were done and {was_open} open when the server was killed");
    }
}
