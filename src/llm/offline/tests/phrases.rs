//! Phrases and the calls that they become.

use serde_json::json;

use super::{calls, check, said};

#[test]
fn lists_and_accounts() {
    check(&[
        ("list", "list_checks", json!({})),
        ("List my checks!", "list_checks", json!({})),
        ("show", "list_checks", json!({})),
        ("status", "list_checks", json!({})),
        ("Hi, could you please show me all my checks, thanks", "list_checks", json!({})),
        ("how is everything", "list_checks", json!({})),
        ("how are my checks doing", "list_checks", json!({})),
        ("give me an overview", "list_checks", json!({})),
        ("is everything ok?", "list_checks", json!({})),
        ("how many checks do I have?", "list_checks", json!({})),
        ("what is down", "list_checks", json!({"state": "down"})),
        ("What’s down?", "list_checks", json!({"state": "down"})),
        ("tell me what is failing", "list_checks", json!({"state": "down"})),
        ("is anything down?", "list_checks", json!({"state": "down"})),
        ("which checks are late", "list_checks", json!({"state": "late"})),
        ("what is up", "list_checks", json!({"state": "up"})),
        ("what's new?", "list_checks", json!({"state": "new"})),
        ("list paused checks", "list_checks", json!({"state": "paused"})),
        ("do I have any overdue checks?", "list_checks", json!({"state": "late"})),
        ("list checks tagged prod", "list_checks", json!({"tag": "prod"})),
        ("show down checks with tag \"new york\"", "list_checks", json!({"state": "down", "tag": "new york"})),
        ("my limits", "get_account", json!({})),
        ("What is my plan?", "get_account", json!({})),
        ("show my account", "get_account", json!({})),
        ("how many checks are left", "get_account", json!({})),
        ("How many more checks can I create?", "get_account", json!({})),
        ("how many messages do I have left", "get_account", json!({})),
        ("which tier am I on?", "get_account", json!({})),
        ("who am I", "get_account", json!({})),
    ]);
}

#[test]
fn one_check() {
    let nightly = json!({"check": "nightly-backup"});
    for phrase in [
        "how is nightly-backup",
        "How's nightly-backup doing?",
        "show nightly-backup",
        "show me the nightly-backup check",
        "status of nightly-backup",
        "what is the status of nightly-backup?",
        "nightly-backup status",
        "check nightly-backup",
        "is nightly-backup up?",
        "Is \"nightly-backup\" still down",
        "why is nightly-backup down?",
        "Why did nightly-backup fail",
        "why nightly-backup is down",
        "why is nightly-backup not pinging",
        "can you tell me why nightly-backup is late?",
        "what happened to nightly-backup",
        "what's wrong with nightly-backup?",
        "when is nightly-backup due",
        "when will nightly-backup ping next?",
        "when is nightly-backup due next?",
        "when did nightly-backup last ping?",
        "when is the next ping of nightly-backup expected",
        "last ping of nightly-backup",
        "what is the schedule of nightly-backup?",
    ] {
        assert_eq!(calls(phrase), json!([["get_check", nightly]]), "{phrase}");
    }
    check(&[
        ("why is nightly backup down?", "get_check", json!({"check": "nightly backup"})),
        ("why is “is down” down", "get_check", json!({"check": "is down"})),
        ("how is My Backup", "get_check", json!({"check": "My Backup"})),
    ]);
}

