//! Commands in other words than the plain ones: several settings at once, times before days, alerts by any verb.

use serde_json::{Value, json};

use super::{check, said};

#[test]
fn all_the_fields_of_a_cron_expression_are_the_expression() {
    let created = |name: &str, cron: &str, zone: &str| json!({"name": name, "cron": cron, "timezone": zone});
    // Six fields, and the other dialects' question mark, are the server's to refuse; never is one part of a name.
    check(&[
        ("create x cron 0 0 3 * * *", "create_check", created("x", "0 0 3 * * *", "UTC")),
        ("create y 0 0 3 * * *", "create_check", created("y", "0 0 3 * * *", "UTC")),
        (
            "create y with cron 0 0 3 * * * in Europe/Berlin",
            "create_check",
            created("y", "0 0 3 * * *", "Europe/Berlin"),
        ),
        ("create y cron 0 0 3 ? * MON-FRI", "create_check", created("y", "0 0 3 ? * MON-FRI", "UTC")),
        ("create y cron 0 0 3 * * ?", "create_check", created("y", "0 0 3 * * ?", "UTC")),
        ("create y cron 0 0 3 L * * 2027", "create_check", created("y", "0 0 3 L * * 2027", "UTC")),
        ("set backup to cron 0 0 3 * * *", "update_check", json!({"check": "backup", "cron": "0 0 3 * * *"})),
        ("when would 0 0 3 * * * run", "preview_schedule", json!({"cron": "0 0 3 * * *", "timezone": "UTC"})),
        ("set backup cron to 0 3 * * 1-5", "update_check", json!({"check": "backup", "cron": "0 3 * * 1-5"})),
        (
            "create y cron 0 3 * * MON,WED 10 minutes grace",
            "create_check",
            json!({"name": "y", "cron": "0 3 * * MON,WED", "grace_seconds": 600, "timezone": "UTC"}),
        ),
    ]);
}

#[test]
fn schedules_as_people_say_them() {
    let cron = |cron: &str, zone: &str| json!({"name": "y", "cron": cron, "timezone": zone});
    let period = |seconds: u64| json!({"name": "y", "period_seconds": seconds});
    for (said, arguments) in [
        ("at 02:30 every night in Europe/Berlin", cron("30 2 * * *", "Europe/Berlin")),
        ("at 9 on weekdays", cron("0 9 * * 1-5", "UTC")),
        ("at 3am Europe/Berlin daily", cron("0 3 * * *", "Europe/Berlin")),
        ("weekdays at 9", cron("0 9 * * 1-5", "UTC")),
        ("on weekdays at 9am", cron("0 9 * * 1-5", "UTC")),
        ("mon-fri at 9", cron("0 9 * * 1-5", "UTC")),
        ("every monday to thursday at noon", cron("0 12 * * 1-4", "UTC")),
        ("every friday to sunday at noon", cron("0 12 * * 5-7", "UTC")),
        ("every Monday and Thursday at 6:30 am Europe/London", cron("30 6 * * 1,4", "Europe/London")),
        ("every working day at 17:00", cron("0 17 * * 1-5", "UTC")),
        ("every day Europe/Berlin at 3am", cron("0 3 * * *", "Europe/Berlin")),
        ("twice a day", period(43_200)),
        ("every other day", period(172_800)),
        ("every hour and a half", period(5_400)),
        ("every 1.5 hours", period(5_400)),
        ("every sunday night at 11pm", cron("0 23 * * 0", "UTC")),
        ("every monday, wednesday and friday at 7:15", cron("15 7 * * 1,3,5", "UTC")),
        ("for every 5 minutes", period(300)),
        ("every 1h30", period(5_400)),
        ("every quarter of an hour", period(900)),
        ("every couple of hours", period(7_200)),
        ("every fortnight", period(1_209_600)),
    ] {
        check(&[(&format!("create y {said}"), "create_check", arguments)]);
    }
    check(&[
        (
            "create \"new one\" at 3am every day Europe/Berlin with grace 1 hour",
            "create_check",
            json!({"name": "new one", "cron": "0 3 * * *", "timezone": "Europe/Berlin", "grace_seconds": 3600}),
        ),
        (
            "create a nightly check called db-dump at 2am",
            "create_check",
            json!({"name": "db-dump", "cron": "0 2 * * *", "timezone": "UTC"}),
        ),
        ("make me a check called foo every hour", "create_check", json!({"name": "foo", "period_seconds": 3600})),
        ("create foo that should ping every 15 mins", "create_check", json!({"name": "foo", "period_seconds": 900})),
        (
            "create foo with schedule \"0 3 * * *\" in Europe/Berlin",
            "create_check",
            json!({"name": "foo", "cron": "0 3 * * *", "timezone": "Europe/Berlin"}),
        ),
        (
            "I'd like a check named \"Mail Queue\" that pings every 15 minutes",
            "create_check",
            json!({"name": "Mail Queue", "period_seconds": 900}),
        ),
        (
            "could you set up monitoring for invoices every 2 hours?",
            "create_check",
            json!({"name": "invoices", "period_seconds": 7200}),
        ),
    ]);
    assert!(super::said("create y every 1.0001 hours").contains("I did not understand"), "no whole seconds");
}

