//! Whether a directory may be the store, and what state it is in.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Kind};

use super::names::{ENVIRONMENTS, INDEX, LOCK, NODE, SHIMS, STAGES, STAMP, TRASH};
use crate::error::{AddonError, Code, Result};
use crate::settings::{AddonSettings, IMAGE_PREFIX};

/// Longest stamp that is read.
const MAX_STAMP: u64 = 4096;

/// The store as a place; it may not exist.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) root: PathBuf,
}

/// What is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreState {
    Missing,
    Usable,
}

impl Store {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Whether the directory may be used as the store. Changes nothing.
    pub(crate) fn examine(settings: &AddonSettings) -> Result<(Self, StoreState)> {
        let given = &settings.store;
        refuse_place(settings)?;
        let store = Self {
            root: hermes_fs::resolved(given),
        };
        let meta = match hermes_fs::metadata(&store.root) {
            Ok(meta) => meta,
            Err(error) if error.is_not_found() => return Ok((store, StoreState::Missing)),
            Err(error) => return Err(AddonError::store(given, &error)),
        };
        if !meta.is_dir() {
            let reason = format!("{} is not a directory", given.display());
            return Err(AddonError::new(Code::StoreInvalid, reason).hint("move the file away"));
        }
        let user = rustix::process::geteuid().as_raw();
        if meta.uid() != user {
            let reason = format!(
                "{} belongs to user {}, not to this one ({user})",
                given.display(),
                meta.uid()
            );
            return Err(AddonError::new(Code::StoreUnsafe, reason)
                .hint("run this as its owner, or choose another directory"));
        }
        if meta.mode() & 0o022 != 0 {
            let reason = format!("others may write in {}", given.display());
            return Err(AddonError::new(Code::StoreUnsafe, reason)
                .hint(format!("run: chmod go-w '{}'", given.display())));
        }
        store.refuse_foreign(given)?;
        Ok((store, StoreState::Usable))
    }

    /// A directory with something in it that neither we nor the reference put there.
    fn refuse_foreign(&self, given: &Path) -> Result<()> {
        let entries = hermes_fs::read_dir(&self.root);
        let entries = entries.map_err(|error| unreadable(given, &error))?;
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        // One that is being made has a lock, and perhaps a stamp under another name.
        let is_new = entries
            .iter()
            .all(|entry| is_own_file(&entry.name.to_string_lossy()));
        if has(STAMP) || has(INDEX) || is_new {
            return Ok(());
        }
        let reason = format!(
            "{} is not empty and is not a Hermes add-on store; choose another directory",
            given.display()
        );
        Err(AddonError::new(Code::StoreForeign, reason)
            .hint("set HERMES_LAZY_INSTALL_TARGET to an empty or new directory"))
    }

    /// Makes the store and its directories.
    pub(crate) fn create(&self) -> Result<()> {
        let failed = |error: hermes_fs::Error| AddonError::store(&self.root, &error);
        hermes_fs::create_dir_all(&self.root, 0o700).map_err(failed)
    }

    /// The directories of the store, none of them a link.
    pub(crate) fn create_parts(&self) -> Result<()> {
        let failed = |error: hermes_fs::Error| AddonError::store(&self.root, &error);
        let root = Directory::open(&self.root).map_err(failed)?;
        for name in [ENVIRONMENTS, NODE, SHIMS, STAGES, TRASH] {
            let made = root.create_directories(Path::new(name), 0o700);
            made.map_err(failed)?;
        }
        Ok(())
    }

    /// What the compiled code in the store is for.
    pub(crate) fn stamp(&self) -> Option<String> {
        let text = hermes_fs::read_optional(&self.path(STAMP), MAX_STAMP).ok()??;
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    pub(crate) fn write_stamp(&self, abi: &str) -> Result<()> {
        hermes_fs::write_atomic(&self.path(STAMP), abi.as_bytes(), 0o600)
            .map_err(|error| AddonError::store(&self.root, &error))
    }

    /// Names in the store that are not ours: packages that the reference put there.
    pub(crate) fn legacy_names(&self) -> Vec<String> {
        let entries = hermes_fs::read_dir(&self.root).unwrap_or_default();
        let names = entries.into_iter().filter_map(|entry| {
            let name = entry.name.into_string().ok()?;
            let is_ours = name.starts_with('@') || is_own_file(&name);
            (!is_ours).then_some(name)
        });
        names.collect()
    }

    /// Moves something out of sight, then removes it. What cannot be removed now goes with the next
    /// collection.
    pub(crate) fn discard(&self, path: &Path) -> Result<()> {
        let failed = |error: hermes_fs::Error| AddonError::store(&self.root, &error);
        let trash = self.path(TRASH).join(hermes_fs::random_hex(16));
        match hermes_fs::rename_unsynced(path, &trash) {
            Err(error) if error.is_not_found() => return Ok(()),
            other => other.map_err(failed)?,
        }
        if let Err(error) = hermes_fs::remove_tree(&trash) {
            tracing::warn!(%error, "something of the add-on store could not be removed yet");
        }
        Ok(())
    }

    /// Bytes of all files below a path.
    pub(crate) fn bytes_below(path: &Path) -> u64 {
        let mut bytes = 0;
        let Ok(root) = Directory::open(path) else {
            return hermes_fs::symlink_metadata(path).map_or(0, |meta| meta.len());
        };
        // What cannot be looked at is not counted.
        let Ok(()) = root.walk(&mut |relative, entry| {
            if entry.is_ok_and(|entry| entry.kind == Kind::File) {
                bytes += root.metadata(relative).map_or(0, |meta| meta.len());
            }
            Ok::<bool, std::convert::Infallible>(true)
        });
        bytes
    }
}

/// Whether a name is that of one of our files, or of one that is about to take its place.
fn is_own_file(name: &str) -> bool {
    [LOCK, INDEX, STAMP].iter().any(|own| name.contains(own))
}

/// Places that are somebody else's, whatever is there.
fn refuse_place(settings: &AddonSettings) -> Result<()> {
    let given = &settings.store;
    let refused = |why: &str| {
        let reason = format!("{} cannot hold add-ons: {why}", given.display());
        Err(AddonError::new(Code::StoreInvalid, reason)
            .hint("set HERMES_LAZY_INSTALL_TARGET to a directory of its own"))
    };
    if !given.is_absolute() {
        return refused("the path is not absolute");
    }
    let store = hermes_fs::resolved(given);
    let holds = |path: &Path| hermes_fs::resolved(path).starts_with(&store);
    if holds(&settings.places.user_home) {
        return refused("it is, or holds, the user's home");
    }
    if holds(&settings.places.home) {
        return refused("it is, or holds, the home of Hermes");
    }
    // A store below the directory of the program is nobody's mistake: people keep it in their home.
    let program = settings.places.program_directory.as_deref();
    if program.is_some_and(holds) || store.starts_with(IMAGE_PREFIX) {
        return refused("the program itself is there");
    }
    Ok(())
}

fn unreadable(given: &Path, error: &hermes_fs::Error) -> AddonError {
    let reason = format!(
        "the add-on store {} cannot be read: {error}",
        given.display()
    );
    AddonError::new(Code::StoreUnwritable, reason).hint("check its owner and mode")
}
