//! Who may import whom, and how a file looks: the rules of ARCHITECTURE.md, read off the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The parts of the program, each with what it may import besides itself. A part names only parts above it, so there
/// is no circle. `http`, `llm` and `db` know no slice; of the slices, `limits` knows none, and so on down to `chat`.
const PARTS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("fields", &[]),
    ("ids", &["clock"]),
    ("db", &[]),
    ("llm", &[]),
    ("limits", &["clock", "db", "ids"]),
    ("config", &["limits", "llm"]),
    ("telemetry", &["config"]),
    ("http", &["clock", "config", "db", "fields", "ids", "llm", "telemetry"]),
    ("widget", &["http"]),
    ("checks", &["clock", "config", "db", "fields", "http", "ids", "limits", "telemetry"]),
    ("actions", &["checks", "clock", "db", "http", "ids", "telemetry"]),
    ("accounts", &["checks", "clock", "config", "db", "http", "ids", "limits", "widget"]),
    ("chat", &["accounts", "actions", "checks", "clock", "config", "db", "http", "ids", "limits", "llm", "telemetry"]),
    ("router", &["accounts", "actions", "chat", "checks", "http", "widget"]),
    ("app", &["accounts", "actions", "chat", "checks", "clock", "config", "db", "http", "limits", "llm", "router"]),
];

/// Which files may do something.
type May = fn(&Source) -> bool;

/// What only some files may name.
const WORDS: &[(&str, May)] = &[
    ("axum", Source::is_edge),
    ("utoipa_axum", Source::is_edge),
    ("tower_http", Source::is_edge),
    ("AppState", Source::is_edge),
    ("sqlx", Source::is_store),
    ("async_openai", |source| source.path == "llm/openai.rs"),
    ("reqwest", |source| matches!(source.path.as_str(), "llm/openai.rs" | "checks/notify/outgoing.rs")),
    ("lettre", |source| source.path == "checks/notify/mail.rs"),
    ("std::env", |source| source.path == "config.rs"),
    ("dotenvy", |source| source.part() == "config"),
    ("anyhow", |source| source.path == "main.rs"),
];

/// The only things of `http` that a flow may know: who calls.
const CALLERS: &[&str] = &["Caller", "User", "caller"];

/// A source file: its path below `src`, and its lines without comments.
struct Source {
    path: String,
    code: Vec<String>,
}

impl Source {
    fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let read = |path: String| {
            let text = fs::read_to_string(root.join(&path)).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect();
            Self { path, code }
        };
        let sources: Vec<Self> = files(&root, "rs").into_iter().map(read).collect();
        assert!(sources.len() > 80, "the sources are looked at");
        sources
    }

    /// The part of the program that it belongs to.
    fn part(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap()
    }

    /// Whether it speaks HTTP.
    fn is_edge(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap();
        matches!(self.part(), "http" | "router" | "app")
            || name == "http.rs"
            || name.ends_with("_http.rs")
            || self.path == "widget/mod.rs"
    }

    /// Whether it holds SQL.
    fn is_store(&self) -> bool {
        self.part() == "db" || self.path.ends_with("/store.rs") || self.path.contains("/store/")
    }

    /// The paths that begin at the crate's root, such as `http::Caller`; a list in braces gives one for each name.
    fn imports(&self) -> BTreeSet<String> {
        let code = self.code.join("\n");
        let mut found = BTreeSet::new();
        for (at, _) in code.match_indices("crate::") {
            if code[..at].ends_with(|c: char| c == '$' || c.is_alphanumeric() || c == '_') {
                continue;
            }
            expand("", &code[at + "crate::".len()..], &mut found);
        }
        found
    }
}