#[test]
fn several_settings_at_once() {
    let backup = |grace: u64, period: u64| json!({"check": "backup", "grace_seconds": grace, "period_seconds": period});
    check(&[
        ("set grace of backup to 10 min and period to 20 min", "update_check", backup(600, 1200)),
        ("set backup's grace to 10 min and period to 20 min", "update_check", backup(600, 1200)),
        ("Please set backup's period to 20 mins and its grace to 10 mins.", "update_check", backup(600, 1200)),
        ("set the period and grace of backup to 10 minutes", "update_check", backup(600, 600)),
        ("move backup to every 20 minutes and grace 10 minutes", "update_check", backup(600, 1200)),
        (
            "set channels of copy to s3 to ops, daily and grace to 10 min",
            "update_check",
            json!({"check": "copy to s3", "channels": ["ops", "daily"], "grace_seconds": 600}),
        ),
        (
            "set reminders of backup to every 2 hours and max runtime to 20 minutes",
            "update_check",
            json!({"check": "backup", "reminder_seconds": 7200, "max_runtime_seconds": 1200}),
        ),
    ]);
}

#[test]
fn one_setting_in_other_words() {
    let change = |argument: &str, value: Value| json!({"check": "backup", argument: value});
    check(&[
        ("set the grace to 10 minutes on backup", "update_check", change("grace_seconds", json!(600))),
        ("set a max runtime of 20 minutes for backup", "update_check", change("max_runtime_seconds", json!(1200))),
        ("backup must not take longer than 20 minutes", "update_check", change("max_runtime_seconds", json!(1200))),
        ("backup's grace should be 10 minutes", "update_check", change("grace_seconds", json!(600))),
        ("the grace of backup should be 10 minutes", "update_check", change("grace_seconds", json!(600))),
        ("backup should run every 2 hours", "update_check", change("period_seconds", json!(7200))),
        ("backup needs to run every 6 hours", "update_check", change("period_seconds", json!(21_600))),
        ("run backup every 6 hours", "update_check", change("period_seconds", json!(21_600))),
        ("let backup run hourly", "update_check", change("period_seconds", json!(3600))),
        ("switch backup to hourly", "update_check", change("period_seconds", json!(3600))),
        ("give backup half an hour of grace", "update_check", change("grace_seconds", json!(1800))),
        ("change the schedule of backup to weekdays at 9", "update_check", change("cron", json!("0 9 * * 1-5"))),
        ("move backup to Europe/Paris", "update_check", change("timezone", json!("Europe/Paris"))),
        ("put backup in Europe/Paris", "update_check", change("timezone", json!("Europe/Paris"))),
        ("make backup's grace 15 minutes", "update_check", change("grace_seconds", json!(900))),
        ("make the grace of backup 15 minutes", "update_check", change("grace_seconds", json!(900))),
        ("grace of backup to 10 minutes", "update_check", change("grace_seconds", json!(600))),
        ("limit backup's runtime to 20 minutes", "update_check", change("max_runtime_seconds", json!(1200))),
        ("remove the runtime limit from backup", "update_check", change("max_runtime_seconds", Value::Null)),
        ("tag \"backup\" prod, db", "update_check", change("tags", json!(["prod", "db"]))),
        ("clear the tags of backup", "update_check", change("tags", json!([]))),
        ("clear the description of backup", "update_check", change("description", json!(""))),
        ("add a grace of 10 minutes to backup", "update_check", change("grace_seconds", json!(600))),
    ]);
    for phrase in ["backup should be fast", "backup has a problem"] {
        assert!(said(phrase).starts_with("I did not understand"), "{phrase}");
    }
}

