//! Commands that pause and resume: "pause X for 2 hours", "mute alerts of X", "turn off X", "pause all tagged prod".

use jiff::ZonedDateTime;

use super::commands::{self, Command};
use super::ends::{self, End};
use super::intent::Call;
use super::moments;
use super::phrase::{self, Word, skip};

/// "pause X for 2 hours", "pause all tagged prod until 14:00", what follows the verb.
pub fn pause(words: &[Word], now: &ZonedDateTime) -> Command {
    let may_end = |at: &usize| !words[at - 1].is("in after");
    let span = (1..words.len()).filter(may_end).find_map(|at| ends::read(&words[at..], now).map(|end| (at, end)));
    let (who, end) = match span {
        Some((at, end)) => (&words[..at], end),
        None => (words, End::Never),
    };
    let who = without_alerts(who);
    if let Some(at) = beginning(who, now) {
        return Err(format!(
            "I did not understand “{}”: a pause begins as soon as you confirm it. When it ends can be said, for \
             example: for 2 hours. If that belongs to the name, put the name in quotes.",
            phrase::excerpt(phrase::written(&who[at..]))
        ));
    }
    if let Some(at) = who.iter().position(|word| word.is("until till til for over")) {
        return Err(format!(
            "I did not understand “{}”. Try: for 2 hours, until 14:00, until tomorrow 9:00 Europe/Berlin, or until \
             2026-12-01. If that belongs to the name, put the name in quotes.",
            phrase::excerpt(phrase::written(&who[at..]))
        ));
    }
    let mut call = match tag_of_all(who) {
        Some(tag) => Call::new("pause_checks").with("tag", tag),
        None if who.first().is_some_and(|word| word.is("all everything every")) => {
            return Err("Which checks? Name their tag (pause all tagged prod) or the checks themselves, with commas \
                        between them."
                .to_owned());
        }
        None => match phrase::names(who)?.as_slice() {
            [one] => Call::new("pause_check").with("check", one.as_str()),
            several => Call::new("pause_checks").with("checks", several.to_vec()),
        },
    };
    if let End::At(until) = end {
        call = call.with("until", until.to_string());
    }
    Ok(vec![call])
}

/// Where a time to begin at is said: "in 2 hours", "at 18:00", "tomorrow".
fn beginning(who: &[Word], now: &ZonedDateTime) -> Option<usize> {
    (1..who.len()).find(|at| {
        let (first, rest) = (&who[*at], &who[at + 1..]);
        let is_time = |words: &[Word]| ends::read(words, now).is_some();
        match first.key.as_str() {
            "in" | "after" => is_time(rest),
            "from" | "starting" | "at" => moments::time_of_day(skip(&who[*at..], "from starting")).is_some(),
            "tomorrow" | "tonight" | "overnight" | "later" => rest.is_empty() || moments::time_of_day(rest).is_some(),
            _ => false,
        }
    })
}

/// "alerts of X", "X's alerts": a check that is paused is what makes no alerts.
fn without_alerts<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    const ALERTS: &str = "alert alerts alerting notification notifications";
    match skip(words, "the all") {
        [alerts, link, rest @ ..] if alerts.is(ALERTS) && link.is("of for from about on") && !rest.is_empty() => rest,
        [name @ .., alerts] if !name.is_empty() && alerts.is(ALERTS) => name,
        _ => words,
    }
}

/// The tag in "all tagged prod", "everything with tag prod", "all prod checks".
fn tag_of_all(words: &[Word]) -> Option<String> {
    const ALL: &str = "all everything every checks check jobs the my with that are is of";
    if let Some(at) = words.iter().position(|word| word.is("tagged tag")) {
        let [tag] = &words[at + 1..] else { return None };
        return words[..at].iter().all(|word| word.is(ALL)).then(|| tag.text.to_owned());
    }
    let (first, rest) = words.split_first()?;
    let rest = &rest[rest.iter().take_while(|word| word.is("the my of")).count()..];
    match rest {
        [tag, last] if first.is("all every") && last.is("checks check jobs") => Some(tag.text.to_owned()),
        _ => None,
    }
}

/// "turn off X", "turn X back on", "stop monitoring X", "start X again".
pub fn switched(words: &[Word], now: &ZonedDateTime) -> Option<Command> {
    let (first, rest) = words.split_first()?;
    // "end the pause of X".
    if first.is("end lift cancel stop remove clear")
        && let [pause, link, name @ ..] = skip(rest, "the")
        && pause.is("pause silence")
        && link.is("of on for from")
    {
        return Some(commands::each("resume_check", name));
    }
    match first.key.as_str() {
        "stop" => {
            let name = skip(rest, "monitoring watching checking");
            (!name.is_empty()).then(|| pause(name, now))
        }
        "start" => {
            let (again, name) = rest.split_last().filter(|(again, _)| again.is("again"))?;
            let name = skip(name, "monitoring watching checking");
            (!again.quoted && !name.is_empty()).then(|| commands::each("resume_check", name))
        }
        "turn" | "switch" => {
            let at = rest.iter().position(|word| word.is("on off"))?;
            let is_on = rest[at].is("on");
            let before = if at > 0 && rest[at - 1].is("back") { at - 1 } else { at };
            let name: Vec<Word> = rest[..before].iter().chain(&rest[at + 1..]).cloned().collect();
            let name = skip(&name, "monitoring");
            (!name.is_empty()).then(|| if is_on { commands::each("resume_check", name) } else { pause(name, now) })
        }
        _ => None,
    }
}
