//! The tools on checks that a model may call: their names, and the closed schemas of their arguments.

use serde_json::{Value, json};

/// A tool that only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadKind {
    /// The checks and how they stand.
    ListChecks,
    /// One check with what happened to it.
    GetCheck,
    /// The plan and its limits.
    GetAccount,
    /// How a check did in the last days.
    GetUptime,
    /// What a change to a check would do.
    PreviewChange,
    /// What a schedule says.
    PreviewSchedule,
}

/// A tool that proposes a change, named as the kind of action that it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalKind {
    /// A new check.
    CreateCheck,
    /// Other settings.
    UpdateCheck,
    /// A pause.
    PauseCheck,
    /// The end of a pause.
    ResumeCheck,
    /// A pause of several checks.
    PauseChecks,
    /// The end of a check.
    DeleteCheck,
    /// Another ping URL.
    RotatePingKey,
}

/// A tool on checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Runs at once.
    Read(ReadKind),
    /// Becomes a pending action.
    Propose(ProposalKind),
    /// Becomes a pending action of whatever kind takes an executed one back.
    Undo,
}

impl ReadKind {
    /// The tool's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ListChecks => "list_checks",
            Self::GetCheck => "get_check",
            Self::GetAccount => "get_account",
            Self::GetUptime => "get_uptime",
            Self::PreviewChange => "preview_change",
            Self::PreviewSchedule => "preview_schedule",
        }
    }
}

impl ProposalKind {
    /// The tool's name, which is the action's kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateCheck => "create_check",
            Self::UpdateCheck => "update_check",
            Self::PauseCheck => "pause_check",
            Self::ResumeCheck => "resume_check",
            Self::PauseChecks => "pause_checks",
            Self::DeleteCheck => "delete_check",
            Self::RotatePingKey => "rotate_ping_key",
        }
    }

    /// Whether it takes more than a bare `confirm`: it cannot be undone, or reaches many checks.
    pub fn is_destructive(self) -> bool {
        match self {
            Self::DeleteCheck | Self::RotatePingKey | Self::PauseChecks => true,
            Self::CreateCheck | Self::UpdateCheck | Self::PauseCheck | Self::ResumeCheck => false,
        }
    }
}

impl Tool {
    /// Every tool on checks, reads first.
    pub const ALL: [Self; 14] = [
        Self::Read(ReadKind::ListChecks),
        Self::Read(ReadKind::GetCheck),
        Self::Read(ReadKind::GetAccount),
        Self::Read(ReadKind::GetUptime),
        Self::Read(ReadKind::PreviewChange),
        Self::Read(ReadKind::PreviewSchedule),
        Self::Propose(ProposalKind::CreateCheck),
        Self::Propose(ProposalKind::UpdateCheck),
        Self::Propose(ProposalKind::PauseCheck),
        Self::Propose(ProposalKind::ResumeCheck),
        Self::Propose(ProposalKind::PauseChecks),
        Self::Propose(ProposalKind::DeleteCheck),
        Self::Propose(ProposalKind::RotatePingKey),
        Self::Undo,
    ];

    /// The tool's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read(kind) => kind.as_str(),
            Self::Propose(kind) => kind.as_str(),
            Self::Undo => "undo_action",
        }
    }

    /// The tool of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// The JSON Schema of a tool's arguments. Closed: what it does not name is refused when it is sent all the same.
