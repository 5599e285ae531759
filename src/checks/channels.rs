//! Channels: where alerts go. A webhook, a chat that reads Slack's format, or a mail address.

mod removal;

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::alerts::MAX_CHANNELS;
use super::notice::{Data, Event, Named, Notice};
use super::notify::{mail, outgoing};
use super::store::channels::{self as store, Channel};
use super::store::deliveries::{DeliveryRow, find_delivery_in};
use super::store::edits::hold_account;
use super::store::outbox::insert_test;
use super::values::CheckName;
use super::{CheckError, Refusal};
use crate::clock::{Millis, SharedClock};
use crate::db::{Db, DbError, Tx};
use crate::fields::given;
use crate::ids::{ChannelId, UserId};
use crate::limits::{self, Charge, Policy, Standing};

pub use removal::{delete, prune};

/// What kind a channel is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// A signed message to a URL, as Standard Webhooks describes.
    Webhook,
    /// A message to a URL that takes `{"text": …}`, as Slack, Mattermost and others do.
    Slack,
    /// A mail.
    Email,
}

impl ChannelKind {
    /// The word as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Email => "email",
        }
    }
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for ChannelKind {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        [Self::Webhook, Self::Slack, Self::Email]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| format!("channels.kind holds {text:?}"))
    }
}

/// Which of the checks that are there tell a new channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Attached {
    /// All of them.
    #[default]
    All,
    /// None: each check is told of it by itself.
    None,
}

/// A new channel as it is asked for.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelSpec {
    /// What kind.
    pub kind: ChannelKind,
    /// Unique within the account.
    pub name: CheckName,
    /// Where to, of a webhook or slack: http or https, without user and password.
    #[serde(default)]
    pub url: Option<String>,
    /// Where to, of email.
    #[serde(default)]
    pub address: Option<String>,
    /// Which of the checks that are there tell it; checks made later do anyway.
    #[serde(default)]
    pub checks: Attached,
}

/// Changes to a channel: what is left out stays. Its kind and its secret stay always.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelChanges {
    /// A new name.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = CheckName)]
    pub name: Option<CheckName>,
    /// Another URL.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = String)]
    pub url: Option<String>,
    /// Another address.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = String)]
    pub address: Option<String>,
}

/// A new channel with its secret, which is told this once.
#[derive(Clone)]
pub struct Made {
    /// The channel.
    pub channel: Channel,
    /// What a webhook's messages are signed with.
    pub secret: Option<String>,
}

/// Makes a channel.
///
/// # Errors
/// `invalid_field`, `name_taken`, `channel_limit_reached`.
pub async fn create(
    db: &Db,
    now: Millis,
    owner: &UserId,
    has_mail: bool,
    spec: ChannelSpec,
) -> Result<Made, CheckError> {
    let ChannelSpec { kind, name, url, address, checks } = spec;
    if kind == ChannelKind::Email && !has_mail {
        let message = "This site sends no mail: whoever runs it has to set SMTP_URL and FLATLINE_MAIL_FROM first.";
        return Err(Refusal::invalid("kind", message).into());
    }
    let missing = || {
        let field = target_field(kind);
        Refusal::invalid(field, format!("The field {field:?} is missing."))
    };
    let target = target(kind, url, address)?.ok_or_else(missing)?;
    let secret = (kind == ChannelKind::Webhook).then(new_secret);
    let channel = Channel { id: ChannelId::new(now), kind, name: name.to_string(), target, created_at: now };
    let made = Made { channel, secret };
    let (owner, new) = (owner.clone(), made.clone());
    db.write(move |tx| Box::pin(async move { insert(tx, &owner, &new, checks).await })).await?;
    Ok(made)
}

async fn insert(tx: &mut Tx, owner: &UserId, made: &Made, checks: Attached) -> Result<(), CheckError> {
    // Held, so that the number below is true until it has grown, and no check is made beside us without this channel.
    hold_account(tx, owner).await?;
    if store::count_channels(tx, owner).await? >= i64::try_from(MAX_CHANNELS).unwrap_or(i64::MAX) {
        let message = format!("An account has room for {MAX_CHANNELS} channels. Delete one first.");
        return Err(Refusal::new("channel_limit_reached", message).into());
    }
    let Made { channel, secret } = made;
    if store::is_mailbox_taken(tx, owner, channel).await? {
        return Err(mailbox_taken(&channel.target).into());
    }
    if !store::insert_channel(tx, owner, channel, secret.as_deref()).await? {
        return Err(name_taken(&channel.name).into());
    }
    match checks {
        Attached::All => store::attach_to_all_checks(tx, owner, &channel.id).await?,
        Attached::None => {}
    }
    Ok(())
}

