//! However many ask and confirm at once, one change is taken back once, and what takes it back is there with EXECUTED
//! or not at all.

use flatline::limits::Tier;
use reqwest::Method;
use serde_json::json;

use super::{card, done, has_inverse, undo};
use crate::proposals::{at_once, confirm, count, effects, new_check, status, tap};
use crate::site::Plan;

const ROUNDS: usize = 15;

on_both! {
    async fn an_undo_confirmed_many_times_runs_once(kind) {
        let site = Plan::new(kind).instances(2).user_limit(1_000).start().await;
        let ann = site.user("ann", Tier::Free).await;
        let check = new_check(&ann, "a", json!({})).await;
        let version = async || ann.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await["config_version"].as_i64().unwrap();
        for round in 0..ROUNDS {
            let talk = format!("talk-{round}");
            done(&site, &ann, &talk, ("pause_check", json!({"check": "a"}))).await;
            let (back, before) = (undo(&site, &ann, &talk, None).await, version().await);
            let racers = (0..6).map(|n| {
                let (who, card) = (ann.at(&site, n % 2), back.clone());
                async move { if n < 3 { tap(&who, &card).await } else { confirm(&who, &card).await } }
            });
            let answers = at_once(racers.collect()).await;
            assert_eq!(answers.iter().filter(|answer| answer.state() == ("EXECUTED", false)).count(), 1);
            assert_eq!(answers.iter().filter(|answer| answer.state() == ("EXECUTED", true)).count(), 5);
            assert_eq!((version().await, effects(&site, &back).await), (before + 1, 1));
        }
    }

    /// Two cards that undo the same action, both confirmed: the second finds the check changed.
    async fn two_undos_of_one_action_take_it_back_once(kind) {
        let site = Plan::new(kind).instances(2).user_limit(1_000).start().await;
        let ann = site.user("ann", Tier::Free).await;
        for name in ["a", "b"] {
            new_check(&ann, name, json!({"tags": ["x"]})).await;
        }
        for round in 0..ROUNDS {
            let talk = format!("talk-{round}");
            done(&site, &ann, &talk, ("pause_checks", json!({"tag": "x"}))).await;
            // A list has no check of its own that a newer card would take the place of.
            let cards = [undo(&site, &ann, &talk, None).await, undo(&site, &ann, &talk, None).await];
            let racers = cards.iter().enumerate().map(|(n, card)| {
                let (who, card) = (ann.at(&site, n), card.clone());
                async move { tap(&who, &card).await }
            });
            let answers = at_once(racers.collect()).await;
            let mut states: Vec<&str> = answers.iter().map(|answer| answer.state().0).collect();
            states.sort_unstable();
            assert_eq!(states, ["EXECUTED", "FAILED"]);
            for card in &cards {
                let executed = status(&site, card).await == "EXECUTED";
                assert_eq!(has_inverse(&site, card).await, executed, "the inverse is there with EXECUTED alone");
            }
            assert_eq!(count(&site, "SELECT count(*) FROM checks WHERE paused_at IS NOT NULL AND id <> $1", "").await, 0);
        }
    }

    /// An edit races the confirmation of the undo: one of them comes first, and the other is refused or comes after.
    async fn an_edit_and_an_undo_never_mix(kind) {
        let site = Plan::new(kind).instances(2).user_limit(1_000).start().await;
        let ann = site.user("ann", Tier::Free).await;
        let check = new_check(&ann, "a", json!({"grace_seconds": 600})).await;
        let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
        for round in 0..ROUNDS {
            let talk = format!("talk-{round}");
            ann.send(Method::PATCH, &path, Some(json!({"grace_seconds": 600}))).await;
            done(&site, &ann, &talk, ("update_check", json!({"check": "a", "grace_seconds": 1_200}))).await;
            let back = undo(&site, &ann, &talk, None).await;
            let (editor, taker) = (ann.at(&site, 0), ann.at(&site, 1));
            let (edit, card) = (path.clone(), back.clone());
            let both = at_once(vec![
                Box::pin(async move { editor.send(Method::PATCH, &edit, Some(json!({"grace_seconds": 1_800}))).await.status().as_u16() })
                    as std::pin::Pin<Box<dyn Future<Output = u16> + Send>>,
                Box::pin(async move { tap(&taker, &card).await.status }),
            ]).await;
            assert_eq!(both, [200, 200]);
            assert_eq!(ann.get(&path).await["grace_seconds"], 1_800, "the edit is never lost");
            let decided = status(&site, &back).await;
            assert!(["EXECUTED", "FAILED"].contains(&decided.as_str()));
            assert_eq!(has_inverse(&site, &back).await, decided == "EXECUTED");
        }
    }

    /// The database itself refuses an inverse beside any other state.
    async fn no_other_state_holds_an_inverse(kind) {
        let site = Plan::new(kind).start().await;
        let ann = site.user("ann", Tier::Free).await;
        new_check(&ann, "a", json!({})).await;
        let open = card(&site, &ann, "talk", ("pause_check", json!({"check": "a"}))).await;
        let sql = "UPDATE pending_actions SET inverse = effect WHERE id = $1";
        let written = flatline::on_db!(site.db().autocommit(), pool =>
            sqlx::query(sql).bind(crate::proposals::id(&open)).execute(pool).await.map(|_| ()));
        assert!(written.is_err());
    }
}
