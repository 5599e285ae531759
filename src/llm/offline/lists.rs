//! A person's checks in words, a line each, and the words that all reports of a check share. From the rows alone.

use jiff::ZonedDateTime;
use serde_json::{Map, Value};

use super::intent::Aspect;
use super::{durations, moments};

/// Lines that a list shows before it says how to narrow it.
const LONGEST_LIST: usize = 40;

/// The answer to `list_checks`, called with `arguments` to learn of `aspect`.
pub fn list(
    result: &Value,
    arguments: Option<&Map<String, Value>>,
    aspect: Aspect,
    now: &ZonedDateTime,
) -> Option<String> {
    let mut rows: Vec<&Value> = result["checks"].as_array()?.iter().collect();
    // The server cuts long lists, and tells by how many.
    let cut = result["not_shown"].as_u64().and_then(|cut| usize::try_from(cut).ok()).unwrap_or(0);
    if aspect == Aspect::Rejected {
        return Some(refused(rows, cut, now));
    }
    let argument = |name: &str| arguments.and_then(|map| map.get(name)).and_then(Value::as_str);
    let (state, tag) = (argument("state").map(in_words), argument("tag"));
    let tagged = tag.map(|tag| format!(" tagged {tag}")).unwrap_or_default();
    let heading = match (rows.len() + cut, state) {
        (0, Some(state)) => return Some(format!("No check{tagged} is {state}.{}", when_told(aspect))),
        (0, None) if tag.is_some() => return Some(format!("No check is{tagged}.")),
        (0, None) => return Some("You have no checks yet. Try: create \"nightly backup\" every 5 minutes.".to_owned()),
        (1, Some(state)) => format!("1 check{tagged} is {state}:"),
        (many, Some(state)) => format!("{many} checks{tagged} are {state}:"),
        (1, None) if tag.is_some() => format!("1 check is{tagged}:"),
        (many, None) if tag.is_some() => format!("{many} checks are{tagged}:"),
        (many, None) => {
            let counts = if cut == 0 { counts(&rows) } else { String::new() };
            format!("You have {many} {}{}{counts}:", plural(many), allowed(result))
        }
    };
    rows.sort_by_key(|check| urgency(check));
    let mut lines = vec![heading];
    lines.extend(rows.iter().take(LONGEST_LIST).map(|check| line(check, now)));
    let more = rows.len().saturating_sub(LONGEST_LIST) + cut;
    if more > 0 {
        lines.push(format!("\nand {more} more. Ask for fewer: what is down, or list checks tagged prod."));
    }
    Some(lines.join("\n") + when_told(aspect))
}

/// What a list says that was asked for to learn who was told.
fn when_told(aspect: Aspect) -> &'static str {
    if aspect == Aspect::Told { " Ask about one check: who was told about \"nightly backup\"?" } else { "" }
}

/// The checks of which pings were refused.
fn refused(mut rows: Vec<&Value>, cut: usize, now: &ZonedDateTime) -> String {
    let count = |check: &&Value| check["rejected_count"].as_u64().unwrap_or(0);
    let looked_at = rows.len();
    rows.retain(|check| count(check) > 0);
    rows.sort_by_key(|check| std::cmp::Reverse(count(check)));
    let of = if cut > 0 {
        format!(" of the first {looked_at} that I looked at, out of {},", looked_at + cut)
    } else {
        String::new()
    };
    let mut lines = vec![match rows.len() {
        0 => return format!("No check{of} has had a ping refused for coming too soon after the one before."),
        1 => format!("1 check{of} has had pings refused for coming too soon after the one before:"),
        many => format!("{many} checks{of} have had pings refused for coming too soon after the one before:"),
    }];
    lines.extend(rows.iter().take(LONGEST_LIST).map(|check| {
        format!("- {}: {} refused, {}, {}", name(check), count(check), state(check, now), schedule(check))
    }));
    if rows.len() > LONGEST_LIST {
        lines.push(format!("\nand {} more.", rows.len() - LONGEST_LIST));
    }
    lines.join("\n")
}

/// The word of a state as a sentence has it.
fn in_words(state: &str) -> &str {
    if state == "started" { "in the middle of a run" } else { state }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "check" } else { "checks" }
}

fn allowed(result: &Value) -> String {
    result["limit"].as_u64().map(|limit| format!(" (your plan allows {limit})")).unwrap_or_default()
}

/// ", 1 down, 3 up", from the rows.
fn counts(checks: &[&Value]) -> String {
    let counts = ["down", "late", "up", "new", "paused"]
        .map(|word| (word, checks.iter().filter(|check| word_for(check) == word).count()))
        .into_iter()
        .filter(|(_, count)| *count > 0);
    let said: Vec<String> = counts.map(|(word, count)| format!(", {count} {word}")).collect();
    said.concat()
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

/// A check's name.
pub fn name(check: &Value) -> &str {
    check["name"].as_str().unwrap_or("(a check without a name)")
}

fn line(check: &Value, now: &ZonedDateTime) -> String {
    format!("- {}: {}, {}, {}", name(check), state(check, now), schedule(check), last_ping(check, now))
}

/// How a check stands.
pub fn state(check: &Value, now: &ZonedDateTime) -> String {
    let mut text = word_for(check).to_owned();
    if let Some(until) = check["paused_until"].as_str().filter(|_| text == "paused") {
        text = format!("paused until {}", moments::say(until, now));
    }
    if check["started"] == true {
        text.push_str(", a run has started");
    }
    text
}

/// When a check must ping.
pub fn schedule(check: &Value) -> String {
    match (check["period_seconds"].as_u64(), check["cron"].as_str()) {
        (Some(period), _) => {
            let length = durations::say(period);
            // "every day", but "every 1 day 12 hours".
            format!("every {}", length.strip_prefix("1 ").filter(|unit| !unit.contains(' ')).unwrap_or(&length))
        }
        (None, Some(cron)) => format!("cron {cron} ({})", check["timezone"].as_str().unwrap_or("UTC")),
        (None, None) => "no schedule shown".to_owned(),
    }
}

fn last_ping(check: &Value, now: &ZonedDateTime) -> String {
    match check["last_ping_at"].as_str() {
        Some(at) => format!("last ping {}", moments::say(at, now)),
        None => "no ping yet".to_owned(),
    }
}
