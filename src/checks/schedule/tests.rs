//! The evaluator against reference values, against a model of Debian's cron, and in its corners.

mod calendar;
mod debian;

use serde::Deserialize;

use super::{Cron, Timetable, Zone};
use crate::clock::Millis;

const CASES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cron_cases.json"));

fn timetable(cron: &str, zone: &str) -> Timetable {
    Timetable { cron: Cron::parse(cron).unwrap(), zone: Zone::parse(zone).unwrap() }
}

fn at(text: &str) -> Millis {
    Millis::parse(text).unwrap()
}

/// The next runs as text.
fn runs(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    timetable(cron, zone).upcoming(at(after), count).into_iter().map(Millis::rfc3339).collect()
}

/// A reference value, as the README of the fixtures describes it.
#[derive(Deserialize)]
struct Case {
    name: String,
    expr: String,
    zone: String,
    after: String,
    expected: Vec<String>,
    valid: bool,
    #[serde(default)]
    dialect: bool,
    reference_expr: Option<String>,
}

#[test]
fn every_reference_case_gives_its_times() {
    let cases: Vec<Case> = serde_json::from_str(CASES).unwrap();
    assert!(cases.len() >= 56, "{} cases", cases.len());
    for case in cases {
        let accepted = Cron::parse(&case.expr).is_ok() && Zone::parse(&case.zone).is_ok();
        assert_eq!(accepted, case.valid && !case.dialect, "{}", case.name);
        if accepted {
            for expr in [Some(case.expr), case.reference_expr].into_iter().flatten() {
                assert_eq!(runs(&expr, &case.zone, &case.after, 5), case.expected, "{}", case.name);
            }
        }
    }
}

#[test]
fn a_fixed_time_in_a_gap_runs_when_the_gap_is_over_wherever_it_is() {
    // Midnight is skipped in all three; the day after is a plain one.
    for (zone, after, made_up, next) in [
        ("Africa/Cairo", "2027-04-29T12:00:00Z", "2027-04-29T22:00:00Z", "2027-04-30T21:00:00Z"),
        ("Asia/Beirut", "2027-03-27T12:00:00Z", "2027-03-27T22:00:00Z", "2027-03-28T21:00:00Z"),
        ("America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"),
    ] {
        assert_eq!(runs("30 0 * * *", zone, after, 1), [made_up], "{zone}");
        assert_eq!(runs("0 0 * * *", zone, made_up, 1), [next], "{zone}");
    }
    // The gap begins on a Saturday: Saturday's late runs are not Sunday's.
    assert_eq!(runs("30 23 * * 6", "America/Nuuk", "2027-03-27T12:00:00Z", 1), ["2027-03-28T01:00:00Z"]);
    // The last second of the clock before the gap still has the run ahead of it, the first one after it does not.
    assert_eq!(runs("30 2 * * *", "Europe/Berlin", "2027-03-28T00:59:59.500Z", 1), ["2027-03-28T01:00:00Z"]);
    assert_eq!(runs("30 2 * * *", "Europe/Berlin", "2027-03-28T01:00:00Z", 1), ["2027-03-29T00:30:00Z"]);
    // Two hours at once, and half an hour.
    assert_eq!(runs("30 1,2 * * *", "Antarctica/Troll", "2027-03-27T12:00:00Z", 2)[0], "2027-03-28T01:00:00Z");
    assert_eq!(runs("29 2 * * *", "Australia/Lord_Howe", "2027-10-02T12:00:00Z", 1), ["2027-10-02T15:30:00Z"]);
}

#[test]
fn a_fold_is_passed_once_by_fixed_times_and_twice_by_the_clock() {
    let havana = |cron| runs(cron, "America/Havana", "2027-11-07T03:30:00Z", 3);
    assert_eq!(havana("0 0 * * *"), ["2027-11-07T04:00:00Z", "2027-11-08T05:00:00Z", "2027-11-09T05:00:00Z"]);
    assert_eq!(havana("0 * * * *"), ["2027-11-07T04:00:00Z", "2027-11-07T05:00:00Z", "2027-11-07T06:00:00Z"]);
    // The hour before midnight came twice, so the second pass was a Saturday again.
    assert_eq!(
        runs("30 23 * * sat", "America/Asuncion", "2024-03-23T12:00:00Z", 2),
        ["2024-03-24T02:30:00Z", "2024-03-31T03:30:00Z"]
    );
}

