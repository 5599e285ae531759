//! Whether pings were taken in: a mark that moves while we run, and what happens when it has stood still.
//!
//! While no instance runs, or none reaches the database, pings are lost, and a check that was due meanwhile must not go
//! down for it. So a mark in the database moves each minute. Whoever finds it too old records the gap and holds the
//! checks that it concerned, all in the transaction that moves the mark. Two things make this exact with any number
//! of instances:
//!
//! - The mark is moved by one conditional update on what was seen of it, so one gap is recorded once.
//! - The sweep's claim refuses while the mark is too old ([`flips`](super::store::flips)). An instance that was
//!   suspended between its look at the mark and its sweep, or that sweeps while another one still holds, therefore
//!   takes nothing down: either it sees the old mark and refuses, or it sees the new mark and with it, in the same
//!   snapshot, every deadline that was held.

use std::time::Duration;

use super::store::intake;
use crate::clock::{Clock, Millis};
use crate::db::{Db, DbError};

/// The mark moves when it is this old. Look at it twice as often.
pub const MARK_EVERY: Duration = Duration::from_mins(1);
/// A mark that is this old means that nobody took pings in since.
pub const SILENCE: Duration = Duration::from_secs(150);

/// A mark further ahead was set before the clock was set back for good. Less may be an instance whose own clock lags
/// for a minute after it was suspended: it must not take back what the others have marked.
const AHEAD: Duration = Duration::from_hours(1);

/// A span in which no instance took pings in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Gap {
    /// The last mark before it.
    #[sqlx(rename = "from_at")]
    pub from: Millis,
    /// When an instance was there again.
    #[sqlx(rename = "to_at")]
    pub to: Millis,
}

/// Moves the mark if it is time. If it has stood still for too long, records the gap, holds the checks whose ping it
/// may have swallowed, and returns it. Call it before each sweep, and at least twice a minute.
pub async fn attend(db: &Db, clock: &dyn Clock) -> Result<Option<Gap>, DbError> {
    let seen = intake::find_mark(db).await?;
    let now = clock.now();
    if !is_to_move(seen, now) {
        return Ok(None);
    }
    // What was read above only says where to look; that the mark still stands there is part of the move.
    db.write(move |tx| {
        Box::pin(async move {
            if !intake::move_mark(tx, seen, now).await? {
                return Ok(None);
            }
            let Some(gap) = seen.and_then(|seen| gap_between(seen, now)) else { return Ok(None) };
            intake::insert_gap(tx, gap).await?;
            let held = intake::hold_checks(tx, gap).await?;
            tracing::warn!(from = gap.from.rfc3339(), to = gap.to.rfc3339(), held, "no pings were taken in");
            Ok(Some(gap))
        })
    })
    .await
}

fn is_to_move(seen: Option<Millis>, now: Millis) -> bool {
    seen.is_none_or(|seen| now.since(seen) >= MARK_EVERY || seen.since(now) > AHEAD)
}

fn gap_between(seen: Millis, now: Millis) -> Option<Gap> {
    (now.since(seen) >= SILENCE).then_some(Gap { from: seen, to: now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_moves_each_minute_and_a_long_silence_is_a_gap() {
        let (seen, second) = (Millis(1_790_000_000_000), Duration::from_secs(1));
        assert!(is_to_move(None, seen));
        // Seconds since the mark, whether it moves, whether that is a gap.
        for (age, moves, is_gap) in [(0, false, false), (59, false, false), (60, true, false), (149, true, false)]
            .into_iter()
            .chain([(150, true, true), (86_400, true, true)])
        {
            let now = seen.plus(second * age);
            assert_eq!(is_to_move(Some(seen), now), moves, "{age} s");
            assert_eq!(gap_between(seen, now), is_gap.then_some(Gap { from: seen, to: now }), "{age} s");
        }
        assert!(!is_to_move(Some(seen), seen.minus(second * 3_600)), "another instance's clock lags");
        assert!(is_to_move(Some(seen), seen.minus(AHEAD + second)), "the clock was set back");
        assert_eq!(gap_between(seen, seen.minus(second * 86_400)), None);
    }
}
