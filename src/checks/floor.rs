//! What a tier allows: how often pings are accepted, which ties a schedule to it, and how many checks there may be.

use super::Refusal;
use super::config::refuse_what_never_runs;
use super::schedule::Schedule;
use super::words::{capitalised, count, span};
use crate::clock::Millis;
use crate::limits::Tier;

/// The floor in seconds: the least time between two accepted pings of one kind.
pub fn floor_seconds(tier: Tier) -> i64 {
    i64::try_from(tier.floor().as_secs()).unwrap_or(i64::MAX)
}

/// Refuses a schedule that its own pings would break the floor with, or that never runs.
///
/// # Errors
/// `invalid_field` with the numbers that decided.
pub fn check_floor(tier: Tier, schedule: &Schedule, grace: i64, now: Millis) -> Result<(), Refusal> {
    refuse_what_never_runs(schedule, now)?;
    let (floor, period) = (floor_seconds(tier), schedule.shortest_interval(now));
    if period < floor && schedule.timetable().is_some() {
        let message = format!(
            "{} runs as little as {} apart. On the {tier} tier a ping is accepted every {floor} s ({}).",
            capitalised(&schedule.words()),
            span(period),
            span(floor)
        );
        return Err(Refusal::invalid("cron", message));
    }
    if period < floor {
        let message = format!(
            "The period is {period} s. On the {tier} tier a ping is accepted every {floor} s ({}), so the period must be \
             at least {floor} s.",
            span(floor)
        );
        return Err(Refusal::invalid("period_seconds", message));
    }
    if period + grace < 2 * floor {
        let what = if schedule.timetable().is_some() { "The shortest time between two runs" } else { "Period" };
        let message = format!(
            "{what} and grace are {period} s + {grace} s = {} s. On the {tier} tier they must be at least {} s \
             together, twice the {floor} s between accepted pings.",
            period + grace,
            2 * floor
        );
        return Err(Refusal::invalid("grace_seconds", message));
    }
    Ok(())
}

/// The refusal of one check too many.
pub fn limit_reached(tier: Tier, used: i64) -> Refusal {
    let limit = tier.max_checks();
    let message =
        format!("The {tier} tier has room for {}, and {used} exist. Delete one first.", count(limit, "check"));
    Refusal::new("check_limit_reached", message)
}

/// The refusal of a name that another check has.
pub fn name_taken(name: &str) -> Refusal {
    Refusal::new("name_taken", format!("There is already a check named {name}."))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::config::{CheckSpec, from_object};
    use super::super::schedule::{Cron, Timetable, Zone};
    use super::*;

    const NOW: Millis = Millis(1_790_000_000_000);

    fn read(value: Value) -> Result<CheckSpec, Refusal> {
        let Value::Object(object) = value else { panic!("not an object") };
        from_object(object)
    }

    #[test]
    fn the_default_grace_never_breaks_the_floor() {
        for tier in Tier::ALL {
            for period in [floor_seconds(tier), 3_599, 3_600, 86_400, 31_536_000] {
                let spec: CheckSpec = read(json!({"name": "a", "period_seconds": period})).unwrap();
                let settings = spec.settle(NOW).unwrap();
                assert!(settings.grace_seconds.get() <= 3_600);
                assert_eq!(check_floor(tier, &Schedule::Every(period), settings.grace_seconds.get(), NOW), Ok(()));
            }
        }
    }

    #[test]
    fn the_floor_is_refused_with_its_numbers() {
        let refused = |tier, period, grace| check_floor(tier, &Schedule::Every(period), grace, NOW).unwrap_err();
        let short = refused(Tier::Free, 299, 3_600);
        assert_eq!(short.field.as_deref(), Some("period_seconds"));
        assert!(short.message.contains("299 s") && short.message.contains("300 s"), "{}", short.message);
        let tight = refused(Tier::Free, 300, 299);
        assert_eq!(tight.field.as_deref(), Some("grace_seconds"));
        assert!(tight.message.contains("599 s") && tight.message.contains("600 s"), "{}", tight.message);
        let kept = |tier, period, grace| check_floor(tier, &Schedule::Every(period), grace, NOW);
        assert_eq!(kept(Tier::Free, 300, 300), Ok(()));
        assert_eq!(kept(Tier::Free, 540, 60), Ok(()));
        assert_eq!(kept(Tier::Pro, 60, 60), Ok(()));
        assert!(kept(Tier::Business, 59, 3_600).is_err());
    }

    #[test]
    fn times_that_are_too_close_are_refused_too() {
        let times = |cron: &str| Schedule::At(Timetable { cron: Cron::parse(cron).unwrap(), zone: Zone::utc() });
        let close = check_floor(Tier::Free, &times("*/4 * * * *"), 3_600, NOW).unwrap_err();
        assert_eq!((close.code.as_str(), close.field.as_deref()), ("invalid_field", Some("cron")));
        assert!(close.message.contains("4 minutes apart") && close.message.contains("300 s"), "{}", close.message);
        // Every quarter of an hour but one: the shortest distance counts.
        assert!(check_floor(Tier::Free, &times("0,15,30,34 * * * *"), 3_600, NOW).is_err());
        let tight = check_floor(Tier::Free, &times("*/5 * * * *"), 60, NOW).unwrap_err();
        assert_eq!(tight.field.as_deref(), Some("grace_seconds"));
        assert_eq!(check_floor(Tier::Free, &times("*/5 * * * *"), 300, NOW), Ok(()));
        assert_eq!(check_floor(Tier::Pro, &times("* * * * *"), 60, NOW), Ok(()));
    }
}
