//! Labels: how containers of Hermes are found again, by this program and by the reference.

use std::path::Path;

use sha2::{Digest, Sha256};

/// Marks every container of ours; value `1`.
pub const AGENT: &str = "hermes-agent";
/// The sanitized task id.
pub const TASK_ID: &str = "hermes-task-id";
/// The sanitized profile name.
pub const PROFILE: &str = "hermes-profile";
/// Which HERMES_HOME it belongs to.
pub const HOME: &str = "hermes-home";
/// What it was made of.
pub const FINGERPRINT: &str = "hermes-fingerprint";
/// Which Hermes made it.
pub const VERSION: &str = "hermes-version";
/// The raw task id, hashed: ids that sanitize alike do not share a sandbox.
pub const TASK_KEY: &str = "hermes-task-key";
/// The process a container must not outlive.
pub const OWNER: &str = "hermes-owner";

/// Longest value engines of the reference were given.
const LONGEST: usize = 63;

/// A value that every engine takes: characters beyond `A–Z a–z 0–9 _ . -` become `_`, one for one.
pub fn sanitize(raw: &str) -> String {
    if raw.is_empty() {
        return "unknown".to_owned();
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    raw.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(LONGEST)
        .collect()
}

/// The first `digits` hexadecimal digits of a hash.
pub(crate) fn short_hash(bytes: &[u8], digits: usize) -> String {
    let mut text = hermes_fs::hex(&Sha256::digest(bytes));
    text.truncate(digits);
    text
}

/// The value of [`HOME`] for a home, links resolved.
pub fn home_key(home: &Path) -> String {
    let real = hermes_fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    short_hash(real.as_os_str().as_encoded_bytes(), 12)
}

/// The value of [`TASK_KEY`].
pub fn task_key(raw: &str) -> String {
    short_hash(raw.as_bytes(), 12)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_sanitized_as_in_the_reference() {
        assert_eq!(sanitize("task/with:weird*chars"), "task_with_weird_chars");
        assert_eq!(sanitize("emoji-😀-here"), "emoji-_-here");
        assert_eq!(sanitize(&"x".repeat(100)), "x".repeat(63));
        assert_eq!(sanitize(""), "unknown");
        assert_eq!(sanitize("Plain_1.2-x"), "Plain_1.2-x");
        assert_eq!(sanitize(".."), "..");
    }

    #[test]
    fn hashes_have_their_length_and_are_stable() {
        assert_eq!(short_hash(b"", 16), "e3b0c44298fc1c14");
        assert_eq!(task_key("default").len(), 12);
        assert_ne!(task_key("a/b"), task_key("a:b"));
    }

    #[test]
    fn a_home_is_the_same_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        hermes_fs::symlink(dir.path(), &link).unwrap();
        assert_eq!(home_key(&link), home_key(dir.path()));
        assert_ne!(
            home_key(Path::new("/nowhere/a")),
            home_key(Path::new("/nowhere/b"))
        );
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_label(raw in "\\PC*") {
            let label = sanitize(&raw);
            prop_assert!(!label.is_empty() && label.len() <= 63);
            prop_assert!(label.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)));
            prop_assert_eq!(sanitize(&label), label);
        }
    }
}
