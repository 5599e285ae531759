//! The answer to `get_uptime` in words: how much of a span a check was up, and its outages.

use jiff::{Timestamp, ZonedDateTime};
use serde_json::Value;

use super::{durations, moments};

/// Outages that an answer lists, the newest.
const MOST_OUTAGES: usize = 10;

/// The answer, or nothing if it is none.
pub fn report(result: &Value, now: &ZonedDateTime) -> Option<String> {
    let name = result["check"].as_str().or_else(|| result["check"]["name"].as_str())?;
    let (from, to) = (result["from"].as_str()?, result["to"].as_str()?);
    let span = format!("from {} to {}", moments::say(from, now), end(to, now));
    let mut lines = vec![match result["uptime"].as_f64() {
        Some(share) => {
            let measured = measured(result, from, to).map_or_else(
                || "time".to_owned(),
                |seconds| format!("{} that were measured in the time", durations::say(seconds)),
            );
            format!("{name} was up {} of the {measured} {span}.", percent(share))
        }
        None => format!("{name} has no uptime to tell {span}: it was neither up nor down."),
    }];
    let seconds = |member: &str| result[member].as_u64().filter(|seconds| *seconds > 0);
    if let (Some(down), up) = (seconds("down_seconds"), seconds("up_seconds").unwrap_or(0)) {
        lines.push(format!("- Down for {}, up for {}", durations::say(down), durations::say(up)));
    }
    if let Some(unknown) = seconds("no_data_seconds") {
        lines.push(format!(
            "- For {} there is no data, because Flatline itself was away; that counts for neither",
            durations::say(unknown)
        ));
    }
    lines.extend(outages(result, now));
    Some(lines.join("\n"))
}

/// The seconds in which the check was up or down, if they and those without data are not the whole span: before its
/// first ping it is neither.
fn measured(result: &Value, from: &str, to: &str) -> Option<u64> {
    let (from, to) = (from.parse::<Timestamp>().ok()?, to.parse::<Timestamp>().ok()?);
    let span = u64::try_from(to.duration_since(from).as_secs()).ok()?;
    let seconds = |member: &str| result[member].as_u64();
    let known = seconds("up_seconds")? + seconds("down_seconds")?;
    // Both ends are cut to whole seconds.
    (known + seconds("no_data_seconds")? + 1 < span).then_some(known)
}

fn outages(result: &Value, now: &ZonedDateTime) -> Vec<String> {
    let Some(outages) = result["outages"].as_array() else { return Vec::new() };
    let cut = result["outages_not_shown"].as_u64().and_then(|cut| usize::try_from(cut).ok()).unwrap_or(0);
    let total = outages.len() + cut;
    if total == 0 {
        return vec!["- No outages".to_owned()];
    }
    let newest = outages.iter().rev().take(MOST_OUTAGES);
    let more = if total > MOST_OUTAGES { format!(", the last {MOST_OUTAGES} of them") } else { String::new() };
    let mut lines = vec![format!("- {total} {}{more}:", if total == 1 { "outage" } else { "outages" })];
    lines.extend(newest.map(|outage| format!("  - {}", line(outage, now))));
    lines
}

/// "2026-07-05 11:15 UTC (1 day ago) to 2026-07-05 12:00 UTC (…), 45 minutes: no ping came in time".
fn line(outage: &Value, now: &ZonedDateTime) -> String {
    let from = outage["from"].as_str().map_or_else(|| "an unknown time".to_owned(), |at| moments::say(at, now));
    let until = match outage["to"].as_str() {
        Some(to) => format!("to {}", moments::say(to, now)),
        None => "and still going on".to_owned(),
    };
    // What counts in the span: neither what lies before it nor what is "no data".
    let counted = outage["seconds"].as_u64().map(|down| format!(", counted {}", durations::say(down)));
    let reason = match outage["reason"].as_str() {
        Some("timeout") => ": no ping came in time",
        Some("fail") => ": the job reported a failure",
        Some("exit") => ": the job ended with a failing exit status",
        _ => "",
    };
    format!("{from} {until}{}{reason}", counted.unwrap_or_default())
}

/// The end of a span; "now" if it is.
fn end(to: &str, now: &ZonedDateTime) -> String {
    let is_now = to.parse::<Timestamp>().is_ok_and(|to| to.duration_since(now.timestamp()).as_secs().abs() < 60);
    if is_now { "now".to_owned() } else { moments::say(to, now) }
}

/// Rounded down: only a check that was never down was up 100 % of the time.
fn percent(share: f64) -> String {
    let cut = (share.clamp(0.0, 1.0) * 10_000.0 + 1e-9).floor() / 100.0;
    format!("{cut} %")
}
