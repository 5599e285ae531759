//! Values read into types: what does not fit is named, in words for whoever sent it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Why a value does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The member at fault: `name`, `tags[1]`.
    pub field: String,
    /// Whether the type has no such member at all.
    pub is_unknown: bool,
    /// A sentence.
    pub message: String,
}

/// Reads an object into `T`.
///
/// # Errors
/// The first member that does not fit.
pub fn read<T: DeserializeOwned>(object: Value) -> Result<T, Misfit> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let path = error.path().to_string();
        misfit(path, &error.into_inner().to_string())
    })
}

/// For `deserialize_with`: a member that is there is `Some`, so that null is read, or refused, as what `T` makes of it.
///
/// # Errors
/// As `T`'s.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn misfit(path: String, message: &str) -> Misfit {
    let quoted = |prefix: &str| Some(message.strip_prefix(prefix)?.split('`').next()?.to_owned());
    if let Some(field) = quoted("unknown field `") {
        return Misfit { message: format!("The field {field:?} is not known here."), is_unknown: true, field };
    }
    if let Some(field) = quoted("missing field `") {
        return Misfit { message: format!("The field {field:?} is missing."), is_unknown: false, field };
    }
    let why = plain(message).unwrap_or_else(|| message.trim_end_matches('.').to_owned());
    Misfit { message: format!("The field {path:?}: {why}."), is_unknown: false, field: path }
}

/// serde's words name Rust's types; these name what a person or program can send.
fn plain(message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        let (given, known) = rest.rsplit_once("`, expected ")?;
        return Some(format!("it is {}, not {given:?}", known.replace('`', "")));
    }
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (given, expected) = rest.rsplit_once(", expected ")?;
    let expected = match expected {
        "i64" | "i32" => "a whole number",
        "u64" | "u32" => "a whole number of at least 0",
        "a string" | "string or map" => "text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other => other,
    };
    let given = match given.split_once(' ') {
        Some(("string", _)) => "text",
        Some(("integer" | "boolean", value)) => value.trim_matches('`'),
        Some(("floating", rest)) => rest.trim_start_matches("point ").trim_matches('`'),
        _ if given == "sequence" => "a list",
        _ if given == "map" => "an object",
        _ => given,
    };
    Some(format!("{expected} is needed, not {given}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Green,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sent {
        number: i64,
        #[serde(default)]
        days: Option<u64>,
        #[serde(default)]
        words: Vec<String>,
        #[serde(default)]
        colour: Option<Colour>,
        #[serde(default, deserialize_with = "given")]
        name: Option<String>,
    }

    #[test]
    fn a_misfit_is_told_in_plain_words() {
        let told = |mut value: Value| {
            if value.get("number").is_none() {
                value["number"] = json!(1);
            }
            let misfit = read::<Sent>(value).unwrap_err();
            (misfit.field, misfit.message)
        };
        for (value, field, why) in [
            (json!({"number": "5"}), "number", "a whole number is needed, not text"),
            (json!({"number": 3.5}), "number", "a whole number is needed, not 3.5"),
            (json!({"number": null}), "number", "a whole number is needed, not null"),
            (json!({"number": u64::MAX}), "number", "a whole number is needed, not 18446744073709551615"),
            (json!({"days": -1}), "days", "a whole number of at least 0 is needed, not -1"),
            (json!({"words": "a"}), "words", "a list is needed, not text"),
            (json!({"words": ["a", {}]}), "words[1]", "text is needed, not an object"),
            (json!({"colour": "blue"}), "colour", "it is red or green, not \"blue\""),
            (json!({"colour": ["red"]}), "colour", "text is needed, not a list"),
            (json!({"name": null}), "name", "text is needed, not null"),
            (json!({"name": true}), "name", "text is needed, not true"),
        ] {
            let expected = (field.to_owned(), format!("The field {field:?}: {why}."));
            assert_eq!(told(value.clone()), expected, "{value}");
        }
        assert_eq!(told(json!({"more": 1})), ("more".to_owned(), "The field \"more\" is not known here.".to_owned()));
        let missing = read::<Sent>(json!({})).unwrap_err();
        assert_eq!(missing.message, "The field \"number\" is missing.");
        let whole: Sent =
            read(json!({"number": 2, "days": 3, "words": ["a"], "colour": "green", "name": "n"})).unwrap();
        assert_eq!((whole.number, whole.days, whole.words.len(), whole.name.is_some()), (2, Some(3), 1, true));
        assert!(matches!(whole.colour, Some(Colour::Green)) && !matches!(whole.colour, Some(Colour::Red)));
    }
}
