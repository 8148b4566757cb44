//! Giving the runtime user what is Hermes' in the volume, and nothing else.
//!
//! Reached by descriptor from the volume's top directory: no link is followed, no other file system
//! entered, nothing outside touched. What cannot be changed (rootless engines, network storage) is
//! told and left.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_fs::{Directory, Kind};

use crate::Log;
use crate::known_tree::{KnownTree, KnownTrees, stamp_of};

/// Trees that are handed over with a top directory that was somebody else's.
pub(crate) const TREES: [&str; 14] = [
    "cron",
    "sessions",
    "logs",
    "hooks",
    "memories",
    "skills",
    "skins",
    "plans",
    "workspace",
    "home",
    "profiles",
    "pairing",
    "platforms/pairing",
    "lazy-packages",
];

/// Trees into which somebody else may have put something since the last start.
const TREES_OF_EVERY_START: [&str; 4] = ["profiles", "cron", "pairing", "platforms/pairing"];

/// Directories that are handed over themselves, without their content.
const DIRECTORIES: [&str; 3] = ["logs", "logs/gateways", "platforms"];

/// Files in the top directory that are Hermes'; a name that ends in `*` stands for all that begin so.
const FILES: [&str; 20] = [
    "auth.json",
    "auth.lock",
    ".env",
    ".env.lock",
    "config.yaml*",
    "SOUL.md",
    "profile.yaml",
    "active_profile",
    "state.db*",
    "response_store.db*",
    "memory_store.db*",
    "projects.db*",
    "kanban.db*",
    "gateway.*",
    "gateway_state.json*",
    "gateway-starts.log",
    ".gateway-*",
    "processes.json*",
    "channel_directory.json",
    ".clean_shutdown",
];

/// Where [`KnownTrees`] are kept.
const RECORD: &str = ".container-ownership.json";
/// A record of a million directories is a mistake.
const RECORD_LIMIT: u64 = 64 << 20;

/// Deeper than any tree that people make; a deeper one is left as it is.
const MOST_LEVELS: usize = 64;

