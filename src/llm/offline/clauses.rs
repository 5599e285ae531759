//! What a check can be told to be: "every 5 minutes", "daily at 02:30 Europe/Berlin", "grace 10 minutes", "tagged a, b".

use serde_json::{Map, Value};

use super::phrase::{self, Word, skip};
use super::{alerts, durations, schedules};

/// Words that begin a clause, besides those of alerts; where one of them stands, a list of tags is over.
const HEADS: &str = "every each hourly daily nightly weekly cron grace period interval with tags tagged labelled \
        described description once tag max maximum longest runtime";

/// Whether a clause begins with this word.
pub fn is_head(word: &Word) -> bool {
    word.is(HEADS) || word.is(alerts::HEADS)
}

/// Where a list that `words` begin with is over: before the next clause and what joins it, "a, b and a max runtime".
pub fn list_end(words: &[Word]) -> usize {
    let end = words.iter().take_while(|word| !is_head(word)).count();
    let joined = words[..end].iter().rev().take_while(|word| word.is("and & a an the")).count();
    if end < words.len() { end - joined } else { end }
}

/// Words that may join two clauses: "and with a".
const MAX_JOINED: usize = 4;

/// Why words do not read as clauses; each with the sentence for the person.
#[derive(Debug)]
pub enum Unread {
    /// A part is no clause, or one that cannot be read.
    NotUnderstood(String),
    /// Each part is a clause, but two say the same thing.
    Twice(String),
}

impl From<Unread> for String {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::NotUnderstood(sentence) | Unread::Twice(sentence) => sentence,
        }
    }
}

/// Reads all of `words` as clauses, in any order, each at most once. Answers the tool arguments that they mean.
pub fn read(words: &[Word]) -> Result<Map<String, Value>, Unread> {
    let mut arguments = Map::new();
    let mut at = 0;
    while at < words.len() {
        let joined =
            words[at..].iter().take(MAX_JOINED).take_while(|word| word.is("and & with a an the its also")).count();
        let rest = &words[at + joined..];
        // "a 10 minute grace": the article may also be the number.
        let (found, taken) = match one(rest) {
            None if joined > 0 => one(&words[at + joined - 1..]).map(|clause| clause.map(|(f, n)| (f, n - 1))),
            clause => clause,
        }
        .unwrap_or_else(|| Err(not_understood(&words[at..])))
        .map_err(Unread::NotUnderstood)?;
        for (key, value) in found {
            if arguments.insert(key.to_owned(), value).is_some() {
                return Err(twice(rest));
            }
        }
        if arguments.contains_key("cron") && arguments.contains_key("period_seconds") {
            return Err(twice(rest));
        }
        at += joined + taken;
    }
    Ok(arguments)
}

fn twice(words: &[Word]) -> Unread {
    Unread::Twice(format!("You gave me two values, the second at “{}”. Which one do you mean?", quote(words)))
}

/// The arguments that a clause means, and how many words it took.
pub type Clause = Result<(Vec<(&'static str, Value)>, usize), String>;

fn one(words: &[Word]) -> Option<Clause> {
    schedules::read(words)
        .or_else(|| grace(words))
        .or_else(|| period(words))
        .or_else(|| runtime(words))
        .or_else(|| tags(words))
        .or_else(|| description(words))
        .or_else(|| alerts::clause(words))
}

/// "grace 10 minutes", "grace period of 10 minutes", "10 minutes of grace".
fn grace(words: &[Word]) -> Option<Clause> {
    amount(words, "grace", "grace_seconds")
}

/// "period 10 minutes", "interval of 1 hour".
pub fn period(words: &[Word]) -> Option<Clause> {
    amount(words, "period interval", "period_seconds")
}

/// "max runtime 1 hour", "runtime of 2 hours", "longest run 90 minutes", "take at most 20 minutes".
fn runtime(words: &[Word]) -> Option<Clause> {
    let most = words.iter().take(1).take_while(|word| word.is("max maximum longest")).count();
    let named =
        amount(&words[most..], if most == 1 { "runtime run duration" } else { "runtime" }, "max_runtime_seconds");
    if let Some(clause) = named {
        return Some(clause.map(|(found, taken)| (found, most + taken)));
    }
    let verb = skip(words, "may can must not never");
    verb.first()?.is("take takes last run").then_some(())?;
    let limit = skip(&verb[1..], "no at up longer more most than to");
    (limit.len() + 1 < verb.len()).then_some(())?;
    let (length, taken) = durations::read(limit)?;
    Some(Ok((seconds("max_runtime_seconds", length), words.len() - limit.len() + taken)))
}

fn amount(words: &[Word], names: &str, argument: &'static str) -> Option<Clause> {
    const LINKS: &str = "of to is be was were period time =";
    if words.first()?.is(names) {
        let links = 1 + words[1..].iter().take_while(|word| word.is(LINKS)).count();
        return Some(match durations::read(&words[links..]) {
            Some((length, taken)) => Ok((seconds(argument, length), links + taken)),
            None => Err(not_understood(words)),
        });
    }
    let (length, taken) = durations::read(words)?;
    let of = usize::from(words.get(taken)?.is("of"));
    words.get(taken + of)?.is(names).then_some(())?;
    let last = words.get(taken + of + 1).is_some_and(|word| word.is("period time"));
    Some(Ok((seconds(argument, length), taken + of + 1 + usize::from(last))))
}

/// "tagged a, b", "tags a and b".
fn tags(words: &[Word]) -> Option<Clause> {
    words.first()?.is("tag tags tagged labelled").then_some(())?;
    let links = 1 + words[1..].iter().take_while(|word| word.is("as with is are to")).count();
    let end = links + list_end(&words[links..]);
    if end == links {
        return Some(Err("Which tags? For example: tagged prod, db.".to_owned()));
    }
    Some(Ok((vec![("tags", phrase::tags(&words[links..end]))], end)))
}

/// "described as \"…\"": a quoted text, or all that follows.
fn description(words: &[Word]) -> Option<Clause> {
    words.first()?.is("described description").then_some(())?;
    let links = 1 + words[1..].iter().take_while(|word| word.is("as is to of by")).count();
    let end = if words.get(links)?.quoted { links + 1 } else { words.len() };
    Some(Ok((vec![("description", phrase::written(&words[links..end]).into())], end)))
}

/// A length of time as an argument.
pub fn seconds(argument: &'static str, length: u64) -> Vec<(&'static str, Value)> {
    vec![(argument, length.into())]
}

/// The sentence for a part of a command that cannot be read.
pub fn not_understood(words: &[Word]) -> String {
    format!("I did not understand “{}”.", quote(words))
}

fn quote(words: &[Word]) -> String {
    phrase::excerpt(phrase::written(words))
}
