//! Checks as they are told of: whole to the API, in part to the assistant's read tools, which never see a ping URL.

use serde::Serialize;
use utoipa::ToSchema;

use super::history::Kind;
use super::status::derive;
use super::store::pings::PingRow;
use super::{Check, Status};
use crate::clock::Millis;
use crate::ids::{ChannelId, CheckId};

/// Characters of a ping's body that a model sees: its end, where errors stand.
const BODY_TAIL: usize = 500;

/// A check as the API tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CheckView {
    /// Its id.
    pub id: CheckId,
    /// Unique within the account.
    pub name: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it watches.
    pub description: String,
    /// Seconds between two pings; null if it goes by the clock.
    #[schema(required)]
    pub period_seconds: Option<i64>,
    /// The cron expression, if it goes by the clock.
    #[schema(required)]
    pub cron: Option<String>,
    /// The zone of that clock.
    #[schema(required)]
    pub timezone: Option<String>,
    /// Seconds that a ping may be late.
    pub grace_seconds: i64,
    /// Seconds that a run may take; the grace if null.
    #[schema(required)]
    pub max_runtime_seconds: Option<i64>,
    /// The stored state.
    pub status: Status,
    /// Since when it is paused; null if it is not, also when the pause has ended by itself.
    #[schema(required)]
    pub paused_at: Option<Millis>,
    /// When the pause ends by itself.
    #[schema(required)]
    pub paused_until: Option<Millis>,
    /// Its ping is due and has not come.
    pub late: bool,
    /// A run has started and not ended.
    pub started: bool,
    /// Moves on every edit.
    pub config_version: i64,
    /// The last accepted success or fail.
    #[schema(required)]
    pub last_ping_at: Option<Millis>,
    /// The last accepted start.
    #[schema(required)]
    pub last_start_at: Option<Millis>,
    /// When the next ping is due.
    #[schema(required)]
    pub due_at: Option<Millis>,
    /// When it goes down without one.
    #[schema(required)]
    pub deadline_at: Option<Millis>,
    /// The ids of the channels that are told when it goes down or comes up.
    pub channels: Vec<ChannelId>,
    /// So many fails in a row take it down; a timeout does at once.
    pub alert_after_failures: i64,
    /// While it is down its channels are told again this often; never if null.
    #[schema(required)]
    pub reminder_seconds: Option<i64>,
    /// Pings refused because they came too soon.
    pub rejected_count: i64,
    /// The last of them.
    #[schema(required)]
    pub last_rejected_at: Option<Millis>,
    /// Where its job pings; whoever knows it can.
    pub ping_url: String,
    /// A picture of its state for anybody who has the address; nothing leads from it to the ping URL.
    #[schema(required)]
    pub badge_url: Option<String>,
    /// When it was made.
    pub created_at: Millis,
}

impl CheckView {
    /// `check` as it is at `now`, on the site reached at `public_url`.
    pub fn new(check: Check, now: Millis, public_url: &str) -> Self {
        let derived = derive(&check, now);
        Self {
            ping_url: format!("{public_url}/ping/{}", check.ping_key),
            badge_url: check.badge_key.as_ref().map(|key| format!("{public_url}/badge/{key}.svg")),
            paused_at: check.paused_at.filter(|_| derived.paused),
            paused_until: check.paused_until.filter(|_| derived.paused),
            late: derived.late,
            started: derived.started,
            id: check.id,
            name: check.name,
            tags: check.tags,
            description: check.description,
            period_seconds: check.schedule.period_seconds(),
            cron: check.schedule.cron().map(str::to_owned),
            timezone: check.schedule.zone().map(str::to_owned),
            grace_seconds: check.grace_seconds,
            max_runtime_seconds: check.max_runtime_seconds,
            status: check.status,
            config_version: check.config_version,
            last_ping_at: check.last_ping_at,
            last_start_at: check.last_start_at,
            due_at: check.due_at,
            deadline_at: check.deadline_at,
            channels: Vec::new(),
            alert_after_failures: check.alert_after_failures,
            reminder_seconds: check.reminder_seconds,
            rejected_count: check.rejected_count,
            last_rejected_at: check.last_rejected_at,
            created_at: check.created_at,
        }
    }

    /// With the channels that the check tells, which are no columns of its row.
    #[must_use]
    pub fn telling(self, channels: Vec<ChannelId>) -> Self {
        Self { channels, ..self }
    }
}

/// A check of a read tool's list: what the API tells, without what only the API needs.
#[derive(Debug, Serialize)]
pub struct Line {
    id: CheckId,
    name: String,
    status: Status,
    late: bool,
    started: bool,
    paused_at: Option<Millis>,
    paused_until: Option<Millis>,
    period_seconds: Option<i64>,
    cron: Option<String>,
    timezone: Option<String>,
    grace_seconds: i64,
    last_ping_at: Option<Millis>,
    due_at: Option<Millis>,
    deadline_at: Option<Millis>,
    rejected_count: i64,
    tags: Vec<String>,
}

/// A check that a read tool was asked for by name.
#[derive(Debug, Serialize)]
pub struct Card {
    #[serde(flatten)]
    line: Line,
    description: String,
    max_runtime_seconds: Option<i64>,
    created_at: Millis,
}

impl Line {
    /// `check` as it is at `now`.
    pub fn new(check: Check, now: Millis) -> Self {
        let view = CheckView::new(check, now, "");
        Self {
            id: view.id,
            name: view.name,
            status: view.status,
            late: view.late,
            started: view.started,
            paused_at: view.paused_at,
            paused_until: view.paused_until,
            period_seconds: view.period_seconds,
            cron: view.cron,
            timezone: view.timezone,
            grace_seconds: view.grace_seconds,
            last_ping_at: view.last_ping_at,
            due_at: view.due_at,
            deadline_at: view.deadline_at,
            rejected_count: view.rejected_count,
            tags: view.tags,
        }
    }
}

impl Card {
    /// `check` as it is at `now`.
    pub fn new(check: Check, now: Millis) -> Self {
        Self {
            description: check.description.clone(),
            max_runtime_seconds: check.max_runtime_seconds,
            created_at: check.created_at,
            line: Line::new(check, now),
        }
    }
}

/// A ping as a model sees it.
#[derive(Debug, Clone, Serialize)]
pub struct RecentPing {
    at: Millis,
    kind: Kind,
    accepted: bool,
    exit_status: Option<i64>,
    body: String,
}

impl RecentPing {
    /// When it was decided on.
    pub fn at(&self) -> Millis {
        self.at
    }

    /// What it said.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// As the job reported it.
    pub fn exit_status(&self) -> Option<i64> {
        self.exit_status
    }

    /// Whether it brought text, which neither the owner nor this program wrote.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty()
    }
}

impl From<PingRow> for RecentPing {
    fn from(ping: PingRow) -> Self {
        let text = String::from_utf8_lossy(&ping.body);
        let skipped = text.chars().count().saturating_sub(BODY_TAIL);
        let body = text.chars().skip(skipped).collect();
        Self { at: ping.at, kind: ping.kind, accepted: ping.accepted, exit_status: ping.exit_status, body }
    }
}
