//! A person's checks in words: the list, one check, and why one is down. From the rows alone.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::intent::Aspect;
use super::{durations, moments};

/// Lines that a list shows before it says how to narrow it.
const LONGEST_LIST: usize = 40;

/// Characters shown of the end of a ping's body.
const BODY_TAIL: usize = 300;

/// The answer to `list_checks`, called with `arguments`.
pub fn list(result: &Value, arguments: Option<&Map<String, Value>>, now: Timestamp) -> Option<String> {
    let checks = result["checks"].as_array()?;
    let argument = |name: &str| arguments.and_then(|map| map.get(name)).and_then(Value::as_str);
    let (state, tag) = (argument("state"), argument("tag"));
    let tagged = tag.map(|tag| format!(" tagged {tag}")).unwrap_or_default();
    let heading = match (checks.len(), state) {
        (0, Some(state)) => return Some(format!("No check{tagged} is {state}.")),
        (0, None) if tag.is_some() => return Some(format!("No check is{tagged}.")),
        (0, None) => return Some("You have no checks yet. Try: create \"nightly backup\" every 5 minutes.".to_owned()),
        (1, Some(state)) => format!("1 check{tagged} is {state}:"),
        (many, Some(state)) => format!("{many} checks{tagged} are {state}:"),
        (1, None) if tag.is_some() => format!("1 check is{tagged}:"),
        (many, None) if tag.is_some() => format!("{many} checks are{tagged}:"),
        (many, None) => format!("You have {many} {}{}:", plural(many), counted(result, checks)),
    };
    let mut rows: Vec<&Value> = checks.iter().collect();
    rows.sort_by_key(|check| urgency(check));
    let mut lines = vec![heading];
    lines.extend(rows.iter().take(LONGEST_LIST).map(|check| line(check, now)));
    if rows.len() > LONGEST_LIST {
        lines.push(format!(
            "\nand {} more. Ask for fewer: what is down, or list checks tagged prod.",
            rows.len() - LONGEST_LIST
        ));
    }
    Some(lines.join("\n"))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "check" } else { "checks" }
}

