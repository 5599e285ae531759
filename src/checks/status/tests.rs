//! What follows from rows of every kind.

use super::*;
use crate::checks::schedule::{Cron, Schedule, Timetable, Zone};
use crate::ids::{CheckId, UserId};
use crate::limits::Tier;

/// Seconds since 1970.
fn at(seconds: i64) -> Millis {
    Millis(seconds * 1000)
}

fn times(from: i64, due: i64, deadline: i64) -> Times {
    Times { counted_from: Some(at(from)), due_at: Some(at(due)), deadline_at: Some(at(deadline)) }
}

/// Period 600 s, grace 100 s, last success at 0: due at 600, down at 700.
fn check(status: Status) -> Check {
    let Times { counted_from, due_at, deadline_at } = match status {
        Status::Up => times(0, 600, 700),
        Status::New | Status::Down => Times::default(),
    };
    Check {
        id: CheckId(String::new()),
        account_id: UserId(String::new()),
        tier: Tier::Pro,
        ping_key: String::new(),
        badge_key: None,
        name: String::new(),
        tags: Vec::new(),
        description: String::new(),
        schedule: Schedule::Every(600),
        grace_seconds: 100,
        max_runtime_seconds: None,
        status,
        paused_at: None,
        paused_until: None,
        config_version: 1,
        last_ping_at: None,
        last_success_at: None,
        last_fail_at: None,
        last_start_at: None,
        last_log_at: None,
        started_at: None,
        counted_from,
        due_at,
        deadline_at,
        runs_deadline_at: None,
        alert_after_failures: 1,
        failures_in_row: 0,
        reminder_seconds: None,
        rejected_count: 0,
        last_rejected_at: None,
        created_at: at(0),
    }
}

#[test]
fn a_success_is_followed_by_the_longer_of_period_and_floor() {
    for (tier, period, due) in [(Tier::Pro, 600, 1_600), (Tier::Free, 60, 1_300), (Tier::Pro, 60, 1_060)] {
        for status in [Status::New, Status::Up, Status::Down] {
            let check = Check { tier, schedule: Schedule::Every(period), ..check(status) };
            let after = Times::after_success(&check, None, at(1_000));
            assert_eq!(after, times(1_000, due, due + 100), "{tier} {period} {status}");
        }
    }
}

#[test]
fn a_start_gives_the_run_its_time_and_no_more() {
    // Status, start, max runtime, deadline; grace 100, due 600.
    let table = [
        (Status::Up, 200, None, Some(300)),          // early: its own grace, before the due
        (Status::Up, 200, Some(1_000), Some(1_200)), // early and long
        (Status::Up, 590, Some(60), Some(650)),
        (Status::Up, 650, None, Some(700)),          // late: the old deadline stands
        (Status::Up, 650, Some(1_000), Some(1_600)), // late and long: counted from the due
        (Status::Up, 610, Some(60), Some(670)),      // late and short: its whole run
        (Status::Up, 690, Some(60), Some(700)),      // … within the grace
        (Status::Up, 800, None, Some(700)),          // too late changes nothing
        (Status::New, 200, None, Some(300)),
        (Status::New, 200, Some(60), Some(260)),
        (Status::Down, 200, Some(60), None),
    ];
    for (status, start, max_runtime_seconds, deadline) in table {
        let check = Check { max_runtime_seconds, ..check(status) };
        let after = Times::after_start(&check, None, at(start));
        assert_eq!(after.deadline_at, deadline.map(at), "{status} {start} {max_runtime_seconds:?}");
        assert_eq!(after.due_at, check.due_at);
    }
}

#[test]
fn no_deadline_is_later_than_that_of_a_run_that_goes_on() {
    let up = check(Status::Up);
    let deadline = |times: Times| times.deadline_at;
    assert_eq!(deadline(Times::after_success(&up, Some(at(900)), at(500))), Some(at(900)));
    assert_eq!(deadline(Times::after_success(&up, Some(at(9_000)), at(500))), Some(at(1_200)));
    assert_eq!(deadline(Times::after_success(&up, Some(at(400)), at(500))), Some(at(400)), "late already");
    assert_eq!(deadline(Times::after_start(&up, Some(at(250)), at(200))), Some(at(250)));
    assert_eq!(deadline(Times::after_start(&check(Status::Down), Some(at(250)), at(200))), None);
    let run = Check { runs_deadline_at: Some(at(650)), deadline_at: Some(at(650)), ..up.clone() };
    assert_eq!(
        deadline(Times::after_edit(&run, &Check { grace_seconds: 1_000, ..run.clone() }, at(50))),
        Some(at(650))
    );
}

