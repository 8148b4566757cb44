//! Reading and changing `cron/jobs.json`.
//!
//! Everybody who changes the file holds the reference's lock from reading to renaming. What cannot be
//! read is never written over.

use std::time::Duration;

use hermes_fs::{FileLock, LockOptions};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::home::CronHome;
use crate::job::Job;
use crate::stamp::written;

/// Larger than any list a person keeps.
const LARGEST: u64 = 64 * 1024 * 1024;
/// As long as the reference waits.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// All jobs of a profile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobList {
    pub jobs: Vec<Job>,
    /// What else is in the file.
    rest: Map<String, Value>,
}

impl JobList {
    /// The jobs in the file; none if there is no file.
    pub(crate) fn load(home: &CronHome) -> Result<Self> {
        let path = home.jobs_file();
        let Some(bytes) = hermes_fs::read_optional(&path, LARGEST)? else {
            return Ok(Self::default());
        };
        Self::parse(&bytes).map_err(|reason| Error::Damaged { path, reason })
    }

    fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let text = text.trim_start_matches('\u{feff}');
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            // Editors and scripts leave bare line breaks in texts.
            Err(error) => {
                serde_json::from_str(&with_escaped_controls(text)).map_err(|_| error.to_string())?
            }
        };
        let (jobs, rest) = match value {
            Value::Array(jobs) => (jobs, Map::new()),
            Value::Object(mut rest) => match rest.shift_remove("jobs") {
                None => (Vec::new(), rest),
                Some(Value::Array(jobs)) => (jobs, rest),
                Some(_) => return Err("\"jobs\" is not a list".to_owned()),
            },
            _ => return Err("it holds neither an object nor a list".to_owned()),
        };
        let jobs: Option<Vec<Job>> = jobs
            .into_iter()
            .map(|job| match job {
                Value::Object(record) => Some(Job(record)),
                _ => None,
            })
            .collect();
        Ok(Self {
            jobs: jobs.ok_or("a job in it is not an object")?,
            rest,
        })
    }

    /// The job with this id.
    pub fn get(&self, id: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id() == id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.id() == id)
    }

    /// Gives an id to jobs that somebody wrote without one.
    fn complete_ids(&mut self) {
        for job in &mut self.jobs {
            if job.filled("id").is_none() {
                let older = job.0.shift_remove("job_id");
                let older = older.filter(|id| id.as_str().is_some_and(|id| !id.is_empty()));
                job.set(
                    "id",
                    older.unwrap_or_else(|| json!(hermes_fs::random_hex(12))),
                );
            }
        }
    }

    fn save(&self, home: &CronHome, now: Timestamp, zone: &TimeZone) -> Result<()> {
        let mut file = Map::new();
        file.insert("jobs".to_owned(), json!(self.jobs));
        file.extend(self.rest.clone());
        file.insert("updated_at".to_owned(), json!(written(now, zone)));
        let mut text =
            serde_json::to_vec_pretty(&Value::Object(file)).map_err(|error| Error::Damaged {
                path: home.jobs_file(),
                reason: error.to_string(),
            })?;
        text.push(b'\n');
        Ok(hermes_fs::write_atomic_exact(
            &home.jobs_file(),
            &text,
            0o600,
        )?)
    }
}

/// Changes the list while nobody else does. A list that stays as it was is not written.
pub(crate) fn change<T>(
    home: &CronHome,
    now: Timestamp,
    zone: &TimeZone,
    edit: impl FnOnce(&mut JobList) -> Result<T>,
) -> Result<T> {
    home.ensure()?;
    let options = LockOptions {
        what: "the list of scheduled jobs",
        timeout: LOCK_TIMEOUT,
    };
    let _lock = FileLock::acquire(&home.jobs_lock(), &options)?;
    let before = JobList::load(home)?;
    let mut list = before.clone();
    list.complete_ids();
    let done = edit(&mut list)?;
    if list != before {
        list.save(home, now, zone)?;
    }
    Ok(done)
}

/// The text with control characters inside of strings written as JSON wants them.
fn with_escaped_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        if in_string && character < ' ' {
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
            escaped = false;
            continue;
        }
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files directly")]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn home() -> (tempfile::TempDir, CronHome) {
        let directory = tempfile::tempdir().unwrap();
        let home = CronHome::new(directory.path());
        home.ensure().unwrap();
        (directory, home)
    }

    fn touch(home: &CronHome) -> Result<()> {
        change(home, Timestamp::UNIX_EPOCH, &TimeZone::UTC, |list| {
            for job in &mut list.jobs {
                job.set("touched", true);
            }
            Ok(())
        })
    }

    #[test]
    fn unknown_fields_and_their_order_survive() {
        let (_directory, home) = home();
        let text = r#"{"later": {"x": [1]}, "jobs": [{"zeta": 1, "id": "a", "alpha": null}]}"#;
        std::fs::write(home.jobs_file(), text).unwrap();
        touch(&home).unwrap();
        let text = std::fs::read_to_string(home.jobs_file()).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            json!({
                "jobs": [{"zeta": 1, "id": "a", "alpha": null, "touched": true}],
                "later": {"x": [1]},
                "updated_at": "1970-01-01T00:00:00.000000+00:00"
            })
        );
        let keys: Vec<&String> = value["jobs"][0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["zeta", "id", "alpha", "touched"]);
    }

    #[test]
    fn bare_lists_marks_and_control_characters_are_understood() {
        for text in [
            "[{\"id\": \"a\", \"prompt\": \"one\\ntwo\"}]",
            "\u{feff}{\"jobs\": [{\"id\": \"a\", \"prompt\": \"one\ntwo\"}]}",
            "{\"jobs\": [{\"job_id\": \"a\", \"prompt\": \"one\ntwo\"}]}",
        ] {
            let (_directory, home) = home();
            std::fs::write(home.jobs_file(), text).unwrap();
            touch(&home).unwrap();
            let list = JobList::load(&home).unwrap();
            assert_eq!(list.get("a").unwrap().prompt(), "one\ntwo", "{text}");
        }
    }

    #[test]
    fn what_is_damaged_is_refused_and_stays() {
        for text in ["", "{", "3", "null", "{\"jobs\": {}}", "[1]", "\u{0}\u{1}"] {
            let (_directory, home) = home();
            std::fs::write(home.jobs_file(), text).unwrap();
            let error = touch(&home).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{text}: {error}");
            assert_eq!(std::fs::read_to_string(home.jobs_file()).unwrap(), text);
        }
    }

    #[test]
    fn nothing_is_written_where_nothing_changes() {
        let (_directory, home) = home();
        let text = "{\"jobs\":[{\"id\":\"a\"}]}";
        std::fs::write(home.jobs_file(), text).unwrap();
        change(&home, Timestamp::UNIX_EPOCH, &TimeZone::UTC, |_| Ok(())).unwrap();
        assert_eq!(std::fs::read_to_string(home.jobs_file()).unwrap(), text);
    }
}
