//! A change of a check's settings and of who is told of it.

use super::{claim, edited, set_times, unchanged};
use crate::checks::CheckError;
use crate::checks::alerts::AlertChanges;
use crate::checks::config::CheckChanges;
use crate::checks::effect::{Applied, Shown};
use crate::checks::floor::{check_floor, name_taken};
use crate::checks::inverse;
use crate::checks::preview::{Alerts, changed, in_short};
use crate::checks::status::Times;
use crate::checks::store::channels::{channels_of_check_in, list_channels_in};
use crate::checks::store::edits::{self, Target};
use crate::checks::store::runs;
use crate::clock::Millis;
use crate::db::Tx;

pub(super) async fn update(
    tx: &mut Tx,
    now: Millis,
    target: Target<'_>,
    (changes, alerts): (&CheckChanges, &AlertChanges),
    shown: Option<&Shown>,
) -> Result<Applied, CheckError> {
    if changes.name.is_some() || changes.has_schedule() || alerts.channels.is_some() {
        // The account first, then the check: every edit that needs both takes them in this order, so none deadlocks.
        edits::hold_account(tx, target.owner).await?;
    }
    let before = claim(tx, target).await?;
    let changes = changes.clone().that_differ_from(&before)?;
    // Which channels it tells is looked up only if they are to be others. The account is held, so they stay as they are.
    let (told, channels) = match &alerts.channels {
        Some(_) => (channels_of_check_in(tx, &before.id).await?, list_channels_in(tx, target.owner).await?),
        None => (Vec::new(), Vec::new()),
    };
    if let Some(shown) = shown {
        shown.check(&before.name, &told, &channels)?;
    }
    let alerts = alerts.clone().that_differ_from(&before, &told);
    if changes.is_empty() && alerts.is_empty() {
        return Ok(unchanged(format!("{} is like that already", before.name), before.id));
    }
    let mut after = changes.over(&before)?;
    if changes.has_schedule() {
        check_floor(after.tier, &after.schedule, after.grace_seconds, now)?;
    }
    let longer = after.longest_run() - before.longest_run();
    if longer != 0 && after.runs_deadline_at.is_some() {
        runs::move_deadlines(tx, &after.id, longer * 1_000).await?;
    }
    let times = Times::after_edit(&before, &after, now);
    set_times(&mut after, times);
    if !edits::update_check(tx, &after).await? {
        return Err(name_taken(&after.name).into());
    }
    let present = Alerts::of(&before, &channels, &told);
    let to_be = present.changed(&alerts, &channels)?;
    alerts.write(tx, target.owner, &after.id, now).await?;
    let message = format!("Updated {}: {}", before.name, in_short(&changed(&before, &after, [&present, &to_be])));
    let inverse = inverse::of_update(&before, &changes, &alerts, told);
    Ok(Applied { check_id: Some(after.id), message, edited: vec![edited(&before)], inverse })
}
