//! One check in words: how it stands, its times, why it is as it is, and who was told. From the rows alone.

use jiff::ZonedDateTime;
use serde_json::Value;

use super::intent::Aspect;
use super::lists::{name, schedule, state};
use super::{durations, moments, notices, reasons};

/// The answer to `get_check`.
pub fn check(result: &Value, aspect: Aspect, now: &ZonedDateTime) -> Option<String> {
    let check = result.get("check").filter(|check| check.is_object())?;
    let mut lines = vec![format!("{} is {}.", name(check), state(check, now))];
    match aspect {
        Aspect::Why => {
            lines.extend(reasons::lines(result, check, now));
            lines.extend(notices::summary(result, now));
        }
        Aspect::History => lines.extend(reasons::history(result, check["timezone"].as_str(), now)),
        Aspect::Told => lines.extend(notices::lines(result, check, now)),
        Aspect::Times => {
            lines.push(format!("- Schedule: {}{}", schedule(check), grace(check)));
            lines.extend(times(check, now));
            lines.extend(next_runs(&result["next_runs"], check["timezone"].as_str(), now));
        }
        Aspect::Status | Aspect::Rejected => {
            lines.push(format!("- Schedule: {}{}", schedule(check), grace(check)));
            lines.extend(times(check, now));
            let none = || "- No ping of it has been refused for coming too soon".to_owned();
            lines.extend(rejected(check).or_else(|| (aspect == Aspect::Rejected).then(none)));
            lines.extend(notices::rules(result));
            let tags: Vec<&str> = check["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if !tags.is_empty() {
                lines.push(format!("- Tags: {}", tags.join(", ")));
            }
            if let Some(text) = check["description"].as_str().map(one_line).filter(|text| !text.is_empty()) {
                lines.push(format!("- Description: {text}"));
            }
        }
    }
    Some(lines.join("\n"))
}

fn grace(check: &Value) -> String {
    let grace = |seconds| format!(", grace {}", durations::say(seconds));
    let runtime = |seconds| format!(", a run may take {}", durations::say(seconds));
    [check["grace_seconds"].as_u64().map(grace), check["max_runtime_seconds"].as_u64().map(runtime)]
        .into_iter()
        .flatten()
        .collect()
}

fn times(check: &Value, now: &ZonedDateTime) -> Vec<String> {
    let zone = check["timezone"].as_str();
    let mut lines = vec![match check["last_ping_at"].as_str() {
        Some(at) => format!("- Last ping: {}", moments::say_in(at, zone, now)),
        None => "- Last ping: none yet".to_owned(),
    }];
    let due = check["due_at"].as_str().map(|due| moments::say_in(due, zone, now));
    let deadline = check["deadline_at"].as_str().map(|deadline| moments::say_in(deadline, zone, now));
    // The times of a paused check stand still, and those of one that is down are what it missed.
    if !check["paused_at"].is_null() {
        lines.push("- No ping is expected while it is paused".to_owned());
    } else if check["status"] == "down" {
        lines.extend(due.map(|due| format!("- Its ping was due: {due}")));
        lines.push("- The next success brings it up again".to_owned());
    } else {
        lines.extend(due.map(|due| format!("- Next ping due: {due}")));
        lines.extend(deadline.map(|deadline| format!("- Counts as down from: {deadline}")));
    }
    lines
}

/// The times of a schedule by the clock, one a line; a single one says no more than the due time.
pub fn next_runs(runs: &Value, zone: Option<&str>, now: &ZonedDateTime) -> Vec<String> {
    let times: Vec<&str> = runs.as_array().into_iter().flatten().filter_map(|run| run["at"].as_str()).collect();
    if times.len() < 2 {
        return Vec::new();
    }
    let lines = times.iter().map(|at| format!("  - {}", moments::say_run(at, zone, now)));
    ["- Next runs:".to_owned()].into_iter().chain(lines).collect()
}

/// That pings were refused, if any were.
pub fn rejected(check: &Value) -> Option<String> {
    let count = check["rejected_count"].as_u64().filter(|count| *count > 0)?;
    let pings = if count == 1 { "ping was" } else { "pings were" };
    Some(format!("- {count} {pings} refused for coming too soon after the one before"))
}

/// Somebody else's text on one line, so that it cannot look like lines of the assistant's own.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
