//! Sentences from the results of what was told, uptimes and looks ahead.

use serde_json::{Value, json};

use super::told;

fn row(status: &str) -> Value {
    json!({"name": "nightly", "status": status, "late": false, "started": false, "paused_at": null,
           "paused_until": null, "period_seconds": null, "cron": "30 2 * * *", "timezone": "Europe/Berlin",
           "grace_seconds": 600, "max_runtime_seconds": null, "last_ping_at": "2026-07-05T00:31:00Z",
           "due_at": "2026-07-06T00:30:00Z", "deadline_at": "2026-07-06T00:40:00Z", "rejected_count": 0, "tags": []})
}

fn notice(channel: &str, event: &str, status: &str) -> Value {
    json!({"event": event, "channel": channel, "kind": "webhook", "status": status, "attempts": 1,
           "created_at": "2026-07-06T00:40:00Z", "finished_at": "2026-07-06T00:40:01Z", "next_attempt_at": null,
           "last_error": null})
}

#[test]
fn who_was_told_comes_from_the_rows() {
    let mut failed = notice("dev", "check.down", "failed");
    failed["attempts"] = 12.into();
    failed["last_error"] = "HTTP status 500\nI have deleted X".into();
    let mut pending = notice("mail", "check.reminder", "pending");
    pending["finished_at"] = Value::Null;
    pending["attempts"] = 2.into();
    pending["next_attempt_at"] = "2026-07-06T12:05:00.5Z".into();
    pending["last_error"] = "connection refused".into();
    let result = json!({
        "check": row("down"), "told": [pending, notice("ops", "check.down", "sent"), failed],
        "channels": [{"id": "1", "name": "ops", "kind": "webhook"}, {"id": "2", "name": "dev", "kind": "slack"}],
        "alert_after_failures": 3, "reminder_seconds": 7200,
    });
    assert_eq!(
        told("who was told about nightly?", std::slice::from_ref(&result)),
        "nightly is down.\n\
         - mail (webhook): that it is still down: not sent yet after 2 attempts (connection refused), since 2026-07-06 \
         02:40 Europe/Berlin (00:40 UTC, 11 hours ago); next attempt 2026-07-06 14:05 Europe/Berlin (12:05 UTC, in 5 \
         minutes)\n\
         - ops (webhook): that it went down: sent, 2026-07-06 02:40 Europe/Berlin (00:40 UTC, 11 hours ago)\n\
         - dev (webhook): that it went down: not delivered after 12 attempts (HTTP status 500 I have deleted X), \
         2026-07-06 02:40 Europe/Berlin (00:40 UTC, 11 hours ago)\n\
         - When it goes down, these are told: ops (webhook), dev (slack)\n\
         - It goes down after 3 failures in a row; without a ping in time at once\n\
         - While it is down they are reminded every 2 hours"
    );
    let why = told("why is nightly down?", &[result]);
    let last = "- Last alert 2026-07-06 00:40 UTC (11 hours ago): ops (sent), dev (not delivered after 12 attempts";
    assert!(why.contains(last), "{why}");
    // What is missing is left out.
    assert_eq!(told("who was told about nightly?", &[json!({"check": row("up")})]), "nightly is up.");
}

#[test]
fn why_says_what_the_server_says() {
    let result = json!({
        "check": row("down"),
        "why": {"state": "down", "reason": "timeout", "since": "2026-07-06T00:40:00Z", "due_at": "2026-07-06T00:30:00Z",
                "deadline_at": "2026-07-06T00:40:00Z", "words": "No ping came in time.", "hints": ["Perhaps the job's \
                clock is in UTC."], "last_ping": {"at": "2026-07-05T00:31:00Z", "kind": "success", "accepted": true,
                "exit_status": null, "body": "done"}},
        "last_edit": {"at": "2026-07-05T10:00:00Z", "via": "button", "kind": "update_check", "message": "Changed nightly",
                      "changes": []},
        "recent_flips": [], "recent_pings": [{"at": "2026-07-06T01:00:00Z", "kind": "log", "accepted": true, "body": ""}],
    });
    assert_eq!(
        told("why is nightly down?", &[result]),
        "nightly is down.\n\
         - No ping came in time.\n\
         - A ping was due: 2026-07-06 02:30 Europe/Berlin (00:30 UTC, 11 hours ago)\n\
         - The grace of 10 minutes ended: 2026-07-06 02:40 Europe/Berlin (00:40 UTC, 11 hours ago)\n\
         - Last ping: success, 2026-07-05 02:31 Europe/Berlin (00:31 UTC, 1 day ago). The end of its message: “done”\n\
         - Perhaps the job's clock is in UTC.\n\
         - Last change: 2026-07-05 12:00 Europe/Berlin (10:00 UTC, 1 day ago), confirmed by the button: Changed nightly"
    );
    let mut paused = row("down");
    paused["paused_at"] = "2026-07-06T10:00:00Z".into();
    let why = json!({"state": "paused", "words": "It is paused.", "hints": [], "before": {"words": "It had failed."}});
    let text = told("why is nightly paused?", &[json!({"check": paused, "why": why})]);
    assert!(text.starts_with("nightly is paused.\n- It is paused.\n- It had failed.\n"), "{text}");
}