#[test]
fn an_edit_counts_from_where_the_old_times_did() {
    let up = check(Status::Up);
    let edit = |period, grace_seconds| Check { schedule: Schedule::Every(period), grace_seconds, ..up.clone() };
    assert_eq!(Times::after_edit(&up, &edit(600, 100), at(50)), times(0, 600, 700));
    assert_eq!(Times::after_edit(&up, &edit(1_200, 60), at(50)), times(0, 1_200, 1_260));
    // Now late: down at the edit, not in the past.
    assert_eq!(Times::after_edit(&up, &edit(60, 60), at(500)), times(0, 60, 500));
    // Its deadline had passed before the edit, which does not help.
    assert_eq!(Times::after_edit(&up, &edit(60, 60), at(900)), times(0, 60, 700));
    // An open run keeps its start.
    let run = Check { started_at: Some(at(200)), deadline_at: Some(at(300)), ..up.clone() };
    let longer = Check { max_runtime_seconds: Some(3_600), ..run };
    assert_eq!(Times::after_edit(&up, &longer, at(250)), times(0, 600, 3_800));
    // Held after an outage until 5,000: due then, unless the edit gives it longer.
    let held = Check { due_at: Some(at(5_000)), deadline_at: Some(at(5_100)), ..up.clone() };
    let edit = |period| Check { schedule: Schedule::Every(period), ..held.clone() };
    assert_eq!(Times::after_edit(&held, &edit(60), at(4_000)), times(0, 5_000, 5_100));
    assert_eq!(Times::after_edit(&held, &edit(9_000), at(4_000)), times(0, 9_000, 9_100));
    // What has no times gets none.
    for status in [Status::New, Status::Down] {
        let after = Check { schedule: Schedule::Every(60), ..check(status) };
        assert_eq!(Times::after_edit(&check(status), &after, at(50)), Times::default());
    }
}

#[test]
fn a_schedule_by_the_clock_is_due_at_its_next_time() {
    let nightly = Timetable { cron: Cron::parse("30 2 * * *").unwrap(), zone: Zone::parse("Europe/Berlin").unwrap() };
    let day = |text: &str| Millis::parse(text).unwrap();
    let check = Check { schedule: Schedule::At(nightly), ..check(Status::Up) };
    let after = Times::after_success(&check, None, day("2027-03-27T01:31:00Z"));
    // The clock is put forward over 02:30 that night: the job runs right after.
    assert_eq!(after.due_at, Some(day("2027-03-28T01:00:00Z")));
    assert_eq!(after.deadline_at, Some(day("2027-03-28T01:01:40Z")));
    let winter = Times::after_success(&check, None, day("2026-12-01T12:00:00Z"));
    assert_eq!(winter.due_at, Some(day("2026-12-02T01:30:00Z")));
}

#[test]
fn a_pause_takes_the_deadline_away_and_its_end_starts_the_period_again() {
    let up = check(Status::Up);
    assert_eq!(Times::after_pause(&up, None), Times::default());
    assert_eq!(Times::after_pause(&up, Some(at(5_000))), times(5_000, 5_600, 5_700));
    assert_eq!(Times::after_resume(&up, at(5_000)), times(5_000, 5_600, 5_700));
    for status in [Status::New, Status::Down] {
        assert_eq!(Times::after_pause(&check(status), Some(at(5_000))), Times::default());
        assert_eq!(Times::after_resume(&check(status), at(5_000)), Times::default());
    }
}

#[test]
fn late_started_and_paused_follow_from_the_row() {
    let up = check(Status::Up);
    let paused = |until: Option<i64>| Check { paused_at: Some(at(1)), paused_until: until.map(at), ..up.clone() };
    let open = Check { started_at: Some(at(590)), ..up.clone() };
    let derived = |paused, late, started| Derived { paused, late, started };
    let table = [
        (&up, 599, derived(false, false, false)),
        (&up, 600, derived(false, true, false)),
        (&open, 595, derived(false, false, true)),
        (&paused(None), 900, derived(true, false, false)),
        (&paused(Some(900)), 899, derived(true, false, false)),
        (&paused(Some(900)), 900, derived(false, true, false)),
        (&check(Status::Down), 900, derived(false, false, false)),
        (&check(Status::New), 900, derived(false, false, false)),
    ];
    for (row, (check, now, expected)) in table.into_iter().enumerate() {
        assert_eq!(derive(check, at(now)), expected, "row {row}");
    }
}
