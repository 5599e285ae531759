//! When a failed call is tried again, and after what wait.

use std::time::Duration;

use jiff::fmt::rfc2822;

use super::ModelError;

/// Tries after the first one.
pub const RETRIES: u32 = 2;
/// A provider that asks for a longer wait is not asked again: a person is waiting.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The middle of the wait before the first retry; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The wait before retry number `retry` (from 0), or nothing if there shall be none. `jitter` in 0..1 spreads the
/// callers that failed together: from half to one and a half of the wait, and never less than the provider asked for.
pub fn wait_before(retry: u32, error: &ModelError, jitter: f64) -> Option<Duration> {
    let asked_for = error.retry_after.unwrap_or_default();
    if retry >= RETRIES || !error.is_retryable() || asked_for > LONGEST_WAIT {
        return None;
    }
    let spread = FIRST_WAIT.mul_f64(0.5 + jitter) * 2_u32.pow(retry);
    Some(if asked_for.is_zero() { spread } else { asked_for + spread / 4 })
}

/// Reads `Retry-After`: seconds, or a date, which is measured against the answer's own `Date` so that no clock but
/// the provider's matters. Anything else tells nothing.
pub fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let parse = |text: &str| rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok();
    let wait = parse(value)?.duration_since(parse(date?)?);
    Some(Duration::try_from(wait).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn too_many(retry_after: Option<u64>) -> ModelError {
        super::super::failure::from_status(429, b"", retry_after.map(Duration::from_secs))
    }

    #[test]
    fn two_retries_spread_and_growing() {
        let ms = |retry, jitter| wait_before(retry, &too_many(None), jitter).map(|wait| wait.as_millis());
        assert_eq!([ms(0, 0.0), ms(0, 1.0), ms(1, 0.0), ms(1, 1.0)], [250, 750, 500, 1_500].map(Some));
        assert_eq!(ms(2, 0.0), None);
    }

    #[test]
    fn the_provider_may_ask_for_ten_seconds() {
        let wait = |seconds, jitter| wait_before(0, &too_many(Some(seconds)), jitter);
        assert!(wait(2, 0.0).unwrap() >= Duration::from_secs(2) && wait(2, 1.0).unwrap() < Duration::from_secs(3));
        assert!(wait(10, 1.0).is_some() && wait(11, 0.0).is_none());
    }

    #[test]
    fn what_can_not_get_better_is_not_tried_again() {
        for status in [400, 401, 403, 404, 422] {
            assert_eq!(wait_before(0, &super::super::failure::from_status(status, b"", None), 0.5), None, "{status}");
        }
        assert_eq!(wait_before(0, &ModelError::timeout("late"), 0.5), None);
        assert_eq!(wait_before(0, &ModelError::malformed("a page"), 0.5), None);
        assert!(wait_before(0, &ModelError::unreachable("broken"), 0.5).is_some());
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let date = Some("Wed, 21 Oct 2026 07:28:00 GMT");
        for (value, seconds) in [
            ("2", Some(2.0)),
            (" 0.5 ", Some(0.5)),
            ("Wed, 21 Oct 2026 07:28:09 GMT", Some(9.0)),
            ("Wed, 21 Oct 2026 07:27:00 GMT", Some(0.0)),
            ("-1", None),
            ("1e300", None),
            ("NaN", None),
            ("soon", None),
        ] {
            assert_eq!(retry_after(value, date).map(|wait| wait.as_secs_f64()), seconds, "{value}");
        }
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:09 GMT", None), None);
    }
}
