//! Questions about the caller's own checks and account.

use super::inquiries::{self, about};
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
    const ANY: &str = "a an i we you one it flatline";
    let [first, second, ..] = words else { return false };
    let third = words.get(2).filter(|third| third.is(ANY) || third.is("the your"));
    // "what is the ping url of X" is on the page, and a secret.
    let asks_key = words.iter().any(|word| word.is("key url secret")) && begins_like_one(words);
    let supposes = words.windows(2).any(|pair| pair[0].is("if") && pair[1].is(ANY));
    asks_key
        || supposes
        || match first.key.as_str() {
            "how" if second.is("often") && words.last().is_some_and(|last| last.is("run ping")) => {
                phrase::is_any(&words[3..])
            }
            "how" if second.is("to can should would could") => true,
            "how" if second.is("long often much many") => words[2..].iter().take(2).any(|word| word.is(ANY)),
            "can" | "could" | "should" | "must" | "may" => second.is("i we it one flatline"),
            "does" => second.is(ANY) || second.is("the"),
            "do" => !second.is("i not any my"),
            "how" | "what" | "which" | "where" if second.is("does do") => third.is_some(),
            // "when is a check late" asks for the rule, "when is backup late" for the check.
            "what" | "when" | "why" | "which" | "where" => {
                second.is("if") || third.is_some_and(|third| third.is("a an"))
            }
            _ => false,
        }
}

/// Whether the first word is one that questions begin with.
pub fn begins_like_one(words: &[Word]) -> bool {
    words.first().is_some_and(|first| {
        first
            .is("what what's how how's why why's when when's which where where's who who's explain about is isn't are \
                  aren't was wasn't were did didn't does doesn't has hasn't have will won't can should tell help any")
    })
}

/// "which channels do I have", "list my channels": those of the account.
pub fn channels(words: &[Word]) -> Option<Intent> {
    const FILLERS: &str = "which what what's list show me my all the do i have we there are can use exist set up";
    let asks = words.iter().any(|word| word.is("channels")) && words.len() > 1;
    let only = words.iter().all(|word| word.is("channels") || word.is(FILLERS));
    let own = words.iter().any(|word| word.is("i my we list show there"));
    (asks && only && own).then(|| Intent::Read(Call::new("get_account"), Aspect::Told))
}

/// Reads a question about the caller's checks or account.
pub fn read(words: &[Word]) -> Option<Intent> {
    list(words).or_else(|| inquiries::read(words)).or_else(|| inspect(words))
}

/// "what is down", "list checks tagged prod": nothing but words that a list is asked with.
fn list(words: &[Word]) -> Option<Intent> {
    const OPENERS: &str = "list show status overview what what's which is are any anything anyone everything all checks my how \
        how's who who's give display summary down late paused check do did does";
    const OF_REFUSED: &str = "was were by floor pings ping too often soon fast frequently for coming had been being get getting \
        ever came come";
    const OF_SILENT: &str = "ping pings pinged pinging yet first their its got sent had received waiting a been on";
    const OF_TROUBLE: &str =
        "wrong problem problems trouble troubles issue issues attention needs need go went look at";
    const FILLERS: &str = "me all my the an of checks check jobs job monitors is are i do have currently right now that \
        which anything something everything any there in and who what list status state overview \
        many with or things today got ones doing going has for still so far a summary";
    let first = words.first()?;
    (first.is(OPENERS) || (words.len() == 1 && state(first).is_some())).then_some(())?;
    if first.is("how") && !words.get(1)?.is("many is are") {
        return None;
    }
    let any = |keys: &str| words.iter().any(|word| word.is(keys));
    // "which checks ping too often" asks the same as "what was rejected by the floor".
    let too = if any("ping pings") { "too" } else { "" };
    let is_refused = |word: &Word| word.is(REFUSED) || word.is(too);
    let aspect = if words.iter().any(is_refused) { Aspect::Rejected } else { Aspect::Status };
    // "which checks have never pinged" asks for those that are new.
    let silent = if any("ping pings pinged") { "never haven't hasn't not no without waiting" } else { "" };
    let is_silent = any(silent);
    let mut call = Call::new("list_checks");
    // "is everything ok" and "any problems" ask for trouble, and the whole list shows it.
    let mut whole = (any("everything all") && first.is("is are")) || any(OF_TROUBLE);
    let mut at = 1;
    if let Some(state) = state(first) {
        call = call.with("state", state);
    } else if is_silent {
        call = call.with("state", "new");
    }
    // "list prod checks", "anything down in prod".
    let is_tag = |words: &[Word], at: usize| {
        let before_checks = words.get(at + 1).is_some_and(|next| next.is("checks"));
        let is_last = at + 1 == words.len() && words[at - 1].is("in");
        !words[at].is(FILLERS) && (before_checks || is_last)
    };
    while let Some(word) = words.get(at) {
        at += 1;
        let of_question = (aspect == Aspect::Rejected && (is_refused(word) || word.is(OF_REFUSED)))
            || (is_silent && (word.is(silent) || word.is(OF_SILENT)))
            || (whole && word.is(OF_TROUBLE));
        if word.is("tagged tag tags") {
            let tag = words.get(at)?;
            call = call.with("tag", tag.text);
            at += 1;
        } else if let Some(state) = state(word).filter(|_| !of_question) {
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
        } else if is_tag(words, at - 1) && !of_question && !call.arguments.contains_key("tag") {
            call = call.with("tag", word.text);
        } else if !word.is(FILLERS) && !of_question {
            return None;
        }
    }
    // Alone, "how" and the like ask nothing.
    let asks = words.len() > 1 || !first.is("what what's which is are any how who who's give my do did does");
    asks.then_some(Intent::Read(call, aspect))
}