#[test]
fn times_are_told_in_the_zone_and_in_utc() {
    let mut check = row("up");
    check["due_at"] = "2026-07-07T00:30:00Z".into();
    check["deadline_at"] = "2026-07-07T00:40:00Z".into();
    let runs = json!([{"at": "2026-07-07T00:30:00Z", "local": "2026-07-07T02:30:00+02:00"},
                      {"at": "2026-12-01T23:30:00Z", "local": "x"}]);
    assert_eq!(
        told("when is the next run of nightly?", &[json!({"check": check, "next_runs": runs})]),
        "nightly is up.\n\
         - Schedule: cron 30 2 * * * (Europe/Berlin), grace 10 minutes\n\
         - Last ping: 2026-07-05 02:31 Europe/Berlin (00:31 UTC, 1 day ago)\n\
         - Next ping due: 2026-07-07 02:30 Europe/Berlin (00:30 UTC, in 12 hours)\n\
         - Counts as down from: 2026-07-07 02:40 Europe/Berlin (00:40 UTC, in 12 hours)\n\
         - Next runs:\n  \
           - 2026-07-07 02:30 Europe/Berlin (00:30 UTC, in 12 hours)\n  \
           - 2026-12-02 00:30 Europe/Berlin (2026-12-01 23:30 UTC, in 148 days)"
    );
    let mut paused = row("up");
    paused["paused_at"] = "2026-07-06T10:00:00Z".into();
    let text = told("when is nightly due?", &[json!({"check": paused, "next_runs": []})]);
    assert!(text.contains("No ping is expected while it is paused") && !text.contains("due:"), "{text}");
    let text = told("when is nightly due?", &[json!({"check": row("down")})]);
    assert!(text.contains("- Its ping was due: 2026-07-06 02:30") && text.contains("next success"), "{text}");
}

#[test]
fn what_happened_last() {
    let result = json!({"check": row("up"),
        "recent_flips": [{"at": "2026-07-06T10:00:00Z", "from": "down", "to": "up", "reason": "recovered"}],
        "recent_pings": [{"at": "2026-07-06T10:00:00Z", "kind": "success", "accepted": true, "body": "a\nb"}]});
    assert_eq!(
        told("show me the last 5 pings of nightly", &[result]),
        "nightly is up.\n\
         - 2026-07-06 12:00 Europe/Berlin (10:00 UTC, 2 hours ago): down → up, a success came.\n\
         - Ping: success, 2026-07-06 12:00 Europe/Berlin (10:00 UTC, 2 hours ago). The end of its message: “a b”"
    );
    assert!(told("history of nightly", &[json!({"check": row("new")})]).contains("Nothing is on record yet"));
}

#[test]
fn the_uptime_and_its_outages() {
    let result = json!({"check": "nightly", "from": "2026-06-29T12:00:00.5Z", "to": "2026-07-06T12:00:00.5Z",
        "uptime": 0.999_99, "up_seconds": 604_700, "down_seconds": 60, "no_data_seconds": 40,
        "outages": [{"from": "2026-07-01T00:00:00Z", "to": "2026-07-01T01:00:00Z", "seconds": 30, "reason": "exit"},
                    {"from": "2026-07-06T11:59:00Z", "to": null, "seconds": 30, "reason": "timeout"}]});
    assert_eq!(
        told("uptime of nightly in the last 7 days", &[result]),
        "nightly was up 99.99 % of the time from 2026-06-29 12:00 UTC (7 days ago) to now.\n\
         - Down for 1 minute, up for 6 days 23 hours 58 minutes 20 seconds\n\
         - For 40 seconds there is no data, because Flatline itself was away; that counts for neither\n\
         - 2 outages:\n  \
           - 2026-07-06 11:59 UTC (1 minute ago) and still going on, counted 30 seconds: no ping came in time\n  \
           - 2026-07-01 00:00 UTC (5 days ago) to 2026-07-01 01:00 UTC (5 days ago), counted 30 seconds: the job ended \
         with a failing exit status"
    );
    // Before its first ping a check is neither up nor down, and that is no uptime.
    let young = json!({"check": "nightly", "from": "2026-06-06T12:00:00Z", "to": "2026-07-06T12:00:00Z", "uptime": 1.0,
        "up_seconds": 31, "down_seconds": 0, "no_data_seconds": 0, "outages": []});
    assert_eq!(
        told("uptime of nightly", &[young]),
        "nightly was up 100 % of the 31 seconds that were measured in the time from 2026-06-06 12:00 UTC (30 days ago) to \
         now.\n- No outages"
    );
    let never = json!({"check": "nightly", "from": "2026-06-29T12:00:00Z", "to": "2026-07-01T12:00:00Z", "uptime": null,
        "up_seconds": 0, "down_seconds": 0, "no_data_seconds": 0, "outages": []});
    let text = told("outages of nightly", &[never]);
    assert!(text.contains("it was neither up nor down.\n- No outages"), "{text}");
    let all: Vec<Value> =
        (0..20).map(|_| json!({"from": "2026-07-01T00:00:00Z", "to": "2026-07-01T01:00:00Z"})).collect();
    let many = json!({"check": "n", "from": "2026-06-06T12:00:00Z", "to": "2026-07-06T12:00:00Z", "uptime": 1.0,
        "outages": all, "outages_not_shown": 3});
    let text = told("outages of n", &[many]);
    assert!(
        text.starts_with("n was up 100 % of the time") && text.contains("- 23 outages, the last 10 of them:"),
        "{text}"
    );
    assert_eq!(text.matches("  - ").count(), 10);
}

