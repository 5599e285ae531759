//! What an owner may set on a check: a new one, changes to one, and the floor that ties a schedule to a tier.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::values::{CheckName, Description, Seconds, Tags};
use super::words::{count, span};
use super::{Check, Refusal};
use crate::limits::Tier;

/// The grace of a check that names none is its period, up to this.
const MAX_DEFAULT_GRACE: i64 = 3_600;

/// A new check as it is asked for: the body of `POST /api/checks` and the arguments of `create_check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Unique within the account.
    pub name: CheckName,
    /// Seconds between two pings.
    pub period_seconds: Seconds,
    /// Seconds that a ping may be late. Left out: the period, at most an hour.
    #[serde(default)]
    pub grace_seconds: Option<Seconds>,
    /// Seconds that a run may take from its start ping. Left out: the grace.
    #[serde(default)]
    pub max_runtime_seconds: Option<Seconds>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Option<Tags>,
    /// What it watches.
    #[serde(default)]
    pub description: Option<Description>,
}

impl CheckSpec {
    /// The settings that it stands for, with every default filled in.
    ///
    /// The default grace is never the reason for a refusal: a period that keeps the floor is at least the floor, so is
    /// its default grace, and together they are twice it.
    pub fn settle(self) -> Settings {
        let default_grace = self.period_seconds.at_most(MAX_DEFAULT_GRACE);
        Settings {
            name: self.name,
            period_seconds: self.period_seconds,
            grace_seconds: self.grace_seconds.unwrap_or(default_grace),
            max_runtime_seconds: self.max_runtime_seconds,
            tags: self.tags.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
        }
    }
}

/// The whole configuration of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Its name.
    pub name: CheckName,
    /// Seconds between two pings.
    pub period_seconds: Seconds,
    /// Seconds that a ping may be late.
    pub grace_seconds: Seconds,
    /// Seconds that a run may take; the grace if unset.
    pub max_runtime_seconds: Option<Seconds>,
    /// Words to find it by.
    pub tags: Tags,
    /// What it watches.
    pub description: Description,
}

/// Changes to a check: what is left out stays. The body of `PATCH` and the arguments of `update_check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckChanges {
    /// A new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<CheckName>,
    /// A new period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_seconds: Option<Seconds>,
    /// A new grace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<Seconds>,
    /// A new longest run; null takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max_runtime_seconds: Option<Option<Seconds>>,
    /// New tags, in place of all old ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// A new description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
}

impl CheckChanges {
    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the floor has a say in it.
    pub fn has_schedule(&self) -> bool {
        self.period_seconds.is_some() || self.grace_seconds.is_some()
    }

    /// `check` as it would be with these changes. The times that follow from the schedule are not yet moved.
    pub fn over(&self, check: &Check) -> Check {
        let mut changed = check.clone();
        if let Some(name) = &self.name {
            changed.name = name.to_string();
        }
        if let Some(period) = self.period_seconds {
            changed.period_seconds = period.get();
        }
        if let Some(grace) = self.grace_seconds {
            changed.grace_seconds = grace.get();
        }
        if let Some(max_runtime) = self.max_runtime_seconds {
            changed.max_runtime_seconds = max_runtime.map(Seconds::get);
        }
        if let Some(tags) = &self.tags {
            changed.tags = tags.as_slice().to_vec();
        }
        if let Some(description) = &self.description {
            description.as_str().clone_into(&mut changed.description);
        }
        changed
    }

    /// These changes without those that would change nothing on `check`.
    #[must_use]
    pub fn that_differ_from(self, check: &Check) -> Self {
        Self {
            name: self.name.filter(|name| name.as_str() != check.name),
            period_seconds: self.period_seconds.filter(|period| period.get() != check.period_seconds),
            grace_seconds: self.grace_seconds.filter(|grace| grace.get() != check.grace_seconds),
            max_runtime_seconds: self
                .max_runtime_seconds
                .filter(|max_runtime| max_runtime.map(Seconds::get) != check.max_runtime_seconds),
            tags: self.tags.filter(|tags| tags.as_slice() != check.tags),
            description: self.description.filter(|description| description.as_str() != check.description),
        }
    }
}

/// A field that is there is `Some`, null too.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads a JSON object into `T`, for arguments and for bodies whose other members were taken out before.
///
/// # Errors
/// `unknown_field` or `invalid_field`, naming the field.
pub fn from_object<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner().to_string();
        let quoted = |prefix: &str| message.strip_prefix(prefix)?.split('`').next();
        if let Some(field) = quoted("unknown field `") {
            Refusal::unknown(field)
        } else if let Some(field) = quoted("missing field `") {
            Refusal::invalid(field, format!("The field {field:?} is missing."))
        } else {
            Refusal::invalid(&path, format!("The field {path:?}: {message}."))
        }
    })
}

