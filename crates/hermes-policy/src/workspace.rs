//! Which directories can be a workspace: handed over as a whole, to a worker or into a container.
//!
//! Never the root of the file system, the home of the user or one of Hermes, what lies around them, or
//! where their keys are; whatever name leads there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::private_places::{Access, in_hermes_home, in_home};

/// Mount tables of busy hosts reach a megabyte.
const TABLE_LIMIT: u64 = 8 * 1024 * 1024;

const ROOT: &str = "is the root of the file system";
const IS_HERMES_HOME: &str = "is a home of Hermes";
const HOLDS_HERMES_HOME: &str = "holds the home of Hermes";
const IS_USER_HOME: &str = "is the user's home directory";
const HOLDS_USER_HOME: &str = "holds the user's home directory";

/// Directories that no workspace may be or hold. Paths need not be resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedHomes {
    /// Homes of the user: that of the account, and that which commands see.
    pub account_homes: Vec<PathBuf>,
    /// Homes of Hermes: the root of all, those of profiles, the directories of boards.
    pub hermes_homes: Vec<PathBuf>,
}

/// Why a directory cannot be a workspace: continues "it …". One that does not exist yet is checked
/// where it would be made.
pub fn workspace_refusal(path: &Path, homes: &ProtectedHomes) -> Option<String> {
    let path = hermes_fs::resolved(path);
    if let Some(why) = covered_home(&path, homes) {
        return Some(why.to_owned());
    }
    let places = homes.hermes_homes.iter().map(|home| (home, true));
    let places = places.chain(homes.account_homes.iter().map(|home| (home, false)));
    for (home, is_hermes_home) in places {
        let Ok(inside) = path.strip_prefix(hermes_fs::resolved(home)) else {
            continue;
        };
        let place = if is_hermes_home {
            in_hermes_home(inside)
        } else {
            in_home(inside)
        };
        if let Some(place) = place.filter(|place| place.refuses(Access::Carry)) {
            return Some(place.description().to_owned());
        }
    }
    None
}

/// A directory of an operator's list, resolved, or why it does not count: continues "it …".
pub fn listed_directory(
    text: &str,
    user_home: &Path,
    homes: &ProtectedHomes,
) -> Result<PathBuf, String> {
    let text = text.trim();
    let path = match text.strip_prefix("~/") {
        Some(rest) => user_home.join(rest),
        None if text == "~" => user_home.to_owned(),
        None => PathBuf::from(text),
    };
    if !path.is_absolute() {
        return Err("is not an absolute path".to_owned());
    }
    let real = hermes_fs::canonicalize(&path).map_err(|error| {
        if error.is_not_found() {
            "does not exist".to_owned()
        } else {
            format!("cannot be used: {error}")
        }
    })?;
    if !real.is_dir() {
        return Err("is not a directory".to_owned());
    }
    match workspace_refusal(&real, homes) {
        Some(why) => Err(why),
        None => Ok(real),
    }
}

/// Whether a path is or holds one of the homes, or the root of the file system: continues "it …".
/// A bind mount has another path than what it shows, so identities are compared as well, those of
/// mounts below the path too: they go along with it.
pub fn covered_home(path: &Path, homes: &ProtectedHomes) -> Option<&'static str> {
    let path = &hermes_fs::resolved(path);
    if path.parent().is_none() {
        return Some(ROOT);
    }
    let accounts = homes.account_homes.iter();
    let accounts = accounts.map(|home| (home, IS_USER_HOME, HOLDS_USER_HOME));
    let hermes = homes.hermes_homes.iter();
    let hermes = hermes.map(|home| (home, IS_HERMES_HOME, HOLDS_HERMES_HOME));
    let homes: Vec<_> = accounts
        .chain(hermes)
        .map(|(home, is, holds)| (hermes_fs::resolved(home), is, holds))
        .collect();
    let same = homes.iter().find(|(home, ..)| home == path);
    let inside = || homes.iter().find(|(home, ..)| home.starts_with(path));
    same.map(|(_, is, _)| *is)
        .or_else(|| inside().map(|(.., holds)| *holds))
        .or_else(|| mounted_home(path, &homes))
}

/// The same for what is mounted at a path or below it.
fn mounted_home(
    path: &Path,
    homes: &[(PathBuf, &'static str, &'static str)],
) -> Option<&'static str> {
    let mut around = Vec::new();
    for (home, is, holds) in homes {
        for (distance, one) in home.ancestors().enumerate() {
            let words = match (one.parent(), distance) {
                (None, _) => ROOT,
                (_, 0) => is,
                _ => holds,
            };
            around.extend(identity(one).map(|identity| (identity, words)));
        }
    }
    let mut shown = std::iter::once(path.to_owned()).chain(mounts_below(path));
    shown.find_map(|one| {
        let shown = identity(&one)?;
        let found = around.iter().find(|(known, _)| *known == shown);
        found.map(|(_, words)| *words)
    })
}

/// Device and number of a directory: the same under all its names.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = hermes_fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Where something is mounted below a path.
fn mounts_below(path: &Path) -> Vec<PathBuf> {
    // Where there is no such table there are no bind mounts either.
    let table = hermes_fs::read_capped(Path::new("/proc/self/mountinfo"), TABLE_LIMIT);
    let table = String::from_utf8_lossy(&table.unwrap_or_default()).into_owned();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    let points = points.map(|point| PathBuf::from(unescaped(point)));
    points
        .filter(|point| point != path && point.starts_with(path))
        .collect()
}

/// A path of the mount table, where blanks and the like are octal numbers.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = after.get(..3);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match byte {
            Some(byte) => {
                out.push(char::from(byte));
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
