//! Lengths of time: read from words, and said in words.

use super::phrase::Word;

/// Reads a length of time at the start of `words`: "10 minutes", "1h30m", "half an hour", "1 hour and 30 minutes".
/// Answers the seconds and how many words they took.
pub fn read(words: &[Word]) -> Option<(u64, usize)> {
    let (mut seconds, mut taken) = read_one(words)?;
    loop {
        // "and" belongs to the duration only when another amount follows.
        let skip = usize::from(words.get(taken).is_some_and(|word| word.is("and")));
        match words.get(taken + skip..).and_then(read_one) {
            Some((more, used)) => {
                seconds = seconds.checked_add(more)?;
                taken += skip + used;
            }
            None => return Some((seconds, taken)),
        }
    }
}

fn read_one(words: &[Word]) -> Option<(u64, usize)> {
    let first = words.first()?;
    if let Some(seconds) = glued(&first.key) {
        return Some((seconds, 1));
    }
    let (amount, unit_at) = match first.key.as_str() {
        "half" if words.get(1)?.is("a an") => return Some((unit(&words.get(2)?.key)? / 2, 3)),
        "half" => return Some((unit(&words.get(1)?.key)? / 2, 2)),
        key => (number(key)?, 1),
    };
    let seconds = unit(&words.get(unit_at)?.key)?.checked_mul(amount)?;
    Some((seconds, unit_at + 1))
}

/// "10m", "1h30m", "90s", "10-minute".
fn glued(key: &str) -> Option<u64> {
    let mut rest = key;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let amount = number(&rest[..digits])?;
        rest = rest[digits..].trim_start_matches('-');
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        total = total.checked_add(unit(&rest[..letters])?.checked_mul(amount)?)?;
        rest = &rest[letters..];
    }
    (total > 0 || !key.is_empty()).then_some(total)
}

/// A number in digits or, for those that people write out, in words; an article is one.
pub fn number(key: &str) -> Option<u64> {
    const WORDS: &[&str] =
        &["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    match key {
        "a" | "an" => Some(1),
        "fifteen" => Some(15),
        "twenty" => Some(20),
        "thirty" => Some(30),
        "forty-five" => Some(45),
        "sixty" => Some(60),
        "ninety" => Some(90),
        digits if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok(),
        word => WORDS.iter().position(|known| *known == word).and_then(|at| u64::try_from(at).ok()),
    }
}

/// Seconds in a unit. Months and years have no fixed length, so they are no unit.
pub fn unit(key: &str) -> Option<u64> {
    match key {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600),
        "d" | "day" | "days" => Some(86_400),
        "w" | "week" | "weeks" => Some(604_800),
        _ => None,
    }
}

/// A length of time in words, exact: "1 hour 30 minutes".
pub fn say(seconds: u64) -> String {
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (length, one) in [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")] {
        match rest / length {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            many => parts.push(format!("{many} {one}s")),
        }
        rest %= length;
    }
    if parts.is_empty() { "0 seconds".to_owned() } else { parts.join(" ") }
}

/// About how long, by its largest unit: "3 hours".
pub fn say_roughly(seconds: u64) -> String {
    let unit = [86_400, 3_600, 60].into_iter().find(|unit| seconds >= *unit).unwrap_or(1);
    say(seconds / unit * unit)
}
