//! The typed word: decided by code before any model call, by code points and not by looks (actions.md).

use unicode_normalization::UnicodeNormalization;

use crate::actions::confirm::Verdict;

/// A message that decides actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedWord {
    /// Confirm or cancel.
    pub verdict: Verdict,
    /// Which actions.
    pub which: Which,
}

/// Which actions a typed word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The latest one proposed in this conversation.
    Latest,
    /// The one with this number.
    Number(i64),
    /// Every open one.
    All,
}

/// Reads `text` as a typed word, or as an ordinary message (`None`).
///
/// Trimmed, NFC, ASCII case folded, one optional final `.` or `!`; then exactly `confirm`, `confirm <n>` or
/// `confirm all`, and the same for `cancel`. Anything else, however similar it looks, is an ordinary message.
pub fn parse(text: &str) -> Option<TypedWord> {
    // No word is longer; do not normalize a novel.
    if text.len() > 200 {
        return None;
    }
    let folded: String = text.trim().nfc().collect::<String>().to_ascii_lowercase();
    let word = folded.strip_suffix(['.', '!']).unwrap_or(&folded);
    let (verb, rest) = word.split_once(' ').map_or((word, None), |(verb, rest)| (verb, Some(rest)));
    let verdict = match verb {
        "confirm" => Verdict::Confirm,
        "cancel" => Verdict::Reject,
        _ => return None,
    };
    let which = match rest {
        None => Which::Latest,
        Some("all") => Which::All,
        Some(number) => Which::Number(parse_number(number)?),
    };
    Some(TypedWord { verdict, which })
}

/// `1`, `2` … as the card shows it: ASCII digits, no sign, no leading zero.
fn parse_number(text: &str) -> Option<i64> {
    let is_plain = !text.starts_with('0') && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn these_match() {
        let confirm = |which| Some(TypedWord { verdict: Verdict::Confirm, which });
        let cancel = |which| Some(TypedWord { verdict: Verdict::Reject, which });
        for (text, expected) in [
            ("confirm", confirm(Which::Latest)),
            ("Confirm", confirm(Which::Latest)),
            ("CONFIRM!", confirm(Which::Latest)),
            ("  confirm. \n", confirm(Which::Latest)),
            ("confirm 3", confirm(Which::Number(3))),
            ("Confirm 12!", confirm(Which::Number(12))),
            ("confirm all", confirm(Which::All)),
            ("Confirm ALL.", confirm(Which::All)),
            ("cancel", cancel(Which::Latest)),
            ("Cancel 7.", cancel(Which::Number(7))),
            ("cancel all", cancel(Which::All)),
        ] {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn these_do_not_match() {
        for text in [
            "",
            " ",
            ".",
            "yes",
            "ok",
            "okay",
            "sure",
            "do it",
            "y",
            "confirmed",
            "confirms",
            "confirm it",
            "confirm?",
            "confirm!!",
            "confirm..",
            "confirm.!",
            "confirm ,",
            "please confirm",
            "confirm please",
            "don't confirm",
            "do not confirm",
            "confirm but make it 5 minutes",
            "I confirm",
            "\"confirm\"",
            "'confirm'",
            "`confirm`",
            "confirm 0",
            "confirm 01",
            "confirm -1",
            "confirm +1",
            "confirm 1.5",
            "confirm 1 2",
            "confirm 1,2",
            "confirm one",
            "confirm #1",
            "confirm  1",
            "confirm\t1",
            "confirm\n1",
            "confirm1",
            "confirm 1234567890",
            "confirm all 1",
            "confirm everything",
            "confirm\nall",
            "con firm",
            "con\nfirm",
            "cancel it",
            "cancelled",
            "canceled",
            "cancel?",
            "confirm cancel",
            "confirm\nconfirm",
            "confirm confirm",
            // Code points that look like the word, or hide in it.
            "c\u{43e}nfirm",
            "\u{441}onfirm",
            "conf\u{456}rm",
            "\u{ff43}\u{ff4f}\u{ff4e}\u{ff46}\u{ff49}\u{ff52}\u{ff4d}",
            "confirm\u{200b}",
            "\u{200b}confirm",
            "con\u{200d}firm",
            "con\u{ad}firm",
            "\u{feff}confirm",
            "\u{202e}mrifnoc",
            "\u{202a}confirm\u{202c}",
            "\u{2066}confirm\u{2069}",
            "\u{200e}confirm",
            "confirm\u{e0001}",
            "confirm\u{e0063}\u{e0061}",
            "co\u{301}nfirm",
            "confirm\u{301}",
            "confirm \u{661}",
            "confirm \u{ff11}",
            "confirm \u{b2}",
            "confirm\u{a0}1",
            "conf\u{131}rm",
            "CONF\u{130}RM",
            "con\u{fb01}rm",
            "confirm\u{fe0f}",
            "confirm\u{3002}",
            "confirm\u{ff01}",
            "confirm\u{2024}",
            "confirm\u{0}",
            "confirm\u{7}",
            "\u{1d41c}onfirm",
            "confirm \u{1d7cf}",
        ] {
            assert_eq!(parse(text), None, "{text:?} is an ordinary message");
        }
    }
}
