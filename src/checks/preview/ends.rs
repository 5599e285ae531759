//! The cards of what cannot be taken back: a deletion, and another ping URL.

use super::phrases::{checks_used, last_ping, last_ping_words, state_words};
use super::{Change, Check, Preview};
use crate::checks::Status;
use crate::checks::store::Account;
use crate::checks::tools::ProposalKind;
use crate::clock::Millis;

pub(in crate::checks) fn delete(check: &Check, account: &Account, now: Millis) -> Preview {
    let name = &check.name;
    let mut warnings = vec!["This cannot be undone. A pause would silence it and keep everything.".to_owned()];
    if check.status == Status::Up {
        warnings.push(format!("It is alive: {}.", last_ping_words(check, now)));
    }
    Preview {
        title: format!("Delete {name}"),
        summary: format!(
            "{name} is {}; {}. Lost with it: its settings, all its recorded pings and flips, and its ping URL, which \
             then answers 404 to jobs that still call it.",
            state_words(check, now),
            last_ping_words(check, now)
        ),
        changes: vec![
            Change::new("check", Some(name.clone()), None),
            Change::new("last ping", Some(last_ping(check, now)), None),
            checks_used(account, -1),
        ],
        warnings,
        destructive: ProposalKind::DeleteCheck.is_destructive(),
    }
}

pub(in crate::checks) fn rotate(check: &Check, now: Millis) -> Preview {
    let name = &check.name;
    let mut warnings = Vec::new();
    if check.last_ping_at.is_some() {
        let last = last_ping_words(check, now);
        warnings.push(format!(
            "A job uses the present URL: {last}. Until it has the new one, {name} counts it as missing."
        ));
    }
    Preview {
        title: format!("Replace the ping URL of {name}"),
        summary: format!(
            "The present ping URL of {name} stops working at once (404). The new one is made when you confirm and \
             stands in the list of checks."
        ),
        changes: vec![Change::new(
            "ping URL",
            Some(format!("the present one of {name}")),
            Some("a new one, made when you confirm".to_owned()),
        )],
        warnings,
        destructive: ProposalKind::RotatePingKey.is_destructive(),
    }
}
