//! Where settings stand and how one is read: the lookup, its defaults, and the `.env` file.

use std::collections::HashMap;

use super::{ConfigError, VARIABLES};

/// What `.env` in the working folder sets, if there is one.
pub(super) fn env_file() -> Result<HashMap<String, String>, ConfigError> {
    let allowed = "a readable file of lines like NAME=value, with quotes around a value that holds spaces";
    // What stands there is not repeated: it may be a part of a secret.
    let error = |value: String| ConfigError { variable: ".env", value, allowed };
    let lines = match dotenvy::from_path_iter(".env") {
        Ok(lines) => lines,
        Err(absent) if absent.not_found() => return Ok(HashMap::new()),
        Err(_) => return Err(error("(not readable)".to_owned())),
    };
    let mut set = HashMap::new();
    for (index, line) in lines.enumerate() {
        let (name, value) = line.map_err(|_| error(format!("(setting {})", index + 1)))?;
        set.insert(name, value);
    }
    Ok(set)
}

/// A lookup of names, and how a value is read from it.
pub(super) struct Source<'a> {
    pub(super) lookup: &'a dyn Fn(&str) -> Option<String>,
}

impl Source<'_> {
    /// The trimmed value; an empty one is none.
    pub(super) fn find(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// A value that may be missing.
    pub(super) fn optional<T>(
        &self,
        variable: &'static str,
        allowed: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.find(variable) else { return Ok(None) };
        parse(&value).map(Some).ok_or_else(|| ConfigError { variable, value: without_password(&value), allowed })
    }

    /// A value, or its default.
    pub(super) fn parse<T>(
        &self,
        variable: &'static str,
        allowed: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let default = VARIABLES.iter().find(|(name, _)| *name == variable).map_or("", |(_, default)| default);
        let value = self.find(variable).unwrap_or_else(|| default.to_owned());
        parse(&value).ok_or_else(|| ConfigError { variable, value: without_password(&value), allowed })
    }

    /// A value that no message repeats.
    pub(super) fn secret<T>(
        &self,
        variable: &'static str,
        allowed: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        self.optional(variable, allowed, parse).map_err(|error| ConfigError { value: "(hidden)".to_owned(), ..error })
    }

    /// Values with commas between them.
    pub(super) fn list<T>(
        &self,
        variable: &'static str,
        allowed: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, ConfigError> {
        let parse_all = |value: &str| value.split(',').map(str::trim).map(&parse).collect::<Option<Vec<T>>>();
        Ok(self.optional(variable, allowed, parse_all)?.unwrap_or_default())
    }
}

/// An address may carry a password before its `@`.
fn without_password(value: &str) -> String {
    match (value.find("://"), value.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}://…{}", &value[..scheme], &value[at..]),
        (None, Some(at)) => format!("…{}", &value[at..]),
        _ => value.to_owned(),
    }
}
