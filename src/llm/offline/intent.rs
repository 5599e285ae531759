//! What a message asks for.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::phrase::Word;
use super::{commands, manners, phrase, questions, spans, suppositions, told};

/// A tool call without an id.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

impl Call {
    /// A call without arguments.
    pub fn new(tool: &'static str) -> Self {
        Self { tool, arguments: Map::new() }
    }

    /// A call about one check, if it is named.
    pub fn about(tool: &'static str, check: Option<String>) -> Self {
        let call = Self::new(tool);
        if let Some(name) = check { call.with("check", name) } else { call }
    }

    /// Adds one argument.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }
}

/// What the person wants to know of what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aspect {
    /// All of it, briefly.
    Status,
    /// Why it is down, late or silent.
    Why,
    /// When it pinged last and when it must ping next.
    Times,
    /// Its last pings and changes of state.
    History,
    /// Who was told of it, and who would be.
    Told,
    /// Which checks had pings refused.
    Rejected,
}

/// What a message asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// A greeting.
    Hello,
    /// Thanks.
    Thanks,
    /// What the assistant can do.
    Help,
    /// "Yes", "confirm": only the person's tap or exact word decides, and that never comes here.
    Consent,
    /// Something to look up. If it is about one check and names none, it is the one spoken of last.
    Read(Call, Aspect),
    /// The caller's own plan and limits; `personal` if it can only mean theirs.
    Account {
        /// "my plan", rather than "the limits".
        personal: bool,
    },
    /// One or more proposals.
    Propose(Vec<Call>),
    /// A command with a part that is missing or unreadable, and the sentence that asks for it.
    Unclear(String),
    /// A question about Flatline itself.
    Question,
    /// None of these.
    Unknown,
}

/// Reads a message. `now` is what "for 2 hours" counts from.
pub fn read(text: &str, now: Timestamp) -> Intent {
    let all = phrase::words(text);
    let words = manners::strip(&all);
    if let Some(intent) = manners::read(&all).or_else(|| manners::read(words)) {
        return intent;
    }
    if let Some(intent) = two_questions(words, now) {
        return intent;
    }
    read_one(text, words, now)
}

/// "why is X down, and who was told?": one look answers both, or they are to be asked apart.
fn two_questions(words: &[Word], now: Timestamp) -> Option<Intent> {
    const BEGIN: &str = "who why when what how was were has did";
    let joined = |at: usize| words[at].is(BEGIN) && (words[at - 1].is("and") || words[at - 1].ends_with('?'));
    let at = (1..words.len()).find(|at| joined(*at))?;
    let (first, second) = (&words[..at - usize::from(words[at - 1].is("and"))], &words[at..]);
    let (Intent::Read(call, aspect), Intent::Read(other, also)) = (read_one("", first, now), read_one("", second, now))
    else {
        return None;
    };
    let same =
        call.tool == other.tool && other.arguments.iter().all(|(name, value)| call.arguments.get(name) == Some(value));
    Some(match (aspect, also) {
        _ if same && aspect == also => Intent::Read(call, aspect),
        // The answer to "why" names the times and the last alert.
        (Aspect::Why, Aspect::Told | Aspect::Times) | (Aspect::Told | Aspect::Times, Aspect::Why) if same => {
            Intent::Read(call, Aspect::Why)
        }
        _ => Intent::Unclear(format!(
            "One question at a time, please: first “{}”, then “{}”.",
            phrase::excerpt(phrase::written(first)),
            phrase::excerpt(phrase::written(second))
        )),
    })
}

fn read_one(text: &str, words: &[Word], now: Timestamp) -> Intent {
    let specific = suppositions::read(words).or_else(|| spans::read(words, now)).or_else(|| told::read(words));
    if let Some(intent) = specific {
        return intent;
    }
    if questions::is_general(words) {
        return Intent::Question;
    }
    if let Some(intent) = questions::read(words) {
        return intent;
    }
    match commands::read(words, now) {
        Some(Ok(calls)) => Intent::Propose(calls),
        Some(Err(sentence)) => Intent::Unclear(sentence),
        None if text.trim_end().ends_with('?') || questions::begins_like_one(words) => Intent::Question,
        None => Intent::Unknown,
    }
}