/// Hands over what is Hermes' below a home.
pub(crate) fn hand_over(home: &Path, uid: u32, gid: u32, log: &mut Log<'_>) {
    let owner = match examine(home, uid, gid) {
        Ok(owner) => owner,
        Err(error) => return log(&format!("warning: {error}")),
    };
    let entries = |count: usize| match count {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    if owner.changed > 0 {
        log(&format!(
            "{} of {} now belong to {uid}:{gid} ({} looked at)",
            entries(owner.changed),
            home.display(),
            owner.looked_at
        ));
    }
    if let Some(reason) = &owner.first_refusal {
        log(&format!(
            "warning: {} could not be handed to {uid}:{gid}; the first: {reason}",
            entries(owner.refused)
        ));
    }
}

/// Goes through what may be foreign, and changes it.
fn examine(home: &Path, uid: u32, gid: u32) -> hermes_fs::Result<Owner> {
    let top = Directory::open(home)?;
    let top_meta = top.metadata(Path::new(""))?;
    let mut owner = Owner {
        uid,
        gid,
        device: top_meta.dev(),
        now: SystemTime::now(),
        looked_at: 0,
        changed: 0,
        refused: 0,
        first_refusal: None,
    };
    let before = KnownTrees::read(&read_record(&top), uid, gid);
    let mut known = before.clone();

    let trees: &[&str] = if top_meta.uid() == uid {
        &TREES_OF_EVERY_START
    } else {
        &TREES
    };
    owner.give(&top, Path::new(""), &top_meta);
    for tree in trees {
        match owner.tree(&top, Path::new(tree), known.trees.get(*tree), 0) {
            Some(found) => known.trees.insert((*tree).to_owned(), found),
            None => known.trees.remove(*tree),
        };
    }
    for directory in DIRECTORIES {
        owner.entry(&top, Path::new(directory), Kind::Dir);
    }
    owner.files(&top);
    if known != before
        && let Err(error) = write_record(&top, &known)
    {
        owner.refuse(error.to_string());
    }
    Ok(owner)
}

/// The user that gets everything, and what was done about it.
struct Owner {
    uid: u32,
    gid: u32,
    /// The file system of the volume.
    device: u64,
    now: SystemTime,
    looked_at: usize,
    changed: usize,
    refused: usize,
    first_refusal: Option<String>,
}

impl Owner {
    /// A directory and everything below; what is known of it afterwards, or `None` if it is not there
    /// or is no directory of this file system.
    fn tree(
        &mut self,
        parent: &Directory,
        relative: &Path,
        known: Option<&KnownTree>,
        level: usize,
    ) -> Option<KnownTree> {
        if level > MOST_LEVELS {
            return None;
        }
        let directory = match parent.directory(relative) {
            Ok(directory) => directory,
            Err(error) => {
                let is_absent = error.is_not_found();
                let is_link = matches!(error, hermes_fs::Error::SymlinkInPath { .. });
                if !is_absent && !is_link {
                    self.refuse(error.to_string());
                }
                return None;
            }
        };
        let meta = directory.metadata(Path::new("")).ok()?;
        if meta.dev() != self.device {
            return None;
        }
        let refused_before = self.refused;
        self.looked_at += 1;
        self.give(&directory, Path::new(""), &meta);
        let stamp = stamp_of(&meta, self.now);
        let mut found = KnownTree::default();
        match known.filter(|known| Some(&known.stamp) == stamp.as_ref()) {
            Some(known) => {
                for (name, below) in &known.below {
                    let seen = self.tree(&directory, Path::new(name), Some(below), level + 1);
                    found.below.extend(seen.map(|seen| (name.clone(), seen)));
                }
            }
            None => self.content(&directory, known, level, &mut found),
        }
        if self.refused == refused_before {
            found.stamp = stamp.unwrap_or_default();
        }
        Some(found)
    }

    /// Everything in a directory about which nothing is known.
    fn content(
        &mut self,
        directory: &Directory,
        known: Option<&KnownTree>,
        level: usize,
        found: &mut KnownTree,
    ) {
        let entries = match directory.entries() {
            Ok(entries) => entries,
            Err(error) => return self.refuse(error.to_string()),
        };
        for entry in entries {
            let name = PathBuf::from(&entry.name);
            if entry.kind != Kind::Dir {
                self.entry(directory, &name, entry.kind);
                continue;
            }
            let text = entry.name.to_str();
            let known = text.and_then(|name| known?.below.get(name));
            let seen = self.tree(directory, &name, known, level + 1);
            found
                .below
                .extend(text.zip(seen).map(|(name, seen)| (name.to_owned(), seen)));
        }
    }

    /// One entry without what may be below it, if it is of this kind.
    fn entry(&mut self, parent: &Directory, name: &Path, kind: Kind) {
        self.looked_at += 1;
        match parent.metadata(name) {
            Ok(meta) if Kind::from(meta.file_type()) == kind && meta.dev() == self.device => {
                self.give(parent, name, &meta);
            }
            Ok(_) | Err(hermes_fs::Error::SymlinkInPath { .. }) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => self.refuse(error.to_string()),
        }
    }

    /// Files in the top directory that are Hermes' by their names: they belong to the runtime user, who
    /// can read and write them.
    fn files(&mut self, top: &Directory) {
        let files = match top.entries_named(is_own_file) {
            Ok(files) => files,
            Err(error) => return self.refuse(error.to_string()),
        };
        for file in files.iter().filter(|file| file.kind == Kind::File) {
            let name = Path::new(&file.name);
            self.entry(top, name, Kind::File);
            let Ok(meta) = top.metadata(name) else {
                continue;
            };
            let mode = meta.mode() & 0o7777;
            if mode & 0o600 != 0o600
                && let Err(error) = top.set_file_mode(name, mode | 0o600)
            {
                self.refuse(error.to_string());
            }
        }
    }

    fn give(&mut self, parent: &Directory, name: &Path, meta: &Metadata) {
        if (meta.uid(), meta.gid()) == (self.uid, self.gid) {
            return;
        }
        match parent.chown(name, self.uid, self.gid) {
            Ok(()) => self.changed += 1,
            Err(error) => self.refuse(error.to_string()),
        }
    }

    fn refuse(&mut self, reason: String) {
        self.refused += 1;
        self.first_refusal.get_or_insert(reason);
    }
}

fn is_own_file(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    FILES.iter().any(|own| match own.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *own,
    })
}

fn read_record(top: &Directory) -> Vec<u8> {
    use std::io::Read;

    let mut bytes = Vec::new();
    // No record, or one that cannot be read: everything is looked at.
    if let Ok((file, _)) = top.open_file(Path::new(RECORD))
        && file.take(RECORD_LIMIT).read_to_end(&mut bytes).is_err()
    {
        bytes.clear();
    }
    bytes
}

fn write_record(top: &Directory, known: &KnownTrees) -> hermes_fs::Result<()> {
    use std::io::Write;

    let path = top.path().join(RECORD);
    let failed = |error: std::io::Error| hermes_fs::Error::io("write", &path)(error);
    let bytes = serde_json::to_vec(known).map_err(|error| failed(error.into()))?;
    let staged = PathBuf::from(format!("{RECORD}.tmp"));
    top.remove_file(&staged)?;
    let mut file = top.create_file(&staged, 0o600)?;
    file.write_all(&bytes).map_err(failed)?;
    top.rename_unsynced(&staged, top, Path::new(RECORD))
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod tests;
