//! What was brought to a machine last, kept in the home.
//!
//! A list here is only as good as what is really there, so every push leaves a stamp on the other side
//! that has to match: the machine may have been made anew, or another home may have brought its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use hermes_fs::random_hex;
use hermes_terminal::carried_files::{CarriedFile, CarriedKind};

const VERSION: u64 = 1;
/// A hundred thousand files need less.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const DIGITS: usize = 16;

/// A file as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentFile {
    /// When the file here had been changed, in nanoseconds since 1970.
    #[serde(rename = "mtime_ns")]
    pub(super) modified: i64,
    pub(super) size: u64,
    #[serde(rename = "sha256")]
    pub(super) hash: String,
    /// Whether changes to it are never fetched.
    #[serde(rename = "credential")]
    pub(super) is_credential: bool,
}

impl SentFile {
    /// Whether the file here is still the one that was sent, by the look of it.
    pub(super) fn looks_like(&self, file: &CarriedFile) -> bool {
        let is_credential = file.kind == CarriedKind::Credential;
        self.modified == file.modified
            && self.size == file.size
            && self.is_credential == is_credential
    }
}

/// Who brought files there, and which time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) home: String,
    pub(super) generation: String,
}

impl Stamp {
    /// For the next push of the home that made this one, or of a new home.
    pub(super) fn next(previous: Option<&Self>) -> Self {
        Self {
            home: previous.map_or_else(|| random_hex(DIGITS), |stamp| stamp.home.clone()),
            generation: random_hex(DIGITS),
        }
    }

    /// Found in what the other side printed; other lines may be around it.
    pub(super) fn find_in(text: &str) -> Option<Self> {
        text.lines().rev().find_map(|line| {
            let (home, generation) = line.trim().split_once(' ')?;
            let is_id =
                |text: &str| text.len() == DIGITS && text.bytes().all(|it| it.is_ascii_hexdigit());
            (is_id(home) && is_id(generation)).then(|| Self {
                home: home.to_owned(),
                generation: generation.to_owned(),
            })
        })
    }
}

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} {}", self.home, self.generation)
    }
}

/// What is there, as far as this home knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The home there.
    pub(super) remote_home: String,
    /// Left there by the last push; `None` before the first.
    #[serde(flatten)]
    pub(super) stamp: Option<Stamp>,
    /// By path below `.hermes` there.
    pub(super) files: BTreeMap<String, SentFile>,
}

/// A manifest as it is written down.
#[derive(Serialize, Deserialize)]
struct Stored<M> {
    version: u64,
    hermes_home: Option<String>,
    #[serde(flatten)]
    manifest: M,
}

impl Manifest {
    pub(super) fn path(hermes_home: &Path, id: &str) -> PathBuf {
        hermes_home.join("cache/sync").join(format!("{id}.json"))
    }

    /// The list of this home. An unreadable one counts as none, and so does one that a copied home
    /// brought along: everything is sent again.
    pub(super) fn load(path: &Path, hermes_home: &Path) -> Self {
        let loaded = match hermes_fs::read_optional(path, MAX_BYTES) {
            Ok(None) => return Self::default(),
            Ok(Some(bytes)) => match serde_json::from_slice::<Stored<Self>>(&bytes) {
                Ok(stored) if stored.version != VERSION => {
                    Err("it has an unknown format".to_owned())
                }
                Ok(stored) => match stored.hermes_home {
                    Some(owner) if owner != shown(hermes_home) => {
                        Err("it belongs to another home".to_owned())
                    }
                    _ => Ok(stored.manifest),
                },
                Err(error) => Err(error.to_string()),
            },
            Err(error) => Err(error.to_string()),
        };
        loaded.unwrap_or_else(|reason| {
            tracing::warn!(
                "ignoring {}, all files are sent again: {reason}",
                path.display()
            );
            Self::default()
        })
    }

    pub(super) fn save(&self, path: &Path, hermes_home: &Path) -> Result<(), hermes_fs::Error> {
        if let Some(parent) = path.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        let stored = Stored {
            version: VERSION,
            hermes_home: Some(shown(hermes_home)),
            manifest: self,
        };
        let text = format!("{}\n", serde_json::json!(stored));
        hermes_fs::write_atomic(path, text.as_bytes(), 0o600)
    }