#[test]
fn three_hours_and_more_are_a_correction_and_nothing_is_made_up_for() {
    // Samoa left out 30 December 2011.
    let apia = |cron| runs(cron, "Pacific/Apia", "2011-12-29T12:00:00Z", 2);
    assert_eq!(apia("30 2 * * *"), ["2011-12-29T12:30:00Z", "2011-12-30T12:30:00Z"]);
    assert_eq!(apia("0 9 30 * *"), ["2012-01-29T19:00:00Z", "2012-03-29T19:00:00Z"]);
    // Casey went three hours ahead on 18 October 2009 at 02:00 and back on 5 March 2010 at 02:00.
    assert_eq!(runs("30 3 * * *", "Antarctica/Casey", "2009-10-17T00:00:00Z", 1), ["2009-10-18T16:30:00Z"]);
    assert_eq!(runs("30 0 * * *", "Antarctica/Casey", "2010-03-04T12:00:00Z", 2)[1], "2010-03-05T16:30:00Z");
}

#[test]
fn the_next_run_is_strictly_later_by_less_than_a_second_even() {
    let next = |now: &str| timetable("0 6 * * *", "UTC").next_after(at(now)).unwrap().rfc3339();
    assert_eq!(next("2027-01-01T05:59:59.999Z"), "2027-01-01T06:00:00Z");
    assert_eq!(next("2027-01-01T06:00:00Z"), "2027-01-02T06:00:00Z");
    assert_eq!(next("2027-01-01T06:00:00.001Z"), "2027-01-02T06:00:00Z");
    assert_eq!(next("1969-12-31T23:59:59.999Z"), "1970-01-01T06:00:00Z");
}

#[test]
fn the_ends_of_time_have_no_next_run_and_no_panic() {
    let every_minute = timetable("* * * * *", "Pacific/Kiritimati");
    for now in [i64::MIN, i64::MAX, Millis(0).timestamp().as_millisecond() - i64::MAX / 2] {
        assert_eq!(every_minute.next_after(Millis(now)), None);
        assert_eq!(every_minute.shortest_interval(Millis(now)), None);
    }
    assert_eq!(every_minute.next_after(Millis(jiff::Timestamp::MAX.as_millisecond())), None);
    assert!(every_minute.next_after(Millis(jiff::Timestamp::MIN.as_millisecond())).is_some());
}

#[test]
fn what_only_ever_falls_into_the_gap_is_found_out() {
    // Second Sundays of March, between two and three: New York skips exactly those, and a star makes up for nothing.
    let now = at("2027-01-01T00:00:00Z");
    let refusal = timetable("*/5 2 8-14 3 */7", "America/New_York").check_that_it_runs(now).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "The schedule \"*/5 2 8-14 3 */7\" never runs in America/New_York: the clock is put forward over all its times."
    );
    assert_eq!(timetable("*/5 2 8-14 3 */7", "Europe/Berlin").check_that_it_runs(now), Ok(()));
    assert_eq!(timetable("0 2 8-14 3 */7", "America/New_York").check_that_it_runs(now), Ok(()));
}

#[test]
fn the_shortest_interval_counts_changes_of_the_clock() {
    let shortest = |cron, zone| timetable(cron, zone).shortest_interval(at("2026-12-01T00:00:00Z"));
    let minutes = |count: i64| Some(60 * count);
    assert_eq!(shortest("* * * * *", "UTC"), minutes(1));
    assert_eq!(shortest("*/25 * * * *", "Europe/Berlin"), minutes(10));
    assert_eq!(shortest("0 9,17 * * 1-5", "UTC"), minutes(480));
    assert_eq!(shortest("0 0 31 * *", "UTC"), minutes(31 * 1_440));
    assert_eq!(shortest("0 0 29 2 *", "UTC"), None);
    // A daily job comes after 23 hours once a year.
    assert_eq!(shortest("0 6 * * *", "UTC"), minutes(1_440));
    assert_eq!(shortest("0 6 * * *", "Europe/Berlin"), minutes(1_380));
    // 02:58 does not exist one night and runs at 03:00, two minutes after 01:58, eleven months of hourly runs from now.
    assert_eq!(timetable("58 0-22 * * *", "Europe/Berlin").shortest_interval(at("2027-04-01T00:00:00Z")), minutes(2));
}
