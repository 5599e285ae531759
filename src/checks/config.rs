//! What an owner may set on a check: a new one, and changes to one.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::schedule::{Cron, Schedule, Timetable, Zone};
use super::values::{CheckName, Description, Seconds, Tags};
use super::{Check, Refusal};
use crate::clock::Millis;
use crate::fields::{self, given};

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
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = CheckName)]
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
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Seconds)]
    pub grace_seconds: Option<Seconds>,
    /// A new longest run; null takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub max_runtime_seconds: Option<Option<Seconds>>,
    /// New tags, in place of all old ones.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Tags)]
    pub tags: Option<Tags>,
    /// A new description.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schema(value_type = Description)]
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

/// Reads changes.
///
/// # Errors
/// As [`from_object`]; also for null in place of a schedule, unless another one comes with it.
pub fn changes_from(object: Map<String, Value>) -> Result<CheckChanges, Refusal> {
    let parts = ["period_seconds", "cron", "timezone"];
    let null = parts.into_iter().find(|part| object.get(*part).is_some_and(Value::is_null));
    let changes: CheckChanges = from_object(object)?;
    match null.filter(|_| !changes.names_schedule()) {
        Some(part) => Err(Refusal::invalid(part, "A check keeps its schedule unless another one is named.")),
        None => Ok(changes),
    }
}

/// Reads a JSON object into `T`, for arguments and for bodies whose other members were taken out before.
///
/// # Errors
/// `unknown_field` or `invalid_field`, naming the field.
pub fn from_object<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, Refusal> {
    Ok(fields::read(Value::Object(object))?)
}

#[cfg(test)]
mod tests;
