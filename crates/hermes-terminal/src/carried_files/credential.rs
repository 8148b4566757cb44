//! Which declared credential file may leave this machine.
//!
//! A skill from anywhere can declare files. What it gets must lie in the home, and must not be one of
//! the stores that hold everything else: those open every account the user has.

use std::path::{Path, PathBuf};

/// Stores of a home that never go along, and what begins like them: `.env.bak` holds the same.
const STORES: &[&str] = &[
    ".env",
    "auth.json",
    "auth.lock",
    ".anthropic_oauth.json",
    "auth/google_oauth.json",
    "config.yaml",
    "webhook_subscriptions.json",
    "cache/bws_cache",
    "cache/op_cache",
];
/// Directories of a home of which nothing goes along.
const STORE_DIRECTORIES: &[&str] = &["mcp-tokens", "pairing"];

/// Why a declared file does not go along.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it must be a path relative to the Hermes home, without '..'")]
    NotRelative,
    #[error("there is no such file")]
    Missing,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("a link leads out of the Hermes home")]
    Outside,
    #[error("it is a store of Hermes itself and stays on this machine")]
    MasterStore,
    #[error("{0}")]
    Unreadable(String),
}

/// Where a declared file really is and where it belongs below `.hermes`.
pub(super) fn resolve(home: &Path, declared: &str) -> Result<(PathBuf, PathBuf), Refusal> {
    let target = hermes_fs::confined_relative(declared).map_err(|_| Refusal::NotRelative)?;
    let unreadable = |error: hermes_fs::Error| {
        if error.is_not_found() {
            Refusal::Missing
        } else {
            Refusal::Unreadable(error.to_string())
        }
    };
    let real_home = hermes_fs::canonicalize(home).map_err(unreadable)?;
    let source = hermes_fs::canonicalize(&real_home.join(&target)).map_err(unreadable)?;
    let inside = source
        .strip_prefix(&real_home)
        .map_err(|_| Refusal::Outside)?;
    if is_master_store(&target) || is_master_store(inside) {
        return Err(Refusal::MasterStore);
    }
    if !hermes_fs::symlink_metadata(&source)
        .map_err(unreadable)?
        .is_file()
    {
        return Err(Refusal::NotAFile);
    }
    Ok((source, target))
}

/// Whether a path in a home, or in a profile of it, is one of the stores.
fn is_master_store(relative: &Path) -> bool {
    let mut parts = relative.components();
    let in_profile = parts
        .next()
        .is_some_and(|part| part.as_os_str() == "profiles")
        && parts.next().is_some();
    let inner = if in_profile {
        parts.as_path()
    } else {
        relative
    };
    // Some file systems take both cases for one name.
    let text = inner.to_string_lossy().to_ascii_lowercase();
    let in_directory = |directory: &&str| {
        let rest = text.strip_prefix(*directory);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_store = |store: &&str| {
        let rest = text.strip_prefix(*store);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '~', '-']))
    };
    STORE_DIRECTORIES.iter().any(in_directory) || STORES.iter().any(is_store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_known_by_any_spelling() {
        for store in [
            ".env",
            ".ENV",
            ".env.bak",
            ".env~",
            "auth.json",
            "auth.json.20260101",
            "mcp-tokens",
            "mcp-tokens/github.json",
            "cache/bws_cache.json",
            "cache/bws_cache.enc.json",
            "profiles/coder/.env",
            "profiles/coder/mcp-tokens/x",
        ] {
            assert!(is_master_store(Path::new(store)), "{store}");
        }
        for other in [
            "google_token.json",
            "credentials/x.json",
            ".environment",
            "skills/mail/.env",
            "mcp-tokens-of-mine.json",
            "cache/documents/auth.json",
        ] {
            assert!(!is_master_store(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn only_plain_files_inside_the_home_go_along() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        let put = |name: &str| hermes_fs::write_atomic(&place.path().join(name), b"x", 0o600);
        hermes_fs::create_dir_all(&home.join("sub"), 0o700).unwrap();
        for name in ["outside", "home/token.json", "home/.env"] {
            put(name).unwrap();
        }
        hermes_fs::symlink(Path::new("../outside"), &home.join("leak")).unwrap();
        hermes_fs::symlink(Path::new(".env"), &home.join("innocent.json")).unwrap();
        hermes_fs::symlink(Path::new("token.json"), &home.join("alias.json")).unwrap();

        let real = hermes_fs::canonicalize(&home).unwrap();
        let fine = |name: &str| Ok((real.join("token.json"), PathBuf::from(name)));
        assert_eq!(resolve(&home, "token.json"), fine("token.json"));
        assert_eq!(resolve(&home, "./alias.json"), fine("alias.json"));
        for (declared, refusal) in [
            ("../../.ssh/id_rsa", Refusal::NotRelative),
            ("/etc/passwd", Refusal::NotRelative),
            ("", Refusal::NotRelative),
            (".env", Refusal::MasterStore),
            ("innocent.json", Refusal::MasterStore),
            ("leak", Refusal::Outside),
            ("sub", Refusal::NotAFile),
            ("nothing", Refusal::Missing),
        ] {
            assert_eq!(resolve(&home, declared), Err(refusal), "{declared}");
        }
    }
}
