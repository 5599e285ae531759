//! Questions about one check, by their shape: what is asked, the name, what is said of it. "What was the last error of X?"
//!
//! The name is what is left when the words that such questions are made of are taken from both ends.

use super::edits;
use super::intent::{Aspect, Call, Intent};
use super::phrase::{Word, trim_end};

/// Words that a question about a check begins with.
const OPENERS: &str = "what what's which when when's how how's why why's is isn't are aren't was wasn't were weren't did \
    didn't does doesn't has hasn't have will won't would should can who who's any at until";

/// Words between the first one and the name.
const BEFORE: &str = "is isn't are aren't was wasn't were weren't be been did didn't does doesn't do has hasn't have had will \
    won't would should can could the any its all my of for from in on by to with about until till long often many much \
    soon time last latest next recent current first previous got get gets";

/// What a check has or does, before its name or after it.
const TOPICS: &str = "ping pings pinged pinging run runs ran running expect expects expected due error errors output message \
    messages log logs body exit code status state schedule grace period interval timezone zone tags tag \
    description details history events event reason cause caused outage outages end ends ended starts problem problems reminder reminders alerts channels \
    alert say said reported succeed succeeds succeeded success fail fails failed failing failure finish finished \
    complete completed start started work works working rejected refused throttled accepted missed miss late \
    overdue down up new paused silenced muted silent quiet healthy fine ok okay alive green red dead broken \
    alerting wrong happened happen changed edited take takes set configured go went come came arrive arrived \
    respond responding runtime called monitored checked watched time";

/// What else may be said after the name.
const AFTER: &str = "soon next last yet already today tonight yesterday night morning evening this week month again now currently \
    right on in at time a while lately recently ever still been be being do doing done going gone is are was \
    were has have had get gets got any its so far not for the to by use uses using or from of ago since over \
    then";

/// A question with words of these is about no check of the caller's.
const OTHERS: &str = "i we you me flatline can could if url key address secret it's";

/// Reads a question about one check.
pub fn read(words: &[Word]) -> Option<Intent> {
    words.first()?.is(OPENERS).then_some(())?;
    let before = 1 + words[1..].iter().take_while(|word| word.is(BEFORE) || word.is(TOPICS)).count();
    // "the nightly check": its article shows where a name begins.
    let (front, rest) = words.split_at(before - usize::from(before > 1 && words[before - 1].is("the my")));
    let name = trim_end(rest, |word| word.is(TOPICS) || word.is(AFTER));
    let after = &rest[name.len()..];
    let (first, last) = (name.first()?, front.last()?);
    // "how many pings of X", "what schedule does X have": the topic before the name is joined to it.
    let is_linked = front[1..].iter().any(|word| word.is(TOPICS)) && (!last.is(TOPICS) || is_possessive(name));
    let is_asked = is_linked || after.iter().any(|word| word.is(TOPICS)) || is_possessive(name);
    let is_name = first.quoted || !name.iter().all(|word| word.is(TOPICS) || word.is(AFTER));
    // "when a check goes down" asks of all, and one question may hold another.
    let is_one = name.len() == 1
        || !name.iter().any(|word| word.is("a an any each every checks jobs that when what which who why"));
    let is_own = is_one && !words.iter().any(|word| word.is(OTHERS));
    (is_asked && is_name && is_own).then(|| about(name, aspect(words)))
}

fn is_possessive(name: &[Word]) -> bool {
    name.last().is_some_and(|last| last.key.ends_with("'s"))
}

/// What of a check the words ask for.
pub fn aspect(words: &[Word]) -> Aspect {
    let any = |keys: &str| words.iter().any(|word| word.is(keys));
    if any("rejected refused throttled accepted") {
        Aspect::Rejected
    } else if any(
        "error errors output message messages log logs body exit code say said history events succeed succeeded success \
        finish finished complete completed pings reported respond",
    ) {
        Aspect::History
    } else if any("why why's wrong reason cause caused happened problem problems changed edited") {
        Aspect::Why
    } else if any("told alert alerts alerted notified notifications channels reminder reminders") {
        Aspect::Told
    } else if any(
        "when when's due next soon until expect expects expected time long last pinged run ran ping late overdue missed",
    ) {
        Aspect::Times
    } else {
        Aspect::Status
    }
}

/// The question for one check.
pub fn about(name: &[Word], aspect: Aspect) -> Intent {
    match edits::owner(name) {
        Ok(name) => Intent::Read(Call::about("get_check", name), aspect),
        Err(sentence) => Intent::Unclear(sentence),
    }
}
