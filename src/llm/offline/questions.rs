//! Questions about the caller's own checks and account.

use super::edits;
use super::intent::{Aspect, Call, Intent};
use super::phrase::{self, Word, skip, trim_end};

/// What is asked of a check's state: "down" in "what is down", "why is X down", "is X down".
const STATES: &[(&str, &str)] = &[
    ("down", "down failing failed failure failures broken dead red alerting"),
    ("late", "late overdue"),
    ("up", "up healthy fine alive green ok okay running working"),
    ("new", "new"),
    ("paused", "paused silenced muted"),
    ("started", "started"),
];

/// What is said of pings that came too soon.
const REFUSED: &str = "rejected refused throttled";

fn state(word: &Word) -> Option<&'static str> {
    STATES.iter().find(|(_, words)| word.is(words)).map(|(state, _)| *state)
}

/// Whether the words ask how something is done or what it is, rather than for the caller's own data.
pub fn is_general(words: &[Word]) -> bool {
    let [first, second, ..] = words else { return false };
    match first.key.as_str() {
        "how" if second.is("often") && words.last().is_some_and(|last| last.is("run ping")) => {
            phrase::is_any(&words[3..])
        }
        "how" => second.is("do does can to should would could long often much"),
        "can" | "could" | "should" | "must" | "may" => second.is("i we it one flatline"),
        "does" => true,
        "do" => !second.is("i not"),
        "what" | "which" | "where" if second.is("does do") => true,
        // "when is a check late" asks for the rule, "when is backup late" for the check.
        "what" | "when" | "why" | "which" | "where" => {
            second.is("if") || words.get(2).is_some_and(|third| third.is("a an"))
        }
        _ => false,
    }
}

/// Whether the first word is one that questions begin with.
pub fn begins_like_one(words: &[Word]) -> bool {
    words
        .first()
        .is_some_and(|first| first.is("what what's how why when which where who explain about is are tell help"))
}

/// Reads a question about the caller's checks or account.
pub fn read(words: &[Word]) -> Option<Intent> {
    list(words).or_else(|| account(words)).or_else(|| inspect(words))
}

/// "what is down", "list checks tagged prod": nothing but words that a list is asked with.
fn list(words: &[Word]) -> Option<Intent> {
    const OPENERS: &str = "list show status overview what what's which is are any anything everything all checks my how \
        how's who who's give display summary down late paused check do";
    const OF_REFUSED: &str = "was were by floor pings ping too often soon fast frequently for coming had been being get getting \
        ever came come";
    const FILLERS: &str = "me all my the an of checks check jobs job monitors is are i do have currently right now that \
        which anything something everything any there in and who what list status state overview \
        many with or things today got ones doing going";
    let first = words.first()?;
    (first.is(OPENERS) || (words.len() == 1 && state(first).is_some())).then_some(())?;
    if first.is("how") && !words.get(1)?.is("many is are") {
        return None;
    }
    // "which checks ping too often" asks the same as "what was rejected by the floor".
    let too = if words.iter().any(|word| word.is("ping pings")) { "too" } else { "" };
    let is_refused = |word: &Word| word.is(REFUSED) || word.is(too);
    let aspect = if words.iter().any(is_refused) { Aspect::Rejected } else { Aspect::Status };
    let mut call = Call::new("list_checks");
    // "is everything ok" asks for trouble, and the whole list shows it.
    let mut whole = words.iter().any(|word| word.is("everything all")) && first.is("is are");
    let mut at = 1;
    if let Some(state) = state(first) {
        call = call.with("state", state);
    }
    while let Some(word) = words.get(at) {
        at += 1;
        if word.is("tagged tag tags") {
            let tag = words.get(at)?;
            call = call.with("tag", tag.text);
            at += 1;
        } else if let Some(state) = state(word) {
            if whole {
                continue;
            }
            // "late or down": the whole list has both, trouble first.
            if call.arguments.contains_key("state") {
                words[at - 2].is("or and").then(|| call.arguments.remove("state"))?;
                whole = true;
                continue;
            }
            call = call.with("state", state);
        } else if !word.is(FILLERS) && !(aspect == Aspect::Rejected && (is_refused(word) || word.is(OF_REFUSED))) {
            return None;
        }
    }
    // Alone, "how" and the like ask nothing.
    let asks = words.len() > 1 || !first.is("what what's which is are any how who who's give my");
    asks.then_some(Intent::Read(call, aspect))
}

/// "my limits", "how many checks are left": nothing but words that the account is asked with.
fn account(words: &[Word]) -> Option<Intent> {
    const TOPICS: &str = "limit limits plan tier account quota quotas usage allowance left remaining floor whoami";
    const PERSONAL: &str = "my i am left remaining whoami";
    const FILLERS: &str = "my i am the what what's whats is are show me of on which do have how many checks messages \
        can still create more and about account's send status";
    let keys: Vec<&str> = words.iter().map(|word| word.key.as_str()).collect();
    let who = keys == ["who", "am", "i"];
    let room = keys.starts_with(&["how", "many"]) && keys.iter().any(|key| ["can", "more", "still"].contains(key));
    let topic = room || words.iter().any(|word| word.is(TOPICS));
    let only = words.iter().all(|word| word.is(TOPICS) || word.is(FILLERS));
    let personal = who || words.iter().any(|word| word.is(PERSONAL));
    (who || (topic && only)).then_some(Intent::Account { personal })
}

