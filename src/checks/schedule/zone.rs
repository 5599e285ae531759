//! An IANA time zone from the data that is compiled in, and the stretches between changes of its clock.

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A zone of the IANA database, known by its name. The machine's own zone files are never read, so that every instance
/// gives the same answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

/// Why a zone is refused, as a sentence for the person who named it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// Nothing but blanks.
    #[error("The time zone is empty: give an IANA name such as Europe/Berlin or UTC.")]
    Empty,
    /// Not in the database.
    #[error("The time zone {0:?} is not known: give an IANA name such as Europe/Berlin or UTC.")]
    Unknown(String),
}

/// A time during which the clock of a zone is not changed.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// When it begins: the earliest of all moments, or a change of the clock.
    pub begins: Timestamp,
    /// When the clock is changed next, or the last of all moments.
    pub ends: Timestamp,
    /// What is added to UTC.
    pub offset: Offset,
    /// What was added to UTC before it began.
    pub offset_before: Offset,
}

impl Stretch {
    /// Seconds that the clock was put forward when this stretch began; negative if back, 0 if only its name changed.
    pub fn shift(&self) -> i32 {
        self.offset.seconds() - self.offset_before.seconds()
    }
}

impl Zone {
    /// Finds a zone by its name in any case.
    ///
    /// # Errors
    /// There is no such zone: never UTC in its place.
    pub fn parse(name: &str) -> Result<Self, ZoneError> {
        const SHOWN: usize = 60;
        let name = name.trim();
        if name.is_empty() {
            return Err(ZoneError::Empty);
        }
        let found = TimeZoneDatabase::bundled().get(name).ok();
        found
            .and_then(|rules| Some(Self { name: rules.iana_name()?.to_owned(), rules }))
            .ok_or_else(|| ZoneError::Unknown(name.chars().take(SHOWN).collect()))
    }

    /// The zone of those who name none.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), rules: TimeZone::UTC }
    }

    /// The name as the database spells it.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The zone as the calendar library knows it, to show moments in.
    pub fn rules(&self) -> &TimeZone {
        &self.rules
    }

    /// The stretch that holds `from`, and those after it.
    pub fn stretches(&self, from: Timestamp) -> impl Iterator<Item = Stretch> {
        let next = |stretch: &Stretch| (stretch.ends < Timestamp::MAX).then(|| self.stretch(stretch.ends));
        std::iter::successors(Some(self.stretch(from)), next)
    }

    fn stretch(&self, at: Timestamp) -> Stretch {
        let just_after = at.checked_add(SignedDuration::from_nanos(1)).unwrap_or(at);
        let known = self.rules.preceding(just_after).next().map_or(Timestamp::MIN, |change| change.timestamp());
        // Going back, the library (jiff 1.0.2) leaves out the last change before a zone's yearly rule begins; going
        // forward it does not.
        let passed = self.rules.following(known).map(|change| change.timestamp()).take_while(|change| *change <= at);
        let begins = passed.last().unwrap_or(known);
        let ends = self.rules.following(at).next().map_or(Timestamp::MAX, |change| change.timestamp());
        let just_before = begins.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(begins);
        let offset_before = self.rules.to_offset(just_before);
        Stretch { begins, ends, offset: self.rules.to_offset(at), offset_before }
    }
}

/// By name: the calendar library has more than one way to hold UTC.
impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl std::fmt::Display for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl TryFrom<String> for Zone {
    type Error = ZoneError;

    fn try_from(name: String) -> Result<Self, ZoneError> {
        Self::parse(&name)
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(name: &str) -> String {
        Zone::parse(name).unwrap().as_str().to_owned()
    }

    #[test]
    fn names_are_found_in_any_case_and_kept_as_the_database_spells_them() {
        assert_eq!(canonical(" europe/BERLIN "), "Europe/Berlin");
        assert_eq!(canonical("america/port-au-prince"), "America/Port-au-Prince");
        assert_eq!(canonical("utc"), "UTC");
        assert_eq!(canonical("etc/gmt+5"), "Etc/GMT+5");
        assert_eq!(canonical("asia/calcutta"), "Asia/Calcutta", "an old name stays what it was called");
        let zone: Zone = serde_json::from_str("\"asia/tokyo\"").unwrap();
        assert_eq!(serde_json::to_string(&zone).unwrap(), "\"Asia/Tokyo\"");
    }

    #[test]
    fn every_zone_of_the_database_can_be_named() {
        let database = TimeZoneDatabase::bundled();
        let names: Vec<_> = database.available().map(|name| name.to_string()).collect();
        assert!(names.len() > 500, "{}", names.len());
        for name in names {
            assert_eq!(canonical(&name), name);
        }
    }

    #[test]
    fn what_is_no_zone_is_refused_in_a_sentence() {
        let refusal = |name: &str| Zone::parse(name).unwrap_err().to_string();
        assert_eq!(refusal(" "), "The time zone is empty: give an IANA name such as Europe/Berlin or UTC.");
        assert_eq!(
            refusal("Europe/Atlantis"),
            "The time zone \"Europe/Atlantis\" is not known: give an IANA name such as Europe/Berlin or UTC."
        );
        let refused = [
            "Etc/Unknown",
            "Local",
            "localtime",
            "posixrules",
            "+02:00",
            "EST5EDT,M3.2.0,M11.1.0",
            "../etc/passwd",
            "\0",
        ];
        for name in refused {
            assert!(Zone::parse(name).is_err(), "{name}");
        }
        assert!(refusal(&"x".repeat(5_000)).len() < 200);
    }

    #[test]
    fn stretches_follow_one_another() {
        let from: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        let found: Vec<_> = berlin
            .stretches(from)
            .take(3)
            .map(|stretch| (stretch.begins.to_string(), stretch.ends.to_string(), stretch.shift()))
            .collect();
        let expected = [
            ("2026-10-25T01:00:00Z", "2027-03-28T01:00:00Z", -3_600),
            ("2027-03-28T01:00:00Z", "2027-10-31T01:00:00Z", 3_600),
            ("2027-10-31T01:00:00Z", "2028-03-26T01:00:00Z", -3_600),
        ];
        assert_eq!(found, expected.map(|(begins, ends, shift)| (begins.to_owned(), ends.to_owned(), shift)));
        assert_eq!(Zone::parse("UTC").unwrap().stretches(from).count(), 1);
        // The last change before the yearly rule, which the library does not find from behind.
        let change: Timestamp = "2019-01-20T10:00:00Z".parse().unwrap();
        let metlakatla = Zone::parse("America/Metlakatla").unwrap();
        for after in [0, 1, 3_600] {
            let at = change.checked_add(SignedDuration::from_secs(after)).unwrap();
            let stretch = metlakatla.stretches(at).next().unwrap();
            assert_eq!((stretch.begins, stretch.shift()), (change, -3_600));
        }
        for at in [Timestamp::MIN, Timestamp::MAX] {
            assert!(berlin.stretches(at).next().is_some());
        }
    }
}
