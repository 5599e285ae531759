//! The cards of pauses and of their ends: what goes silent until when, and what is waited for then.

use super::alerts::names;
use super::phrases::{due_after_confirmation, pause_until_words, pause_words};
use super::{Change, Check, Preview, Status};
use crate::checks::effect::Pause;
use crate::checks::status::Times;
use crate::checks::store::channels::Channel;
use crate::checks::tools::ProposalKind;
use crate::checks::words::{list, moment, span};
use crate::clock::Millis;

pub(in crate::checks) fn pause(check: &Check, told: &[Channel], until: Option<Millis>, now: Millis) -> Preview {
    let name = &check.name;
    let mut warnings = Vec::new();
    if check.status == Status::Down {
        warnings.push(format!("{name} is down now, and its recovery will go unnoticed."));
    }
    if check.started_at.is_some() || check.runs_deadline_at.is_some() {
        warnings.push("A run is in progress; its end will not be counted.".to_owned());
    }
    Preview {
        title: format!("Pause {name}{}", until_words(until, now)),
        summary: format!(
            "{name} goes silent{}: pings are noted only, and nothing is reported late or down{}. {}",
            until_words(until, now),
            untold(told),
            end_of(check, until, now)
        ),
        changes: vec![Change::new("pause", Some(pause_words(check, now)), Some(pause_until_words(until, now)))],
        warnings,
        destructive: ProposalKind::PauseCheck.is_destructive(),
    }
}

/// How a pause ends, and what is waited for then.
fn end_of(check: &Check, until: Option<Millis>, now: Millis) -> String {
    let Some(until) = until else { return "The pause lasts until you resume it.".to_owned() };
    let then = match (check.status, Times::after_pause(check, Some(until)).due_at) {
        (Status::Up, Some(due)) => format!("the next ping is due at {}", moment(due, now)),
        (Status::Up, None) => "no ping is due in sight".to_owned(),
        (Status::New, _) => "it waits for its first ping then".to_owned(),
        (Status::Down, _) => "it stays down until its next success ping".to_owned(),
    };
    format!("The pause ends by itself at {}; {then}.", moment(until, now))
}

pub(in crate::checks) fn resume(check: &Check, now: Millis) -> Preview {
    let name = &check.name;
    let summary = match check.status {
        Status::New => format!("{name} is watched again and waits for its first ping."),
        Status::Up => format!(
            "{name} is watched again. The next ping is due {}, and may be {} late.",
            due_after_confirmation(check, now),
            span(check.grace_seconds)
        ),
        Status::Down => format!("{name} is watched again. It stays down until its next success ping."),
    };
    Preview {
        title: format!("Resume {name}"),
        summary,
        changes: vec![Change::new("pause", Some(pause_words(check, now)), Some("none".to_owned()))],
        warnings: Vec::new(),
        destructive: ProposalKind::ResumeCheck.is_destructive(),
    }
}

pub(in crate::checks) fn pause_all(checks: &[Check], told: &[Channel], until: Option<Millis>, now: Millis) -> Preview {
    let after = pause_until_words(until, now);
    let changes = checks.iter().map(|check| line(check, after.clone(), now));
    Preview {
        title: format!("Pause {}{}", list(names_of(checks)), until_words(until, now)),
        summary: format!(
            "They all go silent{}: pings are noted only, and nothing is reported late or down{}. If one of them is \
             changed before you confirm, none is paused.",
            until_words(until, now),
            untold(told)
        ),
        changes: changes.collect(),
        warnings: down_now(checks, "and their recovery will go unnoticed").into_iter().collect(),
        destructive: ProposalKind::PauseChecks.is_destructive(),
    }
}

/// The end of several pauses; `earlier` is what each check had before, which is put back.
pub(in crate::checks) fn resume_all(checks: &[Check], earlier: &[Option<Pause>], now: Millis) -> Preview {
    let after = |earlier: &Option<Pause>| match earlier.filter(|earlier| !earlier.is_over(now)) {
        Some(earlier) => pause_until_words(earlier.until, now),
        None => "none".to_owned(),
    };
    let changes = checks.iter().zip(earlier).map(|(check, earlier)| line(check, after(earlier), now));
    Preview {
        title: format!("Take the pause back from {}", list(names_of(checks))),
        summary: "They are watched again, but for those that were paused before. What is up is due its whole schedule \
                  from then on, and what is down stays down until its next success ping. If one of them is changed \
                  before you confirm, none is resumed."
            .to_owned(),
        changes: changes.collect(),
        warnings: down_now(checks, "until their next success ping").into_iter().collect(),
        destructive: false,
    }
}

fn line(check: &Check, after: String, now: Millis) -> Change {
    Change::new(&format!("pause of {}", check.name), Some(pause_words(check, now)), Some(after))
}

fn names_of(checks: &[Check]) -> impl ExactSizeIterator<Item = &str> {
    checks.iter().map(|check| check.name.as_str())
}

fn down_now(checks: &[Check], so: &str) -> Option<String> {
    let down = checks.iter().filter(|check| check.status == Status::Down).map(|check| check.name.as_str());
    let down: Vec<&str> = down.collect();
    (!down.is_empty()).then(|| format!("Down now, {so}: {}.", down.join(", ")))
}

fn untold(told: &[Channel]) -> String {
    if told.is_empty() { String::new() } else { format!(" to {}", names(told)) }
}

fn until_words(until: Option<Millis>, now: Millis) -> String {
    until.map(|until| format!(" until {}", moment(until, now))).unwrap_or_default()
}
