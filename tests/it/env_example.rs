//! `.env.example` shows every setting with its default and its meaning, and works as a `.env` file.

use std::collections::HashMap;

use flatline::config::{Config, VARIABLES};

const EXAMPLE: &str = include_str!("../../.env.example");

/// `NAME=value` lines, whether they are commented out or not.
fn setting(line: &str) -> Option<&str> {
    let line = line.strip_prefix("# ").unwrap_or(line);
    let (name, _) = line.split_once('=')?;
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (is_name && !name.is_empty()).then_some(line)
}

/// What a `.env` file of all these lines sets, in order.
fn set() -> Vec<(String, String)> {
    let lines: Vec<&str> = EXAMPLE.lines().filter_map(setting).collect();
    let text = lines.join("\n");
    dotenvy::from_read_iter(text.as_bytes()).collect::<Result<_, _>>().unwrap()
}

#[test]
fn it_lists_every_setting_with_its_default_in_order() {
    let set = set();
    let listed: Vec<(&str, &str)> = set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(listed, VARIABLES);
}

#[test]
fn it_works_as_it_stands_and_with_every_line_taken_in() {
    assert_eq!(dotenvy::from_read_iter(EXAMPLE.as_bytes()).count(), 0, "as it stands it sets nothing");
    let set: HashMap<String, String> = set().into_iter().collect();
    Config::load(&|name| set.get(name).cloned()).unwrap();
}

#[test]
fn each_setting_has_one_line_that_says_what_it_means() {
    let paragraphs: Vec<Vec<&str>> = EXAMPLE.split("\n\n").map(|paragraph| paragraph.lines().collect()).collect();
    assert_eq!(paragraphs.len(), VARIABLES.len() + 1, "an introduction and a paragraph for each");
    for paragraph in &paragraphs[1..] {
        let [meaning, line] = paragraph[..] else { panic!("not a meaning and a setting: {paragraph:?}") };
        assert!(meaning.starts_with("# ") && meaning.ends_with('.') && setting(meaning).is_none(), "{meaning}");
        assert!(setting(line).is_some(), "{line}");
    }
}
