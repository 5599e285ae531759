//! The built-in assistant over the real tools: it finds the check that a question means, and proposes no wrong one.

use flatline::limits::Tier;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use reqwest::Method;
use serde_json::json;

use crate::proposals::{checks, confirm, new_check, new_id};
use crate::site::{Plan, Visitor, cards, chunks, text, types};

/// What is answered to a message in a conversation of its own, and the cards that came with it.
async fn ask(who: &Visitor, message: &str) -> (String, Vec<serde_json::Value>) {
    let chunks = who.chat(&new_id(), &new_id(), message).await;
    assert_eq!(types(&chunks).last().copied(), Some("finish"), "{message}: {chunks:#?}");
    (text(&chunks), cards(&chunks))
}

on_both! {
    async fn what_it_reads_is_about_the_check_that_is_meant(kind) {
        let site = Plan::new(kind).offline().manual_clock().user_limit(100).start().await;
        let ann = site.user("ann", Tier::Pro).await;
        for name in ["nightly-backup", "sync"] {
            new_check(&ann, name, json!({})).await;
        }
        for (message, part) in [
            ("what did sync say?", "sync is new."),
            ("how is the Nightly Backup thing?", "nightly-backup is new."),
            ("can sync run on sundays?", "sync is new."),
            ("which checks have never pinged?", "2 checks are new:"),
            ("how much of my quota is left?", "2 of 100 used"),
            ("does late mean that it is down?", "the grace is still running"),
            ("how is payroll", "There is no check “payroll”."),
            ("when would \"0 3 * * 1-5\" run in Europe/Berlin", "Europe/Berlin"),
            ("when would 0 0 3 * * * run", "The schedule has 6 fields"),
            ("create x cron 0 0 3 * * *", "The schedule has 6 fields"),
            ("remove ops from sync", "set channels of \"sync\" to"),
        ] {
            let (text, cards) = ask(&ann, message).await;
            assert!(text.contains(part), "{message}: {text}");
            assert!(cards.is_empty(), "{message}: {cards:#?}");
        }
    }

    async fn what_it_proposes_is_what_was_said(kind) {
        let site = Plan::new(kind).offline().manual_clock().user_limit(100).start().await;
        let ann = site.user("ann", Tier::Pro).await;
        for name in ["nightly-backup", "sync"] {
            new_check(&ann, name, json!({})).await;
        }
        let before = checks(&ann).await;
        for (message, kinds, part) in [
            ("pause sync and nightly-backup", &["pause_checks"][..], "They all go silent"),
            ("unpause sync and payroll", &[], "There is no check \"payroll\"."),
            ("set grace of sync to 10 min and period to 20 min", &["update_check"], "prepared action 1"),
            ("sync should run every 2 hours", &["update_check"], "prepared action 1"),
            ("set grace of sync and nightly-backup to 10 minutes", &["update_check", "update_check"], "2 actions"),
            ("create payroll weekdays at 9 in Europe/Berlin", &["create_check"], "prepared action 1"),
            ("clear the tags of sync", &[], "is like that already."),
            ("delete the Nightly Backup", &[], "There is no check \"Nightly Backup\"."),
        ] {
            let (text, cards) = ask(&ann, message).await;
            let proposed: Vec<&str> = cards.iter().filter_map(|card| card["kind"].as_str()).collect();
            assert_eq!(proposed, kinds, "{message}: {text}");
            assert!(text.contains(part), "{message}: {text}");
        }
        assert_eq!(checks(&ann).await, before, "nothing has changed");
    }

    async fn a_time_is_meant_on_the_clock_that_the_client_named(kind) {
        let site = Plan::new(kind).offline().manual_clock().start().await;
        let ann = site.user("ann", Tier::Free).await;
        new_check(&ann, "sync", json!({})).await;
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let tomorrow = site.now().timestamp().to_zoned_datetime(berlin.clone()).date().checked_add(1.day()).unwrap();
        let part = json!({"type": "text", "text": "pause sync until tomorrow 9:00"});
        let message = json!({"id": new_id(), "role": "user", "parts": [part]});
        let body = json!({"id": new_id(), "message": message, "timezone": "Europe/Berlin"});
        let chunks = chunks(ann.send(Method::POST, "/api/chat", Some(body)).await).await;
        let proposed = cards(&chunks);
        assert_eq!(proposed.len(), 1, "{chunks:#?}");
        confirm(&ann, &proposed[0]).await;
        let until: Timestamp = checks(&ann).await["checks"][0]["paused_until"].as_str().unwrap().parse().unwrap();
        assert_eq!(until, tomorrow.at(9, 0, 0, 0).to_zoned_datetime(berlin).unwrap().timestamp());
    }
}
