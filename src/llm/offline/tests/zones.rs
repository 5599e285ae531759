//! The person's clock: times told on it, times and schedules read on it, and the nights when it is put forward or back.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{Message, NOW, ask_in, at};

/// The one call that a phrase becomes at a time and in a zone.
#[track_caller]
fn call(now: &str, zone: &str, text: &str) -> Value {
    let messages = vec![Message::User(text.to_owned())];
    let calls = ask_in(&at(now), TimeZone::get(zone).unwrap(), messages, true).calls;
    assert_eq!(calls.len(), 1, "{text}");
    json!([calls[0].name, calls[0].arguments])
}

/// What is said in a zone when the one call is answered with `result`.
#[track_caller]
fn told(zone: &str, text: &str, result: &Value) -> String {
    let zone = TimeZone::get(zone).unwrap();
    let mut messages = vec![Message::User(text.to_owned())];
    let calls = ask_in(&at(NOW), zone.clone(), messages.clone(), true).calls;
    assert_eq!(calls.len(), 1, "{text}");
    let (call_id, name) = (calls[0].id.clone(), calls[0].name.clone());
    messages.push(Message::Assistant { text: String::new(), tool_calls: calls });
    messages.push(Message::Tool { call_id, name, content: result.clone() });
    ask_in(&at(NOW), zone, messages, true).text
}

#[test]
fn the_end_of_a_pause_is_on_the_persons_clock() {
    const EVENING: &str = "2026-07-06T23:30:00Z";
    for (now, end, until) in [
        (NOW, "until tomorrow 9:00", "2026-07-07T07:00:00Z"),
        (NOW, "until friday 18:00", "2026-07-10T16:00:00Z"),
        (NOW, "for the weekend", "2026-07-12T22:00:00Z"),
        (NOW, "for today", "2026-07-06T22:00:00Z"),
        (NOW, "until 2026-12-01", "2026-11-30T23:00:00Z"),
        (NOW, "until 2026-12-01T08:00", "2026-12-01T07:00:00Z"),
        // Over in Berlin, though not in UTC.
        (NOW, "until 13:30", "2026-07-07T11:30:00Z"),
        (NOW, "for 2 hours", "2026-07-06T14:00:00Z"),
        // It is tomorrow there already.
        (EVENING, "for today", "2026-07-07T22:00:00Z"),
        (EVENING, "until tomorrow 9:00", "2026-07-08T07:00:00Z"),
        // What names its zone.
        (NOW, "until tomorrow 9:00 UTC", "2026-07-07T09:00:00Z"),
        (NOW, "until tomorrow 9:00 Asia/Tokyo", "2026-07-07T00:00:00Z"),
        (NOW, "until 2026-12-01T08:00:00Z", "2026-12-01T08:00:00Z"),
    ] {
        let expected = json!(["pause_check", {"check": "x", "until": until}]);
        assert_eq!(call(now, "Europe/Berlin", &format!("pause x {end}")), expected, "{end}");
    }
}

#[test]
fn the_end_of_a_pause_in_the_nights_when_the_clock_is_changed() {
    for (now, end, until) in [
        // 02:30 is left out.
        ("2026-03-28T20:00:00Z", "until tomorrow 2:30", "2026-03-29T01:30:00Z"),
        ("2026-03-28T20:00:00Z", "until tomorrow 9:00", "2026-03-29T07:00:00Z"),
        // 02:30 comes twice.
        ("2026-10-24T20:00:00Z", "until tomorrow 2:30", "2026-10-25T00:30:00Z"),
        ("2026-10-24T20:00:00Z", "until tomorrow 9:00", "2026-10-25T08:00:00Z"),
        ("2026-10-24T20:00:00Z", "until 2:30", "2026-10-25T00:30:00Z"),
        ("2026-10-25T00:40:00Z", "until 2:30", "2026-10-25T01:30:00Z"),
        ("2026-10-25T01:40:00Z", "until 2:50", "2026-10-25T01:50:00Z"),
        ("2026-10-25T01:40:00Z", "until 2:30", "2026-10-26T01:30:00Z"),
        ("2026-10-24T22:30:00Z", "for today", "2026-10-25T23:00:00Z"),
    ] {
        let expected = json!(["pause_check", {"check": "x", "until": until}]);
        assert_eq!(call(now, "Europe/Berlin", &format!("pause x {end}")), expected, "{now}: {end}");
    }
}

#[test]
fn a_span_begins_on_the_persons_clock() {
    let days = |zone| call("2026-06-30T23:30:00Z", zone, "uptime of x this month")[1]["days"].clone();
    assert_eq!((days("Europe/Berlin"), days("UTC")), (json!(1), json!(30)));
}

