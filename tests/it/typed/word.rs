//! What a typed word decides: the one it names, or the latest if that is the only open one, and says what was done.

use std::time::Duration;

use flatline::limits::Tier;
use serde_json::json;

use super::{say, states};
use crate::proposals::{confirm, create, effects, events, id, names, new_check, new_id, propose, reject, row, tap};
use crate::site::{Plan, Site};

const LISTING: &str = "Open actions:\n- 1: Create a\n- 2: Create b\n\nType `confirm <number>`, or `confirm all`.";

on_both! {
    async fn confirm_means_the_one_that_is_open(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        for (n, word) in ["confirm", "Confirm.", " CONFIRM! \n", "confirm 4", "confirm all"].into_iter().enumerate() {
            let (name, number) = (format!("check {n}"), n + 1);
            let card = propose(&site, &ada, "talk", &[create(&name)]).await.remove(0);
            let (sentence, cards) = say(&site, &ada, "talk", word).await;
            assert_eq!(sentence, format!("Created {name} (action {number})."));
            assert_eq!((cards.len(), &cards[0]["id"], &cards[0]["status"]), (1, &card["id"], &json!("EXECUTED")));
            let stored = row(&site, &card).await;
            assert_eq!((stored.status.as_str(), stored.decided_via.as_deref()), ("EXECUTED", Some("typed")));
            assert_eq!(effects(&site, &card).await, 1);
        }
        assert_eq!(names(&ada).await.len(), 5);
    }

    async fn the_sentence_comes_from_the_row(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        new_check(&ada, "nightly-backup", json!({})).await;
        let until = site.now().plus(Duration::from_mins(1)).rfc3339();
        propose(&site, &ada, "talk", &[("pause_check", json!({"check": "nightly-backup", "until": until}))]).await;
        let (sentence, _) = say(&site, &ada, "talk", "confirm").await;
        assert!(
            sentence.starts_with("Paused nightly-backup until ") && sentence.ends_with(" UTC (action 1)."),
            "{sentence}"
        );
        // A guard that refuses is told as what it is.
        propose(&site, &ada, "talk", &[create("taken")]).await;
        new_check(&ada, "taken", json!({})).await;
        let (sentence, cards) = say(&site, &ada, "talk", "confirm").await;
        let reason = "There is already a check named taken.";
        assert_eq!(sentence, format!("Action 2 could not be carried out: {reason} Nothing has changed."));
        assert_eq!(cards[0]["status"], "FAILED");
    }

    async fn several_open_ones_are_listed_and_none_is_touched(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let open = propose(&site, &ada, "talk", &[create("a"), create("b")]).await;
        for word in ["confirm", "cancel", "Confirm!"] {
            let (sentence, cards) = say(&site, &ada, "talk", word).await;
            assert_eq!((sentence, cards.len()), (format!("Which one do you mean?\n\n{LISTING}"), 0));
            assert_eq!(states(&site, &open).await, ["PENDING", "PENDING"]);
        }
        let (sentence, cards) = say(&site, &ada, "talk", "confirm 7").await;
        assert_eq!((sentence, cards.len()), (format!("There is no action 7 here.\n\n{LISTING}"), 0));
        assert_eq!(states(&site, &open).await, ["PENDING", "PENDING"]);

        let (sentence, cards) = say(&site, &ada, "talk", "confirm 1").await;
        assert_eq!((sentence.as_str(), cards.len()), ("Created a (action 1).", 1));
        assert_eq!(states(&site, &open).await, ["EXECUTED", "PENDING"]);
        // The other is now the only open one, and the latest.
        assert_eq!(say(&site, &ada, "talk", "confirm").await.0, "Created b (action 2).");
        assert_eq!(names(&ada).await, ["a", "b"]);
    }

    async fn a_latest_that_is_decided_is_told_and_nothing_older_touched(kind) {
        let site = Plan::new(kind).user_limit(100).manual_clock().start().await;
        let ada = site.user("ada", Tier::Free).await;
        let older = "\n\nOpen actions:\n- 1: Create a\n\nType `confirm <number>`, or `confirm all`.";
        for how in ["EXECUTED", "FAILED", "REJECTED"] {
            let talk = new_id();
            let open = propose(&site, &ada, &talk, &[create("a"), create(how)]).await;
            let told = match how {
                "REJECTED" => {
                    assert_eq!(reject(&ada, &open[1]).await.state().0, how);
                    "Action 2 was cancelled already.".to_owned()
                }
                "FAILED" => {
                    new_check(&ada, how, json!({})).await;
                    assert_eq!(tap(&ada, &open[1]).await.state().0, how);
                    let why = format!("There is already a check named {how}.");
                    format!("Action 2 was confirmed already and could not be carried out: {why}")
                }
                _ => {
                    assert_eq!(tap(&ada, &open[1]).await.state().0, how);
                    format!("Action 2 was carried out already: Created {how}.")
                }
            };
            for word in ["confirm", "cancel", "confirm"] {
                let (sentence, cards) = say(&site, &ada, &talk, word).await;
                assert_eq!(sentence, format!("{told}{older}"), "{how}, {word}");
                assert_eq!((cards.len(), id(&cards[0]), &cards[0]["status"]), (1, id(&open[1]), &json!(how)));
                assert_eq!(states(&site, &open).await, ["PENDING", how]);
            }
            assert_eq!(
                say(&site, &ada, &talk, "cancel 1").await.0,
                "Cancelled action 1: Create a. Nothing has changed."
            );
        }
        // Expired: nobody decided, and it is no more open than the others.
        let talk = new_id();
        let cards = propose(&site, &ada, &talk, &[create("x"), create("y")]).await;
        site.advance(Duration::from_mins(15));
        assert_eq!(
            say(&site, &ada, &talk, "confirm").await.0,
            "Action 2 has expired. Ask for it again if you want it."
        );
        assert_eq!(
            say(&site, &ada, &talk, "confirm 1").await.0,
            "Action 1 has expired. Ask for it again if you want it."
        );
        assert_eq!(say(&site, &ada, &talk, "confirm all").await.0, "There is no open action here.");
        assert_eq!(effects(&site, &cards[0]).await + effects(&site, &cards[1]).await, 0);
    }

    async fn a_decided_one_is_named_and_told_again(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        new_check(&ada, "db", json!({})).await;
        let pause = ("pause_check", json!({"check": "db"}));
        let cards = propose(&site, &ada, "talk", &[create("a"), create("b"), pause.clone(), pause]).await;
        assert_eq!(states(&site, &cards).await[2], "SUPERSEDED");
        say(&site, &ada, "talk", "confirm 1").await;
        say(&site, &ada, "talk", "cancel 2").await;
        assert_eq!(say(&site, &ada, "talk", "confirm 1").await.0, "Action 1 was carried out already: Created a.");
        assert_eq!(say(&site, &ada, "talk", "cancel 1").await.0, "Action 1 was carried out already: Created a.");
        assert_eq!(say(&site, &ada, "talk", "confirm 2").await.0, "Action 2 was cancelled already.");
        assert_eq!(say(&site, &ada, "talk", "confirm 3").await.0, "A newer proposal took the place of action 3.");
        assert_eq!(states(&site, &cards).await, ["EXECUTED", "REJECTED", "SUPERSEDED", "PENDING"]);
        assert_eq!((effects(&site, &cards[0]).await, events(&site, &cards[0]).await.len()), (1, 2));
    }

    async fn all_means_each_open_one_on_its_own(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let cards = propose(&site, &ada, "talk", &[create("a"), create("b"), create("c"), create("d")]).await;
        let elsewhere = propose(&site, &ada, "other", &[create("elsewhere")]).await;
        assert_eq!(reject(&ada, &cards[0]).await.state().0, "REJECTED");
        new_check(&ada, "c", json!({})).await;
        let (sentence, touched) = say(&site, &ada, "talk", "confirm all").await;
        let failed = "Action 3 could not be carried out: There is already a check named c. Nothing has changed.";
        assert_eq!(sentence, format!("Created b (action 2).\n\n{failed}\n\nCreated d (action 4)."));
        assert_eq!(touched.iter().map(id).collect::<Vec<_>>(), cards[1..].iter().map(id).collect::<Vec<_>>());
        assert_eq!(states(&site, &cards).await, ["REJECTED", "EXECUTED", "FAILED", "EXECUTED"]);
        // One that failed takes nothing of the others with it, and other conversations are not meant.
        assert_eq!(names(&ada).await, ["b", "c", "d"]);
        assert_eq!(states(&site, &elsewhere).await, ["PENDING"]);
        assert_eq!(say(&site, &ada, "talk", "confirm all").await.0, "There is no open action here.");
        for card in &cards[1..] {
            assert_eq!(row(&site, card).await.decided_via.as_deref(), Some("typed"));
        }
    }

    async fn cancel_is_confirms_counterpart(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let one = propose(&site, &ada, "talk", &[create("a")]).await;
        let (sentence, cards) = say(&site, &ada, "talk", "Cancel.").await;
        assert_eq!(sentence, "Cancelled action 1: Create a. Nothing has changed.");
        assert_eq!(cards[0]["status"], "REJECTED");
        let more = propose(&site, &ada, "talk", &[create("b"), create("c"), create("d")]).await;
        assert_eq!(say(&site, &ada, "talk", "cancel 3").await.0, "Cancelled action 3: Create c. Nothing has changed.");
        let (sentence, cards) = say(&site, &ada, "talk", "cancel all").await;
        let cancelled =
            |number: i64, name: &str| format!("Cancelled action {number}: Create {name}. Nothing has changed.");
        assert_eq!((sentence, cards.len()), (format!("{}\n\n{}", cancelled(2, "b"), cancelled(4, "d")), 2));
        assert_eq!(
            (states(&site, &one).await, states(&site, &more).await),
            (vec!["REJECTED".into()], vec!["REJECTED".into(); 3])
        );
        assert_eq!(row(&site, &more[0]).await.decided_via.as_deref(), Some("typed"));
        assert_eq!(events(&site, &more[0]).await, ["PROPOSED", "REJECTED"]);
        assert_eq!(names(&ada).await, Vec::<String>::new());
        assert_eq!(confirm(&ada, &more[0]).await.refusal(), (409, "action_rejected"));
    }

    async fn what_cannot_be_undone_needs_its_number(kind) {
        let site = Plan::new(kind).user_limit(100).start().await;
        let ada = site.user("ada", Tier::Free).await;
        for (call, done) in [("delete_check", "Deleted"), ("rotate_ping_key", "Replaced"), ("pause_checks", "Paused")] {
            let talk = new_id();
            new_check(&ada, call, json!({})).await;
            let other = format!("other-{call}");
            new_check(&ada, &other, json!({})).await;
            let arguments = match call {
                "pause_checks" => json!({"checks": [call, other]}),
                _ => json!({"check": call}),
            };
            let open = propose(&site, &ada, &talk, &[(call, arguments)]).await;
            assert_eq!(open[0]["destructive"], true);
            for word in ["confirm", "confirm all", "Confirm!"] {
                let (sentence, cards) = say(&site, &ada, &talk, word).await;
                let title = open[0]["title"].as_str().unwrap();
                let asked =
                    format!("Action 1 ({title}) needs more than that: tap its Confirm button or type `confirm 1`.");
                assert_eq!((sentence, id(&cards[0])), (asked, id(&open[0])), "{word}");
                assert_eq!(
                    (states(&site, &open).await, effects(&site, &open[0]).await),
                    (vec!["PENDING".to_owned()], 0)
                );
            }
            // Beside others it is left out of `all`.
            let beside = propose(&site, &ada, &talk, &[create(&format!("new-{call}"))]).await;
            say(&site, &ada, &talk, "confirm all").await;
            assert_eq!(
                (states(&site, &open).await, states(&site, &beside).await),
                (vec!["PENDING".into()], vec!["EXECUTED".into()])
            );
            let (sentence, _) = say(&site, &ada, &talk, "confirm 1").await;
            assert!(sentence.starts_with(done) && sentence.ends_with("(action 1)."), "{sentence}");
            assert_eq!((states(&site, &open).await, effects(&site, &open[0]).await), (vec!["EXECUTED".to_owned()], 1));
        }
        // To say no takes no number.
        let open = propose(&site, &ada, "no", &[("delete_check", json!({"check": "rotate_ping_key"}))]).await;
        say(&site, &ada, "no", "cancel").await;
        assert_eq!(states(&site, &open).await, ["REJECTED"]);
    }
}
