//! What an owner may set on a check about its alerts: who is told, after how many fails, and how often again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::config::from_object;
use super::store::channels as store;
use super::{Check, CheckError, Refusal};
use crate::clock::Millis;
use crate::db::Tx;
use crate::fields::given;
use crate::ids::{ChannelId, CheckId, UserId};

/// As many channels as an account may have.
pub const MAX_CHANNELS: usize = 20;

/// Changes to a check's alerts: what is left out stays; of a new check it is every channel, the first fail, and once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertChanges {
    /// The ids of the channels that are told, in place of all others. Left out of a new check: all the account's.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = ChannelIds)]
    pub channels: Option<ChannelIds>,
    /// So many fails in a row take it down; a timeout does at once.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = AlertAfter)]
    pub alert_after_failures: Option<AlertAfter>,
    /// While it is down its channels are told again this often; null: once is enough.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub reminder_seconds: Option<Option<Reminder>>,
}

/// At most [`MAX_CHANNELS`] ids, sorted, each once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "Vec<OneChannel>")]
#[schema(value_type = Vec<String>, max_items = 20)]
pub struct ChannelIds(Vec<ChannelId>);

/// One of the list, so that a wrong one is found by its place.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct OneChannel(ChannelId);

/// A number of fails: 1 to 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "i64")]
#[schema(value_type = i64, minimum = 1, maximum = 10)]
pub struct AlertAfter(i64);

/// Seconds between two reminders: from an hour to a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "i64")]
#[schema(value_type = i64, minimum = 3_600, maximum = 31_536_000)]
pub struct Reminder(i64);

impl TryFrom<String> for OneChannel {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let unknown = || format!("there is no channel {:?}", text.chars().take(100).collect::<String>());
        ChannelId::parse(&text).map(Self).ok_or_else(unknown)
    }
}

impl TryFrom<Vec<OneChannel>> for ChannelIds {
    type Error = String;

    fn try_from(given: Vec<OneChannel>) -> Result<Self, String> {
        let mut ids: Vec<ChannelId> = given.into_iter().map(|OneChannel(id)| id).collect();
        ids.sort();
        ids.dedup();
        if ids.len() > MAX_CHANNELS {
            return Err(format!("an account has at most {MAX_CHANNELS} channels"));
        }
        Ok(Self(ids))
    }
}

impl ChannelIds {
    /// The ids, sorted.
    pub fn as_slice(&self) -> &[ChannelId] {
        &self.0
    }

    /// Keeps those that `is_there` says are, and returns how many are not.
    pub fn keep(&mut self, is_there: impl Fn(&ChannelId) -> bool) -> usize {
        let before = self.0.len();
        self.0.retain(is_there);
        before - self.0.len()
    }
}

impl AlertAfter {
    /// How many fails.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl Reminder {
    /// How many seconds.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for AlertAfter {
    type Error = String;

    fn try_from(fails: i64) -> Result<Self, String> {
        if (1..=10).contains(&fails) { Ok(Self(fails)) } else { Err(format!("from 1 to 10 fails; this is {fails}")) }
    }
}

impl TryFrom<i64> for Reminder {
    type Error = String;

    fn try_from(seconds: i64) -> Result<Self, String> {
        if (3_600..=31_536_000).contains(&seconds) {
            return Ok(Self(seconds));
        }
        Err(format!("from 3600 to 31536000 seconds (an hour to 365 days); this is {seconds}"))
    }
}

impl AlertChanges {
    /// Takes the members that are about alerts out of a request's body.
    ///
    /// # Errors
    /// `invalid_field`, naming it.
    pub fn take_from(body: &mut Map<String, Value>) -> Result<Self, Refusal> {
        let mut own = Map::new();
        for name in ["channels", "alert_after_failures", "reminder_seconds"] {
            if let Some(value) = body.shift_remove(name) {
                own.insert(name.to_owned(), value);
            }
        }
        from_object(own)
    }