/// " of 20: 1 down, 3 up", from the rows.
fn counted(result: &Value, checks: &[Value]) -> String {
    let limit = result["limit"].as_u64().map(|limit| format!(" (your plan allows {limit})")).unwrap_or_default();
    let counts: Vec<String> = ["down", "late", "up", "new", "paused"]
        .into_iter()
        .map(|word| (word, checks.iter().filter(|check| word_for(check) == word).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    if counts.is_empty() { limit } else { format!("{limit}, {}", counts.join(", ")) }
}

/// The one word for a check's state: a pause hides the status, and late says more than up.
fn word_for(check: &Value) -> &str {
    let status = check["status"].as_str().unwrap_or("unknown");
    if !check["paused_at"].is_null() {
        "paused"
    } else if check["late"] == true && status != "down" {
        "late"
    } else {
        status
    }
}

fn urgency(check: &Value) -> u8 {
    match word_for(check) {
        "down" => 0,
        "late" => 1,
        "up" => 3,
        "paused" => 4,
        _ => 2,
    }
}

fn name(check: &Value) -> &str {
    check["name"].as_str().unwrap_or("(a check without a name)")
}

fn line(check: &Value, now: Timestamp) -> String {
    format!("- {}: {}, {}, {}", name(check), state(check, now), schedule(check), last_ping(check, now))
}

fn state(check: &Value, now: Timestamp) -> String {
    let mut text = word_for(check).to_owned();
    if let Some(until) = check["paused_until"].as_str().filter(|_| text == "paused") {
        text = format!("paused until {}", moments::say(until, now));
    }
    if check["started"] == true {
        text.push_str(", a run has started");
    }
    text
}

fn schedule(check: &Value) -> String {
    match (check["period_seconds"].as_u64(), check["cron"].as_str()) {
        (Some(period), _) => format!("every {}", durations::say(period)),
        (None, Some(cron)) => format!("cron {cron} ({})", check["timezone"].as_str().unwrap_or("UTC")),
        (None, None) => "no schedule shown".to_owned(),
    }
}

fn last_ping(check: &Value, now: Timestamp) -> String {
    match check["last_ping_at"].as_str() {
        Some(at) => format!("last ping {}", moments::say(at, now)),
        None => "no ping yet".to_owned(),
    }
}

/// The answer to `get_check`.
pub fn check(result: &Value, aspect: Aspect, now: Timestamp) -> Option<String> {
    let check = result.get("check").filter(|check| check.is_object())?;
    let mut lines = vec![format!("{} is {}.", name(check), state(check, now))];
    match aspect {
        Aspect::Why => lines.extend(reasons(result, check, now)),
        Aspect::Status => {
            lines.push(format!("- Schedule: {}{}", schedule(check), grace(check)));
            lines.extend(times(check, now));
            lines.extend(rejected(check));
            let tags: Vec<&str> = check["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if !tags.is_empty() {
                lines.push(format!("- Tags: {}", tags.join(", ")));
            }
            if let Some(text) = check["description"].as_str().map(one_line).filter(|text| !text.is_empty()) {
                lines.push(format!("- Description: {text}"));
            }
        }
        Aspect::Times => {
            lines.push(format!("- Schedule: {}{}", schedule(check), grace(check)));
            lines.extend(times(check, now));
        }
    }
    Some(lines.join("\n"))
}

fn grace(check: &Value) -> String {
    check["grace_seconds"].as_u64().map(|grace| format!(", grace {}", durations::say(grace))).unwrap_or_default()
}

fn times(check: &Value, now: Timestamp) -> Vec<String> {
    let mut lines = vec![match check["last_ping_at"].as_str() {
        Some(at) => format!("- Last ping: {}", moments::say(at, now)),
        None => "- Last ping: none yet".to_owned(),
    }];
    if let Some(due) = check["due_at"].as_str() {
        lines.push(format!("- Next ping due: {}", moments::say(due, now)));
    }
    if let Some(deadline) = check["deadline_at"].as_str().filter(|_| check["status"] != "down") {
        lines.push(format!("- Counts as down from: {}", moments::say(deadline, now)));
    }
    lines
}

fn rejected(check: &Value) -> Option<String> {
    let count = check["rejected_count"].as_u64().filter(|count| *count > 0)?;
    let pings = if count == 1 { "ping was" } else { "pings were" };
    Some(format!("- {count} {pings} refused for coming too soon after the one before"))
}

/// Why a check is as it is: the flip that made it so, the times that decided, and the last word of the job.
fn reasons(result: &Value, check: &Value, now: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    let is_down = check["status"] == "down";
    if is_down && let Some(flip) = latest(&result["recent_flips"], |flip| flip["to"] == "down") {
        let at = flip["at"].as_str().map(|at| moments::say(at, now)).unwrap_or_default();
        lines.push(format!("- It went down {at}: {}", reason(flip, result)));
    }
    let is_past = |at: &str| at.parse::<Timestamp>().is_ok_and(|at| at <= now);
    if let Some(due) = check["due_at"].as_str() {
        let heading = if is_past(due) { "A ping was due" } else { "The next ping is due" };
        lines.push(format!("- {heading}: {}", moments::say(due, now)));
    }
    if let Some(deadline) = check["deadline_at"].as_str() {
        let ends = if is_past(deadline) { "ended" } else { "ends" };
        lines.push(format!("- The grace{} {ends}: {}", of_grace(check), moments::say(deadline, now)));
    }
    match latest(&result["recent_pings"], |_| true) {
        Some(ping) => lines.push(format!("- Last ping: {}", told(ping, now))),
        None => lines.push("- No ping is on record".to_owned()),
    }
    lines.extend(rejected(check));
    lines
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
        Some(other) => format!("{other}."),
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
fn told(ping: &Value, now: Timestamp) -> String {
    let kind = ping["kind"].as_str().unwrap_or("ping");
    let at = ping["at"].as_str().map(|at| moments::say(at, now)).unwrap_or_default();
    let status = ping["exit_status"].as_u64().map(|status| format!(", exit status {status}")).unwrap_or_default();
    let refused = if ping["accepted"] == false { ", refused or ignored" } else { "" };
    let body = ping["body"].as_str().map(tail).filter(|body| !body.is_empty());
    let said = body.map(|body| format!(". The end of its message: “{body}”")).unwrap_or_default();
    format!("{kind}{status}{refused}, {at}{said}")
}

/// Somebody else's text on one line, so that it cannot look like lines of the assistant's own.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The end of a body.
fn tail(body: &str) -> String {
    let line = one_line(body);
    match line.char_indices().rev().nth(BODY_TAIL - 1) {
        Some((cut, _)) if cut > 0 => format!("…{}", &line[cut..]),
        _ => line,
    }
}
