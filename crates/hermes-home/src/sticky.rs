//! The sticky profile: the one commands are about when nothing else says so.

use crate::{Location, NameError, ProfileName};

/// A name and a newline.
const POINTER_LIMIT: u64 = 4096;

/// What the file `active_profile` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sticky {
    /// Nothing, or the default profile.
    Unset,
    /// A named profile, which may not exist.
    Named(ProfileName),
    /// A text that is no name.
    Bad(NameError),
}

/// Reads the sticky profile. A file that cannot be read or decoded counts as unset.
pub fn sticky_profile(location: &Location) -> Sticky {
    let file = location.root.join("active_profile");
    let Ok(text) = hermes_fs::read_text_capped(&file, POINTER_LIMIT) else {
        return Sticky::Unset;
    };
    if text.trim().is_empty() {
        return Sticky::Unset;
    }
    match ProfileName::parse(&text) {
        Ok(name) if name.is_default() => Sticky::Unset,
        Ok(name) => Sticky::Named(name),
        Err(error) => Sticky::Bad(error),
    }
}

/// Makes a profile sticky without asking whether it exists; the default profile is sticky by the
/// absence of the file.
pub(crate) fn point_to(location: &Location, name: &ProfileName) -> hermes_fs::Result<()> {
    let file = location.root.join("active_profile");
    if name.is_default() {
        hermes_fs::remove_file_if_present(&file).map(drop)
    } else {
        hermes_fs::write_atomic(&file, format!("{name}\n").as_bytes(), 0o644)
    }
}
