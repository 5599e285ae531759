//! Questions about a schedule that no check has: "when would */5 * * * * run?", "is every 2 minutes allowed?".

use jiff::tz::TimeZone;

use super::intent::{Aspect, Call, Intent};
use super::phrase::Word;
use super::{clauses, durations, moments, schedules};

/// Words before the schedule at most.
const LONGEST_LEAD: usize = 12;

/// What is asked of a schedule, whether it is allowed.
const ALLOWED: &str = "allowed ok okay possible valid accepted enough fine";

/// "when would */5 * * * * in Europe/Berlin run", "next runs of cron …", "can I use a period of 1 minute".
pub fn read(words: &[Word]) -> Option<Intent> {
    const BEFORE: &str = "when would does will do is are what what's the a an next first run runs times three five ten 3 5 10 of \
        show list me mean explain preview can could may should i we it use try test for with schedule at checks check ping \
        pings give would";
    let mut refusal = None;
    let lead = words.iter().take(LONGEST_LEAD).take_while(|word| word.is(BEFORE)).count();
    for at in 0..=lead.min(words.len()) {
        match schedule(&words[at..]) {
            Some(Ok((arguments, taken))) => {
                let said = &words[at..at + taken];
                // "nightly" and "weekly" alone are rather names of checks.
                let is_plain = taken > 1 || said[0].quoted || said[0].text.starts_with('@');
                if is_plain
                    && let Some(zones) = zones_after(&words[at + taken..])
                    && asks(words, at, said)
                {
                    let mut call = Call::new("preview_schedule");
                    call.arguments.extend(arguments.into_iter().map(|(key, value)| (key.to_owned(), value)));
                    // Only what goes by the clock has a zone, the first that is named: all times are told in UTC too.
                    if let Some(zone) = zones.first().filter(|_| call.arguments.contains_key("cron")) {
                        let said = call.arguments.entry("timezone");
                        said.or_insert_with(|| moments::zone_name(zone).into());
                    }
                    return Some(Intent::Read(call, Aspect::Status));
                }
            }
            Some(Err(sentence)) => {
                let is_meant = words[at..].iter().any(|word| word.text.contains(['*', '/', '@']));
                refusal = refusal.or((is_meant && lead > 0).then_some(sentence));
            }
            None => {}
        }
    }
    refusal.map(Intent::Unclear)
}

/// A schedule, a quoted expression, "a period of 1 minute", or "30 seconds" of which is asked whether they are allowed.
fn schedule(words: &[Word]) -> Option<clauses::Clause> {
    if let Some(clause) = schedules::read(words).or_else(|| clauses::period(words)) {
        return Some(clause);
    }
    if let Some(first) = words.first().filter(|first| first.quoted && first.text.split_whitespace().count() >= 5) {
        let mut arguments = vec![("cron", first.text.into())];
        let zone = moments::zone(&words[1..]).ok().flatten();
        arguments.extend(zone.iter().map(|(zone, _)| ("timezone", moments::zone_name(zone).into())));
        return Some(Ok((arguments, 1 + zone.map_or(0, |(_, taken)| taken))));
    }
    let (length, taken) = durations::read(words)?;
    let asks = words[taken..].iter().any(|word| word.is(ALLOWED));
    asks.then(|| Ok((clauses::seconds("period_seconds", length), taken)))
}

/// The zones among what may follow the schedule: "run in Europe/Berlin and UTC". Nothing if there is more.
fn zones_after(words: &[Word]) -> Option<Vec<TimeZone>> {
    const AFTER: &str = "run runs running fire fires trigger happen mean means do next allowed ok okay possible valid accepted \
        enough fine schedule be work right on under my our plan in the free tier for me and by at all today";
    let (mut zones, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        match moments::zone(&words[at..]) {
            Ok(Some((found, taken))) => {
                zones.push(found);
                at += taken;
            }
            _ if word.is(AFTER) => at += 1,
            _ => return None,
        }
    }
    Some(zones)
}

/// A schedule alone is a question only if it can be nothing else.
fn asks(words: &[Word], at: usize, said: &[Word]) -> bool {
    at > 0 || said.len() < words.len() || said.iter().any(|word| word.text.contains('*'))
}