#[test]
fn alerts_in_other_words() {
    let change = |argument: &str, value: Value| json!({"check": "backup", argument: value});
    let slack = change("channels", json!(["slack"]));
    for phrase in [
        "send alerts for backup only to slack",
        "send backup's alerts only to slack",
        "send backup alerts to slack",
        "send the alerts to slack for backup",
        "only tell slack about backup",
        "let slack know when backup goes down",
        "backup should only alert slack",
        "alerts for backup should go to slack",
        "set the channels to slack for backup",
        "use only slack for backup",
    ] {
        check(&[(phrase, "update_check", slack.clone())]);
    }
    for phrase in [
        "stop alerts for backup",
        "turn off alerts for backup",
        "stop backup's alerts",
        "don't tell anyone about backup",
        "do not alert me about backup",
        "no alerts for backup",
        "disable notifications from backup",
        "remove the alerts of backup",
    ] {
        check(&[(phrase, "update_check", change("channels", json!([])))]);
    }
    for phrase in ["no reminders for backup", "don't remind me about backup", "disable backup's reminders"] {
        check(&[(phrase, "update_check", change("reminder_seconds", Value::Null))]);
    }
    check(&[
        ("alert me about backup only after 3 failures", "update_check", change("alert_after_failures", json!(3))),
        ("set alert after 3 failures for backup", "update_check", change("alert_after_failures", json!(3))),
        ("raise the alert threshold of backup to 3 failures", "update_check", change("alert_after_failures", json!(3))),
        ("remind me about backup once a day", "update_check", change("reminder_seconds", json!(86_400))),
        ("set a reminder every hour for backup", "update_check", change("reminder_seconds", json!(3600))),
        ("add a reminder every hour to backup", "update_check", change("reminder_seconds", json!(3600))),
        (
            "remind me every 4 hours about backup while it's down",
            "update_check",
            change("reminder_seconds", json!(14_400)),
        ),
        (
            "tell slack about backup after 3 failures",
            "update_check",
            json!({"check": "backup", "channels": ["slack"], "alert_after_failures": 3}),
        ),
    ]);
}

#[test]
fn a_part_of_a_list_is_never_a_deletion_nor_a_new_check() {
    for phrase in
        ["remove slack from backup", "delete slack and mail from backup", "drop the slack channel from backup"]
    {
        let text = said(phrase);
        assert!(text.contains("set channels of \"backup\" to ops, dev"), "{phrase}: {text}");
    }
    for phrase in [
        "add slack to backup",
        "unsubscribe slack from backup",
        "take slack off backup",
        "alert ops about backup as well",
        "don't tell ops about backup",
        "turn on alerts for backup",
        "enable alerts for backup",
    ] {
        assert!(said(phrase).contains("Say the whole list"), "{phrase}: {}", said(phrase));
    }
    check(&[
        ("remove backup from my checks", "delete_check", json!({"check": "backup"})),
        ("delete \"copy from s3\"", "delete_check", json!({"check": "copy from s3"})),
        ("delete the check called Old Job", "delete_check", json!({"check": "Old Job"})),
        ("remove sync, it is not needed any more", "delete_check", json!({"check": "sync"})),
        ("Please permanently delete sync", "delete_check", json!({"check": "sync"})),
        ("trash sync, please", "delete_check", json!({"check": "sync"})),
    ]);
}

#[test]
fn pauses_in_other_words() {
    let until = |until: &str| json!({"check": "backup", "until": until});
    check(&[
        ("snooze backup 2h", "pause_check", until("2026-07-06T14:00:00Z")),
        ("hold backup for an hour", "pause_check", until("2026-07-06T13:00:00Z")),
        ("pause backup for the weekend", "pause_check", until("2026-07-13T00:00:00Z")),
        ("pause backup for the rest of the day", "pause_check", until("2026-07-07T00:00:00Z")),
        ("pause backup until the end of the month", "pause_check", until("2026-08-01T00:00:00Z")),
        ("pause backup until next week", "pause_check", until("2026-07-13T00:00:00Z")),
        ("pause backup until 6pm tomorrow", "pause_check", until("2026-07-07T18:00:00Z")),
        ("pause backup until 24 December", "pause_check", until("2026-12-24T00:00:00Z")),
        ("pause backup until Jan 2nd at 9am Europe/Berlin", "pause_check", until("2027-01-02T08:00:00Z")),
        ("pause the backup check until Friday 18:00 Europe/London", "pause_check", until("2026-07-10T17:00:00Z")),
        ("mute alerts for backup for 2 hours", "pause_check", until("2026-07-06T14:00:00Z")),
        ("stop alerts for backup for 2 hours", "pause_check", until("2026-07-06T14:00:00Z")),
        ("stop monitoring backup for 2 hours", "pause_check", until("2026-07-06T14:00:00Z")),
        ("turn backup off until 18:00", "pause_check", until("2026-07-06T18:00:00Z")),
        ("silence notifications from backup", "pause_check", json!({"check": "backup"})),
        ("pause backup 'til tomorrow", "pause_check", until("2026-07-07T00:00:00Z")),
        ("re-enable backup", "resume_check", json!({"check": "backup"})),
        ("turn off backup", "pause_check", json!({"check": "backup"})),
        ("turn backup back on", "resume_check", json!({"check": "backup"})),
        ("start monitoring backup again", "resume_check", json!({"check": "backup"})),
        ("end the pause of backup", "resume_check", json!({"check": "backup"})),
        (
            "silence everything tagged staging for the weekend",
            "pause_checks",
            json!({"tag": "staging", "until": "2026-07-13T00:00:00Z"}),
        ),
    ]);
    for phrase in
        ["pause backup in 2 hours", "pause backup at 18:00", "pause backup tomorrow", "pause backup overnight"]
    {
        let text = said(phrase);
        assert!(text.contains("a pause begins as soon as you confirm it"), "{phrase}: {text}");
    }
}
