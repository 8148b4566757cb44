//! Caches of toolchains, which builds have to write.
//!
//! Only what holds data or source: never a directory whose programs the user starts later, such as
//! `~/.cargo/bin` or `~/.local/bin`, nor settings. A toolchain that is not there gets nothing.

use std::path::{Path, PathBuf};

use super::look::Look;

/// Below a home: the directory of a toolchain, and what of it may be written.
const CACHES: &[(&str, &[&str])] = &[
    (".cache", &["."]),
    (".cargo", &["registry", "git"]),
    (".npm", &["_cacache", "_logs"]),
    (".bun/install", &["cache"]),
    (".yarn/berry", &["cache"]),
    (".local/share/pnpm", &["store"]),
    ("go", &["pkg/mod"]),
    (".gradle", &["caches", "daemon", "native"]),
    (".m2", &["repository"]),
    (".ivy2", &["cache"]),
    (".nuget", &["packages"]),
    (".composer", &["cache"]),
    (".bundle", &["cache"]),
    (".pub-cache", &["hosted"]),
    (".cabal", &["packages"]),
    (".conan2", &["p"]),
];

/// Single files that toolchains lock, where they exist.
const LOCKS: &[&str] = &[
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
];

/// The caches of the toolchains in a home; not all of them need exist.
pub(super) fn caches_in(home: &Path, look: &Look) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let mut directories = Vec::new();
    for (toolchain, parts) in CACHES {
        let toolchain = home.join(toolchain);
        // Where everything else keeps its caches; there is one in every home, or should be.
        let is_common = parts.contains(&".");
        let is_there = look.has(&toolchain) && look.is_dir(&toolchain);
        if is_there || (is_common && look.is_dir(home)) {
            let parts = parts.iter();
            directories.extend(parts.map(|part| match *part {
                "." => toolchain.clone(),
                part => toolchain.join(part),
            }));
        }
    }
    let locks = LOCKS.iter().map(|lock| home.join(lock));
    let is_there = |lock: &PathBuf| look.has(lock) && look.is_file(lock);
    (directories, locks.filter(is_there).collect())
}
