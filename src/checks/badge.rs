//! A check's badge: its state in a word, and as a small picture that stands by itself.

use serde::Serialize;
use utoipa::ToSchema;

use super::status::derive;
use super::{Check, Status};
use crate::clock::Millis;

/// Characters of a name that the picture shows.
const MAX_LABEL: usize = 40;
/// Space around a text, in pixels.
const PADDING: u32 = 6;

/// What a badge says: the one word that matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BadgeStatus {
    /// Pinged in time.
    Up,
    /// Late beyond its grace, or failed.
    Down,
    /// Up, but its ping is due and has not come.
    Late,
    /// Never pinged.
    New,
    /// Paused, whatever it was before.
    Paused,
}

/// What a badge tells, and all that it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Badge {
    /// The check's name.
    pub name: String,
    /// Its state.
    pub status: BadgeStatus,
}

impl BadgeStatus {
    fn of(check: &Check, now: Millis) -> Self {
        let derived = derive(check, now);
        match check.status {
            _ if derived.paused => Self::Paused,
            _ if derived.late => Self::Late,
            Status::New => Self::New,
            Status::Up => Self::Up,
            Status::Down => Self::Down,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Late => "late",
            Self::New => "new",
            Self::Paused => "paused",
        }
    }

    /// Dark enough for white text.
    fn colour(self) -> &'static str {
        match self {
            Self::Up => "#2e7d32",
            Self::Down => "#c62828",
            Self::Late => "#a65200",
            Self::New | Self::Paused => "#546e7a",
        }
    }
}

impl Badge {
    /// The badge of `check` at `now`.
    pub fn new(check: Check, now: Millis) -> Self {
        Self { status: BadgeStatus::of(&check, now), name: check.name }
    }

    /// The picture: SVG without anything that runs, refers or loads.
    pub fn svg(&self) -> String {
        let (word, colour) = (self.status.word(), self.status.colour());
        let label = shortened(&self.name);
        let (label_width, word_width) = (text_width(&label), text_width(word));
        let left = label_width + 2 * PADDING;
        let right = word_width + 2 * PADDING;
        let (width, word_at, edge) = (left + right, left + PADDING, right - 3);
        let (title, label) = (escaped(&format!("{}: {word}", self.name)), escaped(&label));
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">
<title>{title}</title>
<rect width="{width}" height="20" rx="3" fill="#444"/>
<path d="M{left} 0h{edge}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{edge}z" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{PADDING}" y="14" textLength="{label_width}" lengthAdjust="spacingAndGlyphs">{label}</text>
<text x="{word_at}" y="14" textLength="{word_width}" lengthAdjust="spacingAndGlyphs">{word}</text>
</g>
</svg>
"##
        )
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= MAX_LABEL {
        return name.to_owned();
    }
    name.chars().take(MAX_LABEL - 1).chain(['…']).collect()
}

/// About how wide `text` is, in pixels; the picture then says that it is exactly so wide.
fn text_width(text: &str) -> u32 {
    let tenths = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' => 40,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 100,
        c if c.is_ascii() => 70,
        _ => 110,
    };
    text.chars().map(tenths).sum::<u32>().div_ceil(10).max(1)
}

/// `text` as it may stand between tags and in quotes. What XML does not allow at all is replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(name: &str) -> String {
        Badge { name: name.to_owned(), status: BadgeStatus::Up }.svg()
    }

    #[test]
    fn a_hostile_name_is_text_and_nothing_else() {
        let plain = svg("backup");
        let shape = |svg: &str| svg.matches(['<', '>']).count();
        for name in [
            "</text><script>alert(1)</script>",
            "\" onload=\"alert(1)",
            "' onload='alert(1)",
            "<![CDATA[x]]>",
            "&lt;script&gt;&#x3c;",
            "<!DOCTYPE svg [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>&x;",
            "a\u{0}b\u{1b}[2J\u{ffff}",
        ] {
            let hostile = svg(name);
            assert_eq!(shape(&hostile), shape(&plain), "{name:?} makes no tag: {hostile}");
            assert_eq!(hostile.matches('"').count(), plain.matches('"').count(), "{name:?} ends no attribute");
            assert!(!hostile.contains('\''));
            assert!(hostile.chars().all(|c| c == '\n' || !c.is_control()));
            // Every & begins one of the five.
            let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
            assert!(
                hostile.match_indices('&').all(|(at, _)| known.iter().any(|known| hostile[at..].starts_with(known)))
            );
        }
        assert!(svg("a<b & \"c\"").contains("<title>a&lt;b &amp; &quot;c&quot;: up</title>"));
    }

    #[test]
    fn a_long_name_is_cut_in_the_picture_and_whole_in_its_title() {
        let name = "ä".repeat(100);
        let svg = svg(&name);
        assert!(svg.contains(&format!("<title>{name}: up</title>")));
        assert!(svg.contains(&format!(">{}…</text>", "ä".repeat(39))));
    }

    #[test]
    fn each_state_has_its_word() {
        let all = [BadgeStatus::Up, BadgeStatus::Down, BadgeStatus::Late, BadgeStatus::New, BadgeStatus::Paused];
        for status in all {
            let badge = Badge { name: "a".to_owned(), status };
            let word = status.word();
            assert_eq!(serde_json::to_value(&badge).unwrap(), serde_json::json!({"name": "a", "status": word}));
            assert!(badge.svg().contains(&format!(">{word}</text>")));
        }
    }
}
