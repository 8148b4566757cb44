//! What was installed, as a file that another home can install from.

use serde_json::{Value, json};

use super::Hub;
use super::fetched::FetchTools;
use crate::error::{Error, Result};

/// Most skills of a file.
const MOST: usize = 1_000;

/// What came of one entry.
#[derive(Debug)]
pub struct Imported {
    pub identifier: String,
    /// The name it has now, or why it was not installed.
    pub result: std::result::Result<String, String>,
}

impl Hub {
    /// The installed skills and the repositories that were added.
    pub fn snapshot(&self) -> Result<Value> {
        let skills: Vec<Value> = self
            .installed()?
            .values()
            .map(|skill| {
                json!({
                    "name": skill.name,
                    "source": skill.source,
                    "identifier": skill.identifier,
                    "category": skill.category(),
                })
            })
            .collect();
        Ok(json!({
            "hermes_version": env!("CARGO_PKG_VERSION"),
            "exported_at": jiff::Timestamp::now().to_string(),
            "skills": skills,
            "taps": self.taps()?,
        }))
    }

    /// Adds the repositories and installs the skills of a snapshot, those that are there already left
    /// out.
    pub fn import_snapshot(
        &self,
        snapshot: &Value,
        force: bool,
        tools: &FetchTools,
    ) -> Result<Vec<Imported>> {
        let Some(skills) = snapshot["skills"].as_array() else {
            return Err(Error::refused("This is not a snapshot of skills."));
        };
        for tap in snapshot["taps"].as_array().into_iter().flatten().take(MOST) {
            if let Some(repo) = tap["repo"].as_str() {
                self.add_tap(repo, tap["path"].as_str())?;
            }
        }
        let installed = self.installed()?;
        let mut results = Vec::new();
        for entry in skills.iter().take(MOST) {
            let text = |key: &str| entry[key].as_str().filter(|text| !text.is_empty());
            let Some(identifier) = text("identifier") else {
                continue;
            };
            if text("name").is_some_and(|name| installed.contains_key(name)) {
                continue;
            }
            let result = self
                .fetch(identifier, tools)
                .and_then(|skill| self.install(&skill, text("name"), text("category"), force));
            results.push(Imported {
                identifier: identifier.to_owned(),
                result: result
                    .map(|installed| installed.name)
                    .map_err(|error| error.to_string()),
            });
        }
        Ok(results)
    }
}
