//! What the model is told: compiled in, replaceable by a folder. Nothing that a user or a ping wrote is in it.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::checks::schedule::Zone;
use crate::clock::Millis;
use crate::ids::hex;

/// The prompts in use.
#[derive(Debug, Clone)]
pub struct Prompts {
    signed_in: String,
    anonymous: String,
    product: String,
    tools: Vec<(&'static str, String)>,
    hash: String,
}

/// Every prompt file that ships, by its path below `prompts/`.
const FILES: [(&str, &str); 17] = [
    ("signed_in.md", include_str!("../../prompts/signed_in.md")),
    ("anonymous.md", include_str!("../../prompts/anonymous.md")),
    ("product.md", include_str!("../../prompts/product.md")),
    ("tools/list_checks.md", include_str!("../../prompts/tools/list_checks.md")),
    ("tools/get_check.md", include_str!("../../prompts/tools/get_check.md")),
    ("tools/get_account.md", include_str!("../../prompts/tools/get_account.md")),
    ("tools/get_uptime.md", include_str!("../../prompts/tools/get_uptime.md")),
    ("tools/preview_change.md", include_str!("../../prompts/tools/preview_change.md")),
    ("tools/preview_schedule.md", include_str!("../../prompts/tools/preview_schedule.md")),
    ("tools/create_check.md", include_str!("../../prompts/tools/create_check.md")),
    ("tools/update_check.md", include_str!("../../prompts/tools/update_check.md")),
    ("tools/pause_check.md", include_str!("../../prompts/tools/pause_check.md")),
    ("tools/resume_check.md", include_str!("../../prompts/tools/resume_check.md")),
    ("tools/pause_checks.md", include_str!("../../prompts/tools/pause_checks.md")),
    ("tools/delete_check.md", include_str!("../../prompts/tools/delete_check.md")),
    ("tools/rotate_ping_key.md", include_str!("../../prompts/tools/rotate_ping_key.md")),
    ("tools/undo_action.md", include_str!("../../prompts/tools/undo_action.md")),
];

impl Prompts {
    /// The compiled prompts, each replaced by the file of that name in `dir` if there is one.
    ///
    /// # Errors
    /// When a file there cannot be read.
    pub fn load(dir: Option<&Path>) -> std::io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut texts = Vec::with_capacity(FILES.len());
        for (name, compiled) in FILES {
            let text = match dir.map(|dir| std::fs::read_to_string(dir.join(name))) {
                None => compiled.to_owned(),
                Some(Ok(text)) => text,
                Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => compiled.to_owned(),
                Some(Err(error)) => return Err(std::io::Error::other(format!("{name}: {error}"))),
            };
            hasher.update(name);
            hasher.update(&text);
            texts.push((name, text.trim().to_owned()));
        }
        let hash = hex(&hasher.finalize()[..8]);
        let named =
            |wanted: &str| texts.iter().find(|(name, _)| *name == wanted).map_or("", |(_, text)| text).to_owned();
        let tool = |(name, text): &(&'static str, String)| {
            Some((name.strip_prefix("tools/")?.strip_suffix(".md")?, text.clone()))
        };
        Ok(Self {
            signed_in: named("signed_in.md"),
            anonymous: named("anonymous.md"),
            product: named("product.md"),
            tools: texts.iter().filter_map(tool).collect(),
            hash,
        })
    }

    /// The system prompt for a caller, whose clock is in `zone`.
    pub fn system(&self, is_user: bool, now: Millis, zone: Option<&Zone>) -> String {
        let role = if is_user { &self.signed_in } else { &self.anonymous };
        let clock = zone.map_or_else(String::new, |zone| {
            let there = zone.rules().to_datetime(now.timestamp());
            let (name, there) = (zone.as_str(), there.strftime("%A %Y-%m-%d %H:%M"));
            format!(" The user's time zone is {name}, where it is {there}: tell and read times so, unless they name another.")
        });
        // The time comes last: servers keep what they have read of a prompt up to where it differs.
        format!("{role}\n\n{}\n\nThe time is {}.{clock}", self.product, now.rfc3339())
    }

    /// What visitors may know.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// A tool's description.
    pub fn tool(&self, name: &str) -> &str {
        self.tools.iter().find(|(tool, _)| *tool == name).map_or("", |(_, text)| text)
    }

    /// Of all texts: logged at start and stored with each answer.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}
