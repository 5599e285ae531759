//! Questions about alerts: "who was told about X?", "was anyone alerted?", "which channels does X have?".

use super::inquiries;
use super::intent::{Aspect, Intent};
use super::phrase::{self, Word, skip};
use super::questions::AFTER_NAME;

const TELLING: &str = "told alerted notified informed warned paged emailed mailed tell alert notify inform warn page";
const NOUNS: &str = "email emails alert alerts notification notifications channel channels";

/// Reads a question about alerts; without a name it is about the check spoken of last, or about what is down.
pub fn read(words: &[Word]) -> Option<Intent> {
    // "alerts of X should go to ops" is a command.
    if words.first()?.is(NOUNS) && words.iter().any(|word| word.is("should must")) {
        return None;
    }
    let aspect = if words.first()?.is("why") { Aspect::Why } else { Aspect::Told };
    let rest = after_people(words).or_else(|| after_channel(words)).or_else(|| after_noun(words))?;
    let name = name(rest).map(|name| if name.len() == 1 && name[0].is("i we you me us") { &[] } else { name })?;
    (!phrase::is_any(name)).then(|| inquiries::about(name, aspect))
}

/// What follows "who was told", "has anyone been alerted", "whom did you tell", "why did I get an alert".
fn after_people<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    const BE: &str = "was were is are has have had did do does will would be been gets get got being already";
    const PEOPLE: &str = "anyone anybody someone somebody everyone we i you they people flatline";
    let (first, rest) = words.split_first()?;
    let asks = first.is("who whom why") || (first.is(BE) && rest.first()?.is(PEOPLE));
    let between = rest.iter().take_while(|word| word.is(BE) || word.is(PEOPLE) || word.is("an")).count();
    let (telling, rest) = rest[between..].split_first()?;
    // "did you tell anyone".
    (asks && (telling.is(TELLING) || telling.is(NOUNS))).then(|| skip(rest, PEOPLE))
}

/// What follows "was ops told", "did ops get alerted".
fn after_channel<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    match words {
        [be, _, telling, rest @ ..] if be.is("was were has have did") && telling.is(TELLING) => Some(rest),
        [did, _, get, telling, rest @ ..] if did.is("did has") && get.is("get got been") && telling.is(TELLING) => {
            Some(rest)
        }
        _ => None,
    }
}

/// What follows "alerts", "did the alert", "which channels".
fn after_noun<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    const OPENERS: &str = "which what what's show list give me my all any the latest last recent are were is was did do \
        does have has where there get of";
    let at = words.iter().take_while(|word| word.is(OPENERS)).count();
    let (noun, rest) = words[at..].split_first()?;
    // "what are alerts" asks what they are.
    // "alert ops" is a command.
    (noun.is(NOUNS) && (at > 0 || !noun.is("alert email")) && !(rest.is_empty() && words[0].is("what what's")))
        .then_some(rest)
}

/// The name in "(when) X (went down)"; empty if none is named, and nothing if the words are about something else.
fn name<'w, 'a>(rest: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    const BETWEEN: &str = "go gone going went out sent fire fired arrive delivered were was are is been be did does do have \
        has then now already alert tell notify";
    const LINKS: &str = "about of on for when if that because by from after to";
    let rest = skip(rest, BETWEEN);
    if rest.is_empty() {
        return Some(rest);
    }
    let linked = skip(skip(skip(rest, LINKS), "the outage failure downtime problem"), LINKS);
    let name = phrase::trim_end(linked, |word| {
        word.is(AFTER_NAME)
            || word.is("have has use uses tell tells alert alerts notify notifies get told alerted out sent \
                     delivered received arrive arrived fire fired work worked through")
    });
    // "which channels X" names nothing: a link, or what X does, makes it a name.
    let is_linked = linked.len() < rest.len() || name.len() < linked.len();
    is_linked.then_some(name)
}
