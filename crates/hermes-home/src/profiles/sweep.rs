//! Clearing away what interrupted commands left beside the profiles.

use hermes_fs::{Kind, Staging};

use crate::{Location, ProfileName};

/// Between name and time in the name of a deleted profile's directory.
pub(crate) const DELETED: &str = ".deleted-";

/// Removes unfinished profiles whose maker is gone and deleted ones that are still on disk.
///
/// Best effort: the command at hand is about something else, so a failure is logged, not returned.
pub fn sweep(location: &Location) {
    let profiles = location.profiles_dir();
    if let Err(error) = Staging::sweep(&profiles, "") {
        tracing::warn!(%error, "could not remove unfinished profiles");
    }
    // No directory: nothing to clear away. Unreadable: the command at hand will say so.
    for entry in hermes_fs::read_dir(&profiles).unwrap_or_default() {
        let is_deleted = entry.kind != Kind::File && entry.name.to_str().is_some_and(is_deleted);
        if is_deleted && let Err(error) = hermes_fs::remove_tree(&entry.path) {
            tracing::warn!(%error, "could not remove a deleted profile");
        }
    }
}

fn is_deleted(name: &str) -> bool {
    let parts = name
        .strip_prefix('.')
        .and_then(|rest| rest.rsplit_once(DELETED));
    parts.is_some_and(|(profile, time)| {
        ProfileName::from_directory(profile.as_ref()).is_some()
            && !time.is_empty()
            && time
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::is_deleted;

    #[test]
    fn only_names_of_ours_are_cleared_away() {
        assert!(is_deleted(".coder.deleted-1754000000000-77"));
        for other in [
            "coder",
            ".coder",
            ".coder.deleted-",
            ".Bad Name.deleted-1",
            ".c.deleted-x",
        ] {
            assert!(!is_deleted(other), "{other}");
        }
    }
}
