//! A cron expression, parsed once: five fields or an alias, and the wall-clock minutes that they name.

use std::fmt;

use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

use super::field::{Field, FieldError};
use super::values::{self, Values};

/// A cron expression in the dialect of Debian's cron. It knows wall-clock time only; zones come with a timetable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cron {
    text: String,
    pub(super) minutes: Values,
    pub(super) hours: Values,
    pub(super) days: Values,
    pub(super) months: Values,
    pub(super) weekdays: Values,
    days_and_weekdays: bool,
    follows_the_clock: bool,
}

/// Why an expression is refused, as a sentence for the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Nothing but blanks.
    #[error(
        "The schedule is empty: give five fields (minute, hour, day of month, month, day of week), such as 0 9 * * 1-5."
    )]
    Empty,
    /// Longer than any sensible expression.
    #[error("The schedule has {0} characters: at most {MAX_LENGTH} are allowed.")]
    TooLong(usize),
    /// More or fewer than five fields.
    #[error(
        "The schedule has {0} fields: it must have five (minute, hour, day of month, month, day of week). Seconds, \
         years and commands are not supported."
    )]
    FieldCount(usize),
    /// `@reboot`: an alias that names no time.
    #[error("The schedule @reboot names no time: give five fields or one of {names}.", names = alias_names())]
    Reboot,
    /// An alias that does not exist.
    #[error("The schedule {0:?} is not known: give five fields or one of {names}.", names = alias_names())]
    UnknownAlias(String),
    /// A field that cannot be used.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// Well-formed, but no such date exists.
    #[error("The schedule {0:?} never runs: none of its months has such a day.")]
    NeverRuns(String),
    /// There are such dates, but in this zone the clock has none of its times.
    #[error("The schedule {cron:?} never runs in {zone}: the clock is put forward over all its times.")]
    NeverRunsIn {
        /// The expression.
        cron: String,
        /// The zone.
        zone: String,
    },
}

const MAX_LENGTH: usize = 200;

const ALIASES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

fn alias_names() -> String {
    ALIASES.map(|(alias, _)| alias).join(", ")
}