/// Adds every path that `rest` spells, each after `prefix`; returns what follows.
fn expand<'a>(prefix: &str, rest: &'a str, found: &mut BTreeSet<String>) -> &'a str {
    let rest = rest.trim_start();
    if let Some(mut rest) = rest.strip_prefix('{') {
        loop {
            rest = expand(prefix, rest, found).trim_start();
            match rest.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => rest = more,
                Some(more) => return more.trim_start().strip_prefix('}').unwrap_or(more),
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
    if let Some(rest) = rest.strip_prefix("::") {
        return expand(&path, rest, found);
    }
    found.insert(path);
    match rest.strip_prefix(" as ") {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
        None => rest,
    }
}

/// The paths of all files below `root` with this extension, from there, sorted.
fn files(root: &Path, extension: &str) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().unwrap() != "node_modules" {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Whether `line` has `word` with nothing of a longer name around it.
fn names(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// A row type says how it is read: that is no statement.
fn is_sqlx_derive(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[sqlx(") || (line.starts_with("#[derive(") && line.matches("sqlx").count() == 1)
}

#[test]
fn the_parts_are_in_an_order_without_circles() {
    for (index, (part, may)) in PARTS.iter().enumerate() {
        for import in *may {
            assert!(PARTS[..index].iter().any(|(above, _)| above == import), "{part} is above {import}");
        }
    }
}

#[test]
fn every_part_imports_only_what_it_may() {
    let mut wrong = Vec::new();
    for source in Source::all().iter().filter(|source| !matches!(source.path.as_str(), "main.rs" | "lib.rs")) {
        let part = source.part();
        let (_, may) =
            PARTS.iter().find(|(name, _)| *name == part).unwrap_or_else(|| panic!("{part} is not in the list"));
        for import in source.imports() {
            let from = import.split("::").next().unwrap();
            let is_known = PARTS.iter().any(|(name, _)| *name == from);
            if is_known && from != part && !may.contains(&from) {
                wrong.push(format!("{} imports crate::{import}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_path_climbs_out_of_its_part() {
    for source in Source::all() {
        // `chat/turn.rs` is two deep, `chat/mod.rs` one; so many times `super` is the crate itself.
        let depth = source.path.split('/').filter(|name| *name != "mod.rs").count();
        // Tests stand last, in a module one deeper.
        let mut code = source.code.iter().take_while(|line| !line.contains("#[cfg(test)]"));
        let climbs = code.find(|line| line.contains(&"super::".repeat(depth)));
        assert_eq!(climbs, None, "{}", source.path);
    }
}

#[test]
fn libraries_and_the_environment_are_named_only_where_they_belong() {
    let mut wrong = Vec::new();
    for source in Source::all() {
        for (word, _) in WORDS.iter().filter(|(_, may)| !may(&source)) {
            let lines = source.code.iter().filter(|line| names(line, word));
            let lines = lines.filter(|line| *word != "sqlx" || !is_sqlx_derive(line));
            wrong.extend(lines.map(|line| format!("{} names {word}: {}", source.path, line.trim())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_flow_runs_without_http() {
    let mut wrong = Vec::new();
    let slices = ["accounts", "actions", "chat", "checks", "limits"];
    for source in Source::all().iter().filter(|source| slices.contains(&source.part()) && !source.is_edge()) {
        let imports = source.imports();
        let of_http = imports.iter().filter_map(|import| import.strip_prefix("http::"));
        let too_much = of_http.filter(|item| !CALLERS.contains(&item.split("::").next().unwrap()));
        wrong.extend(too_much.map(|item| format!("{} knows crate::http::{item}", source.path)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_is_short_and_says_what_it_is() {
    let mut wrong = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (extension, opening) in [("rs", "//! "), ("js", "/"), ("css", "/* ")] {
        let paths = ["src", "tests"].map(|folder| (folder, files(&root.join(folder), extension)));
        for (folder, path) in paths.into_iter().flat_map(|(folder, paths)| paths.into_iter().map(move |p| (folder, p)))
        {
            let text = fs::read_to_string(root.join(folder).join(&path)).unwrap();
            let length = text.lines().count();
            if length > 330 {
                wrong.push(format!("{folder}/{path} has {length} lines"));
            }
            if !text.starts_with(opening) {
                wrong.push(format!("{folder}/{path} does not begin with a sentence about itself"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_read_as_they_are_written() {
    let read = |text: &str| {
        let code = text.lines().map(str::to_owned).collect();
        let source = Source { path: "x.rs".to_owned(), code };
        source.imports().into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(read("use crate::db::Db;"), "db::Db");
    assert_eq!(
        read("use crate::{accounts, http::{self, Caller as C,\n sse}, chat::*};"),
        "accounts chat:: http::Caller http::self http::sse"
    );
    assert_eq!(read("let x = crate::llm::openai::OpenAi::new(1); $crate::db::On"), "llm::openai::OpenAi::new");
    assert_eq!(read("use my_crate::db;"), "");
}
