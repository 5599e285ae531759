//! Who was told of a check and who would be, in words: its channels, its rules, and the notices that were sent.

use jiff::ZonedDateTime;
use serde_json::Value;

use super::reports::one_line;
use super::{durations, moments};

/// The answer to "who was told?".
pub fn lines(result: &Value, check: &Value, now: &ZonedDateTime) -> Vec<String> {
    let zone = check["timezone"].as_str();
    let mut lines = Vec::new();
    if let Some(notices) = result["told"].as_array() {
        if notices.is_empty() {
            lines.push("- Nobody has been told of anything yet".to_owned());
        }
        lines.extend(notices.iter().map(|notice| format!("- {}", line(notice, zone, now))));
    }
    lines.extend(rules(result));
    lines
}

/// One line on the last alert, for the answer to "why".
pub fn summary(result: &Value, now: &ZonedDateTime) -> Option<String> {
    let notices = result["told"].as_array()?;
    let newest = notices.iter().find(|notice| notice["event"] == "check.down")?;
    // One flip's notices are written at the same time.
    let same =
        notices.iter().filter(|notice| notice["event"] == "check.down" && notice["created_at"] == newest["created_at"]);
    let told: Vec<String> = same.map(|notice| format!("{} ({})", channel(notice), standing(notice))).collect();
    let at = newest["created_at"].as_str().map(|at| format!(" {}", moments::say(at, now))).unwrap_or_default();
    Some(format!("- Last alert{at}: {}", told.join(", ")))
}

/// Who is told and when, as the check is set.
pub fn rules(result: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(channels) = result["channels"].as_array() {
        let named: Vec<String> = channels.iter().map(described).collect();
        lines.push(match named.len() {
            0 => "- It has no channels: nobody is told when it goes down".to_owned(),
            _ => format!("- When it goes down, these are told: {}", named.join(", ")),
        });
    }
    if let Some(fails) = result["alert_after_failures"].as_u64().filter(|fails| *fails > 1) {
        lines.push(format!("- It goes down after {fails} failures in a row; without a ping in time at once"));
    }
    if let Some(every) = result["reminder_seconds"].as_u64() {
        lines.push(format!("- While it is down they are reminded every {}", durations::say(every)));
    }
    lines
}

/// A channel by name and kind.
pub fn described(channel: &Value) -> String {
    let name = channel["name"].as_str().map_or_else(|| "a channel without a name".to_owned(), one_line);
    channel["kind"].as_str().map(|kind| format!("{name} ({kind})")).unwrap_or(name)
}

/// "ops (slack): down alert, sent 2026-07-06 11:15 UTC (45 minutes ago)".
fn line(notice: &Value, zone: Option<&str>, now: &ZonedDateTime) -> String {
    let kind = notice["kind"].as_str().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let event = match notice["event"].as_str() {
        Some("check.down") => "that it went down",
        Some("check.up") => "that it came up again",
        Some("check.reminder") => "that it is still down",
        Some("channel.test") => "a test",
        _ => "something that I have no word for",
    };
    let said = |member: &str| notice[member].as_str().map(|at| moments::say_in(at, zone, now));
    let when = if notice["status"] == "pending" { None } else { said("finished_at") };
    let when = when.map_or_else(
        || said("created_at").map(|at| format!(", since {at}")).unwrap_or_default(),
        |at| format!(", {at}"),
    );
    let again = said("next_attempt_at").filter(|_| notice["status"] == "pending");
    let again = again.map(|at| format!("; next attempt {at}")).unwrap_or_default();
    format!("{}{kind}: {event}: {}{when}{again}", channel(notice), standing(notice))
}

fn channel(notice: &Value) -> String {
    let name = notice["channel"].as_str().or_else(|| notice["channel"]["name"].as_str());
    name.map_or_else(|| "a channel without a name".to_owned(), one_line)
}

/// Whether it arrived, and if not why.
fn standing(notice: &Value) -> String {
    let attempts = match notice["attempts"].as_u64() {
        Some(count) if count > 1 => format!(" after {count} attempts"),
        _ => String::new(),
    };
    let error = notice["last_error"].as_str().map(|error| format!(" ({})", one_line(error))).unwrap_or_default();
    match notice["status"].as_str() {
        Some("sent") => format!("sent{attempts}"),
        Some("failed") => format!("not delivered{attempts}{error}"),
        Some("pending") if error.is_empty() => "not sent yet".to_owned(),
        Some("pending") => format!("not sent yet{attempts}{error}"),
        _ => "its state is not on record".to_owned(),
    }
}