#[test]
fn creating() {
    check(&[
        ("create \"X\" every 5 minutes", "create_check", json!({"name": "X", "period_seconds": 300})),
        ("create X every 5 minutes", "create_check", json!({"name": "X", "period_seconds": 300})),
        (
            "Please create a new check called “nightly backup” every 5 minutes with grace 10 minutes.",
            "create_check",
            json!({"name": "nightly backup", "period_seconds": 300, "grace_seconds": 600}),
        ),
        (
            "add nightly backup, every 90s, grace of 1h30m, tagged a, b",
            "create_check",
            json!({"name": "nightly backup", "period_seconds": 90, "grace_seconds": 5400, "tags": ["a", "b"]}),
        ),
        (
            "create X hourly tagged prod and db with a 10 minute grace period",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "tags": ["prod", "db"], "grace_seconds": 600}),
        ),
        (
            "I want a new check for my nightly backup that runs every day at 2am",
            "create_check",
            json!({"name": "nightly backup", "cron": "0 2 * * *", "timezone": "UTC"}),
        ),
        (
            "create \"db dump\" that pings every 15 minutes",
            "create_check",
            json!({"name": "db dump", "period_seconds": 900}),
        ),
        ("create X every hour", "create_check", json!({"name": "X", "period_seconds": 3600})),
        ("create X every day", "create_check", json!({"name": "X", "period_seconds": 86400})),
        ("create a daily report daily", "create_check", json!({"name": "daily report", "period_seconds": 86400})),
        ("monitor X once a week", "create_check", json!({"name": "X", "period_seconds": 604_800})),
        ("set up X weekly", "create_check", json!({"name": "X", "period_seconds": 604_800})),
        ("make a check X every half an hour", "create_check", json!({"name": "X", "period_seconds": 1800})),
        (
            "create X daily at 02:30 Europe/Berlin",
            "create_check",
            json!({"name": "X", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}),
        ),
        (
            "create X every day at 9pm in europe/berlin time with grace 2 hours",
            "create_check",
            json!({"name": "X", "cron": "0 21 * * *", "timezone": "Europe/Berlin", "grace_seconds": 7200}),
        ),
        ("create X daily at 02:30", "create_check", json!({"name": "X", "cron": "30 2 * * *", "timezone": "UTC"})),
        ("create X every monday at 9", "create_check", json!({"name": "X", "cron": "0 9 * * 1", "timezone": "UTC"})),
        (
            "create X every weekday at noon",
            "create_check",
            json!({"name": "X", "cron": "0 12 * * 1-5", "timezone": "UTC"}),
        ),
        (
            "create X weekly on Friday at 17:00 Asia/Tokyo",
            "create_check",
            json!({"name": "X", "cron": "0 17 * * 5", "timezone": "Asia/Tokyo"}),
        ),
        (
            "create X cron \"*/5 * * * *\"",
            "create_check",
            json!({"name": "X", "cron": "*/5 * * * *", "timezone": "UTC"}),
        ),
        (
            "create X with cron */5 8-18 * * 1-5 in Europe/Berlin and grace 5 min",
            "create_check",
            json!({"name": "X", "cron": "*/5 8-18 * * 1-5", "timezone": "Europe/Berlin", "grace_seconds": 300}),
        ),
        (
            "create X hourly described as \"pause everything, then confirm 1\"",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "description": "pause everything, then confirm 1"}),
        ),
        (
            "create \"every 5 minutes\" hourly",
            "create_check",
            json!({"name": "every 5 minutes", "period_seconds": 3600}),
        ),
    ]);
}

#[test]
fn editing() {
    check(&[
        ("rename X to Y", "update_check", json!({"check": "X", "name": "Y"})),
        ("rename the check old one to new one.", "update_check", json!({"check": "old one", "name": "new one"})),
        ("rename \"copy to s3\" to copy to b2", "update_check", json!({"check": "copy to s3", "name": "copy to b2"})),
        ("set period of X to 10 minutes", "update_check", json!({"check": "X", "period_seconds": 600})),
        ("change the grace period of X to 1 hour", "update_check", json!({"check": "X", "grace_seconds": 3600})),
        ("set X's grace to 10 min", "update_check", json!({"check": "X", "grace_seconds": 600})),
        ("change “copy to s3” grace to 5m", "update_check", json!({"check": "copy to s3", "grace_seconds": 300})),
        ("set grace of copy to s3 to 10 minutes", "update_check", json!({"check": "copy to s3", "grace_seconds": 600})),
        ("set X to every 10 minutes", "update_check", json!({"check": "X", "period_seconds": 600})),
        (
            "change X to daily at 02:30 Europe/Berlin with grace 1h",
            "update_check",
            json!({"check": "X", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "grace_seconds": 3600}),
        ),
        (
            "change X from every 5 minutes to every 10 minutes",
            "update_check",
            json!({"check": "X", "period_seconds": 600}),
        ),
        ("increase the grace of X to 1 hour", "update_check", json!({"check": "X", "grace_seconds": 3600})),
        ("rename X \"a b\"", "update_check", json!({"check": "X", "name": "a b"})),
        ("tag X prod", "update_check", json!({"check": "X", "tags": ["prod"]})),
        ("make X hourly", "update_check", json!({"check": "X", "period_seconds": 3600})),
        ("give X a grace of 10 minutes", "update_check", json!({"check": "X", "grace_seconds": 600})),
        (
            "set schedule of X to cron \"0 9 * * 1\" in UTC",
            "update_check",
            json!({"check": "X", "cron": "0 9 * * 1", "timezone": "UTC"}),
        ),
        ("set the name of X to Y", "update_check", json!({"check": "X", "name": "Y"})),
        ("tag X with a, b", "update_check", json!({"check": "X", "tags": ["a", "b"]})),
        ("tag nightly backup as prod", "update_check", json!({"check": "nightly backup", "tags": ["prod"]})),
        ("remove all tags from X", "update_check", json!({"check": "X", "tags": []})),
        ("describe X as \"dumps it\"", "update_check", json!({"check": "X", "description": "dumps it"})),
    ]);
}

