//! Messages that ask for two things at once: one look answers both, or they are to be asked apart.

use jiff::ZonedDateTime;

use super::commands::{self, Verb};
use super::intent::{self, Aspect, Intent};
use super::phrase::{self, Word};

/// Reads a message of two questions, or of two commands; nothing if it is neither.
pub fn read(words: &[Word], now: &ZonedDateTime) -> Option<Intent> {
    questions(words, now).or_else(|| commands(words, now))
}

/// "why is X down, and who was told?"
fn questions(words: &[Word], now: &ZonedDateTime) -> Option<Intent> {
    const BEGIN: &str = "who why when what how was were has did";
    let joined = |at: usize| words[at].is(BEGIN) && (words[at - 1].is("and") || words[at - 1].ends_with('?'));
    let at = (1..words.len()).find(|at| joined(*at))?;
    let (first, second) = (&words[..at - usize::from(words[at - 1].is("and"))], &words[at..]);
    let (Intent::Read(call, aspect), Intent::Read(other, also)) =
        (intent::read_one("", first, now), intent::read_one("", second, now))
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
        _ => apart("question", first, second, ""),
    })
}

/// "pause X; resume Y", "list and then delete X".
fn commands(words: &[Word], now: &ZonedDateTime) -> Option<Intent> {
    // Free text may hold any verb.
    let has_text = words.iter().any(|word| word.is("describe described description rename name"));
    let verb = |word: &Word| commands::verb(word).filter(|_| !word.is("new label replace let monitor watch drop"));
    let joins = |word: &Word| word.is("and then & also");
    let ends = |word: &Word| word.ends_with(';') || word.ends_with('.') || word.comma;
    let at = (1..words.len().saturating_sub(1)).find(|at| {
        let is_command = verb(&words[*at]).is_some_and(|verb| verb != Verb::Tag && verb != Verb::Untag);
        is_command && (joins(&words[at - 1]) || ends(&words[at - 1]))
    })?;
    let joining = words[..at].iter().rev().take_while(|word| joins(word)).count();
    let (first, second) = (&words[..at - joining], &words[at..]);
    let begins = first.first().is_some_and(|word| verb(word).is_some())
        || matches!(intent::read_one("", first, now), Intent::Read(..) | Intent::Account { .. } | Intent::Propose(_));
    (begins && !has_text).then(|| apart("thing", first, second, " If that is one name, put it in quotes."))
}

fn apart(what: &str, first: &[Word], second: &[Word], more: &str) -> Intent {
    Intent::Unclear(format!(
        "One {what} at a time, please: first “{}”, then “{}”.{more}",
        phrase::excerpt(phrase::written(first)),
        phrase::excerpt(phrase::written(second))
    ))
}