/// Changes a channel's name or target, and returns it as it is then.
///
/// # Errors
/// `channel_not_found`, `invalid_field`, `name_taken`.
pub async fn update(db: &Db, owner: &UserId, id: &ChannelId, changes: ChannelChanges) -> Result<Channel, CheckError> {
    let (owner, id) = (owner.clone(), id.clone());
    db.write(move |tx| {
        Box::pin(async move {
            hold_account(tx, &owner).await?;
            let mut channel = store::find_channel_in(tx, &owner, &id).await?.ok_or_else(not_found)?;
            if let Some(name) = changes.name {
                channel.name = name.to_string();
            }
            let target = target(channel.kind, changes.url, changes.address)?;
            if let Some(target) = target.filter(|target| *target != channel.target) {
                channel.target = target;
                if store::is_mailbox_taken(tx, &owner, &channel).await? {
                    return Err(mailbox_taken(&channel.target).into());
                }
            }
            if !store::update_channel(tx, &owner, &channel).await? {
                return Err(name_taken(&channel.name).into());
            }
            Ok(channel)
        })
    })
    .await
}

/// Why a channel is not tried.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// Too often: 5 in any 10 minutes.
    #[error("too many tests")]
    TooOften(Vec<Standing>),
    /// As for every change.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl From<DbError> for TestError {
    fn from(error: DbError) -> Self {
        Self::Check(error.into())
    }
}

/// Writes a test message to a channel into the outbox, and returns the delivery.
///
/// # Errors
/// `channel_not_found`, or [`TestError::TooOften`].
pub async fn test(db: &Db, clock: &SharedClock, owner: &UserId, id: &ChannelId) -> Result<DeliveryRow, TestError> {
    let charge = Charge::new(&Policy::named("channel-test", 5, Duration::from_mins(10)), id.as_str());
    let (owner, id, now, charged) = (owner.clone(), id.clone(), clock.now(), charge.clone());
    let written = db.write(move |tx| {
        Box::pin(async move {
            hold_account(tx, &owner).await?;
            let channel =
                store::find_channel_in(tx, &owner, &id).await?.ok_or_else(|| CheckError::from(not_found()))?;
            if !limits::take_in(tx, &charged, now).await? {
                return Err(TestError::TooOften(Vec::new()));
            }
            let channel = Some(Named { id: channel.id, name: channel.name });
            let data = Data { channel, ..Data::default() };
            let notice = Notice { event: Event::ChannelTest, timestamp: now, data };
            let delivery = insert_test(tx, &owner, &id, &notice, now).await?;
            let row = find_delivery_in(tx, &owner, &delivery).await?;
            Ok(row.ok_or_else(|| CheckError::from(not_found()))?)
        })
    });
    match written.await {
        Err(TestError::TooOften(_)) => {
            Err(TestError::TooOften(limits::standings(db, clock.as_ref(), &[charge]).await?))
        }
        other => other,
    }
}

/// `channel_not_found`: missing, or somebody else's.
pub fn not_found() -> Refusal {
    Refusal::new("channel_not_found", "There is no such channel.")
}

fn name_taken(name: &str) -> Refusal {
    Refusal::new("name_taken", format!("There is already a channel named {name}."))
}

/// Twenty channels to one mailbox would be twenty mails for one alert.
fn mailbox_taken(address: &str) -> Refusal {
    Refusal::invalid("address", format!("There is already a channel to {address}."))
}

/// The field that a kind's target stands in.
fn target_field(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Webhook | ChannelKind::Slack => "url",
        ChannelKind::Email => "address",
    }
}

/// The target in the field that is the kind's, checked; the other field may not be there.
fn target(kind: ChannelKind, url: Option<String>, address: Option<String>) -> Result<Option<String>, Refusal> {
    let field = target_field(kind);
    let ((given, other), other_field) = match kind {
        ChannelKind::Webhook | ChannelKind::Slack => ((url, address), "address"),
        ChannelKind::Email => ((address, url), "url"),
    };
    if other.is_some() {
        return Err(Refusal::invalid(other_field, format!("A channel of kind {kind} has {field:?}.")));
    }
    let Some(text) = given else { return Ok(None) };
    let parsed = match kind {
        ChannelKind::Webhook | ChannelKind::Slack => outgoing::parse_target(&text),
        ChannelKind::Email => mail::parse_address(&text),
    };
    parsed.map(Some).map_err(|why| Refusal::invalid(field, why))
}

/// 32 random bytes, in the form that Standard Webhooks gives them.
fn new_secret() -> String {
    format!("whsec_{}", STANDARD.encode(rand::random::<[u8; 32]>()))
}
