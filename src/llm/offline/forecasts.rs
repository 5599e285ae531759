//! The answers to `preview_change` and `preview_schedule` in words: what would be, and that nothing has changed.

use jiff::ZonedDateTime;
use serde_json::Value;

use super::reports::{next_runs, one_line};
use super::{durations, moments};

/// The answer to `preview_change`: what the card of that change would show.
pub fn change(result: &Value, now: &ZonedDateTime) -> Option<String> {
    let name = result["check"].as_str().or_else(|| result["check"]["name"].as_str())?;
    let summary = result["summary"].as_str()?;
    let mut lines = vec![format!("For {name} that would mean: {}", one_line(summary))];
    let texts = |member: &str| result[member].as_array().into_iter().flatten();
    lines.extend(texts("changes").filter_map(|change| {
        let side = |side: &str| change[side].as_str().map_or_else(|| "none".to_owned(), one_line);
        Some(format!("- {}: {} → {}", one_line(change["field"].as_str()?), side("before"), side("after")))
    }));
    if result["goes_down_now"] == true {
        lines.push("- It would go down at once".to_owned());
    }
    lines.extend(texts("warnings").filter_map(Value::as_str).map(|warning| format!("- {}", one_line(warning))));
    // Of a schedule by the clock the changes name the runs already.
    if let Some(due) = result["due_at"].as_str().filter(|_| result["status"] == "up" && result["paused"] != true) {
        lines.push(format!("- The next ping would be due: {}", moments::say(due, now)));
    }
    lines.push(
        "\nNothing has changed, and nothing is prepared. Ask for the change itself to get a card for it.".to_owned(),
    );
    Some(lines.join("\n"))
}

/// The answer to `preview_schedule`.
pub fn schedule(result: &Value, now: &ZonedDateTime) -> Option<String> {
    let words = result["words"].as_str()?;
    let zone = result["timezone"].as_str();
    let mut lines = vec![format!("That is: {}.", one_line(words))];
    lines.extend(next_runs(&result["next_runs"], zone, now));
    if let Some(counted) = result["next_runs_counted_from"].as_str() {
        lines.push(format!("- Counted from {}", one_line(counted)));
    }
    if let Some(shortest) = result["shortest_interval_seconds"].as_u64() {
        lines.push(format!("- Shortest time between two pings: {}", durations::say(shortest)));
    }
    let floor = result["floor_seconds"].as_u64().map(|floor| format!(" of {}", durations::say(floor)));
    let floor = format!("the floor{} of your plan", floor.unwrap_or_default());
    match result["allowed"].as_bool() {
        Some(true) => lines.push(format!("- Allowed: it keeps to {floor}")),
        Some(false) => {
            let reason = result["reason"].as_str().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
            lines.push(format!("- Not allowed with {floor}{reason}"));
        }
        None => {}
    }
    Some(lines.join("\n"))
}
