//! Directories whose content is known to belong to the runtime user, so that a start need not look at
//! every file of a large volume again.
//!
//! A directory is known by its inode and the time of the last change of its names: nothing can be put
//! into it without changing that. The record lies in the volume, where the runtime user can forge it;
//! all that this achieves is that foreign files stay foreign.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A change within this time before the look may be followed by another with the same time.
const TOO_FRESH: Duration = Duration::from_secs(2);

/// What is known of all trees, and for which owner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownTrees {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    #[serde(default)]
    pub(crate) trees: BTreeMap<String, KnownTree>,
}

/// One directory and those below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownTree {
    /// Empty if the content has to be looked at again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) stamp: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) below: BTreeMap<String, Self>,
}

impl KnownTrees {
    /// The record in these bytes, if it is about this owner; else an empty one.
    pub(crate) fn read(bytes: &[u8], uid: u32, gid: u32) -> Self {
        let read: Option<Self> = serde_json::from_slice(bytes).ok();
        read.filter(|known| (known.uid, known.gid) == (uid, gid))
            .unwrap_or(Self {
                uid,
                gid,
                trees: BTreeMap::new(),
            })
    }
}

/// What a directory is known by; `None` if it has changed too recently to tell.
pub(crate) fn stamp_of(meta: &std::fs::Metadata, now: SystemTime) -> Option<String> {
    let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(meta.mtime()).ok()?);
    let age = now.duration_since(changed).ok()?;
    (age > TOO_FRESH).then(|| format!("{}:{}.{}", meta.ino(), meta.mtime(), meta.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_record_of_another_owner_or_of_garbage_says_nothing() {
        let mut known = KnownTrees::read(b"", 10, 20);
        known
            .trees
            .insert("profiles".to_owned(), KnownTree::default());
        let bytes = serde_json::to_vec(&known).unwrap();
        assert_eq!(KnownTrees::read(&bytes, 10, 20), known);
        assert_eq!(KnownTrees::read(&bytes, 11, 20).trees, BTreeMap::new());
        assert_eq!(KnownTrees::read(b"[1", 10, 20).trees, BTreeMap::new());
    }

    #[test]
    fn a_fresh_directory_is_not_known_yet() {
        let directory = tempfile::tempdir().unwrap();
        let meta = hermes_fs::metadata(directory.path()).unwrap();
        assert_eq!(stamp_of(&meta, SystemTime::now()), None);
        let later = SystemTime::now() + Duration::from_secs(10);
        assert!(stamp_of(&meta, later).is_some());
    }
}
