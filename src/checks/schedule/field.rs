//! The five fields of a cron expression: what each may hold, and what is said when it holds something else.

use std::fmt;

/// Which of the five fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or a name.
    Month,
    /// 0 to 7, or a name; 0 and 7 are Sunday.
    DayOfWeek,
}

impl Field {
    /// What a value may be, and what a range must keep to.
    pub fn bounds(self) -> (i8, i8) {
        match self {
            Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 7),
        }
    }

    /// The names of its values, beginning with that of the smallest.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Minute | Self::Hour | Self::DayOfMonth => &[],
            Self::Month => &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
            Self::DayOfWeek => &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
        }
    }

    /// What is allowed, for a person.
    fn allowed(self) -> &'static str {
        match self {
            Self::Minute => "0 to 59",
            Self::Hour => "0 to 23",
            Self::DayOfMonth => "1 to 31",
            Self::Month => "1 to 12 and JAN to DEC",
            Self::DayOfWeek => "0 to 7 (0 and 7 are Sunday) and SUN to SAT",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}

/// What is wrong with a field: a sentence that names it, what was found and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The {field} {found:?} {}.", problem.predicate(*field, found))]
pub struct FieldError {
    /// Which field.
    pub field: Field,
    /// The part of it that is at fault, as written.
    pub found: String,
    /// What is wrong with that part.
    pub problem: Problem,
}

/// What is wrong with a part of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// Neither a number nor a name of this field.
    Unknown,
    /// A character of another dialect: `L`, `W`, `#`, `?`, `~` or Jenkins' `H`.
    Dialect,
    /// A number, but not one of this field.
    OutOfRange,
    /// A range whose end comes first.
    Backwards,
    /// A step that is not a whole number from 1.
    Step,
    /// A step after a single value.
    StepWithoutRange,
    /// Nothing before, between or after commas.
    Comma,
}

impl Problem {
    fn predicate(self, field: Field, found: &str) -> String {
        let allowed = field.allowed();
        match self {
            Self::Unknown => format!("is not known here: allowed are {allowed}"),
            Self::Dialect => format!("is from another dialect of cron: allowed are {allowed}, and * for all"),
            Self::OutOfRange => format!("is out of range: allowed are {allowed}"),
            Self::Backwards if field == Field::DayOfWeek => {
                "runs backwards: the smaller value comes first, and Sunday at the end of a range is 7".to_owned()
            }
            Self::Backwards => format!("runs backwards: allowed are {allowed}, the smaller value first"),
            Self::Step => "has no usable step: a step is a whole number from 1".to_owned(),
            Self::StepWithoutRange => {
                let (first, step) = found.split_once('/').unwrap_or((found, "1"));
                format!("has a step but no range: write {first}-{}/{step}", field.bounds().1)
            }
            Self::Comma => "has a comma with nothing beside it".to_owned(),
        }
    }
}
