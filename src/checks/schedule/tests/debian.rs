//! Debian's cron itself, minute by minute, as the judge of every run near a change of the clock.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::super::{Cron, Timetable, Zone};
use crate::clock::Millis;

/// A crontab entry as `entry.c` holds it: five sets, and flags for fields that begin with a star.
struct Entry {
    sets: [BTreeSet<i64>; 5],
    stars: [bool; 5],
}

impl Entry {
    /// Reads numbers, ranges, steps and lists, no names: a reader of its own, so that it shares no mistake.
    fn read(text: &str) -> Self {
        let fields: Vec<&str> = text.split(' ').collect();
        let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];
        let set = |index: usize| -> BTreeSet<i64> {
            let (low, high) = bounds[index];
            let part = |part: &str| {
                let (range, step) = part.split_once('/').unwrap_or((part, "1"));
                let (first, last) = match range.split_once('-') {
                    Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
                    None if range == "*" => (low, high),
                    None => (range.parse().unwrap(), range.parse().unwrap()),
                };
                let step: i64 = step.parse().unwrap();
                (first..=last).filter(move |value| (value - first) % step == 0)
            };
            fields[index].split(',').flat_map(part).map(|value| if index == 4 { value % 7 } else { value }).collect()
        };
        Self { sets: std::array::from_fn(set), stars: std::array::from_fn(|index| fields[index].starts_with('*')) }
    }

    /// `find_jobs` for this entry and a minute of the local clock.
    fn is_found(&self, minute: i64, do_wild: bool, do_non_wild: bool) -> bool {
        let time: DateTime = jiff::tz::Offset::UTC.to_datetime(Timestamp::from_second(minute * 60).unwrap());
        let has = |index: usize, value: i8| self.sets[index].contains(&i64::from(value));
        let (dom, dow) = (has(2, time.day()), has(4, time.date().weekday().to_sunday_zero_offset()));
        let day = if self.stars[2] || self.stars[4] { dow && dom } else { dow || dom };
        let is_wild = self.stars[0] || self.stars[1];
        has(0, time.minute())
            && has(1, time.hour())
            && has(3, time.month())
            && day
            && (do_non_wild && !is_wild || do_wild && is_wild)
    }
}

/// The main loop of `cron.c`, woken at every minute from `from` to `until`: the moments at which it runs the entry.
fn cron(entry: &Entry, zone: &Zone, from: Timestamp, until: Timestamp) -> Vec<Millis> {
    let local = |at: Timestamp| (at.as_second() + i64::from(zone.rules().to_offset(at).seconds())).div_euclid(60);
    let mut found = Vec::new();
    let mut now = from;
    let mut virtual_time = local(from) - 1;
    while now < until {
        let time_running = local(now);
        let difference = time_running - virtual_time;
        let mut runs = false;
        if difference == 1 {
            virtual_time = time_running;
            runs = entry.is_found(virtual_time, true, true);
        } else if (2..=5).contains(&difference) {
            while virtual_time < time_running {
                virtual_time += 1;
                runs |= entry.is_found(virtual_time, true, true);
            }
        } else if (6..=180).contains(&difference) {
            runs = entry.is_found(time_running, true, false);
            while virtual_time < time_running {
                virtual_time += 1;
                runs |= entry.is_found(virtual_time, false, true);
            }
        } else if (-179..=0).contains(&difference) {
            runs = entry.is_found(time_running, true, false);
        } else {
            virtual_time = time_running;
            runs = entry.is_found(time_running, true, true);
        }
        if runs {
            found.push(Millis(now.as_millisecond()));
        }
        now = now.checked_add(SignedDuration::from_mins(1)).unwrap();
    }
    found
}

const AROUND: SignedDuration = SignedDuration::from_hours(6);

/// Compares all runs from six hours before `change` until six hours after it.
fn compare(expression: &str, zone: &Zone, change: Timestamp) {
    let (from, until) = (change.checked_sub(AROUND).unwrap(), change.checked_add(AROUND).unwrap());
    let model = cron(&Entry::read(expression), zone, from, until);
    let timetable = Timetable { cron: Cron::parse(expression).unwrap(), zone: zone.clone() };
    let before = Millis(from.as_millisecond() - 1);
    let ours: Vec<Millis> = timetable.runs(before).take_while(|run| run.timestamp() < until).collect();
    let shown = |runs: &[Millis]| runs.iter().map(|run| run.rfc3339()).collect::<Vec<_>>();
    assert_eq!(shown(&ours), shown(&model), "{expression} in {zone} around {change}");
}

/// Every change of every zone's clock in a span of years.
fn changes(first_year: i16, last_year: i16) -> Vec<(Zone, Timestamp)> {
    let first = |year: i16| jiff::tz::Offset::UTC.to_timestamp(jiff::civil::date(year, 1, 1).at(0, 0, 0, 0)).unwrap();
    let (from, until) = (first(first_year), first(last_year + 1));
    let names: Vec<_> = TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect();
    let zones = names.iter().map(|name| Zone::parse(name).unwrap());
    zones
        .flat_map(|zone| {
            let stretches = zone.stretches(from).take_while(|stretch| stretch.ends < until);
            stretches.map(|stretch| stretch.ends).collect::<Vec<_>>().into_iter().map(move |at| (zone.clone(), at))
        })
        .collect()
}

