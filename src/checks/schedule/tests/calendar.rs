//! The search through the calendar, against one that looks at every day and every minute.

use jiff::civil::{Date, date};
use jiff::tz::{Offset, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;

use super::super::{Cron, Timetable, Zone};
use super::{at, runs, timetable};
use crate::clock::Millis;

/// Values of one field, as a list that is one star or numbers.
fn text(values: Option<&Vec<i8>>) -> String {
    let list = |values: &Vec<i8>| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    values.map_or("*".to_owned(), list)
}

fn some_of(low: i8, high: i8) -> impl Strategy<Value = Option<Vec<i8>>> {
    prop_oneof![1 => Just(None), 2 => proptest::collection::vec(low..=high, 1..4).prop_map(Some)]
}

proptest! {
    #[test]
    fn the_next_run_is_the_first_minute_that_matches(
        minutes in some_of(0, 59),
        hours in some_of(0, 23),
        days in some_of(1, 31),
        months in some_of(1, 12),
        weekdays in some_of(0, 6),
        now in 0..4_000_000_000_000_i64,
    ) {
        let fields = [&minutes, &hours, &days, &months, &weekdays].map(|values| text(values.as_ref()));
        let Ok(cron) = Cron::parse(&fields.join(" ")) else { return Ok(()) };
        let has = |values: &Option<Vec<i8>>, value: i8| values.as_ref().is_none_or(|values| values.contains(&value));
        let is_day = |date: Date| {
            let (day, weekday) = (has(&days, date.day()), has(&weekdays, date.weekday().to_sunday_zero_offset()));
            let either = days.is_some() && weekdays.is_some();
            has(&months, date.month()) && if either { day || weekday } else { day && weekday }
        };
        let found = Timetable { cron, zone: Zone::parse("UTC").unwrap() }.next_after(Millis(now));
        let start = Offset::UTC.to_datetime(Timestamp::from_millisecond(now).unwrap()).date();
        let expected = start
            .series(1.days())
            .filter(|date| is_day(*date))
            .flat_map(|date| (0..24).flat_map(move |hour| (0..60).map(move |minute| date.at(hour, minute, 0, 0))))
            .filter(|time| has(&hours, time.hour()) && has(&minutes, time.minute()))
            .map(|time| Millis(Offset::UTC.to_timestamp(time).unwrap().as_millisecond()))
            .find(|run| run.0 > now);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_moment_in_any_zone_has_a_later_run(
        which in any::<prop::sample::Index>(),
        now in -5_000_000_000_000..9_000_000_000_000_i64,
    ) {
        let names: Vec<_> = TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect();
        let daily = timetable("30 2 * * *", which.get::<String>(&names)).next_after(Millis(now)).unwrap();
        prop_assert!(daily.0 > now && daily.0 - now <= 2 * 86_400_000, "{} after {}", daily.rfc3339(), now);
    }
}

#[test]
fn a_leap_day_on_a_weekday_is_found_across_2100() {
    // With a star in the weekday both fields must be right, and */7 is Sunday alone: as much as 40 years apart.
    for year in 2026..2210 {
        let now = Millis(Offset::UTC.to_timestamp(date(year, 3, 1).at(0, 0, 0, 0)).unwrap().as_millisecond());
        assert!(timetable("0 0 29 2 */7", "Europe/Berlin").next_after(now).is_some(), "{year}");
    }
    assert_eq!(
        runs("0 0 29 2 */7", "UTC", "2060-03-01T00:00:00Z", 3),
        ["2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z", "2156-02-29T00:00:00Z"]
    );
}

#[test]
fn a_day_that_few_months_have_is_found() {
    assert_eq!(
        runs("0 0 31 2,4,12 *", "UTC", "2027-01-01T00:00:00Z", 2),
        ["2027-12-31T00:00:00Z", "2028-12-31T00:00:00Z"]
    );
    assert_eq!(runs("59 23 31 12 *", "UTC", "2027-12-31T23:59:00Z", 1), ["2028-12-31T23:59:00Z"]);
    let leap = timetable("0 12 29 2 *", "UTC").next_after(at("2096-03-01T00:00:00Z")).unwrap();
    assert_eq!(leap.rfc3339(), "2104-02-29T12:00:00Z", "2100 is no leap year");
}
