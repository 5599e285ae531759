//! What a message asks for.

use jiff::ZonedDateTime;
use serde_json::{Map, Value};

use super::phrase::Word;
use super::{commands, manners, phrase, questions, schedules, several, spans, suppositions, timetables, told};

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
    /// A question about Flatline, or about a check that it names in a way of its own: only the names of the caller's
    /// checks can tell.
    Open,
    /// None of these.
    Unknown,
}

/// Reads a message. `now` is the person's clock: what "for 2 hours" counts from, and where "9:00" and "3am" are meant.
pub fn read(text: &str, now: &ZonedDateTime) -> Intent {
    let mut intent = read_all(text, now);
    let calls = match &mut intent {
        Intent::Read(call, _) => std::slice::from_mut(call),
        Intent::Propose(calls) => calls,
        _ => return intent,
    };
    for call in calls {
        schedules::by_the_clock(call, now.time_zone());
    }
    intent
}

fn read_all(text: &str, now: &ZonedDateTime) -> Intent {
    let all = phrase::words(text);
    let words = manners::strip(&all);
    if let Some(intent) = manners::read(&all).or_else(|| manners::read(words)) {
        return intent;
    }
    if let Some(intent) = several::read(words, now) {
        return intent;
    }
    read_one(text, words, now)
}

/// Reads a message that asks for one thing. `text` is all of it, as it was written.
pub fn read_one(text: &str, words: &[Word], now: &ZonedDateTime) -> Intent {
    let specific = suppositions::read(words)
        .or_else(|| timetables::read(words))
        .or_else(|| spans::read(words, now))
        .or_else(|| questions::channels(words))
        .or_else(|| told::read(words))
        .or_else(|| questions::account(words));
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
        None if text.trim_end().ends_with('?') || questions::begins_like_one(words) => Intent::Open,
        None => Intent::Unknown,
    }
}