#[test]
fn the_model_gives_what_debian_documents() {
    let berlin = Zone::parse("Europe/Berlin").unwrap();
    let night = |expression: &str, from: &str, until: &str| {
        let runs = cron(&Entry::read(expression), &berlin, from.parse().unwrap(), until.parse().unwrap());
        runs.into_iter().map(Millis::rfc3339).collect::<Vec<_>>()
    };
    let spring = |expression| night(expression, "2027-03-28T00:00:00Z", "2027-03-28T02:00:00Z");
    assert_eq!(spring("30 2 * * *"), ["2027-03-28T01:00:00Z"]);
    assert!(spring("*/30 2 * * *").is_empty());
    let autumn = |expression| night(expression, "2027-10-31T00:00:00Z", "2027-10-31T02:00:00Z");
    assert_eq!(autumn("30 2 * * *"), ["2027-10-31T00:30:00Z"]);
    assert_eq!(autumn("30 * * * *"), ["2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"]);
}

#[test]
fn known_oddities_agree_with_the_model() {
    let oddities = [
        ("Australia/Lord_Howe", "2027-10-02T15:30:00Z"),
        ("Australia/Lord_Howe", "2027-04-03T15:00:00Z"),
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
        ("America/Sao_Paulo", "2018-02-18T02:00:00Z"),
        ("Africa/Cairo", "2027-04-29T22:00:00Z"),
        ("Asia/Beirut", "2027-03-27T22:00:00Z"),
        ("America/Havana", "2027-11-07T05:00:00Z"),
        ("Antarctica/Troll", "2027-03-28T01:00:00Z"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
        ("Antarctica/Casey", "2009-10-17T18:00:00Z"),
        ("Antarctica/Casey", "2010-03-04T15:00:00Z"),
        ("America/Caracas", "2016-05-01T07:00:00Z"),
        ("Asia/Pyongyang", "2018-05-04T15:00:00Z"),
        ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),
    ];
    for (zone, change) in oddities {
        let (zone, change) = (Zone::parse(zone).unwrap(), change.parse::<Timestamp>().unwrap());
        assert!(zone.stretches(change).next().unwrap().begins == change, "{zone} has no change at {change}");
        for minutes in ["0", "15,45", "*/20", "0-59"] {
            for hours in ["*", "*/2", "0", "1", "2,3", "23", "0-23"] {
                for days in ["* * *", "*/2 * 0,6", "1-15 * 0,6"] {
                    compare(&format!("{minutes} {hours} {days}"), &zone, change);
                }
            }
        }
    }
}

#[test]
fn every_stretch_begins_where_the_one_before_it_ends() {
    for (zone, change) in changes(1973, 2040) {
        assert_eq!(zone.stretches(change).next().unwrap().begins, change, "{zone}");
    }
}

#[test]
fn every_change_of_every_zone_agrees_with_the_model() {
    for (zone, change) in changes(2027, 2027) {
        let before = zone.stretches(change).next().unwrap().offset_before.to_datetime(change);
        compare(&format!("0,30 {} * * *", before.hour()), &zone, change);
        compare(&format!("0,30 {},* * * *", before.hour()), &zone, change);
    }
}

/// One field as text: a star, a step, values around `near`, ranges, and a list that ends in a star.
fn field(low: i8, high: i8, near: impl Strategy<Value = i8> + Clone + 'static) -> impl Strategy<Value = String> {
    let range =
        (near.clone(), low..=high, 1..20_i8).prop_map(|(a, b, step)| format!("{}-{}/{step}", a.min(b), a.max(b)));
    prop_oneof![
        3 => Just("*".to_owned()),
        2 => (1..=high).prop_map(|step| format!("*/{step}")),
        4 => near.clone().prop_map(|value| value.to_string()),
        2 => proptest::collection::vec(near.clone(), 2..4)
            .prop_map(|values| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
        2 => range,
        1 => near.prop_map(|value| format!("{value},*")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn any_expression_at_any_change_agrees_with_the_model(
        which in any::<prop::sample::Index>(),
        minute in field(0, 59, 0..=59_i8),
        hour in field(0, 23, prop_oneof![4 => 0..=4_i8, 1 => 0..=23_i8]),
        day in prop_oneof![3 => Just("*".to_owned()), 1 => field(1, 31, 1..=31_i8)],
        weekday in prop_oneof![3 => Just("*".to_owned()), 1 => field(0, 7, 0..=7_i8)],
    ) {
        static CHANGES: std::sync::LazyLock<Vec<(Zone, Timestamp)>> = std::sync::LazyLock::new(|| changes(1973, 2040));
        let (zone, change) = which.get(&CHANGES);
        compare(&format!("{minute} {hour} {day} * {weekday}"), zone, *change);
    }
}