impl Cron {
    /// Reads five fields or an alias; blanks around and between them do not matter, nor does the case of names.
    ///
    /// # Errors
    /// Whatever Debian's cron would not run, or would run otherwise than it reads.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let length = text.chars().count();
        if length > MAX_LENGTH {
            return Err(CronError::TooLong(length));
        }
        let written: Vec<&str> = text.split_whitespace().collect();
        let text = written.join(" ");
        if text.is_empty() {
            return Err(CronError::Empty);
        }
        if text.eq_ignore_ascii_case("@reboot") {
            return Err(CronError::Reboot);
        }
        let fields: Vec<&str> = if text.starts_with('@') {
            let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(&text));
            let (_, expression) = alias.ok_or_else(|| CronError::UnknownAlias(text.clone()))?;
            expression.split(' ').collect()
        } else {
            written
        };
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(CronError::FieldCount(fields.len()));
        };
        let cron = Self {
            minutes: values::parse(Field::Minute, minute)?,
            hours: values::parse(Field::Hour, hour)?,
            days: values::parse(Field::DayOfMonth, day)?,
            months: values::parse(Field::Month, month)?,
            weekdays: values::parse(Field::DayOfWeek, weekday)?,
            // Debian sets a flag for a field that *begins* with a star, so that */2 counts and 1,* does not.
            days_and_weekdays: day.starts_with('*') || weekday.starts_with('*'),
            follows_the_clock: minute.starts_with('*') || hour.starts_with('*'),
            text,
        };
        if cron.has_dates() { Ok(cron) } else { Err(CronError::NeverRuns(cron.text)) }
    }

    /// The expression as written, with single blanks.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it follows the clock as it is, having a star in minute or hour. Any other names fixed times of the day,
    /// which are made up for when the clock is put forward over them and not repeated when it is put back.
    pub fn follows_the_clock(&self) -> bool {
        self.follows_the_clock
    }

    /// Whether a date must be right by day of month *and* by day of week: so if either field begins with a star. With
    /// neither, one of the two is enough.
    pub fn days_and_weekdays(&self) -> bool {
        self.days_and_weekdays
    }

    /// The first minute from `from` on, and before `until`, that the expression names. `from` is a whole minute.
    pub fn first_between(&self, from: DateTime, until: DateTime) -> Option<DateTime> {
        let mut date = from.date();
        let mut earliest = (from.hour(), from.minute());
        while date <= until.date() {
            if self.runs_on(date)
                && let Some((hour, minute)) = self.time_from(earliest)
            {
                let found = date.at(hour, minute, 0, 0);
                return (found < until).then_some(found);
            }
            earliest = (0, 0);
            let checked = if self.months.contains(date.month()) { date } else { date.last_of_month() };
            date = checked.tomorrow().ok()?;
        }
        None
    }

    fn runs_on(&self, date: Date) -> bool {
        let day = self.days.contains(date.day());
        let weekday = self.weekdays.contains(date.weekday().to_sunday_zero_offset());
        self.months.contains(date.month()) && if self.days_and_weekdays { day && weekday } else { day || weekday }
    }

    /// The first time of the day from `(hour, minute)` on.
    fn time_from(&self, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        if self.hours.contains(hour)
            && let Some(minute) = self.minutes.first_from(minute)
        {
            return Some((hour, minute));
        }
        Some((self.hours.first_from(hour + 1)?, self.minutes.first_from(0)?))
    }

    /// Whether any date is right. Over the centuries every date falls on every weekday, so only months are too short.
    fn has_dates(&self) -> bool {
        const LONGEST: [i8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let fits = |(month, longest)| self.months.contains(month) && self.days.first_from(1) <= Some(longest);
        !self.days_and_weekdays || (1..).zip(LONGEST).any(fits)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Cron {
    type Error = CronError;

    fn try_from(text: String) -> Result<Self, CronError> {
        Self::parse(&text)
    }
}

impl From<Cron> for String {
    fn from(cron: Cron) -> Self {
        cron.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(text: &str) -> String {
        Cron::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn the_expression_is_kept_as_written_but_for_blanks() {
        assert_eq!(Cron::parse(" 05\t08  *  * \u{a0}Mon ").unwrap().to_string(), "05 08 * * Mon");
        assert_eq!(Cron::parse(" @Daily ").unwrap().as_str(), "@Daily");
        let cron: Cron = serde_json::from_str("\"*/5  * * * *\"").unwrap();
        assert_eq!(serde_json::to_string(&cron).unwrap(), "\"*/5 * * * *\"");
        assert!(serde_json::from_str::<Cron>("\"0 0 30 2 *\"").is_err());
    }

    #[test]
    fn every_alias_stands_for_its_five_fields() {
        for (alias, expression) in ALIASES {
            let (alias, expression) = (Cron::parse(alias).unwrap(), Cron::parse(expression).unwrap());
            assert_eq!(Cron { text: expression.text.clone(), ..alias }, expression);
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_in_a_sentence() {
        assert!(refusal(" \t ").starts_with("The schedule is empty: give five fields (minute, hour,"));
        assert_eq!(refusal(&"1".repeat(201)), "The schedule has 201 characters: at most 200 are allowed.");
        assert_eq!(
            refusal("0 0 9 * * 1"),
            "The schedule has 6 fields: it must have five (minute, hour, day of month, month, day of week). Seconds, \
             years and commands are not supported."
        );
        assert!(refusal("0 9 * *").starts_with("The schedule has 4 fields: it must have five"));
        assert!(refusal("@reboot").starts_with("The schedule @reboot names no time: give five fields or one of "));
        assert_eq!(
            refusal("@every  5m"),
            "The schedule \"@every 5m\" is not known: give five fields or one of @hourly, @daily, @midnight, @weekly, \
             @monthly, @yearly, @annually."
        );
        assert_eq!(refusal("0 24 * * *"), "The hour \"24\" is out of range: allowed are 0 to 23.");
    }

    #[test]
    fn what_never_runs_is_refused_and_what_rarely_runs_is_not() {
        assert_eq!(refusal("0 0 31 2 *"), "The schedule \"0 0 31 2 *\" never runs: none of its months has such a day.");
        for never in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30,31 feb */2", "* * 31 2 *"] {
            assert!(matches!(Cron::parse(never), Err(CronError::NeverRuns(_))), "{never}");
        }
        // The last one runs on Mondays in February: with no star in either field, one of the two is enough.
        for rarely in ["0 0 29 2 *", "0 0 29 2 */7", "0 0 31 2,3 *", "0 0 31 2 1"] {
            assert!(Cron::parse(rarely).is_ok(), "{rarely}");
        }
    }

    #[test]
    fn only_a_star_at_the_beginning_of_a_field_counts() {
        let flags = |text: &str| {
            let cron = Cron::parse(text).unwrap();
            (cron.follows_the_clock(), cron.days_and_weekdays())
        };
        assert_eq!(flags("0 9 1 * 1"), (false, false));
        assert_eq!(flags("*/5 9 */2 * 1"), (true, true));
        assert_eq!(flags("0 *,3 1 * *"), (true, true));
        assert_eq!(flags("5,* 3,* 1,* * 1,*"), (false, false));
        assert_eq!(flags("@hourly"), (true, true));
        assert_eq!(flags("@weekly"), (false, true));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = Cron::parse(&text);
        }

        #[test]
        fn text_that_is_nearly_cron_is_read_or_refused_in_a_sentence(
            text in proptest::string::string_regex("([0-9*/,#?@LWHx-]|JAN|sun|Fri| ){0,40}").unwrap()
        ) {
            match Cron::parse(&text) {
                Ok(cron) => prop_assert_eq!(Cron::parse(cron.as_str()), Ok(cron.clone())),
                Err(refusal) => prop_assert!(refusal.to_string().ends_with('.'), "{}", refusal),
            }
        }
    }
}
