//! `processes.json`: the running background processes of a home.
//!
//! An array of objects whose field names are the reference's. Fields we do not know are kept, and
//! entries of other live processes are left alone. A file that cannot be read is moved aside, never
//! overwritten.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions};
use serde_json::{Map, Value};

/// Far more than 64 processes need.
const LARGEST: u64 = 16 * 1024 * 1024;

/// One entry, with everything that stands in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Record(pub(super) Map<String, Value>);

impl Record {
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(super) fn float(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let items = self.0.get(name).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.text("session_id")
    }
}

#[derive(Debug)]
pub(super) struct ProcessFile {
    path: PathBuf,
}

impl ProcessFile {
    pub(super) fn of(home: &Path) -> Self {
        Self {
            path: home.join("processes.json"),
        }
    }

    pub(super) fn load(&self) -> hermes_fs::Result<Vec<Record>> {
        let Some(bytes) = hermes_fs::read_optional(&self.path, LARGEST)? else {
            return Ok(Vec::new());
        };
        if let Some(records) = parse(&bytes) {
            return Ok(records);
        }
        let stamp = jiff::Timestamp::now().as_second();
        let aside = self
            .path
            .with_file_name(format!("processes.json.bad-{stamp}"));
        hermes_fs::rename(&self.path, &aside)?;
        tracing::warn!(
            moved_to = %aside.display(),
            "processes.json could not be parsed and was moved aside"
        );
        Ok(Vec::new())
    }

    /// Replaces the entries of `ours` (all ids that were ever ours) by `running`.
    pub(super) fn save(
        &self,
        ours: &BTreeSet<String>,
        running: Vec<Record>,
    ) -> hermes_fs::Result<()> {
        if let Some(parent) = self.path.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        let lock = self.path.with_file_name("processes.json.lock");
        let _lock = FileLock::acquire(&lock, &LockOptions::new("processes.json"))?;
        let mut records = self.load()?;
        records.retain(|record| !record.id().is_some_and(|id| ours.contains(id)));
        records.extend(running);
        let list = records.into_iter().map(|record| Value::Object(record.0));
        let text = format!("{:#}\n", Value::Array(list.collect()));
        hermes_fs::write_atomic_exact(&self.path, text.as_bytes(), 0o600)
    }
}

fn parse(bytes: &[u8]) -> Option<Vec<Record>> {
    let Ok(Value::Array(items)) = serde_json::from_slice(bytes) else {
        return None;
    };
    // One odd entry is not a reason to lose the others.
    let objects = items.into_iter().filter_map(|item| match item {
        Value::Object(fields) => Some(Record(fields)),
        _ => None,
    });
    Some(objects.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    fn record(value: Value) -> Record {
        let Value::Object(fields) = value else {
            panic!("an object")
        };
        Record(fields)
    }

    #[test]
    fn entries_of_others_and_unknown_fields_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("processes.json");
        let other =
            json!({"session_id": "proc_other", "pid": 1, "from_the_future": [1, {"a": null}]});
        std::fs::write(
            &path,
            json!([other, {"session_id": "proc_mine"}]).to_string(),
        )
        .unwrap();
        let file = ProcessFile::of(dir.path());
        let mine = record(json!({"session_id": "proc_mine", "pid": 2}));
        file.save(&["proc_mine".to_owned()].into(), vec![mine.clone()])
            .unwrap();
        assert_eq!(file.load().unwrap(), [record(other), mine]);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_broken_file_is_moved_aside() {
        for broken in ["[{\"session_id\": ", "{}", "", "\u{0}"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("processes.json");
            std::fs::write(&path, broken).unwrap();
            let file = ProcessFile::of(dir.path());
            assert_eq!(file.load().unwrap(), []);
            let names: Vec<_> = std::fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            assert_eq!(names.len(), 1);
            assert!(names[0].starts_with("processes.json.bad-"), "{names:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ProcessFile::of(dir.path()).load().unwrap(), []);
    }
}