#[test]
fn a_schedule_without_a_zone_is_on_the_persons_clock() {
    for (text, zone, expected) in [
        ("create x every day at 3am", "Europe/Berlin", json!("Europe/Berlin")),
        ("create x cron \"0 3 * * *\"", "Europe/Berlin", json!("Europe/Berlin")),
        ("create x every day at 3am UTC", "Europe/Berlin", json!("UTC")),
        ("create x every day at 3am Asia/Tokyo", "Europe/Berlin", json!("Asia/Tokyo")),
        ("create x hourly", "Europe/Berlin", Value::Null),
        ("set x to every day at 3am", "Europe/Berlin", json!("Europe/Berlin")),
        ("what if x ran every day at 3am", "Europe/Berlin", json!("Europe/Berlin")),
        ("when would 0 3 * * * run", "Europe/Berlin", json!("Europe/Berlin")),
        ("when would 0 3 * * * run in UTC", "Europe/Berlin", json!("UTC")),
        ("create x every day at 3am", "UTC", json!("UTC")),
        ("when would 0 3 * * * run", "UTC", json!("UTC")),
        ("set x to every day at 3am", "UTC", Value::Null),
        ("set x to every day at 3am", "Etc/UTC", Value::Null),
    ] {
        assert_eq!(call(NOW, zone, text)[1]["timezone"], expected, "{text} in {zone}");
    }
}

#[test]
fn times_are_told_on_the_persons_clock() {
    let outage = |from: &str, to: &str| json!({"from": from, "to": to, "seconds": 2_700, "reason": "timeout"});
    let result = json!({
        "check": "x", "from": "2026-07-01T22:00:00Z", "to": "2026-07-06T12:00:00Z", "uptime": 0.5, "up_seconds": 2_700,
        "down_seconds": 2_700, "no_data_seconds": 0,
        "outages": [
            outage("2026-07-05T11:15:00Z", "2026-07-05T12:00:00Z"),
            // One time on the clock, twice.
            outage("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
        ],
    });
    for (zone, parts) in [
        (
            "Europe/Berlin",
            [
                "from 2026-07-02 00:00 CEST (4 days ago) to now",
                "- 2026-07-05 13:15 CEST (1 day ago) to 2026-07-05 14:00 CEST (",
                "- 2026-10-25 02:30 CEST (in ",
                " to 2026-10-25 02:30 CET (in ",
            ],
        ),
        (
            "America/Sao_Paulo",
            [
                "from 2026-07-01 19:00 UTC-03 (4 days ago) to now",
                "- 2026-07-05 08:15 UTC-03 (1 day ago) to 2026-07-05 09:00 UTC-03 (",
                "- 2026-10-24 21:30 UTC-03 (in ",
                " to 2026-10-24 22:30 UTC-03 (in ",
            ],
        ),
        (
            "UTC",
            [
                "from 2026-07-01 22:00 UTC (4 days ago) to now",
                "- 2026-07-05 11:15 UTC (1 day ago) to 2026-07-05 12:00 UTC (",
                "- 2026-10-25 00:30 UTC (in ",
                " to 2026-10-25 01:30 UTC (in ",
            ],
        ),
    ] {
        let text = told(zone, "outages of x", &result);
        for part in parts {
            assert!(text.contains(part), "{zone}: {part}: {text}");
        }
    }
}

#[test]
fn a_check_with_a_zone_is_told_of_on_both_clocks_and_its_runs_in_utc() {
    let result = |zone: &str| {
        let check = json!({
            "name": "x", "status": "up", "paused_at": null, "cron": "30 2 * * *", "timezone": zone,
            "last_ping_at": "2026-07-05T00:31:00Z", "tags": [],
        });
        json!({"check": check, "next_runs": [{"at": "2026-07-07T00:30:00Z"}, {"at": "2026-07-08T00:30:00Z"}]})
    };
    for (person, check, ping, run) in [
        (
            "Asia/Tokyo",
            "Europe/Berlin",
            "02:31 Europe/Berlin (09:31 JST, 1 day ago)",
            "02:30 Europe/Berlin (00:30 UTC, ",
        ),
        ("Europe/Berlin", "Europe/Berlin", "02:31 CEST (1 day ago)", "02:30 Europe/Berlin (00:30 UTC, "),
        ("Europe/Berlin", "UTC", "02:31 CEST (1 day ago)", "02:30 Europe/Berlin (00:30 UTC, "),
        ("UTC", "Europe/Berlin", "02:31 Europe/Berlin (00:31 UTC, 1 day ago)", "02:30 Europe/Berlin (00:30 UTC, "),
        ("UTC", "UTC", "00:31 UTC (1 day ago)", "00:30 UTC (in "),
    ] {
        let text = told(person, "when is the next run of x", &result(check));
        for part in [format!("Last ping: 2026-07-05 {ping}"), format!("  - 2026-07-07 {run}")] {
            assert!(text.contains(&part), "{person}, {check}: {part}: {text}");
        }
    }
}
