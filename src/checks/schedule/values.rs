//! The values that one field of a cron expression names, read as Debian's cron reads them, only without its leniency.

use super::field::{Field, FieldError, Problem};

/// A set of values of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values(u64);

impl Values {
    /// Whether `value` is one of them. It is from 0 to 63.
    pub fn contains(self, value: i8) -> bool {
        self.0 >> value & 1 == 1
    }

    /// The smallest of them that is not below `value`.
    pub fn first_from(self, value: i8) -> Option<i8> {
        (value..64).find(|candidate| self.contains(*candidate))
    }

    /// All of them, smallest first.
    pub fn iter(self) -> impl Iterator<Item = i8> {
        (0..64).filter(move |candidate| self.contains(*candidate))
    }

    /// How many they are.
    pub fn count(self) -> usize {
        self.iter().count()
    }

    /// Whether they are all values that `field` has.
    pub fn are_all_of(self, field: Field) -> bool {
        let (first, last) = field.bounds();
        self == (first..=last).collect::<Self>().with_one_sunday(field)
    }

    /// Sunday is 0, whichever of its two numbers was written.
    fn with_one_sunday(self, field: Field) -> Self {
        if field == Field::DayOfWeek && self.contains(7) { Self(self.0 & !(1 << 7) | 1) } else { self }
    }
}

impl FromIterator<i8> for Values {
    fn from_iter<I: IntoIterator<Item = i8>>(values: I) -> Self {
        Self(values.into_iter().fold(0, |bits, value| bits | 1 << value))
    }
}

/// Reads one field: values, ranges, steps, and lists of them.
///
/// # Errors
/// The first part that cannot be used.
pub fn parse(field: Field, text: &str) -> Result<Values, FieldError> {
    let mut bits = 0;
    for part in text.split(',') {
        let fault = |problem, found: &str| FieldError { field, found: found.to_owned(), problem };
        if part.is_empty() {
            return Err(fault(Problem::Comma, text));
        }
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let (first, last) = if range == "*" {
            field.bounds()
        } else if let Some((first, last)) = range.split_once('-') {
            (value(field, first)?, value(field, last)?)
        } else {
            let only = value(field, range)?;
            if step.is_some() {
                return Err(fault(Problem::StepWithoutRange, part));
            }
            (only, only)
        };
        if first > last {
            return Err(fault(Problem::Backwards, range));
        }
        let step = step.map_or(Some(1), number).filter(|step| *step > 0).ok_or_else(|| fault(Problem::Step, part))?;
        bits |= (first..=last).step_by(step).collect::<Values>().0;
    }
    Ok(Values(bits).with_one_sunday(field))
}

/// Reads a value, which must be one of the field's.
fn value(field: Field, text: &str) -> Result<i8, FieldError> {
    let fault = |problem| FieldError { field, found: text.to_owned(), problem };
    let (first, last) = field.bounds();
    match literal(field, text) {
        Some(value) => i8::try_from(value)
            .ok()
            .filter(|value| (first..=last).contains(value))
            .ok_or_else(|| fault(Problem::OutOfRange)),
        None if is_dialect(field, text) => Err(fault(Problem::Dialect)),
        None => Err(fault(Problem::Unknown)),
    }
}

/// A name of the field, or any number.
fn literal(field: Field, text: &str) -> Option<usize> {
    let first = usize::try_from(field.bounds().0).unwrap_or(0);
    let named = field.names().iter().position(|name| name.eq_ignore_ascii_case(text)).map(|position| first + position);
    named.or_else(|| number(text))
}

/// A whole number in plain digits; one that is too large for any field is some large number.
fn number(text: &str) -> Option<usize> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().unwrap_or(usize::MAX))
}

