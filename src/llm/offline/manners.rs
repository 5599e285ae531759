//! Greetings, thanks, yes and no, and the polite words around a command.

use super::intent::Intent;
use super::phrase::Word;

/// Sentences that ask what the assistant is or can do.
const HELP: &[&str] = &[
    "help",
    "help me",
    "help please",
    "commands",
    "what can you do",
    "what can i do",
    "what can i say",
    "what can you help with",
    "what do you do",
    "what are you",
    "who are you",
    "are you an ai",
    "are you a bot",
    "how does this work",
];

const HELLO: &str = "hello hi hey hallo moin good morning evening afternoon day there flatline";
const THANKS: &str = "thanks thank you thx ty a lot very much so many cheers great that's perfect nice";
const CONSENT: &str =
    "i yes yep yeah ok okay sure confirm confirmed cancel no nope please all approve reject do it go ahead";

/// Words before a command that only make it polite.
const LEADS: &[&str] = &[
    "please",
    "kindly",
    "hello",
    "hi there",
    "hi",
    "hey",
    "thanks",
    "ok",
    "okay",
    "so",
    "and",
    "now",
    "then",
    "also",
    "just",
    "permanently",
    "simply",
    "quickly",
    "flatline",
    "can you",
    "could you",
    "would you",
    "will you",
    "yes",
    "i want to",
    "i want you to",
    "i would like to",
    "i would like you to",
    "i'd like to",
    "i'd like you to",
    "i need to",
    "i want a",
    "i need a",
    "i would like a",
    "i'd like a",
    "let's",
    "go ahead and",
    "help me to",
    "help me",
];

/// The same behind a command.
const TAILS: &[&str] = &["please", "thanks", "thank you", "for me", "now"];

/// Reads a message that is nothing but small talk.
pub fn read(words: &[Word]) -> Option<Intent> {
    let only = |set: &str| !words.is_empty() && words.iter().all(|word| word.is(set));
    let first = |set: &str| words.first().is_some_and(|word| word.is(set));
    if HELP.iter().any(|sentence| leads(words, sentence) == Some(words.len())) {
        return Some(Intent::Help);
    }
    if only(HELLO) && first("hello hi hey hallo moin good") {
        return Some(Intent::Hello);
    }
    if only(THANKS) && first("thanks thank thx ty many cheers great that's perfect nice") {
        return Some(Intent::Thanks);
    }
    let is_number = |word: &Word| word.key.chars().all(|c| c.is_ascii_digit() || c == '#') && !word.quoted;
    let numbered = first("confirm cancel approve reject")
        && words.last().is_some_and(is_number)
        && words[1..words.len() - 1].iter().all(|word| word.is("action number"));
    (numbered || (only(CONSENT) && !first("please all it") && !only("i do"))).then_some(Intent::Consent)
}

/// The words without what only makes them polite; at least one stays.
pub fn strip<'w, 'a>(mut words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    // "also tell ops" asks for more than "tell ops".
    let means_more =
        |words: &[Word]| matches!(words, [also, tell, ..] if also.is("also") && tell.is("tell notify alert email"));
    while let Some(count) = LEADS.iter().find_map(|lead| leads(words, lead)).filter(|count| *count < words.len())
        && !means_more(words)
    {
        words = &words[count..];
    }
    while let Some(count) = TAILS.iter().find_map(|tail| trails(words, tail)).filter(|count| *count < words.len()) {
        words = &words[..words.len() - count];
    }
    // "tell me why …", "explain why …": the question is what follows.
    match words {
        [tell, me, rest @ ..] if tell.is("tell show") && me.is("me us") && begins_question(rest) => rest,
        [explain, rest @ ..] if explain.is("explain") && begins_question(rest) => rest,
        _ => words,
    }
}

fn begins_question(words: &[Word]) -> bool {
    words.first().is_some_and(|word| word.is("why how what which when who whom if whether"))
}

/// How many words `sentence` has, if `words` begin with it.
fn leads(words: &[Word], sentence: &str) -> Option<usize> {
    let count = sentence.split(' ').count();
    let begin = words.get(..count)?;
    begin.iter().zip(sentence.split(' ')).all(|(word, key)| word.key == key).then_some(count)
}

/// How many words `sentence` has, if `words` end with it.
fn trails(words: &[Word], sentence: &str) -> Option<usize> {
    let start = words.len().checked_sub(sentence.split(' ').count())?;
    leads(&words[start..], sentence)
}