/// "my limits", "how many checks are left": nothing but words that the account is asked with.
pub fn account(words: &[Word]) -> Option<Intent> {
    const TOPICS: &str =
        "limit limits plan tier account quota quotas usage allowance left remaining floor whoami slots";
    const PERSONAL: &str = "my i am left remaining whoami";
    const FILLERS: &str = "my i am the what what's whats is are show me of on which do have how many much checks check messages \
        can still create add make more another and about account's send status using use used near close to at under \
        over there room for any new us our we";
    let keys: Vec<&str> = words.iter().map(|word| word.key.as_str()).collect();
    let has = |wanted: &[&str]| keys.iter().any(|key| wanted.contains(key));
    let who = keys == ["who", "am", "i"];
    let asks_more = keys.starts_with(&["how", "many"]) && has(&["can", "more", "still", "using", "use", "used"]);
    let room = asks_more || (has(&["another", "more", "room"]) && has(&["check", "checks"]) && has(&["i", "we"]));
    let topic = room || words.iter().any(|word| word.is(TOPICS));
    let only = words.iter().all(|word| word.is(TOPICS) || word.is(FILLERS));
    let personal = who || words.iter().any(|word| word.is(PERSONAL));
    (who || (topic && only && !is_command(words))).then_some(Intent::Account { personal })
}

/// "add another check" is no question.
fn is_command(words: &[Word]) -> bool {
    words.first().is_some_and(|first| first.is("create add make use send"))
}

/// What follows a name in "why is X down", "who was told when X went down".
pub const AFTER_NAME: &str = "down late failing fail failed fails red broken paused up new not go goes gone going went \
    overdue dead silent alerting again so is was has did be pinging due expected ping running recovered recovers";

/// "how is X", "show X", "pings of X", "what about X".
fn inspect(words: &[Word]) -> Option<Intent> {
    const AFTER_HOW: &str = "been lately far so these days doing going now today looking currently right running";
    const NUMBERS: &str = "5 10 five ten few";
    const SHOWN: &str = "me us the all next last latest recent full 5 10 five ten few status state details info history events log \
        logs output errors error messages message pings ping runs flips schedule grace everything more of for on about from";
    let (first, rest) = words.split_first()?;
    let be = |word: &Word| word.is("is are was were does did has");
    let (aspect, name) = match first.key.as_str() {
        "how's" => (Aspect::Status, trim_end(rest, |word| word.is(AFTER_HOW))),
        "how" | "what" if rest.first()?.is("about") => (Aspect::Status, &rest[1..]),
        "how" if rest.first().is_some_and(be) => (Aspect::Status, trim_end(&rest[1..], |word| word.is(AFTER_HOW))),
        "what" | "what's" => return what(if first.is("what") { rest } else { words }),
        "when" | "when's" => {
            let name = skip(skip(rest, "is are will does did would"), "the next last ping pings run runs of for from");
            (name.len() < rest.len() && !phrase::is_any(name)).then_some(())?;
            (Aspect::Times, name)
        }
        "next" if skip(rest, NUMBERS).first()?.is("ping run pings runs") => {
            (Aspect::Times, skip(&skip(rest, NUMBERS)[1..], "of for from"))
        }
        "pings" | "flips" | "history" => (Aspect::History, skip(rest, "of for on about")),
        "last" | "latest" | "recent" if skip(rest, NUMBERS).first()?.is("pings flips errors ping run error") => {
            let is_one = rest[0].is("ping run");
            (if is_one { Aspect::Times } else { Aspect::History }, skip(&skip(rest, NUMBERS)[1..], "of for from"))
        }
        "schedule" | "grace" | "period" | "tags" | "timezone" | "description" if rest.first()?.is("of for") => {
            // "grace of X to 10 minutes" is a change.
            let is_change = rest.iter().any(|word| word.is("to = be"));
            return (!is_change).then(|| about(&rest[1..], Aspect::Status));
        }
        "status" | "state" | "details" | "info" => (Aspect::Status, skip(rest, "of for on about")),
        "tell" if rest.first()?.is("me us") && rest.iter().any(|word| word.is("about")) => {
            (Aspect::Status, skip(rest, "me us everything all more something about"))
        }
        "get" if rest.first()?.is("rid") => return None,
        // "check for X every 5 minutes" is one that is wanted.
        "check" if rest.first()?.is("named called for") => return None,
        "show" | "list" | "inspect" | "open" | "get" | "view" | "display" | "check" => {
            let shown = rest.iter().take_while(|word| word.is(SHOWN)).count();
            // "the nightly check": its article shows where a name begins.
            let (said, name) = rest.split_at(shown - usize::from(shown > 0 && rest[shown - 1].is("the")));
            (!first.is("list") || said.iter().any(|word| word.is("pings flips history errors"))).then_some(())?;
            let is_history = said.iter().any(|word| word.is("pings ping flips"));
            (if is_history { Aspect::History } else { inquiries::aspect(said) }, name)
        }
        _ => match rest.split_last() {
            // "X's next run".
            Some((run, [.., next])) if run.is("run ping runs") && next.is("next last") => {
                (Aspect::Times, &words[..words.len() - 2])
            }
            Some((last, _)) if last.is("status state details history") && super::commands::verb(first).is_none() => {
                let aspect = if last.is("history") { Aspect::History } else { Aspect::Status };
                (aspect, &words[..words.len() - 1])
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
