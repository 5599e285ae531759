//! A timetable in plain English for previews, such as `Monday to Friday at 09:00 (Europe/Berlin)`.

use super::field::Field;
use super::values::Values;
use super::{Cron, Timetable};

/// More parts than this do not read like speech any more.
const MOST_PARTS: usize = 5;

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Timetable {
    /// The timetable in words, or `cron` and the expression where words would be harder to read. The zone is named
    /// unless it does not matter.
    pub fn words(&self) -> String {
        let (days, times) = (Days::of(&self.cron), Times::of(&self.cron));
        let words = match (days, times) {
            (Some(Days::All), Some(Times::Everywhere(often))) => return often,
            (Some(Days::All), Some(Times::Often(often))) => often,
            (Some(Days::All), Some(Times::At(times))) => format!("every day at {times}"),
            (Some(Days::Some(days)), Some(Times::Everywhere(often) | Times::Often(often))) => {
                format!("{days}, {often}")
            }
            (Some(Days::Some(days)), Some(Times::At(times))) => format!("{days} at {times}"),
            (None, _) | (_, None) => format!("cron {}", self.cron),
        };
        format!("{words} ({})", self.zone)
    }
}

enum Days {
    All,
    Some(String),
}

impl Days {
    fn of(cron: &Cron) -> Option<Self> {
        let any_day = cron.days.are_all_of(Field::DayOfMonth);
        let any_weekday = cron.weekdays.are_all_of(Field::DayOfWeek);
        let any_month = cron.months.are_all_of(Field::Month);
        let months = || list(cron.months.iter().map(|month| month - 1), |month| MONTHS[month].to_owned());
        // Without a star one of the two is enough, and one that is right on all days makes up for the other.
        if any_day && any_weekday || !cron.days_and_weekdays() && (any_day || any_weekday) {
            return Some(if any_month { Self::All } else { Self::Some(format!("every day in {}", months()?)) });
        }
        if any_day {
            let monday_first =
                [1, 2, 3, 4, 5, 6, 0].into_iter().zip(0..).filter(|(day, _)| cron.weekdays.contains(*day));
            let weekdays = list(monday_first.map(|(_, position)| position), |day| WEEKDAYS[day].to_owned())?;
            let weekdays = if cron.weekdays.count() == 1 { format!("every {weekdays}") } else { weekdays };
            return Some(Self::Some(if any_month { weekdays } else { format!("{weekdays} in {}", months()?) }));
        }
        if any_weekday {
            let days = list(cron.days.iter(), |day| day.to_string())?;
            let months = if any_month { "every month".to_owned() } else { months()? };
            return Some(Self::Some(format!("{} {days} of {months}", plural("day", cron.days))));
        }
        None
    }
}

enum Times {
    /// The same in every zone: `every 5 minutes`.
    Everywhere(String),
    /// Rather often, by the clock of the zone: `at minute 17 of every hour`.
    Often(String),
    /// A few times of the day: `09:00 and 17:00`.
    At(String),
}

impl Times {
    fn of(cron: &Cron) -> Option<Self> {
        let (minutes, hours) = (cron.minutes, cron.hours);
        let (first_minute, first_hour) = (minutes.first_from(0)?, hours.first_from(0)?);
        let any_hour = hours.are_all_of(Field::Hour);
        let often = steady(minutes, 60).map(|step| every(step, "minute"));
        if any_hour {
            return Some(match often {
                Some(often) if minutes.count() > 1 => Self::Everywhere(often),
                Some(_) => Self::Often("every hour".to_owned()),
                None => {
                    let listed = list(minutes.iter(), |minute| minute.to_string())?;
                    Self::Often(format!("at {} {listed} of every hour", plural("minute", minutes)))
                }
            });
        }
        if minutes.count() * hours.count() < MOST_PARTS {
            let times = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| clock(hour, minute)));
            return Some(Self::At(and(&times.collect::<Vec<_>>())));
        }
        if minutes.count() == 1
            && let Some(step) = steady(hours, 24)
        {
            let at = if first_minute == 0 { String::new() } else { format!(" at minute {first_minute}") };
            return Some(Self::Often(format!("{}{at}", every(step, "hour"))));
        }
        let (last_minute, last_hour) = (minutes.iter().last()?, hours.iter().last()?);
        if hours == (first_hour..=last_hour).collect()
            && let Some(often) = often
        {
            let often = if minutes.count() == 1 { "every hour".to_owned() } else { often };
            let (first, last) = (clock(first_hour, first_minute), clock(last_hour, last_minute));
            return Some(Self::Often(format!("{often} from {first} to {last}")));
        }
        None
    }
}

