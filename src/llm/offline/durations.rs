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
    let first = words.first().filter(|first| !first.quoted)?;
    if let Some(seconds) = glued(&first.key) {
        return Some((seconds, 1));
    }
    // "a quarter of an hour", "a couple of hours".
    let article = usize::from(first.is("a") && words.get(1).is_some_and(|word| word.is("half quarter couple")));
    let part = words.get(article)?;
    let whole = |parts: u64| {
        let of = article + 1 + words[article + 1..].iter().take(2).take_while(|word| word.is("of a an")).count();
        Some((unit(&words.get(of)?.key)? / parts, of + 1))
    };
    match part.key.as_str() {
        "half" => whole(2),
        "quarter" => whole(4),
        "couple" => whole(1).map(|(seconds, taken)| (2 * seconds, taken)),
        key => {
            let one = unit(&words.get(1)?.key)?;
            let (seconds, half) = (decimal(key, one)?, and_a_half(&words[2..]));
            Some((seconds.checked_add(if half > 0 { one / 2 } else { 0 })?, 2 + half))
        }
    }
}

/// The words of "and a half", if they follow.
fn and_a_half(words: &[Word]) -> usize {
    let is_said = matches!(words, [and, a, half, ..] if and.is("and") && a.is("a") && half.is("half"));
    if is_said { 3 } else { 0 }
}

/// So many of `one`: "1.5" of an hour is 90 minutes. Only what is whole seconds.
fn decimal(key: &str, one: u64) -> Option<u64> {
    let Some((whole, part)) = key.split_once('.') else { return number(key)?.checked_mul(one) };
    let power = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let thousandths = part.parse::<u64>().ok()?.checked_mul(one)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(one)?;
    (thousandths % power == 0).then(|| whole.checked_add(thousandths / power))?
}

/// A unit after "every": "hour", "hour and a half".
pub fn after_one(words: &[Word]) -> Option<(u64, usize)> {
    let one = unit(&words.first()?.key)?;
    let half = and_a_half(&words[1..]);
    Some((if half > 0 { one + one / 2 } else { one }, 1 + half))
}

/// "other day", "second week", "3rd hour": a unit that is counted off, after "every".
pub fn counted_unit(words: &[Word]) -> Option<(u64, usize)> {
    let count = match words.first()?.key.as_str() {
        "other" | "second" | "2nd" => 2,
        "third" | "3rd" => 3,
        "fourth" | "4th" => 4,
        _ => return None,
    };
    Some((unit(&words.get(1)?.key)? * count, 2))
}

/// "10m", "1h30m", "90s", "10-minute".
fn glued(key: &str) -> Option<u64> {
    let mut rest = key;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let amount = number(&rest[..digits])?;
        rest = rest[digits..].trim_start_matches('-');
        // "1h30".
        if rest.is_empty() && total > 0 && key.contains('h') {
            return total.checked_add(amount.checked_mul(60)?);
        }
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
    // "a minute's grace", "10 minutes' grace".
    match key.trim_end_matches("'s").trim_end_matches('\'') {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600),
        "d" | "day" | "days" => Some(86_400),
        "w" | "week" | "weeks" => Some(604_800),
        "fortnight" | "fortnights" => Some(1_209_600),
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
