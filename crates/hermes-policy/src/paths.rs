//! What kind of path a word names: protected directories, block devices, files that hold secrets
//! or settings.

use super::glob::{self, Case};
use super::normalise::Folding;
use super::syntax::Word;

/// Directories whose loss is the loss of the machine.
const PROTECTED: &[&str] = &[
    "home", "root", "etc", "usr", "var", "bin", "sbin", "boot", "lib",
];

/// Whether deleting this word deletes the root, a protected directory or the home, or everything in
/// one of them.
pub(super) fn is_irreplaceable(word: &Word, folding: &Folding) -> bool {
    let path = folding.canonical(&word.text);
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
pub(super) fn is_block_device(word: &Word, folding: &Folding) -> bool {
    let path = folding.canonical(&word.text);
    path.strip_prefix("/dev/").is_some_and(|device| {
        ["sd", "nvme", "hd", "mmcblk", "vd", "xvd"]
            .iter()
            .any(|kind| device.starts_with(kind))
    })
}

/// What overwriting a path would hurt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sensitive {
    /// Settings of the system.
    System,
    /// Keys, credentials and shell start-up files of the user.
    User,
    /// Hermes' own `.env` and `config.yaml`.
    Hermes,
    /// `.env` files and `config.yaml` of a project.
    Project,
}

/// The kind of a path, if it is sensitive.
pub(super) fn sensitivity(word: &Word, folding: &Folding) -> Option<Sensitive> {
    let path = folding.canonical(&word.text);
    let under = |directory: &str| {
        path.strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let system = [
        "/etc",
        "/private/etc",
        "/private/var",
        "/private/tmp",
        "/private/home",
    ];
    if system.iter().any(|directory| under(directory)) {
        return Some(Sensitive::System);
    }
    if under("~/.ssh") {
        return Some(Sensitive::User);
    }
    if let Some(name) = path.strip_prefix("~/") {
        let personal = matches!(
            name,
            ".bashrc"
                | ".zshrc"
                | ".profile"
                | ".bash_profile"
                | ".zprofile"
                | ".netrc"
                | ".pgpass"
                | ".npmrc"
                | ".pypirc"
        );
        if personal {
            return Some(Sensitive::User);
        }
        let in_hermes = name.strip_prefix(".hermes/").map(|rest| {
            rest.strip_prefix("profiles/")
                .and_then(|rest| Some(rest.split_once('/')?.1))
                .unwrap_or(rest)
        });
        if matches!(in_hermes, Some(".env" | "config.yaml" | "config.yml")) {
            return Some(Sensitive::Hermes);
        }
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let project = name == ".env" || name.starts_with(".env.") || name == "config.yaml";
    project.then_some(Sensitive::Project)
}