/// What follows a name in "why is X down", "who was told when X went down".
pub const AFTER_NAME: &str = "down late failing fail failed fails red broken paused up new not go goes gone going went \
    overdue dead silent alerting again so is was has did be pinging due expected ping running recovered recovers";

/// "how is X", "why is X down", "when is X due", "show X".
fn inspect(words: &[Word]) -> Option<Intent> {
    const AFTER_HOW: &str = "doing going now today looking currently right running";
    const NUMBERS: &str = "5 10 five ten few";
    const SHOWN: &str = "me us the all last latest recent 5 10 five ten few";
    const AFTER_IS: &str = "still currently right now again not already due";
    let (first, rest) = words.split_first()?;
    let be = |word: &Word| word.is("is are was were did does do has will would should must isn't hasn't wasn't");
    let (aspect, name) = match first.key.as_str() {
        "why" | "why's" => {
            let rest = &rest[usize::from(rest.first().is_some_and(be))..];
            let name = trim_end(rest, |word| word.is(AFTER_NAME));
            // Without "down", "late" and the like it is a question about something else.
            (name.len() < rest.len()).then_some(())?;
            (Aspect::Why, name)
        }
        "how's" => (Aspect::Status, trim_end(rest, |word| word.is(AFTER_HOW))),
        "how" if rest.first().is_some_and(be) => (Aspect::Status, trim_end(&rest[1..], |word| word.is(AFTER_HOW))),
        "how" if rest.first()?.is("often") && rest.get(1).is_some_and(be) => {
            (Aspect::Times, trim_end(&rest[2..], |word| word.is("run ping")))
        }
        "what" | "what's" => return what(if first.is("what") { rest } else { words }),
        "when" | "when's" => {
            let rest = &rest[usize::from(rest.first().is_some_and(be))..];
            let name = skip(rest, "you expect the next last ping pings run runs of for from");
            let name = trim_end(name, |word| word.is(AFTER_NAME) || word.is("next last run to"));
            (name.len() < rest.len()).then_some(())?;
            (Aspect::Times, name)
        }
        "next" if skip(rest, NUMBERS).first()?.is("ping run pings runs") => {
            (Aspect::Times, skip(&skip(rest, NUMBERS)[1..], "of for from"))
        }
        "last" if rest.first()?.is("ping run") => (Aspect::Times, skip(&rest[1..], "of for from")),
        "did" | "has" => {
            let name = trim_end(rest, |word| word.is("run ping pinged today yet already on in time"));
            (name.len() < rest.len() && !phrase::is_any(name)).then_some(())?;
            (Aspect::Times, name)
        }
        "is" | "was" => {
            // Without a state at the end it is not a question about a check.
            state(rest.last()?)?;
            (Aspect::Status, trim_end(rest, |word| state(word).is_some() || word.is(AFTER_IS)))
        }
        "pings" | "flips" | "history" => (Aspect::History, skip(rest, "of for on about")),
        "last" | "latest" | "recent" if skip(rest, NUMBERS).first()?.is("pings flips") => {
            (Aspect::History, skip(&skip(rest, NUMBERS)[1..], "of for from"))
        }
        "show" | "list" if skip(rest, SHOWN).first()?.is("pings flips history") => {
            (Aspect::History, skip(&skip(rest, SHOWN)[1..], "of for from"))
        }
        "status" | "state" | "details" | "info" | "report" => (Aspect::Status, skip(rest, "of for on about")),
        "tell" if rest.len() > 2 && rest[0].is("me us") && rest[1].is("about") => (Aspect::Status, &rest[2..]),
        "get" if rest.first()?.is("rid") => return None,
        "show" | "inspect" | "open" | "get" | "view" | "display" | "check" => {
            (Aspect::Status, skip(rest, "me status state details info history of for on"))
        }
        _ => match rest.split_last() {
            // "X's next run".
            Some((run, [.., next])) if run.is("run ping runs") && next.is("next last") => {
                (Aspect::Times, &words[..words.len() - 2])
            }
            Some((last, _)) if last.is("status state details") && super::commands::verb(first).is_none() => {
                (Aspect::Status, &words[..words.len() - 1])
            }
            _ => return None,
        },
    };
    Some(about(name, aspect))
}

/// What follows "what": "happened to X", "is wrong with X", "is the status of X".
fn what(rest: &[Word]) -> Option<Intent> {
    let rest = skip(rest, "what's is are has the");
    let (first, name) = rest.split_first()?;
    match first.key.as_str() {
        "wrong" if name.is_empty() => Some(Intent::Read(Call::new("list_checks"), Aspect::Status)),
        "happened" | "wrong" | "up" | "matter" | "problem" | "going" if name.len() > 1 => {
            let name = &name[usize::from(first.is("going") && name[0].is("on"))..];
            name.first()?.is("to with").then(|| about(&name[1..], Aspect::Why))
        }
        "status" | "state" | "schedule" | "grace" | "period" if name.first()?.is("of") => {
            Some(about(&name[1..], Aspect::Status))
        }
        "last" | "next" if name.first()?.is("ping run pings runs") => {
            Some(about(skip(&name[1..], "of for from"), Aspect::Times))
        }
        _ => None,
    }
}

/// The question for one check.
pub fn about(name: &[Word], aspect: Aspect) -> Intent {
    match edits::owner(name) {
        Ok(name) => Intent::Read(Call::about("get_check", name), aspect),
        Err(sentence) => Intent::Unclear(sentence),
    }
}
