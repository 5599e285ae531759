//! Questions and the reads that they become: alerts, spans of time, changes and schedules that are only thought of.

use serde_json::json;

use super::{calls, check, said};

#[test]
fn who_was_told() {
    let nightly = json!({"check": "nightly"});
    for phrase in [
        "who was told about nightly?",
        "Who was alerted that nightly is down?",
        "who got notified about nightly",
        "who has been told of nightly going down?",
        "who is told when nightly goes down?",
        "who will be alerted if nightly fails",
        "whom did you tell about nightly?",
        "was anyone alerted about nightly?",
        "Has anybody been told that nightly was down?",
        "did anyone get notified about the check nightly?",
        "did you tell anyone about nightly?",
        "were we alerted when nightly went down?",
        "did the alert for nightly go out?",
        "alerts of nightly",
        "show me the notifications for nightly",
        "which channels does nightly have?",
        "what channels does nightly use",
        "where do alerts of nightly go?",
        "why was I alerted about nightly?",
        "why did I get an alert for nightly?",
        "tell me who was told about nightly",
    ] {
        assert_eq!(calls(phrase), json!([["get_check", nightly]]), "{phrase}");
    }
    for phrase in
        ["who was told?", "was anyone alerted?", "who got alerted", "did anybody get told?", "were alerts sent?"]
    {
        assert_eq!(calls(phrase), json!([["list_checks", {"state": "down"}]]), "{phrase}");
    }
    for phrase in ["create a channel ops", "delete the channel ops"] {
        assert!(said(phrase).contains("channels"), "{phrase}");
    }
    for phrase in ["who is told when a check goes down?", "what are alerts?"] {
        assert!(!said(phrase).starts_with("Which check?"), "{phrase} asks how it works");
    }
}

#[test]
fn one_check_now() {
    let nightly = json!({"check": "nightly"});
    for phrase in [
        "when is the next run of nightly?",
        "when is the next ping of nightly",
        "When does nightly run next?",
        "when will nightly run",
        "when should nightly ping next?",
        "next runs of nightly",
        "what is the next run of nightly?",
        "what happened to nightly?",
        "what's the matter with nightly",
        "what is going on with nightly?",
        "explain why nightly is down",
        "tell me about nightly",
        "nightly's next run",
        "did nightly run today?",
        "has nightly pinged yet?",
        "next 5 runs of nightly",
        "when would nightly go down?",
        "how often does nightly run?",
        "show me the last 5 pings of nightly",
        "history of nightly",
    ] {
        assert_eq!(calls(phrase), json!([["get_check", nightly]]), "{phrase}");
    }
    check(&[
        ("what was rejected by the floor?", "list_checks", json!({})),
        ("which checks are rejected by the floor", "list_checks", json!({})),
        ("which pings were refused?", "list_checks", json!({})),
        ("what is being rejected?", "list_checks", json!({})),
        ("which checks ping too often?", "list_checks", json!({})),
        ("list refused pings tagged prod", "list_checks", json!({"tag": "prod"})),
        ("which checks are started?", "list_checks", json!({"state": "started"})),
        ("what is late or down?", "list_checks", json!({})),
        ("what's wrong?", "list_checks", json!({})),
        ("list all checks tagged prod that are down", "list_checks", json!({"tag": "prod", "state": "down"})),
        ("what is late?", "list_checks", json!({"state": "late"})),
        ("what's new", "list_checks", json!({"state": "new"})),
        ("what is paused?", "list_checks", json!({"state": "paused"})),
        ("how many checks are left?", "get_account", json!({})),
    ]);
}

#[test]
fn two_questions() {
    for phrase in
        ["why is X down and who was told?", "Why is X down? Who was told?", "who was told about X, and why is it down"]
    {
        assert_eq!(calls(phrase), json!([["get_check", {"check": "X"}]]), "{phrase}");
    }
    let text = said("how is X and what is late?");
    assert!(text.starts_with("One question at a time, please: first “how is X”, then “what is late”."), "{text}");
}

#[test]
fn spans_of_time() {
    let plain = json!({"check": "X"});
    let days = |days: u64| json!({"check": "X", "days": days});
    check(&[
        ("uptime of X", "get_uptime", plain.clone()),
        ("X uptime", "get_uptime", plain.clone()),
        ("what is X's uptime?", "get_uptime", plain.clone()),
        ("show me the uptime for X", "get_uptime", plain.clone()),
        ("outages of X", "get_uptime", plain.clone()),
        ("list all outages of X", "get_uptime", plain.clone()),
        ("how many outages did X have?", "get_uptime", plain.clone()),
        ("how long was X down?", "get_uptime", plain.clone()),
        ("how often did X fail", "get_uptime", plain.clone()),
        ("when was X last down?", "get_uptime", plain.clone()),
        ("how reliable is X?", "get_uptime", plain.clone()),
        ("downtime of X", "get_uptime", plain.clone()),
        ("uptime of \"copy since 2020\"", "get_uptime", json!({"check": "copy since 2020"})),
        ("uptime of X in the last 7 days", "get_uptime", days(7)),
        ("uptime of X last week", "get_uptime", days(7)),
        ("uptime of X over the past month", "get_uptime", days(30)),
        ("X's uptime for 90 days?", "get_uptime", days(90)),
        ("uptime of X in the last 3 months", "get_uptime", days(90)),
        // It is Monday the 6th, 12:00: today began within a day, the month within 6.
        ("uptime of X today", "get_uptime", days(1)),
        ("outages of X this week", "get_uptime", days(1)),
        ("uptime of X this month", "get_uptime", days(6)),
        ("uptime of X this year", "get_uptime", days(187)),
        ("outages of X since yesterday", "get_uptime", days(2)),
        ("outages of X since friday", "get_uptime", days(4)),
        ("uptime of X since 2026-06-01", "get_uptime", days(36)),
        ("how often was X down in the last 36 hours", "get_uptime", days(2)),
        ("was X down yesterday?", "get_uptime", days(2)),
        ("what happened to X last week?", "get_uptime", days(7)),
        ("how was X in the last 24 hours?", "get_uptime", days(1)),
    ]);
    for phrase in ["uptime of X in march", "outages of X since the party", "uptime of X since 2027-01-01"] {
        let text = said(phrase);
        assert!(text.starts_with("I did not understand “") && text.contains("in the last 7 days"), "{phrase}: {text}");
    }
    for phrase in ["uptime of them", "uptime of all checks", "uptime of everything this week"] {
        assert!(said(phrase).starts_with("Which check?"), "{phrase}");
    }
    for phrase in ["what was down last week?", "which checks failed yesterday", "was anything down this month?"] {
        assert!(said(phrase).contains("one check at a time"), "{phrase}");
    }
}

