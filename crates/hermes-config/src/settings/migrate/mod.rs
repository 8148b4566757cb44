//! Bringing a settings file to the current schema version, step by step.
//!
//! Each step touches only keys the user has. The version is written last and with the same rename
//! as everything else, so a crash leaves the old file and the next run starts over.

mod exfiltration;
mod steps;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::Sources;
use super::file::timestamp;
use super::write::{ConfigError, edit_dotenv, edit_text_file, read_parsable};
use crate::dotenv::{self, DotEnv};
use crate::schema::CONFIG_VERSION;
use crate::yaml::{self, Document, EditError};

/// What a migration did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MigrationReport {
    pub from: i64,
    pub to: i64,
    /// One sentence per change.
    pub changes: Vec<String>,
    pub backups: Vec<PathBuf>,
}

impl MigrationReport {
    /// The file is newer than this program: it is read as it is and never changed.
    pub fn is_newer(&self) -> bool {
        self.from > self.to
    }
}

/// The schema version a settings file says it has: 0 without one, the current one without a file.
pub fn version_of(document: Option<&Document>) -> i64 {
    match document {
        None => CONFIG_VERSION,
        Some(document) => document
            .value()
            .get("_config_version")
            .and_then(Value::as_i64)
            .unwrap_or(0),
    }
}

/// Migrates a profile's settings. With `dry_run`, only says what would change, and touches nothing,
/// not even a lock.
pub fn migrate(sources: &Sources, dry_run: bool) -> Result<MigrationReport, ConfigError> {
    let mut report = MigrationReport {
        to: CONFIG_VERSION,
        ..MigrationReport::default()
    };
    let path = sources.config_path();
    if !hermes_fs::exists_no_follow(&path) {
        report.from = CONFIG_VERSION;
        return Ok(report);
    }
    if dry_run {
        draft(sources, &read_parsable(&path)?, &mut report)?;
        return Ok(report);
    }
    edit_text_file(&path, "config.yaml", |text| {
        let Some(draft) = draft(sources, text, &mut report)? else {
            return Ok(text.to_owned());
        };
        report.backups.push(back_up(&path)?);
        let dotenv_path = sources.dotenv_path();
        if draft.env != DotEnv::load(&dotenv_path).unwrap_or_default() {
            report.backups.push(back_up(&dotenv_path)?);
            edit_dotenv(sources, |env| {
                *env = draft.env;
                Ok(())
            })?;
        }
        Ok(draft.text)
    })?;
    Ok(report)
}

/// The files as they will be; `None` if they are as new as we are. Says in `report` what changes.
fn draft<'s>(
    sources: &'s Sources,
    text: &str,
    report: &mut MigrationReport,
) -> Result<Option<Draft<'s>>, ConfigError> {
    let document = Document::parse(text).map_err(EditError::from)?;
    report.from = version_of(Some(&document));
    if report.from >= CONFIG_VERSION {
        return Ok(None);
    }
    let dotenv_path = sources.dotenv_path();
    let env = DotEnv::load(&dotenv_path).map_err(|error| ConfigError::DotEnv {
        path: dotenv_path.clone(),
        reason: error.to_string(),
    })?;
    let mut draft = Draft {
        text: text.to_owned(),
        env,
        changes: Vec::new(),
        home: &sources.home,
    };
    steps::run(&mut draft, report.from)?;
    draft.set("_config_version", &Value::from(CONFIG_VERSION))?;
    report.changes = std::mem::take(&mut draft.changes);
    Ok(Some(draft))
}

fn key(dotted: &str) -> Vec<String> {
    dotted.split('.').map(str::to_owned).collect()
}

fn back_up(path: &Path) -> Result<PathBuf, ConfigError> {
    let stamp = timestamp();
    let mut copy = path.with_added_extension(format!("bak.{stamp}"));
    let mut serial = 0;
    loop {
        match hermes_fs::copy_file(path, &copy, 0o600) {
            Ok(_) => return Ok(copy),
            Err(hermes_fs::Error::AlreadyExists { .. }) => {
                serial += 1;
                copy = path.with_added_extension(format!("bak.{stamp}-{serial}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The files while they are being migrated.
struct Draft<'a> {
    text: String,
    env: DotEnv,
    changes: Vec<String>,
    home: &'a Path,
}

impl Draft<'_> {
    fn get(&self, dotted: &str) -> Option<Value> {
        let document = Document::parse(&self.text).ok()?;
        yaml::value_at(document.value(), &key(dotted)).cloned()
    }

    fn set(&mut self, dotted: &str, value: &Value) -> Result<(), ConfigError> {
        self.text = yaml::set(&self.text, &key(dotted), value)?;
        Ok(())
    }

    fn remove(&mut self, dotted: &str) -> Result<(), ConfigError> {
        match yaml::remove(&self.text, &key(dotted)) {
            Ok(text) => self.text = text,
            Err(EditError::NotSet(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn drop_variable(&mut self, name: &str) {
        if dotenv::unset_variable(&mut self.env, name) {
            self.say(format!("removed {name} from .env: it is no longer used"));
        }
    }

    fn say(&mut self, change: impl Into<String>) {
        self.changes.push(change.into());
    }
}

#[cfg(test)]
#[path = "../migrate_tests.rs"]
mod tests;
