//! The values that a check is made of: parsed once, and right as long as they exist.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use utoipa::ToSchema;

/// A name: 1 to 100 characters on one line, in NFC, without characters that hide or reorder others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, min_length = 1, max_length = 100)]
pub struct CheckName(String);

/// A tag: 1 to 50 characters under the rules of names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, min_length = 1, max_length = 50)]
pub struct Tag(String);

/// At most 20 tags, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "Vec<Tag>")]
#[schema(value_type = Vec<Tag>, max_items = 20)]
pub struct Tags(Vec<String>);

/// Free text of at most 2,000 characters, line breaks allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, max_length = 2000)]
pub struct Description(String);

/// A period, a grace or a longest run: whole seconds, from a minute to a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "i64")]
#[schema(value_type = i64, minimum = 60, maximum = 31_536_000)]
pub struct Seconds(i64);

const MAX_NAME: usize = 100;
const MAX_TAG: usize = 50;
const MAX_TAGS: usize = 20;
const MAX_DESCRIPTION: usize = 2_000;
const MIN_SECONDS: i64 = 60;
const MAX_SECONDS: i64 = 365 * 86_400;

impl CheckName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for CheckName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        one_line("a name", &text, MAX_NAME).map(Self)
    }
}

impl Tag {
    /// The tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Tag {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        one_line("a tag", &text, MAX_TAG).map(Self)
    }
}

impl Tags {
    /// The tags, in the order given.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Tags {
    type Error = String;

    fn try_from(given: Vec<String>) -> Result<Self, String> {
        Self::try_from(given.into_iter().map(Tag::try_from).collect::<Result<Vec<_>, _>>()?)
    }
}

impl TryFrom<Vec<Tag>> for Tags {
    type Error = String;

    fn try_from(given: Vec<Tag>) -> Result<Self, String> {
        let mut tags: Vec<String> = Vec::new();
        for Tag(tag) in given {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
            if tags.len() > MAX_TAGS {
                return Err(format!("a check has at most {MAX_TAGS} tags"));
            }
        }
        Ok(Self(tags))
    }
}

impl Description {
    /// The description as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Description {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text: String = text.trim().replace("\r\n", "\n").nfc().collect();
        if let Some(hidden) = text.chars().find(|c| *c != '\n' && *c != '\t' && is_refused(*c)) {
            return Err(refused_character("a description", hidden));
        }
        let length = text.chars().count();
        if length > MAX_DESCRIPTION {
            return Err(format!("a description has at most {MAX_DESCRIPTION} characters; this one has {length}"));
        }
        Ok(Self(text))
    }
}

impl Seconds {
    /// The number.
    pub fn get(self) -> i64 {
        self.0
    }

    /// The nearest number that is allowed.
    pub fn nearest(seconds: i64) -> Self {
        Self(seconds.clamp(MIN_SECONDS, MAX_SECONDS))
    }

    /// This, or `most` (itself at least a minute) if this is more.
    #[must_use]
    pub fn at_most(self, most: i64) -> Self {
        Self(self.0.min(most.max(MIN_SECONDS)))
    }
}

impl TryFrom<i64> for Seconds {
    type Error = String;

    fn try_from(seconds: i64) -> Result<Self, String> {
        if (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
            return Ok(Self(seconds));
        }
        Err(format!("from {MIN_SECONDS} to {MAX_SECONDS} seconds (365 days); this is {seconds}"))
    }
}

fn one_line(what: &str, text: &str, max: usize) -> Result<String, String> {
    let text: String = text.trim().nfc().collect();
    if let Some(hidden) = text.chars().find(|c| is_refused(*c)) {
        return Err(refused_character(what, hidden));
    }
    match text.chars().count() {
        0 => Err(format!("{what} has 1 to {max} characters; this one is empty")),
        length if length > max => Err(format!("{what} has 1 to {max} characters; this one has {length}")),
        _ => Ok(text),
    }
}

fn refused_character(what: &str, character: char) -> String {
    format!("{what} cannot hold the invisible character U+{:04X}", u32::from(character))
}

/// Control, bidirectional, zero-width and tag characters, and the other ones that draw nothing: with them a name could
/// pass for another, or carry words that only a model reads.
fn is_refused(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0D}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Result<String, String> {
        CheckName::try_from(text.to_owned()).map(|name| name.0)
    }

    #[test]
    fn names_are_trimmed_composed_and_counted_in_characters() {
        assert_eq!(name("  nightly backup\u{a0}"), Ok("nightly backup".to_owned()));
        assert_eq!(name("cafe\u{301}"), Ok("caf\u{e9}".to_owned()));
        assert_eq!(name(&"é".repeat(100)), Ok("é".repeat(100)));
        assert_eq!(name(&"é".repeat(101)), Err("a name has 1 to 100 characters; this one has 101".to_owned()));
        assert_eq!(name(" \u{a0} "), Err("a name has 1 to 100 characters; this one is empty".to_owned()));
    }

    #[test]
    fn names_hold_nothing_that_cannot_be_seen() {
        for hidden in [
            '\0',
            '\n',
            '\t',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{202e}',
            '\u{2028}',
            '\u{2060}',
            '\u{2066}',
            '\u{61c}',
            '\u{3164}',
            '\u{feff}',
            '\u{fff9}',
            '\u{e0041}',
            '\u{e0100}',
        ] {
            assert!(name(&format!("a{hidden}b")).is_err(), "U+{:04X} passed", u32::from(hidden));
        }
        for seen in ["naïve", "备份", "резервная копия", "🕐", "❤\u{fe0f}", "<b>&\"'", "a — b", "نسخ", "-- ; DROP"]
        {
            assert_eq!(name(seen), Ok(seen.to_owned()));
        }
    }

    #[test]
    fn tags_are_few_short_and_each_once() {
        let tags = |given: Vec<String>| Tags::try_from(given).map(|tags| tags.0);
        let owned = |given: &[&str]| given.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        assert_eq!(tags(owned(&["ops", " ops ", "db"])), Ok(owned(&["ops", "db"])));
        assert!(tags((0..20).map(|n| n.to_string()).collect()).is_ok());
        assert!(tags((0..21).map(|n| n.to_string()).collect()).is_err());
        assert!(tags(vec!["x".repeat(51)]).is_err());
        assert!(tags(owned(&["ok", ""])).is_err());
    }

    #[test]
    fn descriptions_keep_their_lines_but_nothing_hidden() {
        let description = |text: &str| Description::try_from(text.to_owned()).map(|text| text.0);
        assert_eq!(description("one\r\ntwo\n\tthree "), Ok("one\ntwo\n\tthree".to_owned()));
        assert_eq!(description(""), Ok(String::new()));
        assert!(description("a\u{202e}b").is_err());
        assert!(description("a\rb").is_err());
        assert!(description(&"x".repeat(2_000)).is_ok());
        assert!(description(&"x".repeat(2_001)).is_err());
    }

    #[test]
    fn seconds_run_from_a_minute_to_a_year() {
        for (seconds, fits) in [(59, false), (60, true), (31_536_000, true), (31_536_001, false), (-300, false)] {
            assert_eq!(Seconds::try_from(seconds).is_ok(), fits, "{seconds}");
        }
    }
}
