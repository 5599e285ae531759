//! What an owner may set on a check: a new one, and changes to one.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::schedule::{Cron, Schedule, Timetable, Zone};
use super::values::{CheckName, Description, Seconds, Tags};
use super::{Check, Refusal};
use crate::clock::Millis;

/// The grace of a check that names none is its period, up to this.
const MAX_DEFAULT_GRACE: i64 = 3_600;

/// A new check as it is asked for: the body of `POST /api/checks` and the arguments of `create_check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Unique within the account.
    pub name: CheckName,
    /// Seconds between two pings. Either this or `cron`.
    #[serde(default)]
    pub period_seconds: Option<Seconds>,
    /// The times of its pings: five fields or an alias such as `@daily`, as Debian's cron reads them.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub cron: Option<Cron>,
    /// The IANA zone of those times. Left out: UTC.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub timezone: Option<Zone>,
    /// Seconds that a ping may be late. Left out: the shortest time between two pings, at most an hour.
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
    /// # Errors
    /// `invalid_field` unless it names one schedule, and one that ever runs.
    pub fn settle(self, now: Millis) -> Result<Settings, Refusal> {
        let timezone = self.timezone.or_else(|| self.cron.as_ref().map(|_| Zone::utc()));
        let schedule = one_schedule(self.period_seconds, self.cron.as_ref(), timezone.as_ref())?;
        refuse_what_never_runs(&schedule, now)?;
        Ok(Settings {
            name: self.name,
            period_seconds: self.period_seconds,
            cron: self.cron,
            timezone,
            grace_seconds: self.grace_seconds.unwrap_or_else(|| default_grace(&schedule, now)),
            max_runtime_seconds: self.max_runtime_seconds,
            tags: self.tags.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
        })
    }
}

/// The grace of a check that names none. It is never the reason for a refusal: a period that keeps the floor is at
/// least the floor, so is this, and together they are twice it.
pub(super) fn default_grace(schedule: &Schedule, now: Millis) -> Seconds {
    Seconds::nearest(schedule.shortest_interval(now)).at_most(MAX_DEFAULT_GRACE)
}

/// The one schedule of these parts.
///
/// # Errors
/// `invalid_field`, for none and for two.
pub(super) fn one_schedule(
    period: Option<Seconds>,
    cron: Option<&Cron>,
    zone: Option<&Zone>,
) -> Result<Schedule, Refusal> {
    match (period, cron, zone) {
        (Some(period), None, None) => Ok(Schedule::Every(period.get())),
        (None, Some(cron), Some(zone)) => Ok(Schedule::At(Timetable { cron: cron.clone(), zone: zone.clone() })),
        (Some(_), Some(_), _) => Err(Refusal::invalid("cron", "Give either period_seconds or cron, not both.")),
        (_, None, Some(_)) => Err(Refusal::invalid("timezone", "A time zone goes with cron, not with a period.")),
        (None, None, None) => Err(Refusal::invalid(
            "period_seconds",
            "The schedule is missing: give period_seconds, or cron with timezone.",
        )),
        (None, Some(_), None) => Err(Refusal::invalid("timezone", "A cron schedule needs a time zone.")),
    }
}

/// Refuses times that, by the calendar and the changes of the clock, never come.
pub(super) fn refuse_what_never_runs(schedule: &Schedule, now: Millis) -> Result<(), Refusal> {
    let timetable = schedule.timetable().map_or(Ok(()), |timetable| timetable.check_that_it_runs(now));
    timetable.map_err(|error| Refusal::invalid("cron", error.to_string()))
}

/// The whole configuration of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Its name.
    pub name: CheckName,
    /// Seconds between two pings, unless it goes by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_seconds: Option<Seconds>,
    /// The times, if it goes by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<Cron>,
    /// Whose clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<Zone>,
    /// Seconds that a ping may be late.
    pub grace_seconds: Seconds,
    /// Seconds that a run may take; the grace if unset.
    pub max_runtime_seconds: Option<Seconds>,
    /// Words to find it by.
    pub tags: Tags,
    /// What it watches.
    pub description: Description,
}

impl Settings {
    /// When it expects its pings.
    ///
    /// # Errors
    /// `invalid_field`, for settings that no [`CheckSpec::settle`] made.
    pub fn schedule(&self) -> Result<Schedule, Refusal> {
        one_schedule(self.period_seconds, self.cron.as_ref(), self.timezone.as_ref())
    }
}