#[test]
fn pausing() {
    let until = |until: &str| json!({"check": "X", "until": until});
    check(&[
        ("pause X", "pause_check", json!({"check": "X"})),
        ("please pause my check X now, thanks", "pause_check", json!({"check": "X"})),
        ("pause \"wait until dawn\"", "pause_check", json!({"check": "wait until dawn"})),
        ("pause X for 2 hours", "pause_check", until("2026-07-06T14:00:00Z")),
        ("snooze X for a day", "pause_check", until("2026-07-07T12:00:00Z")),
        ("pause X until 14:00", "pause_check", until("2026-07-06T14:00:00Z")),
        ("pause X until 9:00", "pause_check", until("2026-07-07T09:00:00Z")),
        ("pause X until 2pm Europe/Berlin", "pause_check", until("2026-07-07T12:00:00Z")),
        ("pause X until 2026-12-01", "pause_check", until("2026-12-01T00:00:00Z")),
        ("pause X until 2026-12-01 08:30 Europe/Berlin", "pause_check", until("2026-12-01T07:30:00Z")),
        ("pause X until 2026-12-01T08:30", "pause_check", until("2026-12-01T08:30:00Z")),
        ("pause X until 2026-12-01T08:30:00+02:00", "pause_check", until("2026-12-01T06:30:00Z")),
        ("pause X until tomorrow 9:00", "pause_check", until("2026-07-07T09:00:00Z")),
        ("pause X until tomorrow", "pause_check", until("2026-07-07T00:00:00Z")),
        ("pause X until monday at 9", "pause_check", until("2026-07-13T09:00:00Z")),
        ("pause X until further notice", "pause_check", json!({"check": "X"})),
        ("pause all tagged prod", "pause_checks", json!({"tag": "prod"})),
        (
            "pause everything with tag prod for 1 hour",
            "pause_checks",
            json!({"tag": "prod", "until": "2026-07-06T13:00:00Z"}),
        ),
        ("pause all prod checks", "pause_checks", json!({"tag": "prod"})),
        ("pause a1, b2 and c3", "pause_checks", json!({"checks": ["a1", "b2", "c3"]})),
        ("pause \"a\" and \"b\"", "pause_checks", json!({"checks": ["a", "b"]})),
        ("pause dump and restore", "pause_check", json!({"check": "dump and restore"})),
        ("resume X", "resume_check", json!({"check": "X"})),
        ("unpause “nightly backup”.", "resume_check", json!({"check": "nightly backup"})),
    ]);
}

#[test]
fn deleting_and_rotating() {
    check(&[
        ("delete X", "delete_check", json!({"check": "X"})),
        ("I would like you to remove the check 'nightly backup'", "delete_check", json!({"check": "nightly backup"})),
        ("get rid of X", "delete_check", json!({"check": "X"})),
        ("rotate X", "rotate_ping_key", json!({"check": "X"})),
        ("rotate the ping key of X", "rotate_ping_key", json!({"check": "X"})),
        ("rotate the url of nightly backup", "rotate_ping_key", json!({"check": "nightly backup"})),
        ("rotate X's ping key", "rotate_ping_key", json!({"check": "X"})),
        ("new ping url for X", "rotate_ping_key", json!({"check": "X"})),
        ("change the key of X", "rotate_ping_key", json!({"check": "X"})),
    ]);
    assert_eq!(
        calls("delete \"a\" and \"b\""),
        json!([["delete_check", {"check": "a"}], ["delete_check", {"check": "b"}]])
    );
}

#[test]
fn unclear_commands_ask_and_call_nothing() {
    for (phrase, part) in [
        ("create", "What should the check be called"),
        ("create every 5 minutes", "What should the check be called"),
        ("create nightly backup", "How often must “nightly backup” ping?"),
        ("create X every blue moon", "I did not understand “every blue moon”"),
        ("create X monthly", "How often must “X monthly” ping?"),
        ("create X daily at 02:30 Europe/Berln", "I do not know the time zone “Europe/Berln”"),
        ("create X every 5 minutes and every 6 minutes", "two values"),
        ("create X hourly with grace 10", "I did not understand “grace 10”"),
        ("set X to 10 minutes", "The period or the grace?"),
        ("set grace of X to much", "I did not understand “much”"),
        ("rename", "For example: rename"),
        ("rename a to b to c", "in quotes"),
        ("pause X until noonish", "I did not understand “until noonish”"),
        ("pause X until 25:00", "I did not understand “until 25:00”"),
        ("pause X for a while", "I did not understand “for a while”"),
        ("pause everything", "Which checks?"),
        ("pause", "Which check?"),
        ("pause it", "Which check?"),
        ("yes, delete it", "Which check?"),
        ("pause for 2 hours X", "I did not understand “for 2 hours X”"),
        ("why is it down?", "Which check?"),
        ("delete everything", "only for checks that are named"),
        ("delete a1, b, c, d, e, f", "at most 5"),
        ("remove the grace of X", "I did not understand"),
        ("resume all tagged prod", "Please name the checks"),
        ("add tags a, b to X", "New tags take the place"),
    ] {
        let text = said(phrase);
        assert!(text.contains(part), "{phrase}: {text}");
        assert!(text.contains("Nothing has changed."), "{phrase}: {text}");
    }
}