pub fn tool_schema(tool: Tool) -> Value {
    match tool {
        Tool::Read(ReadKind::ListChecks) => {
            let states = super::read::StateFilter::ALL.map(super::read::StateFilter::as_str);
            object(&json!({"state": {"type": "string", "enum": states}, "tag": tag()}), &[])
        }
        Tool::Read(ReadKind::GetAccount) => object(&json!({}), &[]),
        Tool::Read(ReadKind::GetUptime) => {
            let days = json!({"type": "integer", "minimum": 1, "maximum": super::read::uptime::MAX_DAYS,
                "description": "How many days back. Left out: 30."});
            object(&json!({"check": check(), "days": days}), &["check"])
        }
        Tool::Read(ReadKind::PreviewSchedule) => object(&schedule("Either this or cron."), &[]),
        Tool::Read(ReadKind::GetCheck)
        | Tool::Propose(ProposalKind::ResumeCheck | ProposalKind::DeleteCheck | ProposalKind::RotatePingKey) => {
            object(&json!({"check": check()}), &["check"])
        }
        Tool::Propose(ProposalKind::CreateCheck) => {
            let name = json!({"name": text(100, "Unique within the account.")});
            let rest = json!({
                "grace_seconds": seconds("Seconds that a ping may be late. Left out: the shortest time between two \
                    pings, at most 3600."),
                "max_runtime_seconds": seconds("Seconds that a run may take from its start ping. Left out: the grace."),
                "tags": tags(),
                "description": description(),
            });
            object(&joined([name, schedule("Either this or cron."), rest, alerts("Left out: all of them.")]), &["name"])
        }
        Tool::Propose(ProposalKind::UpdateCheck) | Tool::Read(ReadKind::PreviewChange) => {
            let which = json!({"check": check(), "name": text(100, "A new name.")});
            let rest = json!({
                "grace_seconds": seconds("Seconds that a ping may be late."),
                "max_runtime_seconds": {"type": ["integer", "null"], "minimum": 60, "maximum": 31_536_000,
                    "description": "Seconds that a run may take from its start ping; null takes the limit away."},
                "tags": tags(),
                "description": description(),
            });
            let when = schedule("In place of any schedule there is.");
            object(&joined([which, when, rest, alerts("In place of all others.")]), &["check"])
        }
        Tool::Undo => {
            let number = json!({"type": "integer", "minimum": 1,
                "description": "The action's number. Left out: the one that was carried out last."});
            object(&json!({"number": number}), &[])
        }
        Tool::Propose(ProposalKind::PauseCheck) => object(&json!({"check": check(), "until": until()}), &["check"]),
        Tool::Propose(ProposalKind::PauseChecks) => object(
            &json!({
                "checks": {"type": "array", "items": check(), "minItems": 1, "maxItems": super::draft::MAX_PINNED,
                    "description": "Either this or tag."},
                "tag": tag(),
                "until": until(),
            }),
            &[],
        ),
    }
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The members of all of them, in this order.
fn joined(parts: [Value; 4]) -> Value {
    let members = parts.into_iter().filter_map(|part| if let Value::Object(part) = part { Some(part) } else { None });
    Value::Object(members.flatten().collect())
}

fn schedule(instead: &str) -> Value {
    let period = seconds(&format!("Seconds between two pings. {instead}"));
    json!({"period_seconds": period, "cron": cron(), "timezone": timezone()})
}

/// Who is told, and when.
fn alerts(which: &str) -> Value {
    let channels = format!("Names or ids of the channels that are told. {which}");
    json!({
        "channels": {"type": "array", "items": {"type": "string"}, "maxItems": super::alerts::MAX_CHANNELS,
            "description": channels},
        "alert_after_failures": {"type": "integer", "minimum": 1, "maximum": 10,
            "description": "So many fails in a row take it down; a timeout does at once. Usually 1."},
        "reminder_seconds": {"type": ["integer", "null"], "minimum": 3_600, "maximum": 31_536_000,
            "description": "Seconds between reminders while it is down; null for none, which is usual."},
    })
}

fn check() -> Value {
    json!({"type": "string", "description": "The check's id, or its exact name."})
}

fn cron() -> Value {
    text(
        200,
        "Five fields as Debian's cron reads them, or an alias such as @daily: minute, hour, day of month, month, day of week.",
    )
}

fn timezone() -> Value {
    text(60, "The IANA zone of the cron times, such as Europe/Berlin. Left out: UTC.")
}

fn until() -> Value {
    let description = "When the pause ends by itself, as RFC 3339 with an offset. Left out: it lasts until resumed.";
    json!({"type": "string", "format": "date-time", "description": description})
}

fn tag() -> Value {
    json!({"type": "string", "description": "Only checks with this tag."})
}

fn tags() -> Value {
    json!({"type": "array", "items": {"type": "string", "maxLength": 50}, "maxItems": 20,
        "description": "All its tags; they replace the old ones."})
}

fn description() -> Value {
    text(2_000, "What the check watches.")
}

fn text(max: i64, description: &str) -> Value {
    json!({"type": "string", "maxLength": max, "description": description})
}

fn seconds(description: &str) -> Value {
    json!({"type": "integer", "minimum": 60, "maximum": 31_536_000, "description": description})
}
