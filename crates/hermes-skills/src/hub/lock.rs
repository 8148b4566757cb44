//! `.hub/lock.json`: what was installed from where. `.hub/audit.log`: what was done.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Hub;
use crate::error::{Error, Result};
use crate::name::check_name;

/// Largest lock file that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A skill that was installed, as the file has it; fields of other versions stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstalledSkill {
    #[serde(skip)]
    pub name: String,
    pub source: String,
    pub identifier: String,
    pub trust_level: String,
    pub scan_verdict: String,
    pub content_hash: String,
    pub install_path: String,
    pub files: Vec<String>,
    pub metadata: Value,
    pub installed_at: String,
    pub updated_at: String,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl InstalledSkill {
    /// Its directory below `skills/`; `None` if the file names a place that cannot be its own.
    pub fn relative_path(&self) -> Option<PathBuf> {
        let path = hermes_fs::confined_relative(&self.install_path).ok()?;
        let ends_well = path
            .file_name()
            .is_some_and(|name| name == self.name.as_str());
        let is_visible = |part: &std::ffi::OsStr| !part.to_string_lossy().starts_with('.');
        (ends_well && path.iter().all(is_visible)).then_some(path)
    }

    /// Its category.
    pub fn category(&self) -> String {
        let path = self.relative_path().unwrap_or_default();
        let parent = path.parent().unwrap_or(Path::new(""));
        parent.to_string_lossy().into_owned()
    }
}

impl Hub {
    /// What was installed, by name. A file that is damaged is an error, not an empty list.
    pub fn installed(&self) -> Result<BTreeMap<String, InstalledSkill>> {
        let file = self.lock_file();
        let Some(bytes) = hermes_fs::read_optional(&file, MAX_BYTES)? else {
            return Ok(BTreeMap::new());
        };
        let damaged = || {
            Error::refused_with(
                format!("{} is damaged.", file.display()),
                "move it away; the skills stay, as skills of your own",
            )
        };
        let content: Value = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let Value::Object(entries) = content.get("installed").cloned().unwrap_or(json!({})) else {
            return Err(damaged());
        };
        let entries = entries.into_iter().filter_map(|(name, entry)| {
            check_name(&name).ok()?;
            let mut skill: InstalledSkill = serde_json::from_value(entry).ok()?;
            skill.name.clone_from(&name);
            Some((name, skill))
        });
        Ok(entries.collect())
    }

    /// Changes the record of one skill; `None` removes it. Records that cannot be read stay.
    pub(super) fn record(&self, name: &str, entry: Option<&InstalledSkill>) -> Result<()> {
        self.make_directories()?;
        let lock = self.directory().join("lock.json.lock");
        let _lock = FileLock::acquire(&lock, &LockOptions::new("the list of installed skills"))?;
        // Refuses a damaged file before it is written over.
        self.installed()?;
        let file = self.lock_file();
        let bytes = hermes_fs::read_optional(&file, MAX_BYTES)?.unwrap_or_default();
        let content: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let mut content = match content {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        content.entry("version").or_insert(json!(1));
        let installed = content.entry("installed").or_insert(json!({}));
        if let Value::Object(installed) = installed {
            match entry {
                Some(entry) => {
                    let value = serde_json::to_value(entry).unwrap_or_default();
                    installed.insert(name.to_owned(), value);
                }
                None => {
                    installed.remove(name);
                }
            }
        }
        let mut text = serde_json::to_string_pretty(&Value::Object(content)).unwrap_or_default();
        text.push('\n');
        hermes_fs::write_atomic(&file, text.as_bytes(), 0o600)?;
        Ok(())
    }

    /// Adds a line to the log of what was done.
    pub(super) fn log(&self, words: &[&str]) {
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let words: Vec<String> = words
            .iter()
            .map(|word| hermes_text::one_line(word, 200))
            .collect();
        let line = format!("{now} {}\n", words.join(" "));
        let file = hermes_fs::open_append(&self.directory().join("audit.log"), 0o600);
        let written = file
            .map_err(|error| error.to_string())
            .and_then(|mut file| {
                file.write_all(line.as_bytes())
                    .map_err(|error| error.to_string())
            });
        if let Err(error) = written {
            tracing::warn!(error, "the log of installed skills was not written");
        }
    }

    fn lock_file(&self) -> PathBuf {
        self.directory().join("lock.json")
    }
}