/// The floor in seconds: the least time between two accepted pings of one kind.
pub fn floor_seconds(tier: Tier) -> i64 {
    i64::try_from(tier.floor().as_secs()).unwrap_or(i64::MAX)
}

/// Refuses a schedule that its own pings would break the floor with.
///
/// # Errors
/// `invalid_field` with the numbers that decided.
pub fn check_floor(tier: Tier, period: i64, grace: i64) -> Result<(), Refusal> {
    let floor = floor_seconds(tier);
    if period < floor {
        let message = format!(
            "The period is {period} s. On the {tier} tier a ping is accepted every {floor} s ({}), so the period must be \
             at least {floor} s.",
            span(floor)
        );
        return Err(Refusal::invalid("period_seconds", message));
    }
    if period + grace < 2 * floor {
        let message = format!(
            "Period and grace are {period} s + {grace} s = {} s. On the {tier} tier they must be at least {} s \
             together, twice the {floor} s between accepted pings.",
            period + grace,
            2 * floor
        );
        return Err(Refusal::invalid("grace_seconds", message));
    }
    Ok(())
}

/// The refusal of one check too many.
pub fn limit_reached(tier: Tier, used: i64) -> Refusal {
    let limit = tier.max_checks();
    let message =
        format!("The {tier} tier has room for {}, and {used} exist. Delete one first.", count(limit, "check"));
    Refusal::new("check_limit_reached", message)
}

/// The refusal of a name that another check has.
pub fn name_taken(name: &str) -> Refusal {
    Refusal::new("name_taken", format!("There is already a check named {name}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
        let Value::Object(object) = value else { panic!("not an object") };
        from_object(object)
    }

    #[test]
    fn a_field_at_fault_is_named() {
        let refused = |value: Value| read::<CheckSpec>(value).unwrap_err();
        let unknown = refused(json!({"name": "a", "period_seconds": 300, "cron": "* * * * *"}));
        assert_eq!((unknown.code.as_str(), unknown.field.as_deref()), ("unknown_field", Some("cron")));
        let missing = refused(json!({"name": "a"}));
        assert_eq!((missing.code.as_str(), missing.field.as_deref()), ("invalid_field", Some("period_seconds")));
        let short = refused(json!({"name": "a", "period_seconds": 5}));
        assert_eq!(short.field.as_deref(), Some("period_seconds"));
        assert_eq!(short.message, "The field \"period_seconds\": from 60 to 31536000 seconds (365 days); this is 5.");
        assert_eq!(refused(json!({"name": "a", "period_seconds": "300"})).field.as_deref(), Some("period_seconds"));
        assert_eq!(refused(json!({"name": "\u{202e}", "period_seconds": 300})).field.as_deref(), Some("name"));
    }

    #[test]
    fn left_out_null_and_a_number_are_three_wishes() {
        let max_runtime = |value: Value| read::<CheckChanges>(value).unwrap().max_runtime_seconds;
        assert_eq!(max_runtime(json!({})), None);
        assert_eq!(max_runtime(json!({"max_runtime_seconds": null})), Some(None));
        assert_eq!(max_runtime(json!({"max_runtime_seconds": 90})), Some(Some(Seconds::try_from(90).unwrap())));
        for value in [json!({}), json!({"max_runtime_seconds": null}), json!({"name": "b", "max_runtime_seconds": 90})]
        {
            let changes: CheckChanges = read(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(changes).unwrap(), value);
        }
    }

    #[test]
    fn the_default_grace_never_breaks_the_floor() {
        for tier in Tier::ALL {
            for period in [floor_seconds(tier), 3_599, 3_600, 86_400, 31_536_000] {
                let spec: CheckSpec = read(json!({"name": "a", "period_seconds": period})).unwrap();
                let settings = spec.settle();
                assert!(settings.grace_seconds.get() <= 3_600);
                assert_eq!(check_floor(tier, period, settings.grace_seconds.get()), Ok(()));
            }
        }
    }

    #[test]
    fn the_floor_is_refused_with_its_numbers() {
        let refused = |tier, period, grace| check_floor(tier, period, grace).unwrap_err();
        let short = refused(Tier::Free, 299, 3_600);
        assert_eq!(short.field.as_deref(), Some("period_seconds"));
        assert!(short.message.contains("299 s") && short.message.contains("300 s"), "{}", short.message);
        let tight = refused(Tier::Free, 300, 299);
        assert_eq!(tight.field.as_deref(), Some("grace_seconds"));
        assert!(tight.message.contains("599 s") && tight.message.contains("600 s"), "{}", tight.message);
        assert_eq!(check_floor(Tier::Free, 300, 300), Ok(()));
        assert_eq!(check_floor(Tier::Free, 540, 60), Ok(()));
        assert_eq!(check_floor(Tier::Pro, 60, 60), Ok(()));
        assert!(check_floor(Tier::Business, 59, 3_600).is_err());
    }
}
