//! `.hub/taps.json`: repositories with skills that the user added.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Hub;
use crate::error::{Error, Result};

/// Largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// A repository with skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tap {
    /// `owner/name` on GitHub, or the address of a git repository.
    pub repo: String,
    /// The directory of its skills.
    #[serde(default = "skills_directory")]
    pub path: String,
}

fn skills_directory() -> String {
    "skills/".to_owned()
}

impl Hub {
    /// The repositories that were added.
    pub fn taps(&self) -> Result<Vec<Tap>> {
        let file = self.directory().join("taps.json");
        let Some(bytes) = hermes_fs::read_optional(&file, MAX_BYTES)? else {
            return Ok(Vec::new());
        };
        let content: Value = serde_json::from_slice(&bytes)
            .map_err(|_| Error::refused(format!("{} is damaged.", file.display())))?;
        let taps = content["taps"].as_array().cloned().unwrap_or_default();
        let taps = taps
            .into_iter()
            .filter_map(|tap| serde_json::from_value(tap).ok());
        Ok(taps.collect())
    }

    /// Adds a repository; `false` if it is there already.
    pub fn add_tap(&self, repo: &str, path: Option<&str>) -> Result<bool> {
        let repo = repo.trim().trim_end_matches('/');
        super::identifier::repository_address(repo)?;
        let mut taps = self.taps()?;
        if taps.iter().any(|tap| tap.repo == repo) {
            return Ok(false);
        }
        taps.push(Tap {
            repo: repo.to_owned(),
            path: path.map_or_else(skills_directory, str::to_owned),
        });
        self.save_taps(&taps)?;
        Ok(true)
    }

    /// Removes a repository; `false` if it is not there.
    pub fn remove_tap(&self, repo: &str) -> Result<bool> {
        let mut taps = self.taps()?;
        let before = taps.len();
        taps.retain(|tap| tap.repo != repo.trim().trim_end_matches('/'));
        if taps.len() == before {
            return Ok(false);
        }
        self.save_taps(&taps)?;
        Ok(true)
    }

    fn save_taps(&self, taps: &[Tap]) -> Result<()> {
        self.make_directories()?;
        let mut text = serde_json::to_string_pretty(&json!({"taps": taps})).unwrap_or_default();
        text.push('\n');
        let file = self.directory().join("taps.json");
        Ok(hermes_fs::write_atomic(&file, text.as_bytes(), 0o600)?)
    }
}