/// Changes to a check: what is left out stays. The body of `PATCH` and the arguments of `update_check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckChanges {
    /// A new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<CheckName>,
    /// A new period, in place of whatever schedule there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_seconds: Option<Seconds>,
    /// New times, in place of whatever schedule there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub cron: Option<Cron>,
    /// Another zone for the times; with new times and left out, the zone stays, or is UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub timezone: Option<Zone>,
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
        self.names_schedule() || self.grace_seconds.is_some()
    }

    /// Whether it asks for another schedule.
    pub fn names_schedule(&self) -> bool {
        self.period_seconds.is_some() || self.cron.is_some() || self.timezone.is_some()
    }

    fn schedule_over(&self, check: &Check) -> Result<Schedule, Refusal> {
        if !self.names_schedule() {
            return Ok(check.schedule.clone());
        }
        let present = check.schedule.timetable().filter(|_| self.period_seconds.is_none());
        let cron = self.cron.as_ref().or(present.map(|timetable| &timetable.cron));
        let utc = self.cron.as_ref().map(|_| Zone::utc());
        let zone = self.timezone.as_ref().or(present.map(|timetable| &timetable.zone)).or(utc.as_ref());
        one_schedule(self.period_seconds, cron, zone)
    }

    /// `check` as it would be with these changes, and its runs with the longest time that they then have. The times that
    /// follow from the schedule are not yet moved.
    ///
    /// # Errors
    /// `invalid_field` if the check would have two schedules, or a zone without times.
    pub fn over(&self, check: &Check) -> Result<Check, Refusal> {
        let mut changed = Check { schedule: self.schedule_over(check)?, ..check.clone() };
        if let Some(name) = &self.name {
            changed.name = name.to_string();
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
        let longer = changed.longest_run() - check.longest_run();
        changed.runs_deadline_at = check.runs_deadline_at.map(|deadline| Millis(deadline.0 + longer * 1_000));
        Ok(changed)
    }

    /// These changes without those that would change nothing on `check`.
    ///
    /// # Errors
    /// As [`CheckChanges::over`].
    pub fn that_differ_from(self, check: &Check) -> Result<Self, Refusal> {
        let is_other = self.schedule_over(check)? != check.schedule;
        Ok(Self {
            name: self.name.filter(|name| name.as_str() != check.name),
            period_seconds: self.period_seconds.filter(|_| is_other),
            cron: self.cron.filter(|_| is_other),
            timezone: self.timezone.filter(|_| is_other),
            grace_seconds: self.grace_seconds.filter(|grace| grace.get() != check.grace_seconds),
            max_runtime_seconds: self
                .max_runtime_seconds
                .filter(|max_runtime| max_runtime.map(Seconds::get) != check.max_runtime_seconds),
            tags: self.tags.filter(|tags| tags.as_slice() != check.tags),
            description: self.description.filter(|description| description.as_str() != check.description),
        })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Millis = Millis(1_790_000_000_000);

    fn read<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
        let Value::Object(object) = value else { panic!("not an object") };
        from_object(object)
    }

    #[test]
    fn a_field_at_fault_is_named() {
        let refused = |value: Value| read::<CheckSpec>(value).unwrap_err();
        let unknown = refused(json!({"name": "a", "period_seconds": 300, "interval": 5}));
        assert_eq!((unknown.code.as_str(), unknown.field.as_deref()), ("unknown_field", Some("interval")));
        let missing = refused(json!({"period_seconds": 300}));
        assert_eq!((missing.code.as_str(), missing.field.as_deref()), ("invalid_field", Some("name")));
        let short = refused(json!({"name": "a", "period_seconds": 5}));
        assert_eq!(short.field.as_deref(), Some("period_seconds"));
        assert_eq!(short.message, "The field \"period_seconds\": from 60 to 31536000 seconds (365 days); this is 5.");
        assert_eq!(refused(json!({"name": "a", "period_seconds": "300"})).field.as_deref(), Some("period_seconds"));
        assert_eq!(refused(json!({"name": "\u{202e}", "period_seconds": 300})).field.as_deref(), Some("name"));
    }

    #[test]
    fn a_check_has_one_schedule() {
        let settled = |value: Value| read::<CheckSpec>(value).and_then(|spec| spec.settle(NOW));
        let field = |value: Value| settled(value).unwrap_err().field.unwrap();
        assert_eq!(field(json!({"name": "a"})), "period_seconds");
        assert_eq!(field(json!({"name": "a", "period_seconds": 300, "cron": "@daily"})), "cron");
        assert_eq!(field(json!({"name": "a", "period_seconds": 300, "timezone": "UTC"})), "timezone");
        assert_eq!(field(json!({"name": "a", "cron": "0 9 * * 8"})), "cron");
        assert_eq!(field(json!({"name": "a", "cron": "0 0 9 * * *"})), "cron", "six fields");
        assert_eq!(field(json!({"name": "a", "cron": "0 0 30 2 *"})), "cron", "never runs");
        assert_eq!(field(json!({"name": "a", "cron": "@daily", "timezone": "Europe/Atlantis"})), "timezone");
        let utc = settled(json!({"name": "a", "cron": " 0  9 * * 1-5 "})).unwrap();
        assert_eq!(
            (utc.schedule().unwrap().cron(), utc.schedule().unwrap().zone()),
            (Some("0 9 * * 1-5"), Some("UTC"))
        );
        assert_eq!(utc.grace_seconds.get(), 3_600);
        assert_eq!(settled(json!({"name": "a", "cron": "*/10 * * * *"})).unwrap().grace_seconds.get(), 600);
        // What is stored with an action is read back as it was.
        assert_eq!(serde_json::from_value::<Settings>(serde_json::to_value(&utc).unwrap()).unwrap(), utc);
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
}