#[test]
fn changes_only_thought_of() {
    let grace = json!({"check": "X", "grace_seconds": 600});
    let often = json!({"check": "X", "period_seconds": 7200});
    check(&[
        ("what happens if I set grace of X to 10 minutes?", "preview_change", grace.clone()),
        ("what if I set the grace of X to 10 minutes", "preview_change", grace.clone()),
        ("What would happen if I changed X's grace to 10 minutes?", "preview_change", grace.clone()),
        ("what happens when if I give X a grace of 10 minutes?", "preview_change", grace.clone()),
        ("what if X had a grace of 10 minutes?", "preview_change", grace.clone()),
        ("what if the grace of X were 10 minutes?", "preview_change", grace.clone()),
        ("would X go down if I lowered its grace of X to 10 minutes", "preview_change", grace),
        ("what if X ran every 2 hours?", "preview_change", often.clone()),
        ("what if X pinged every 2 hours", "preview_change", often.clone()),
        ("what would happen if I changed X to every 2 hours?", "preview_change", often.clone()),
        ("what if X was every 2 hours", "preview_change", often.clone()),
        ("what if I made X every 2 hours", "preview_change", often),
        (
            "what if X ran daily at 02:30 Europe/Berlin?",
            "preview_change",
            json!({"check": "X", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}),
        ),
        ("what if I renamed X to Y?", "preview_change", json!({"check": "X", "name": "Y"})),
        ("preview setting grace of X to 10 minutes", "preview_change", json!({"check": "X", "grace_seconds": 600})),
    ]);
    for phrase in ["what if I delete X?", "what happens if I pause X?", "what would happen if I rotated the key of X?"]
    {
        let text = said(phrase);
        assert!(text.contains("say it as a command"), "{phrase}: {text}");
    }
    assert!(said("what happens if I set grace of X to plenty?").contains("I did not understand “plenty”"));
    assert!(said("what happens if I set grace to 10 minutes?").starts_with("Which check?"));
    assert!(said("what happens if a ping is late?").contains("grace"), "a question about Flatline");
    assert!(said("what happens if I pause a check?").contains("pause"), "a question about Flatline");
}

#[test]
fn schedules_only_thought_of() {
    let berlin = json!({"cron": "*/5 * * * *", "timezone": "Europe/Berlin"});
    let utc = json!({"cron": "0 9 * * 1", "timezone": "UTC"});
    check(&[
        ("when would `*/5 * * * *` in Europe/Berlin run?", "preview_schedule", berlin.clone()),
        ("when does cron \"*/5 * * * *\" in Europe/Berlin run next", "preview_schedule", berlin.clone()),
        ("next runs of */5 * * * * Europe/Berlin", "preview_schedule", berlin.clone()),
        ("show me the next 5 runs of cron */5 * * * * in Europe/Berlin", "preview_schedule", berlin),
        ("when would 0 9 * * 1 run?", "preview_schedule", utc.clone()),
        ("what does \"0 9 * * 1\" mean", "preview_schedule", utc.clone()),
        ("explain 0 9 * * mon", "preview_schedule", json!({"cron": "0 9 * * mon", "timezone": "UTC"})),
        ("0 9 * * 1", "preview_schedule", utc),
        ("when would @daily run?", "preview_schedule", json!({"cron": "@daily", "timezone": "UTC"})),
        (
            "when would daily at 02:30 Europe/Berlin run?",
            "preview_schedule",
            json!({"cron": "30 2 * * *", "timezone": "Europe/Berlin"}),
        ),
        ("is every 2 minutes allowed?", "preview_schedule", json!({"period_seconds": 120})),
        ("can I use every 2 minutes", "preview_schedule", json!({"period_seconds": 120})),
        // Names that are words of schedules stay names.
        ("when does nightly run?", "get_check", json!({"check": "nightly"})),
        ("when is daily report due?", "get_check", json!({"check": "daily report"})),
    ]);
    assert!(said("when would */5 * * * * in Europe/Berln run?").contains("I do not know the time zone “Europe/Berln”"));
    assert!(said("when would */5 * * run?").contains("five fields"));
    assert!(said("can I use cron schedules?").contains("**cron**"), "a question about Flatline");
}