/// The step if `values` run from 0 in steps that come out even at `end`: only those keep one distance all the time.
fn steady(values: Values, end: i8) -> Option<i8> {
    let step = values.first_from(1).unwrap_or(end);
    let is_steady = end % step == 0 && (0..end).step_by(usize::try_from(step).ok()?).collect::<Values>() == values;
    is_steady.then_some(step)
}

fn every(step: i8, unit: &str) -> String {
    if step == 1 { format!("every {unit}") } else { format!("every {step} {unit}s") }
}

fn plural(noun: &str, values: Values) -> String {
    if values.count() == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn clock(hour: i8, minute: i8) -> String {
    format!("{hour:02}:{minute:02}")
}

/// `1, 3 and 5 to 9`: three or more in a row are a range. None if that is too much to read.
fn list(values: impl Iterator<Item = i8>, name: impl Fn(usize) -> String) -> Option<String> {
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for value in values {
        let value = usize::try_from(value).ok()?;
        match rows.last_mut() {
            Some((_, last)) if *last + 1 == value => *last = value,
            _ => rows.push((value, value)),
        }
    }
    let parts: Vec<String> = rows
        .into_iter()
        .flat_map(|(first, last)| match last - first {
            0 => vec![name(first)],
            1 => vec![name(first), name(last)],
            _ => vec![format!("{} to {}", name(first), name(last))],
        })
        .collect();
    (parts.len() <= MOST_PARTS).then(|| and(&parts))
}

fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [earlier @ .., last] => format!("{} and {last}", earlier.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Zone;
    use super::*;

    fn words(cron: &str) -> String {
        Timetable { cron: Cron::parse(cron).unwrap(), zone: Zone::parse("Europe/Berlin").unwrap() }.words()
    }

    #[test]
    fn what_is_the_same_everywhere_names_no_zone() {
        assert_eq!(words("* * * * *"), "every minute");
        assert_eq!(words("*/5 * * * *"), "every 5 minutes");
        assert_eq!(words("0,30 * * * *"), "every 30 minutes");
        assert_eq!(words("0 0-23 1-31 * 1"), "every hour (Europe/Berlin)", "a zone can be half an hour off");
    }

    #[test]
    fn simple_timetables_read_like_speech() {
        let cases = [
            ("30 2 * * *", "every day at 02:30"),
            ("@midnight", "every day at 00:00"),
            ("@hourly", "every hour"),
            ("17 * * * *", "at minute 17 of every hour"),
            ("5,35 * * * *", "at minutes 5 and 35 of every hour"),
            ("*/25 * * * *", "at minutes 0, 25 and 50 of every hour"),
            ("*/90 * * * *", "every hour"),
            ("0 9 * * 1-5", "Monday to Friday at 09:00"),
            ("0 9 * * mon,wed,5-7", "Monday, Wednesday and Friday to Sunday at 09:00"),
            ("0 9 * * sun", "every Sunday at 09:00"),
            ("@weekly", "every Sunday at 00:00"),
            ("0 9,17 * * *", "every day at 09:00 and 17:00"),
            ("0,30 9-10 * * *", "every day at 09:00, 09:30, 10:00 and 10:30"),
            ("0 */2 * * *", "every 2 hours"),
            ("15 */2 * * *", "every 2 hours at minute 15"),
            ("*/5 9-17 * * 1-5", "Monday to Friday, every 5 minutes from 09:00 to 17:55"),
            ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
            ("* 3 * * *", "every minute from 03:00 to 03:59"),
            ("*/10 * * * 6,7", "Saturday and Sunday, every 10 minutes"),
            ("0 0 1 * *", "day 1 of every month at 00:00"),
            ("0 6 1,15 * *", "days 1 and 15 of every month at 06:00"),
            ("0 6 1-7,15 * *", "days 1 to 7 and 15 of every month at 06:00"),
            ("0 12 29 2 *", "day 29 of February at 12:00"),
            ("0 0 1 jan,jul *", "day 1 of January and July at 00:00"),
            ("0 9 * 1-3 *", "every day in January to March at 09:00"),
            ("0 9 * 6 1", "every Monday in June at 09:00"),
        ];
        for (cron, expected) in cases {
            assert_eq!(words(cron), format!("{expected} (Europe/Berlin)"), "{cron}");
        }
    }

    #[test]
    fn the_rest_is_shown_as_written() {
        for cron in
            ["0 0 13 * 5", "0 8 */2 * 1", "1,4,9,16,25,36 * * * *", "7 1-20/3 * * *", "*/25 9-17 * * *", "0 0 */2 * *"]
        {
            assert_eq!(words(cron), format!("cron {cron} (Europe/Berlin)"));
        }
    }
}
