//! The programs that workers start with: compiled in, written to the store, compared at each start.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hermes_fs::{Directory, Staging};
use sha2::{Digest, Sha256};

use crate::error::{AddonError, Result};
use crate::store::{SHIMS, STAGES, Store};

const MAX_FILE: u64 = 1 << 20;
pub(super) const MAIN: &str = "worker.py";
const FILES: [(&str, &str); 3] = [
    (MAIN, include_str!("../../shim/worker.py")),
    (
        "hermes_debug_selftest.py",
        include_str!("../../shim/hermes_debug_selftest.py"),
    ),
    (
        "hermes_tts_espeak.py",
        include_str!("../../shim/hermes_tts_espeak.py"),
    ),
];

/// The program between the worker and the packages of a feature, if this build has one.
pub(crate) fn adapter(feature: &str) -> Option<(&'static str, &'static str)> {
    let name = format!("hermes_{}.py", feature.replace(['.', '-'], "_"));
    FILES.into_iter().find(|(file, _)| *file == name)
}

/// A name for these files: the beginning of a hash over all of them.
static NAME: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for (name, text) in FILES {
        digest.update(format!("{name}\0{}\0{text}", text.len()));
    }
    let mut name = hermes_fs::hex(&digest.finalize());
    name.truncate(12);
    name
});

/// The name of the directory that this build uses.
pub(crate) fn name() -> &'static str {
    &NAME
}

/// The directory of the programs, made if it is missing and made again if anything in it differs.
pub(crate) fn provide(store: &Store) -> Result<PathBuf> {
    let path = store.path(SHIMS).join(name());
    if is_intact(&path) {
        return Ok(path);
    }
    let failed = |error: hermes_fs::Error| AddonError::store(&store.root, &error);
    store.create_parts()?;
    store.discard(&path)?;
    let stage = Staging::begin(&store.path(STAGES), "shim").map_err(failed)?;
    for (name, text) in FILES {
        let file = stage.path().join(name);
        hermes_fs::write_atomic(&file, text.as_bytes(), 0o444).map_err(failed)?;
    }
    match stage.publish(&path) {
        // Somebody else made it at the same time.
        Err(_) if is_intact(&path) => Ok(path),
        published => published.map(|()| path).map_err(failed),
    }
}

/// Whether the directory has our files, as they are here, and nothing else.
fn is_intact(path: &Path) -> bool {
    let Ok(entries) = Directory::open(path).and_then(|directory| directory.entries()) else {
        return false;
    };
    let is_ours = |name: &str| FILES.iter().any(|(own, _)| *own == name);
    entries.len() == FILES.len()
        && entries
            .iter()
            .all(|entry| is_ours(&entry.name.to_string_lossy()))
        && FILES.iter().all(|(name, text)| {
            hermes_fs::read_capped(&path.join(name), MAX_FILE)
                .is_ok_and(|found| found == text.as_bytes())
        })
}
