//! Why a check is as it is, in words: what took it there, the times that decided, and the last word of its job.

use jiff::{Timestamp, ZonedDateTime};
use serde_json::Value;

use super::reports::{one_line, rejected};
use super::{durations, moments};

/// Characters shown of the end of a ping's body.
const BODY_TAIL: usize = 300;

/// The lines of the answer to "why". The server's own account comes first, where it gives one.
pub fn lines(result: &Value, check: &Value, now: &ZonedDateTime) -> Vec<String> {
    let why = &result["why"];
    let zone = check["timezone"].as_str();
    let mut lines: Vec<String> = [&why["words"], &why["before"]["words"]]
        .into_iter()
        .filter_map(Value::as_str)
        .map(|words| format!("- {}", one_line(words)))
        .collect();
    let is_told = !lines.is_empty();
    if !is_told && check["status"] == "down" {
        let flip = latest(&result["recent_flips"], |flip| flip["to"] == "down");
        lines.extend(flip.map(|flip| {
            let at = flip["at"].as_str().map(|at| moments::say_in(at, zone, now)).unwrap_or_default();
            format!("- It went down {at}: {}", reason(flip, result))
        }));
    }
    // The server's words name times in UTC; here are those of the person's clock and of the check's own zone.
    let times = if why.is_object() { why } else { check };
    let is_past = |at: &str| at.parse::<Timestamp>().is_ok_and(|at| at <= now.timestamp());
    if let Some(due) = times["due_at"].as_str() {
        let heading = if is_past(due) { "A ping was due" } else { "The next ping is due" };
        lines.push(format!("- {heading}: {}", moments::say_in(due, zone, now)));
    }
    // Only what ends with the grace: a run that took too long has another end.
    if let Some(deadline) = times["deadline_at"].as_str().filter(|_| why["run"].is_null()) {
        let ends = if is_past(deadline) { "ended" } else { "ends" };
        lines.push(format!("- The grace{} {ends}: {}", of_grace(check), moments::say_in(deadline, zone, now)));
    }
    let last = if why["last_ping"].is_object() { Some(&why["last_ping"]) } else { None };
    match last.or_else(|| latest(&result["recent_pings"], |_| true)) {
        Some(ping) => lines.push(format!("- Last ping: {}", told(ping, zone, now))),
        None => lines.push("- No ping is on record".to_owned()),
    }
    let hints = why["hints"].as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.extend(hints.map(|hint| format!("- {}", one_line(hint))));
    lines.extend(rejected(check));
    lines.extend(last_edit(&result["last_edit"], zone, now));
    lines
}

/// What happened last: the changes of state, then the pings, each newest first as the server gives them.
pub fn history(result: &Value, zone: Option<&str>, now: &ZonedDateTime) -> Vec<String> {
    let rows = |member: &str| result[member].as_array().into_iter().flatten();
    let flips = rows("recent_flips").map(|flip| {
        let at = flip["at"].as_str().map(|at| moments::say_in(at, zone, now)).unwrap_or_default();
        let side = |side: &str| flip[side].as_str().map_or_else(|| "unknown".to_owned(), one_line);
        format!("- {at}: {} → {}, {}", side("from"), side("to"), reason(flip, result))
    });
    let pings = rows("recent_pings").map(|ping| format!("- Ping: {}", told(ping, zone, now)));
    let lines: Vec<String> = flips.chain(pings).collect();
    if lines.is_empty() { vec!["- Nothing is on record yet".to_owned()] } else { lines }
}

/// The last change through an action, if that is what left the check as it is.
fn last_edit(edit: &Value, zone: Option<&str>, now: &ZonedDateTime) -> Option<String> {
    let at = moments::say_in(edit["at"].as_str()?, zone, now);
    let what = edit["message"].as_str().or_else(|| edit["kind"].as_str()).map_or_else(String::new, one_line);
    let via = match edit["via"].as_str() {
        Some("button") => ", confirmed by the button",
        Some("typed") => ", confirmed by a typed word",
        Some("api") => ", confirmed through the API",
        _ => "",
    };
    Some(format!("- Last change: {at}{via}: {what}"))
}

fn of_grace(check: &Value) -> String {
    check["grace_seconds"].as_u64().map(|grace| format!(" of {}", durations::say(grace))).unwrap_or_default()
}

fn reason(flip: &Value, result: &Value) -> String {
    match flip["reason"].as_str() {
        Some("timeout") => "no ping came before the grace ended.".to_owned(),
        Some("fail") => "the job reported that it failed.".to_owned(),
        Some("exit") => {
            let failed = |ping: &Value| ping["exit_status"].as_u64().is_some_and(|status| status != 0);
            let at = |row: &Value| row["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
            // The ping that caused the flip is not younger than it.
            match latest(&result["recent_pings"], |ping| failed(ping) && at(ping) <= at(flip)) {
                Some(ping) => format!("the job ended with exit status {}.", ping["exit_status"]),
                None => "the job ended with a failing exit status.".to_owned(),
            }
        }
        Some("recovered") => "a success came.".to_owned(),
        Some("first_ping") => "the first success came.".to_owned(),
        Some(other) => format!("{}.", one_line(other)),
        None => "the reason is not on record.".to_owned(),
    }
}

/// The row with the greatest `at` among those that fit, whatever their order.
fn latest(rows: &Value, fits: impl Fn(&Value) -> bool) -> Option<&Value> {
    let at = |row: &Value| row["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    // Of equals the first is kept: the newest comes first in the API.
    rows.as_array()?.iter().filter(|row| fits(row)).rev().max_by_key(|row| at(row))
}

/// One ping: kind, outcome, time, and the end of what the job said.
pub fn told(ping: &Value, zone: Option<&str>, now: &ZonedDateTime) -> String {
    let kind = ping["kind"].as_str().unwrap_or("ping");
    let at = ping["at"].as_str().map(|at| moments::say_in(at, zone, now)).unwrap_or_default();
    let status = ping["exit_status"].as_u64().map(|status| format!(", exit status {status}")).unwrap_or_default();
    let refused = if ping["accepted"] == false { ", refused or ignored" } else { "" };
    let body = ping["body"].as_str().map(tail).filter(|body| !body.is_empty());
    let said = body.map(|body| format!(". The end of its message: “{body}”")).unwrap_or_default();
    format!("{kind}{status}{refused}, {at}{said}")
}

/// The end of a body.
fn tail(body: &str) -> String {
    let line = one_line(body);
    match line.char_indices().rev().nth(BODY_TAIL - 1) {
        Some((cut, _)) if cut > 0 => format!("…{}", &line[cut..]),
        _ => line,
    }
}
