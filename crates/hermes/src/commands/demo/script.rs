//! What a demo plays: a YAML file with profiles, cards and the turns of the replay provider.
//!
//! The workers read the same file; it is their `model.script`. What is wrong with its turns is said
//! with the line, as the provider says it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hermes_board::model::Assignee;
use hermes_config::yaml::Document;
use hermes_home::ProfileName;
use hermes_providers::replay::ReplayScript;
use serde::Deserialize;

use crate::error::{CommandError, Result};

const BUILT_IN: &str = include_str!("demo.yaml");
/// Larger files are no scripts.
const MOST_BYTES: u64 = 1024 * 1024;

/// A demo.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DemoScript {
    pub(super) title: String,
    /// Names, and what each is for.
    pub(super) profiles: BTreeMap<String, String>,
    pub(super) cards: Vec<Card>,
    /// For the replay provider, which reads them itself.
    #[serde(rename = "turns", default)]
    _turns: serde_json::Value,
    #[serde(rename = "model", default)]
    _model: serde_json::Value,
    #[serde(rename = "context_length", default)]
    _context_length: serde_json::Value,
    /// The file as it is.
    #[serde(skip)]
    pub(super) text: String,
}

/// A card of a demo.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Card {
    /// How other cards call it.
    pub(super) key: String,
    pub(super) title: String,
    pub(super) assignee: String,
    #[serde(default)]
    pub(super) body: Option<String>,
    /// Keys of cards it waits for.
    #[serde(default)]
    pub(super) after: Vec<String>,
    #[serde(default)]
    pub(super) checks: Vec<String>,
    /// Whether it is worked on in the directory that such cards share, not in one of its own.
    #[serde(default)]
    pub(super) shared: bool,
    /// Whether its first worker is killed.
    #[serde(default)]
    pub(super) kill: bool,
}

impl DemoScript {
    /// The one that comes with the program, or the one in a file.
    pub(super) fn load(file: Option<&Path>) -> Result<Self> {
        match file {
            None => Self::parse(BUILT_IN.to_owned(), Path::new("demo.yaml")),
            Some(path) => Self::parse(hermes_fs::read_text_capped(path, MOST_BYTES)?, path),
        }
    }

    fn parse(text: String, path: &Path) -> Result<Self> {
        let wrong = |reason: String| CommandError::user(format!("{}: {reason}", path.display()));
        let document = Document::parse(&text)
            .map_err(|error| wrong(format!("line {}: {}", error.line, error.message)))?;
        let mut script: Self = serde_json::from_value(document.value().clone())
            .map_err(|error| wrong(error.to_string()))?;
        ReplayScript::parse(&text, path).map_err(|error| CommandError::user(error.to_string()))?;
        script.check().map_err(wrong)?;
        script.text = text;
        Ok(script)
    }

    /// What can be wrong apart from the form of the file.
    fn check(&self) -> std::result::Result<(), String> {
        for name in self.profiles.keys() {
            let name = ProfileName::parse_new(name).map_err(|error| error.to_string())?;
            if name.is_default() {
                return Err("the default profile always exists and must not be listed".to_owned());
            }
        }
        if self.cards.is_empty() {
            return Err("there are no cards".to_owned());
        }
        let mut known = BTreeSet::new();
        for card in &self.cards {
            let key = &card.key;
            let who = &card.assignee;
            Assignee::parse(who).map_err(|error| format!("card '{key}': {error}"))?;
            if !self.profiles.contains_key(who) {
                return Err(format!("card '{key}': no profile is called '{who}'"));
            }
            if let Some(unknown) = card.after.iter().find(|other| !known.contains(*other)) {
                return Err(format!(
                    "card '{key}' comes after '{unknown}', which must be listed above it"
                ));
            }
            if !known.insert(key) {
                return Err(format!("two cards have the key '{key}'"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn built_in_demo_script_is_valid() {
        let script = DemoScript::load(None).unwrap();
        assert_eq!(script.cards.len(), 6);
        assert!(script.cards.iter().all(|card| !card.checks.is_empty()));
    }

    #[test]
    fn invalid_demo_script_is_reported_with_its_file() {
        for (text, expected) in [
            ("title: [", "line"),
            ("title: x\n", "missing field"),
            (
                "title: x\nprofiles: {}\ncards: []\nturns: [{text: x}]",
                "no cards",
            ),
            (
                "title: x\nprofiles: {a: b}\ncards: [{key: k, title: t, assignee: z}]\nturns: \
                 [{text: x}]",
                "no profile is called 'z'",
            ),
            (
                "title: x\nprofiles: {a: b}\ncards: [{key: k, title: t, assignee: a, after: \
                 [l]}]\nturns: [{text: x}]",
                "which must be listed above it",
            ),
            (
                "title: x\nprofiles: {a: b}\ncards: [{key: k, title: t, assignee: a, colour: \
                 red}]\nturns: [{text: x}]",
                "colour",
            ),
            (
                "title: x\nprofiles: {a: b}\ncards: [{key: k, title: t, assignee: a}]\nturns:\n- \
                 txt: x",
                "line 5",
            ),
        ] {
            let error = DemoScript::parse(text.to_owned(), Path::new("f.yaml")).unwrap_err();
            let words = error.message;
            assert!(words.contains(expected), "{text:?}: {words}");
            assert!(words.contains("f.yaml"), "{words}");
        }
    }
}