    /// [`AlertChanges::take_from`] for a new check, where null is as good as left out.
    ///
    /// # Errors
    /// The same.
    pub fn take_new(body: &mut Map<String, Value>) -> Result<Self, Refusal> {
        for name in ["channels", "alert_after_failures"] {
            if body.get(name).is_some_and(Value::is_null) {
                body.shift_remove(name);
            }
        }
        Self::take_from(body)
    }

    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These changes without those that would change nothing on `check`, which tells the channels `told`.
    #[must_use]
    pub fn that_differ_from(self, check: &Check, told: &[ChannelId]) -> Self {
        Self {
            channels: self.channels.filter(|wanted| wanted.0 != told),
            alert_after_failures: self.alert_after_failures.filter(|after| after.0 != check.alert_after_failures),
            reminder_seconds: self
                .reminder_seconds
                .filter(|every| every.map(|every| every.0) != check.reminder_seconds),
        }
    }

    /// What takes these changes back on a check that was as `before` and told the channels `told`.
    ///
    /// # Errors
    /// A stored value that is not allowed any more.
    pub fn back_to(&self, before: &Check, told: Vec<ChannelId>) -> Result<Self, String> {
        let (after, every) = (before.alert_after_failures, before.reminder_seconds);
        Ok(Self {
            channels: self.channels.as_ref().map(|_| ChannelIds(told)),
            alert_after_failures: self.alert_after_failures.map(|_| AlertAfter::try_from(after)).transpose()?,
            reminder_seconds: self.reminder_seconds.map(|_| every.map(Reminder::try_from).transpose()).transpose()?,
        })
    }

    /// Writes what a new check's alerts are to be.
    ///
    /// # Errors
    /// `invalid_field` naming `channels`, or the database's.
    pub async fn settle(&self, tx: &mut Tx, owner: &UserId, check: &CheckId, now: Millis) -> Result<(), CheckError> {
        if self.channels.is_none() {
            store::attach_all_channels(tx, owner, check).await?;
        }
        self.write(tx, owner, check, now).await
    }

    /// Writes these changes. The account is held if there are channels among them.
    ///
    /// # Errors
    /// As [`Self::settle`].
    pub async fn write(&self, tx: &mut Tx, owner: &UserId, check: &CheckId, now: Millis) -> Result<(), CheckError> {
        if let Some(ChannelIds(channels)) = &self.channels {
            store::detach_all(tx, check).await?;
            for channel in channels {
                if !store::attach(tx, owner, check, channel).await? {
                    return Err(Refusal::invalid("channels", format!("There is no channel {channel}.")).into());
                }
            }
        }
        let after = self.alert_after_failures.map(|after| after.0);
        let reminder = self.reminder_seconds.map(|every| every.map(|every| every.0));
        Ok(store::set_alerts(tx, check, after, reminder, now).await?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named() {
        let id = "0190a000-0000-7000-8000-000000000000";
        for (field, value) in [
            ("channels", json!(["x"])),
            ("channels", json!("all")),
            ("channels", json!([1])),
            ("channels", Value::Null),
            ("alert_after_failures", Value::Null),
            ("alert_after_failures", json!(0)),
            ("alert_after_failures", json!(11)),
            ("alert_after_failures", json!("2")),
            ("reminder_seconds", json!(3_599)),
            ("reminder_seconds", json!(31_536_001)),
        ] {
            let mut body = Map::from_iter([(field.to_owned(), value.clone())]);
            let refusal = AlertChanges::take_from(&mut body).unwrap_err();
            let named = refusal.field.as_deref().and_then(|path| path.split('[').next());
            assert_eq!((refusal.code.as_str(), named), ("invalid_field", Some(field)), "{value}");
        }
        let second =
            AlertChanges::take_from(&mut Map::from_iter([("channels".to_owned(), json!([id, "x"]))])).unwrap_err();
        assert_eq!(second.field.as_deref(), Some("channels[1]"));
        let null = json!({"channels": null, "alert_after_failures": null, "reminder_seconds": null});
        let Value::Object(mut body) = null else { panic!("an object") };
        let new = AlertChanges::take_new(&mut body).unwrap();
        assert_eq!((new.channels, new.alert_after_failures, new.reminder_seconds), (None, None, Some(None)));
        let fits = json!({"name": "a", "channels": [id, id], "alert_after_failures": 3, "reminder_seconds": null});
        let Value::Object(mut body) = fits else { panic!("an object") };
        let changes = AlertChanges::take_from(&mut body).unwrap();
        assert_eq!(body.len(), 1, "the rest stays");
        assert_eq!(changes.reminder_seconds, Some(None));
        assert_eq!(serde_json::to_value(&changes).unwrap()["channels"], json!([id]));
    }
}