    /// Compares with what is really there. Another stamp means that nothing is known to be there; a
    /// push of our own that we did not see the end of still tells what else we brought once.
    pub(super) fn check(&mut self, remote_home: &str, found: Option<&Stamp>) -> Vec<String> {
        if self.remote_home == remote_home && self.stamp.as_ref() == found {
            return Vec::new();
        }
        let ours = |stamp: &Stamp| found.is_some_and(|found| found.home == stamp.home);
        let known = std::mem::take(&mut self.files);
        let is_same_place = self.remote_home == remote_home;
        remote_home.clone_into(&mut self.remote_home);
        if is_same_place && self.stamp.as_ref().is_some_and(ours) {
            known.into_keys().collect()
        } else {
            Vec::new()
        }
    }
}

/// A home by its real path, whichever way it was reached.
fn shown(hermes_home: &Path) -> String {
    let real = hermes_fs::canonicalize(hermes_home);
    let real = real.unwrap_or_else(|_| hermes_home.to_owned());
    real.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn manifest() -> Manifest {
        let file = SentFile {
            modified: 1_700_000_000_123_456_789,
            size: 12,
            hash: "ab".repeat(32),
            is_credential: true,
        };
        Manifest {
            remote_home: "/root".to_owned(),
            stamp: Some(Stamp::next(None)),
            files: BTreeMap::from([("token \"x\".json".to_owned(), file)]),
        }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let home = tempfile::tempdir().unwrap();
        let path = Manifest::path(home.path(), "0123456789abcdef");
        assert_eq!(Manifest::load(&path, home.path()), Manifest::default());
        let saved = manifest();
        saved.save(&path, home.path()).unwrap();
        assert_eq!(Manifest::load(&path, home.path()), saved);
        assert!(path.ends_with("cache/sync/0123456789abcdef.json"));

        // A copy of the home has the list, but its files were never sent.
        let copy = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::load(&path, copy.path()), Manifest::default());
    }

    #[test]
    fn a_damaged_list_is_no_list() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.json");
        for text in [
            "",
            "{",
            "[]",
            r#"{"version":2,"remote_home":"/","files":{}}"#,
            r#"{"version":1,"remote_home":"/","files":{"a":{"size":-1}}}"#,
        ] {
            hermes_fs::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
            let loaded = Manifest::load(&path, home.path());
            assert_eq!(loaded, Manifest::default(), "{text}");
        }
    }

    #[test]
    fn stamps_are_found_between_other_lines() {
        let stamp = Stamp::next(None);
        let text = format!("Welcome to box\n{stamp}\n");
        assert_eq!(Stamp::find_in(&text), Some(stamp.clone()));
        assert_eq!(Stamp::find_in("0123 4567"), None);
        let next = Stamp::next(Some(&stamp));
        assert_eq!(next.home, stamp.home);
        assert_ne!(next.generation, stamp.generation);
    }

    #[test]
    fn only_a_matching_stamp_is_trusted() {
        let known = manifest();
        let stamp = known.stamp.clone().unwrap();

        let mut trusted = known.clone();
        assert!(trusted.check("/root", Some(&stamp)).is_empty());
        assert_eq!(trusted, known);

        // A push whose end we did not see: what it brought is not known, what is to go still is.
        let mut interrupted = known.clone();
        let newer = Stamp::next(Some(&stamp));
        assert_eq!(
            interrupted.check("/root", Some(&newer)),
            ["token \"x\".json"]
        );
        assert!(interrupted.files.is_empty());

        for found in [None, Some(Stamp::next(None))] {
            let mut other = known.clone();
            assert!(other.check("/root", found.as_ref()).is_empty());
            assert!(other.files.is_empty());
        }
        let mut moved = known;
        assert!(moved.check("/home/me", Some(&stamp)).is_empty());
        assert!(moved.files.is_empty() && moved.remote_home == "/home/me");
    }
}