/// Whether `text` is one of the forms that Quartz, Jenkins and others have added, so that the answer can say so.
fn is_dialect(field: Field, text: &str) -> bool {
    let is_base = |base: &str| base.is_empty() || literal(field, base).is_some() || is_dialect(field, base);
    text.contains(['#', '?', '~', '(']) || text.strip_suffix(['L', 'W', 'H', 'l', 'w', 'h']).is_some_and(is_base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(field: Field, text: &str) -> Vec<i8> {
        parse(field, text).unwrap().iter().collect()
    }

    fn sentence(field: Field, text: &str) -> String {
        parse(field, text).unwrap_err().to_string()
    }

    #[test]
    fn values_ranges_steps_and_lists_are_read() {
        assert_eq!(values(Field::Minute, "*/25"), [0, 25, 50]);
        assert_eq!(values(Field::Minute, "10-50/20,5,05"), [5, 10, 30, 50]);
        assert_eq!(values(Field::Minute, "*/90"), [0], "a step beyond the end leaves the first value");
        assert_eq!(values(Field::Minute, "*/99999999999999999999"), [0]);
        assert_eq!(values(Field::Month, "feb-APR,Dec"), [2, 3, 4, 12]);
        assert_eq!(values(Field::DayOfWeek, "Mon-fri/2"), [1, 3, 5]);
        assert_eq!(values(Field::DayOfWeek, "5-7"), [0, 5, 6], "7 is Sunday too");
        assert_eq!(values(Field::DayOfWeek, "0,7"), [0]);
        assert!(parse(Field::DayOfWeek, "*").unwrap().are_all_of(Field::DayOfWeek));
        assert!(parse(Field::DayOfWeek, "1-7").unwrap().are_all_of(Field::DayOfWeek));
        assert!(!parse(Field::Hour, "1-23").unwrap().are_all_of(Field::Hour));
    }

    #[test]
    fn a_fault_names_its_field_what_was_found_and_what_is_allowed() {
        let cases = [
            (Field::Minute, "60", "The minute \"60\" is out of range: allowed are 0 to 59."),
            (
                Field::Minute,
                "5,99999999999999999999",
                "The minute \"99999999999999999999\" is out of range: allowed are 0 to 59.",
            ),
            (Field::Hour, "24", "The hour \"24\" is out of range: allowed are 0 to 23."),
            (Field::Hour, "FEB", "The hour \"FEB\" is not known here: allowed are 0 to 23."),
            (Field::Hour, "+5", "The hour \"+5\" is not known here: allowed are 0 to 23."),
            (Field::Hour, "*5", "The hour \"*5\" is not known here: allowed are 0 to 23."),
            (Field::Hour, "-5", "The hour \"\" is not known here: allowed are 0 to 23."),
            (Field::DayOfMonth, "0", "The day of month \"0\" is out of range: allowed are 1 to 31."),
            (Field::Month, "13", "The month \"13\" is out of range: allowed are 1 to 12 and JAN to DEC."),
            (
                Field::DayOfWeek,
                "8",
                "The day of week \"8\" is out of range: allowed are 0 to 7 (0 and 7 are Sunday) and SUN to SAT.",
            ),
            (Field::Hour, "17-9", "The hour \"17-9\" runs backwards: allowed are 0 to 23, the smaller value first."),
            (
                Field::DayOfWeek,
                "fri-sun",
                "The day of week \"fri-sun\" runs backwards: the smaller value comes first, and Sunday at the \
                 end of a range is 7.",
            ),
            (Field::Minute, "*/0", "The minute \"*/0\" has no usable step: a step is a whole number from 1."),
            (Field::Minute, "1-9/", "The minute \"1-9/\" has no usable step: a step is a whole number from 1."),
            (Field::Minute, "*/2/3", "The minute \"*/2/3\" has no usable step: a step is a whole number from 1."),
            (Field::Minute, "5/15", "The minute \"5/15\" has a step but no range: write 5-59/15."),
            (Field::Minute, "1,,2", "The minute \"1,,2\" has a comma with nothing beside it."),
            (Field::Minute, "1,", "The minute \"1,\" has a comma with nothing beside it."),
        ];
        for (field, text, expected) in cases {
            assert_eq!(sentence(field, text), expected, "{text}");
        }
    }

    #[test]
    fn other_dialects_are_named_as_such() {
        for (field, text) in [
            (Field::DayOfMonth, "L"),
            (Field::DayOfMonth, "15W"),
            (Field::DayOfMonth, "lw"),
            (Field::DayOfMonth, "L-3"),
            (Field::DayOfMonth, "?"),
            (Field::DayOfWeek, "2#2"),
            (Field::DayOfWeek, "5L"),
            (Field::DayOfWeek, "FRIL"),
            (Field::DayOfWeek, "mon#1"),
            (Field::Minute, "H"),
            (Field::Minute, "H/15"),
            (Field::Minute, "0~30"),
        ] {
            let found = sentence(field, text);
            assert!(found.contains("is from another dialect of cron: allowed are "), "{found}");
        }
        for (field, text) in [(Field::Month, "March"), (Field::DayOfWeek, "weekl"), (Field::DayOfWeek, "frié")] {
            assert!(sentence(field, text).contains("is not known here"), "{text}");
        }
        assert!(sentence(Field::Minute, &"L".repeat(200)).contains("dialect"));
    }
}