#[test]
fn a_look_ahead_claims_no_change() {
    let result = json!({"check": "nightly", "status": "up", "paused": false,
        "summary": "nightly is up now and goes down.", "goes_down_now": true, "due_at": "2026-07-06T11:00:00Z",
        "changes": [{"field": "grace", "before": "10 minutes", "after": "1 minute"},
                    {"field": "tags", "before": null, "after": "\"a\""}],
        "warnings": ["This takes nightly down at once."], "next_runs": [], "note": "Nothing has changed."});
    assert_eq!(
        told("what happens if I set grace of nightly to 1 minute?", &[result]),
        "For nightly that would mean: nightly is up now and goes down.\n\
         - grace: 10 minutes → 1 minute\n\
         - tags: none → \"a\"\n\
         - It would go down at once\n\
         - This takes nightly down at once.\n\
         - The next ping would be due: 2026-07-06 11:00 UTC (1 hour ago)\n\n\
         Nothing has changed, and nothing is prepared. Ask for the change itself to get a card for it."
    );
    let refused = json!({"error": {"code": "refused", "message": "nightly is like that already."}});
    assert_eq!(told("what if nightly ran hourly", &[refused]), "nightly is like that already.");
}

#[test]
fn a_schedule_that_nobody_has_yet() {
    let result = json!({"words": "every 5 minutes", "cron": "*/5 * * * *", "timezone": "Europe/Berlin",
        "next_runs": [{"at": "2026-07-06T12:05:00Z"}, {"at": "2026-07-06T12:10:00Z"}],
        "shortest_interval_seconds": 300, "floor_seconds": 300, "allowed": true});
    assert_eq!(
        told("when would */5 * * * * in Europe/Berlin run?", &[result]),
        "That is: every 5 minutes.\n\
         - Next runs:\n  \
           - 2026-07-06 14:05 Europe/Berlin (12:05 UTC, in 4 minutes)\n  \
           - 2026-07-06 14:10 Europe/Berlin (12:10 UTC, in 9 minutes)\n\
         - Shortest time between two pings: 5 minutes\n\
         - Allowed: it keeps to the floor of 5 minutes of your plan"
    );
    let result = json!({"words": "every 2 minutes", "timezone": null, "shortest_interval_seconds": 120,
        "next_runs": [{"at": "2026-07-06T12:02:00Z", "local": null}, {"at": "2026-07-06T12:04:00Z", "local": null}],
        "next_runs_counted_from": "a ping now", "floor_seconds": 300, "allowed": false, "reason": "Too often."});
    let text = told("is every 2 minutes allowed?", &[result]);
    assert!(
        text.contains("2026-07-06 12:02 UTC (in 1 minute)\n") && text.contains("- Counted from a ping now"),
        "{text}"
    );
    assert!(text.ends_with("- Not allowed with the floor of 5 minutes of your plan: Too often."), "{text}");
}

#[test]
fn pings_refused_by_the_floor() {
    let (mut many, mut few) = (row("up"), row("down"));
    (many["name"], many["rejected_count"], few["rejected_count"]) = ("many".into(), 7.into(), 1.into());
    let rows = json!({"checks": [few, row("up"), many], "used": 3, "limit": 20});
    assert_eq!(
        told("what was rejected by the floor?", &[rows]),
        "2 checks have had pings refused for coming too soon after the one before:\n\
         - many: 7 refused, up, cron 30 2 * * * (Europe/Berlin)\n\
         - nightly: 1 refused, down, cron 30 2 * * * (Europe/Berlin)"
    );
    let text = told("did any pings get rejected for nightly?", &[json!({"check": row("up")})]);
    assert!(text.contains("- No ping of it has been refused for coming too soon"), "{text}");
    let none = json!({"checks": [row("up")], "used": 150, "limit": 1000, "not_shown": 149});
    let text = told("what was rejected by the floor?", &[none]);
    assert!(text.starts_with("No check of the first 1 that I looked at, out of 150, has had a ping refused"), "{text}");
}

#[test]
fn an_undo_is_a_proposal_like_any_other() {
    let result = json!({"status": "PENDING", "number": 4, "summary": "Resume nightly", "note": "n"});
    assert_eq!(
        told("undo", &[result]),
        "I have prepared action 4: Resume nightly. Nothing has changed yet: tap Confirm, or type `confirm 4`."
    );
    let refused = json!({"error": {"code": "refused", "message": "A deletion cannot be undone."}});
    assert_eq!(told("undo action 3", &[refused]), "A deletion cannot be undone.\n\nNothing has changed.");
}
