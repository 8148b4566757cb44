//! What kind of path a word names: protected directories, block devices, files that hold secrets
//! or settings.

use std::path::Path;

use super::glob::{self, Case};
use super::normalise::KnownHomes;
use super::syntax::Word;
use crate::private_places::{Access, PrivatePlace, in_hermes_home, in_home, on_machine};

/// Directories whose loss is the loss of the machine.
const PROTECTED: &[&str] = &[
    "home", "root", "etc", "usr", "var", "bin", "sbin", "boot", "lib",
];

/// Whether deleting this word deletes the root, a protected directory or the home, or everything in
/// one of them.
pub(super) fn is_irreplaceable(word: &Word, homes: &KnownHomes) -> bool {
    let path = homes.canonical(&word.text);
    let everything = |part: &str| {
        word.glob && part.contains('*') && part.trim_matches(['*', '.', '?']).is_empty()
    };
    let named = |part: &str| {
        PROTECTED
            .iter()
            .any(|name| part == *name || (word.glob && glob::matches(part, name, Case::Sensitive)))
    };
    if let Some(rest) = path.strip_prefix('/') {
        let mut parts = rest.split('/').filter(|part| !part.is_empty());
        return match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => true,
            (Some(first), None, _) => named(first) || everything(first),
            (Some(first), Some(second), None) => {
                (named(first) || everything(first)) && everything(second)
            }
            _ => false,
        };
    }
    path == "~"
        || path
            .strip_prefix("~/")
            .is_some_and(|rest| !rest.contains('/') && everything(rest))
}

/// Whether this is a disk or a part of one.
pub(super) fn is_block_device(word: &Word, homes: &KnownHomes) -> bool {
    let path = homes.canonical(&word.text);
    path.strip_prefix("/dev/").is_some_and(|device| {
        ["sd", "nvme", "hd", "mmcblk", "vd", "xvd"]
            .iter()
            .any(|kind| device.starts_with(kind))
    })
}

/// What overwriting a path would hurt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sensitive {
    System,
    /// Keys, credentials and shell start-up files of the user.
    User,
    /// Credentials, settings and state of Hermes.
    Hermes,
    /// `.env` files and `config.yaml` of a project.
    Project,
}

/// What overwriting the path that a word names would hurt, if anything.
pub(super) fn sensitivity(word: &Word, homes: &KnownHomes) -> Option<Sensitive> {
    let path = homes.canonical(&word.text);
    let place = if let Some(in_hermes) = path.strip_prefix("~/.hermes/") {
        in_hermes_home(Path::new(in_hermes))
    } else if let Some(below_home) = path.strip_prefix("~/") {
        in_home(Path::new(below_home))
    } else {
        on_machine(Path::new(&path))
    };
    match place.filter(|place| place.refuses(Access::WriteByCommand)) {
        Some(PrivatePlace::Credentials | PrivatePlace::ShellStartup) => {
            return Some(Sensitive::User);
        }
        Some(
            PrivatePlace::HermesSecrets | PrivatePlace::HermesState | PrivatePlace::HermesRules,
        ) => {
            return Some(Sensitive::Hermes);
        }
        Some(_) => return Some(Sensitive::System),
        None => {}
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let project = name == ".env" || name.starts_with(".env.") || name == "config.yaml";
    project.then_some(Sensitive::Project)
}
