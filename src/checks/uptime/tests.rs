//! Uptime by tables: what counts as what, and that the sums are exact.

use proptest::prelude::*;

use super::*;

/// Noon of 2026-12-01, UTC.
const NOON: i64 = 1_796_126_400;

/// Seconds after that noon.
fn at(seconds: i64) -> Millis {
    Millis((NOON + seconds) * 1000)
}

fn span(from: i64, to: i64) -> Span {
    Span { from: at(from), to: at(to) }
}

fn flip(seconds: i64, from: Status, to: Status, reason: Reason) -> Flip {
    Flip { from, to, reason, at: at(seconds) }
}

fn first(seconds: i64) -> Flip {
    flip(seconds, Status::New, Status::Up, Reason::FirstPing)
}

fn down(seconds: i64) -> Flip {
    flip(seconds, Status::Up, Status::Down, Reason::Timeout)
}

fn up(seconds: i64) -> Flip {
    flip(seconds, Status::Down, Status::Up, Reason::Recovered)
}

fn gap(from: i64, to: i64) -> Gap {
    Gap { from: at(from), to: at(to) }
}

#[test]
fn what_counts_as_what() {
    // The span is 0 to 1,000: flips, gaps, the state now; up, down, no data.
    type Row = (&'static str, Vec<Flip>, Vec<Gap>, Status, (i64, i64, i64));
    let table: Vec<Row> = vec![
        ("never pinged", vec![], vec![], Status::New, (0, 0, 0)),
        ("never pinged, and away", vec![], vec![gap(100, 200)], Status::New, (0, 0, 0)),
        ("up all the time", vec![], vec![], Status::Up, (1_000, 0, 0)),
        ("new, then up", vec![first(400)], vec![], Status::Up, (600, 0, 0)),
        ("pinged only after the span", vec![first(1_400)], vec![], Status::Up, (0, 0, 0)),
        ("up before the span", vec![first(-400)], vec![], Status::Up, (1_000, 0, 0)),
        ("down before the span", vec![down(-400)], vec![], Status::Down, (0, 1_000, 0)),
        ("down after the span", vec![first(-400), down(1_400)], vec![], Status::Down, (1_000, 0, 0)),
        ("down in the middle", vec![down(100), up(350)], vec![], Status::Up, (750, 250, 0)),
        ("recovered at its beginning", vec![down(-9), up(0)], vec![], Status::Up, (1_000, 0, 0)),
        ("down at its end", vec![down(1_000)], vec![], Status::Down, (1_000, 0, 0)),
        ("away while up", vec![first(-1)], vec![gap(100, 200)], Status::Up, (900, 0, 100)),
        ("away over the edges", vec![first(-1)], vec![gap(-50, 50), gap(900, 1_100)], Status::Up, (850, 0, 150)),
        ("away all the time", vec![first(-9)], vec![gap(-5, 2_000)], Status::Up, (0, 0, 1_000)),
        ("away over a fall", vec![down(150), up(350)], vec![gap(100, 200)], Status::Up, (750, 150, 100)),
        ("away before the first ping", vec![first(150)], vec![gap(100, 200)], Status::Up, (800, 0, 50)),
        ("several gaps", vec![first(-9)], vec![gap(0, 10), gap(10, 20), gap(500, 510)], Status::Up, (970, 0, 30)),
        ("a clock set back", vec![down(500), up(400)], vec![], Status::Up, (1_000, 0, 0)),
    ];
    for (what, flips, gaps, status, (up_seconds, down_seconds, no_data_seconds)) in table {
        let found = measure(span(0, 1_000), &flips, &gaps, status);
        assert_eq!(found.share, Share { up_seconds, down_seconds, no_data_seconds }, "{what}");
    }
}

#[test]
fn merged_times_touch_no_other() {
    let apart = vec![gap(0, 10), gap(11, 20)];
    assert_eq!(merged(vec![gap(11, 20), gap(0, 10)]), apart);
    assert_eq!(merged(vec![gap(5, 9), gap(0, 10), gap(2, 3), gap(10, 12)]), [gap(0, 12)]);
    assert_eq!(merged(Vec::new()), []);
}

#[test]
fn uptime_is_a_part_of_what_is_known() {
    let uptime = |flips: &[Flip], gaps: &[Gap], is| measure(span(0, 1_000), flips, gaps, is).uptime;
    assert_eq!(uptime(&[], &[], Status::New), None);
    assert_eq!(uptime(&[], &[gap(-5, 2_000)], Status::Up), None);
    assert_eq!(uptime(&[], &[], Status::Up), Some(1.0));
    assert_eq!(uptime(&[], &[], Status::Down), Some(0.0));
    assert_eq!(uptime(&[down(100), up(350)], &[], Status::Up), Some(0.75));
    assert_eq!(uptime(&[down(200), up(400)], &[gap(0, 200)], Status::Up), Some(0.75));
}

#[test]
fn outages_are_told_whole_and_add_up() {
    let flips = [
        flip(-300, Status::Up, Status::Down, Reason::Exit),
        up(100),
        down(400),
        up(600),
        flip(700, Status::Up, Status::Down, Reason::Fail),
        up(700),
        flip(900, Status::Up, Status::Down, Reason::Fail),
        up(1_300),
        down(1_400),
    ];
    let found = measure(span(0, 1_000), &flips, &[gap(500, 550)], Status::Down);
    let outage = |from, to, seconds, reason| Outage { from: at(from), to: Some(at(to)), seconds, reason: Some(reason) };
    assert_eq!(
        found.outages,
        [
            outage(-300, 100, 100, Reason::Exit),
            outage(400, 600, 150, Reason::Timeout),
            outage(700, 700, 0, Reason::Fail),
            outage(900, 1_300, 100, Reason::Fail),
        ]
    );
    assert_eq!(found.share.down_seconds, 350);
    let goes_on = measure(span(0, 1_000), &flips[..3], &[], Status::Down).outages.pop().unwrap();
    assert_eq!((goes_on.from, goes_on.to, goes_on.seconds), (at(400), None, 600));
    // One whose beginning nobody knows any more begins with the span.
    let unknown = measure(span(0, 1_000), &[up(100)], &[], Status::Up).outages.pop().unwrap();
    assert_eq!((unknown.from, unknown.to, unknown.reason), (at(0), Some(at(100)), None));
    // What was over before the span, or began at its end, is none of its outages.
    assert_eq!(measure(span(0, 1_000), &[down(-9), up(0), down(1_000)], &[], Status::Down).outages, []);
}

#[test]
fn days_are_those_of_utc() {
    let half = DAY / 2;
    let found = measure(span(0, DAY + half), &[down(half - 60), up(half + 30)], &[gap(DAY, DAY + 10)], Status::Up);
    let day = |date: &str, up_seconds, down_seconds, no_data_seconds| Day {
        date: date.to_owned(),
        share: Share { up_seconds, down_seconds, no_data_seconds },
    };
    assert_eq!(found.days, [day("2026-12-01", half - 60, 60, 0), day("2026-12-02", DAY - 40, 30, 10)]);
    let dates = |from, to| measure(span(from, to), &[], &[], Status::New).days.len();
    assert_eq!((dates(0, half), dates(0, half + 1), dates(half, half + DAY), dates(-half, 400 * DAY)), (1, 2, 1, 401));
}

#[test]
fn it_is_told_as_the_contract_says() {
    let found = measure(span(0, 100), &[down(40)], &[], Status::Down);
    let told = serde_json::to_value(found).unwrap();
    let expected = serde_json::json!({
        "from": "2026-12-01T12:00:00Z", "to": "2026-12-01T12:01:40Z",
        "up_seconds": 40, "down_seconds": 60, "no_data_seconds": 0, "uptime": 0.4,
        "outages": [{"from": "2026-12-01T12:00:40Z", "to": null, "seconds": 60, "reason": "timeout"}],
        "days": [{"date": "2026-12-01", "up_seconds": 40, "down_seconds": 60, "no_data_seconds": 0}],
    });
    assert_eq!(told, expected);
}

proptest! {
    /// Whatever the milliseconds: the days and the outages add up, and nothing counts twice or is lost.
    #[test]
    fn the_sums_are_exact(
        mut times in prop::collection::vec(-200_000_000_i64..400_000_000, 0..20),
        mut edges in prop::collection::vec(-200_000_000_i64..400_000_000, 0..12),
        length in 1_000_i64..300_000_000,
    ) {
        times.sort_unstable();
        edges.sort_unstable();
        let from = at(0).0 + 123;
        let flips: Vec<Flip> = times.iter().enumerate().map(|(n, time)| {
            let flip = if n % 2 == 0 { down(0) } else { up(0) };
            Flip { at: Millis(from + time), ..flip }
        }).collect();
        let gaps: Vec<Gap> =
            edges.chunks_exact(2).map(|two| Gap { from: Millis(from + two[0]), to: Millis(from + two[1]) }).collect();
        let span = Span { from: Millis(from), to: Millis(from + length) };
        let found = measure(span, &flips, &gaps, Status::Up);
        let Share { up_seconds, down_seconds, no_data_seconds } = found.share;
        prop_assert_eq!(up_seconds + down_seconds + no_data_seconds, seconds(span.to) - seconds(span.from));
        prop_assert_eq!(found.outages.iter().map(|outage| outage.seconds).sum::<i64>(), down_seconds);
        for part in [|s: Share| s.up_seconds, |s: Share| s.down_seconds, |s: Share| s.no_data_seconds] {
            prop_assert_eq!(found.days.iter().map(|day| part(day.share)).sum::<i64>(), part(found.share));
        }
        let fits = |Share { up_seconds: up, down_seconds: down, no_data_seconds: none }: Share| {
            up.min(down).min(none) >= 0 && up + down + none <= DAY
        };
        prop_assert!(found.days.iter().all(|day| fits(day.share)), "a day has its seconds and no more");
    }
}
