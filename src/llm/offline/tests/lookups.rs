//! Names that are not found at first: looked for among the caller's checks, or parted at an "and".

use serde_json::{Value, json};

use super::{ToolCall, talk};

const NAMES: [&str; 4] = ["nightly-backup", "sync", "report", "Mail: in & out"];

/// A server that knows these checks, by their exact names.
fn server(call: &ToolCall) -> Value {
    if call.name == "list_checks" {
        let rows: Vec<Value> = NAMES.iter().map(|name| json!({"name": name, "status": "up"})).collect();
        return json!({"checks": rows, "used": 3, "limit": 20});
    }
    let several = call.arguments.get("checks").and_then(Value::as_array).cloned().unwrap_or_default();
    let asked: Vec<&str> = several.iter().chain(call.arguments.get("check")).filter_map(Value::as_str).collect();
    if let Some(missing) = asked.iter().find(|name| !NAMES.contains(name)) {
        return json!({"error": {"code": "refused", "message": format!("There is no check {missing:?}.")}});
    }
    match call.name.as_str() {
        "get_check" => json!({"check": {"name": asked[0], "status": "up"}}),
        "get_uptime" => json!({"check": asked[0], "from": "2026-07-05T12:00:00Z", "to": "2026-07-06T12:00:00Z",
                               "uptime": 1.0}),
        "preview_change" => json!({"check": asked[0], "summary": "It stays up.", "changes": []}),
        _ => json!({"status": "PENDING", "number": 1, "summary": "It is silent."}),
    }
}

#[test]
fn a_read_finds_the_check_that_the_question_names() {
    for (phrase, tool, name) in [
        ("how is the Nightly Backup thing?", "get_check", "nightly-backup"),
        ("why is my nightly backup job from Berlin down?", "get_check", "nightly-backup"),
        ("uptime of Nightly Backup", "get_uptime", "nightly-backup"),
        ("what if Sync ran hourly?", "preview_change", "sync"),
        ("how is mail in out?", "get_check", "Mail: in & out"),
    ] {
        let (rounds, text) = talk(phrase, server);
        assert_eq!((rounds.len(), &rounds[1]), (3, &json!([["list_checks", {}]])), "{phrase}");
        assert_eq!((&rounds[2][0][0], &rounds[2][0][1]["check"]), (&json!(tool), &json!(name)), "{phrase}");
        assert!(text.contains(name) && !text.contains("There is no check"), "{phrase}: {text}");
    }
    let (rounds, text) = talk("how is the payroll", server);
    assert_eq!(rounds.len(), 2);
    assert!(text.starts_with("There is no check “payroll”.") && text.contains("list shows them all"), "{text}");
}

#[test]
fn a_question_that_names_a_check_is_about_it() {
    for phrase in ["can sync run on sundays?", "does sync do well with big files", "sync?", "who changed sync last?"] {
        let (rounds, text) = talk(phrase, server);
        let looked = [json!([["list_checks", {}]]), json!([["get_check", {"check": "sync"}]])];
        assert_eq!(rounds, looked, "{phrase}");
        assert!(text.starts_with("I did not understand all of “") && text.contains("sync is up."), "{phrase}: {text}");
    }
    // Others get the product text, and those that can be about nothing else get it at once.
    for (phrase, rounds, part) in [
        ("what are alerts?", 1, ""),
        ("what does late mean?", 1, "the grace is still running"),
        ("how is grace counted?", 2, "**grace**"),
        ("how do I ping sync?", 0, "curl"),
        ("what is the ping url of sync?", 0, "secret"),
    ] {
        let (made, text) = talk(phrase, server);
        assert_eq!(made.len(), rounds, "{phrase}: {made:?}");
        assert!(text.contains(part) && !text.contains("sync is"), "{phrase}: {text}");
    }
    // Letters inside a word name nothing.
    assert!(!talk("what is synchronous?", server).1.contains("sync is"));
}

#[test]
fn several_checks_in_one_question() {
    let both = json!([["get_check", {"check": "sync"}], ["get_check", {"check": "report"}]]);
    for phrase in ["are sync and report up?", "how are sync and report?", "what about sync and report"] {
        let (rounds, text) = talk(phrase, server);
        assert_eq!(rounds[1..], *std::slice::from_ref(&both), "{phrase}: {rounds:?}");
        assert!(text.contains("sync is up.") && text.contains("report is up."), "{phrase}: {text}");
    }
}

#[test]
fn a_name_with_and_that_is_none_is_two() {
    for (phrase, call) in [
        ("pause sync and report", json!([["pause_checks", {"checks": ["sync", "report"]}]])),
        (
            "pause the sync and the report check for 1 hour",
            json!([["pause_checks", {"checks": ["sync", "report"], "until": "2026-07-06T13:00:00Z"}]]),
        ),
        (
            "unpause sync and report",
            json!([["resume_check", {"check": "sync"}], ["resume_check", {"check": "report"}]]),
        ),
        ("delete sync and report", json!([["delete_check", {"check": "sync"}], ["delete_check", {"check": "report"}]])),
        (
            "set grace of sync and report to 10 minutes",
            json!([["update_check", {"check": "sync", "grace_seconds": 600}],
                   ["update_check", {"check": "report", "grace_seconds": 600}]]),
        ),
    ] {
        let (rounds, text) = talk(phrase, server);
        assert_eq!(rounds[1..], [call], "{phrase}");
        assert!(text.contains("Nothing has changed yet"), "{phrase}: {text}");
    }
    // One name if there is such a check, or if it stands in quotes; and no more than it takes.
    assert_eq!(talk("pause \"Mail: in & out\"", server).0.len(), 1);
    assert_eq!(talk("pause \"sync and report\"", server).0.len(), 1);
    let (rounds, text) = talk("pause sync and payroll", server);
    assert_eq!(rounds.len(), 2);
    assert!(text.starts_with("There is no check \"payroll\".") && text.ends_with("Nothing has changed."), "{text}");
    // A change is never about what a name may mean.
    let (rounds, text) = talk("delete the Nightly Backup", server);
    assert_eq!(rounds.len(), 1, "{text}");
    assert!(text.starts_with("There is no check \"Nightly Backup\"."), "{text}");
}
