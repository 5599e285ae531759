//! Commands about alerts, longest runs and undoing.

use serde_json::{Value, json};

use super::{check, said};

#[test]
fn creating_with_alerts() {
    check(&[
        (
            "create X every 5 minutes and tell ops",
            "create_check",
            json!({"name": "X", "period_seconds": 300, "channels": ["ops"]}),
        ),
        (
            "create X hourly, alert ops and \"on call\" after 3 failures in a row, and remind me every 2 hours",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "channels": ["ops", "on call"], "alert_after_failures": 3,
                   "reminder_seconds": 7200}),
        ),
        (
            "create X hourly, alert me after three failures",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "alert_after_failures": 3}),
        ),
        (
            "create X hourly and tell nobody",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "channels": []}),
        ),
        (
            "create X hourly tagged prod and notify ops, dev with reminders every day",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "tags": ["prod"], "channels": ["ops", "dev"],
                   "reminder_seconds": 86_400}),
        ),
        (
            "create X hourly with alerts to #ops and a max runtime of 30 minutes",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "channels": ["#ops"], "max_runtime_seconds": 1800}),
        ),
        (
            "create X hourly and don't tell anyone",
            "create_check",
            json!({"name": "X", "period_seconds": 3600, "channels": []}),
        ),
        ("create X @hourly", "create_check", json!({"name": "X", "cron": "@hourly", "timezone": "UTC"})),
        (
            "create X 0 9 * * 1 Europe/Berlin",
            "create_check",
            json!({"name": "X", "cron": "0 9 * * 1", "timezone": "Europe/Berlin"}),
        ),
    ]);
}

#[test]
fn editing_alerts() {
    let change = |argument: &str, value: Value| json!({"check": "X", argument: value});
    check(&[
        ("set channels of X to ops, dev", "update_check", change("channels", json!(["ops", "dev"]))),
        ("set the channels of X to none", "update_check", change("channels", json!([]))),
        ("tell ops about X", "update_check", change("channels", json!(["ops"]))),
        ("alert only ops when X goes down", "update_check", change("channels", json!(["ops"]))),
        ("tell nobody about X", "update_check", change("channels", json!([]))),
        ("remove the channels of X", "update_check", change("channels", json!([]))),
        ("alert after 3 failures for X", "update_check", change("alert_after_failures", json!(3))),
        ("set X to alert after 5 failed pings", "update_check", change("alert_after_failures", json!(5))),
        ("send alerts of X to ops", "update_check", change("channels", json!(["ops"]))),
        ("make X run every 2 hours", "update_check", change("period_seconds", json!(7200))),
        ("make X alert after 2 failures", "update_check", change("alert_after_failures", json!(2))),
        ("remind me every 2 hours about X", "update_check", change("reminder_seconds", json!(7200))),
        ("remind me about X every 2 hours", "update_check", change("reminder_seconds", json!(7200))),
        ("remind us hourly while X is down", "update_check", change("reminder_seconds", json!(3600))),
        ("set reminders of X to every 4 hours", "update_check", change("reminder_seconds", json!(14_400))),
        ("stop reminding me about X", "update_check", change("reminder_seconds", Value::Null)),
        ("turn off reminders for X", "update_check", change("reminder_seconds", Value::Null)),
        ("remove the reminders of X", "update_check", change("reminder_seconds", Value::Null)),
        ("set the max runtime of X to 1 hour", "update_check", change("max_runtime_seconds", json!(3600))),
        ("remove the max runtime of X", "update_check", change("max_runtime_seconds", Value::Null)),
        (
            "set schedule of X to 0 9 * * 1 in Europe/Berlin",
            "update_check",
            json!({"check": "X", "cron": "0 9 * * 1", "timezone": "Europe/Berlin"}),
        ),
        // It stays in its zone, unless another is said.
        ("set X to @daily", "update_check", json!({"check": "X", "cron": "@daily"})),
        ("set X to daily at 3am", "update_check", json!({"check": "X", "cron": "0 3 * * *"})),
        ("set the timezone of X to Europe/Berlin", "update_check", json!({"check": "X", "timezone": "Europe/Berlin"})),
    ]);
    check(&[(
        "pause everything tagged prod until tomorrow 9:00 Europe/Berlin",
        "pause_checks",
        json!({"tag": "prod", "until": "2026-07-07T07:00:00Z"}),
    )]);
}

#[test]
fn undoing() {
    for phrase in [
        "undo",
        "Undo that!",
        "please undo it",
        "undo the last change",
        "revert the last change",
        "revert that",
        "roll back the last change",
        "take that back",
    ] {
        check(&[(phrase, "undo_action", json!({}))]);
    }
    check(&[("undo action one", "undo_action", json!({"number": 1})), ("undo the last one", "undo_action", json!({}))]);
    for phrase in
        ["undo action 3", "undo 3", "undo #3", "revert action #3", "undo change number 3", "roll back action 3"]
    {
        check(&[(phrase, "undo_action", json!({"number": 3}))]);
    }
}

#[test]
fn unclear_ones_ask_and_call_nothing() {
    for (phrase, part) in [
        ("undo the pause of X", "I did not understand “undo the pause of X”"),
        ("undo action 3 and 4", "undo action 3"),
        ("undo a change", "undo action 3"),
        ("create X every 5 minutes and remind ops every 2 hours", "I did not understand “remind ops every 2 hours”"),
        ("add ops to the channels of X", "Say the whole list"),
        ("create X hourly, alert ops when it fails 3 times", "I did not understand “ops when it fails 3 times”"),
        ("email me when X is down", "Which channels?"),
        ("undo everything", "I did not understand"),
        ("create X hourly and tell me", "Which channels?"),
        ("create X hourly and tell", "Which channels?"),
        ("create X hourly, alert after many failures", "I did not understand “alert after many failures”"),
        ("create X hourly and remind me sometimes", "I did not understand “remind me sometimes”"),
        ("tell ops", "Which check?"),
        ("tell ops about it", "Which check?"),
        ("also tell ops about X", "Say the whole list"),
        ("stop telling ops about X", "Say the whole list"),
        ("set its grace to 10 minutes", "Which check?"),
        ("set reminders of X to rarely", "I did not understand “rarely”"),
        ("remind me every 2 hours", "Which check?"),
    ] {
        let text = said(phrase);
        assert!(text.contains(part), "{phrase}: {text}");
        assert!(text.contains("Nothing has changed."), "{phrase}: {text}");
    }
    for phrase in ["tell me a joke", "undelete X", "stop"] {
        assert!(said(phrase).starts_with("I did not understand “"), "{phrase}");
    }
}
