//! Questions about one check, about all of them and about the account, as people ask them.

use serde_json::json;

use super::{calls, check, said};

#[test]
fn one_check_is_asked_of_in_many_ways() {
    for phrase in [
        "what did backup say?",
        "what was the last error of backup?",
        "did backup succeed?",
        "tell me everything about backup",
        "did backup run last night?",
        "what time is backup due",
        "how long until backup is due?",
        "is backup due soon",
        "what schedule does backup have?",
        "when was backup last pinged?",
        "how many pings of backup were rejected?",
        "why was backup's ping rejected?",
        "did any pings get rejected for backup?",
        "when does backup expect its next ping?",
        "were the alerts for backup delivered?",
        "What's the status of the backup check?",
        "Isn't backup down?",
        "hasn't backup pinged yet?",
        "Why hasn't backup pinged?",
        "what went wrong with backup",
        "is backup OK?",
        "when did backup last succeed?",
        "what was the exit code of backup?",
        "show me the log of backup",
        "what's the last output of backup",
        "when was backup changed?",
        "what channels alert for backup?",
        "does backup have any reminders?",
        "what tags does backup have?",
        "what's backup's grace?",
        "what timezone is backup in?",
        "how much grace does backup have?",
        "will backup be on time?",
        "what about backup?",
        "could you tell me when backup is due",
        "how long does backup take?",
        "is the backup check late",
        "show the next 5 runs of backup",
        "when does backup's grace end?",
        "how has backup been doing lately?",
        "what caused the outage of backup?",
        "did anyone get an email about backup?",
        "was slack told about backup?",
        "schedule of backup",
    ] {
        assert_eq!(calls(phrase), json!([["get_check", {"check": "backup"}]]), "{phrase}");
    }
    check(&[
        ("what did \"last run\" say?", "get_check", json!({"check": "last run"})),
        ("did Nightly DB Backup run last night?", "get_check", json!({"check": "Nightly DB Backup"})),
    ]);
}

#[test]
fn all_checks_and_the_account() {
    check(&[
        ("which checks have never pinged?", "list_checks", json!({"state": "new"})),
        ("which checks haven't pinged yet?", "list_checks", json!({"state": "new"})),
        ("what needs my attention?", "list_checks", json!({})),
        ("anything wrong?", "list_checks", json!({})),
        ("any problems with my checks?", "list_checks", json!({})),
        ("are there any late checks?", "list_checks", json!({"state": "late"})),
        ("list prod checks", "list_checks", json!({"tag": "prod"})),
        ("which prod checks are down?", "list_checks", json!({"tag": "prod", "state": "down"})),
        ("anything down in prod?", "list_checks", json!({"tag": "prod", "state": "down"})),
        ("do any checks have rejected pings?", "list_checks", json!({})),
        ("give me a summary", "list_checks", json!({})),
        ("which jobs failed?", "list_checks", json!({"state": "down"})),
        ("how many more checks can I add?", "get_account", json!({})),
        ("how many checks am I using?", "get_account", json!({})),
        ("how much of my quota is left?", "get_account", json!({})),
        ("can I create another check?", "get_account", json!({})),
        ("am I near my limit?", "get_account", json!({})),
        ("which channels do I have?", "get_account", json!({})),
        ("list my channels", "get_account", json!({})),
    ]);
}

#[test]
fn uptimes_and_what_would_be() {
    let days = |days: u64| json!({"check": "backup", "days": days});
    let grace = |seconds: u64| json!({"check": "backup", "grace_seconds": seconds});
    check(&[
        ("uptime report for backup last 90 days", "get_uptime", days(90)),
        ("percentage uptime for backup over 90 days", "get_uptime", days(90)),
        ("uptime of backup for the past fortnight", "get_uptime", days(14)),
        ("How reliable has backup been this month?", "get_uptime", days(6)),
        ("show outages for backup since 1 July", "get_uptime", days(6)),
        ("outages of backup since Dec 24th", "get_uptime", days(195)),
        ("what would happen if backup's grace was 10 minutes?", "preview_change", grace(600)),
        ("would setting the grace of backup to 60 seconds take it down?", "preview_change", grace(60)),
        ("what happens if I set the grace to 10 minutes on backup?", "preview_change", grace(600)),
        ("is it safe to lower the grace of backup to 5 minutes?", "preview_change", grace(300)),
        ("what if backup only had a minute's grace?", "preview_change", grace(60)),
        ("can I set backup's grace to 10 minutes?", "preview_change", grace(600)),
        ("does changing backup's grace to 10 minutes take it down?", "preview_change", grace(600)),
    ]);
    let text = said("show uptime of backup for november");
    assert!(text.starts_with("I did not understand “for november”"), "{text}");
    assert!(said("can I set a check to every minute?").contains("**"), "a question about Flatline");
}

#[test]
fn schedules_in_a_zone_and_at_the_floor() {
    let berlin = |cron: &str| json!({"cron": cron, "timezone": "Europe/Berlin"});
    check(&[
        ("when would \"0 3 * * 1-5\" run in Europe/Berlin", "preview_schedule", berlin("0 3 * * 1-5")),
        ("when does 30 2 * * * run in Europe/Berlin?", "preview_schedule", berlin("30 2 * * *")),
        ("next five runs of 0 3 * * 1-5 in Europe/Berlin and UTC", "preview_schedule", berlin("0 3 * * 1-5")),
        (
            "when would every monday at 6:30 am run in America/New_York?",
            "preview_schedule",
            json!({"cron": "30 6 * * 1", "timezone": "America/New_York"}),
        ),
        ("can I use a period of 1 minute?", "preview_schedule", json!({"period_seconds": 60})),
        ("is a 1 minute period allowed on my plan?", "preview_schedule", json!({"period_seconds": 60})),
        ("is 30 seconds allowed?", "preview_schedule", json!({"period_seconds": 30})),
        ("may I ping every minute?", "preview_schedule", json!({"period_seconds": 60})),
    ]);
}

#[test]
fn two_commands_are_asked_apart() {
    for (phrase, first, second) in [
        ("pause backup; resume sync", "pause backup", "resume sync"),
        ("pause backup and then resume sync", "pause backup", "resume sync"),
        ("Pause backup. Delete sync.", "Pause backup", "Delete sync"),
        ("list my checks and delete backup", "list my checks", "delete backup"),
    ] {
        let text = said(phrase);
        let wanted = format!("One thing at a time, please: first “{first}”, then “{second}”.");
        assert!(text.starts_with(&wanted), "{phrase}: {text}");
    }
    check(&[
        ("pause \"backup; resume sync\"", "pause_check", json!({"check": "backup; resume sync"})),
        ("pause backup, please", "pause_check", json!({"check": "backup"})),
    ]);
}
