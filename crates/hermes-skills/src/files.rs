//! The files of a skill besides its `SKILL.md`. Whatever a path says, they lie in its directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hermes_fs::Kind;
use similar::TextDiff;

use crate::error::{Error, Result};

/// Directories that hold them.
pub(crate) const DIRECTORIES: [&str; 4] = ["references", "templates", "scripts", "assets"];
/// Files that are listed.
const MAX_LISTED: usize = 500;
/// Largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Paths of files by directory.
pub type LinkedFiles = BTreeMap<String, Vec<String>>;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFile {
    Text(String),
    /// Not text: how many bytes it has.
    Binary(u64),
}

/// The files of a skill, by directory, `other` for those in none of the four.
pub fn list_files(directory: &Path) -> LinkedFiles {
    let mut found = LinkedFiles::new();
    let mut count = 0;
    let walked: std::result::Result<(), ()> = hermes_fs::walk(directory, &mut |relative, entry| {
        let Ok(entry) = entry else { return Ok(false) };
        let name = entry.name.to_string_lossy();
        match entry.kind {
            Kind::Dir => return Ok(!name.starts_with('.')),
            Kind::File if name != "SKILL.md" && !name.starts_with('.') => {}
            Kind::File | Kind::Symlink | Kind::Special => return Ok(false),
        }
        count += 1;
        if count > MAX_LISTED {
            return Err(());
        }
        let first = relative.components().next();
        let first = first.map(|part| part.as_os_str().to_string_lossy().into_owned());
        let group = first.filter(|first| DIRECTORIES.contains(&first.as_str()));
        let group = group.unwrap_or_else(|| "other".to_owned());
        let path = relative.to_string_lossy().into_owned();
        found.entry(group).or_default().push(path);
        Ok(false)
    });
    // Ended early: there are enough.
    let _ = walked;
    for paths in found.values_mut() {
        paths.sort();
    }
    found
}

/// Reads a file of a skill.
pub fn read_file(directory: &Path, path: &str) -> Result<SkillFile> {
    let file = inside(directory, path)?;
    let meta = hermes_fs::metadata(&file)?;
    if !meta.is_file() {
        return Err(Error::refused(format!("'{}' is not a file.", shown(path))));
    }
    if meta.len() > MAX_BYTES {
        return Ok(SkillFile::Binary(meta.len()));
    }
    match hermes_fs::read_text_capped(&file, MAX_BYTES) {
        Ok(text) if text.contains('\0') => Ok(SkillFile::Binary(meta.len())),
        Ok(text) => Ok(SkillFile::Text(text)),
        Err(hermes_fs::Error::NotUtf8 { .. }) => Ok(SkillFile::Binary(meta.len())),
        Err(error) => Err(error.into()),
    }
}

/// The path of a file of a skill; links on the way are refused, as they could lead out of it.
pub(crate) fn inside(directory: &Path, path: &str) -> Result<PathBuf> {
    let relative = hermes_fs::confined_relative(path).map_err(|_| {
        Error::refused(format!(
            "'{}' leads out of the skill: give a path inside of it.",
            shown(path)
        ))
    })?;
    let root = hermes_fs::canonicalize(directory)?;
    match hermes_fs::join_without_symlinks(&root, &relative) {
        Ok(file) => Ok(file),
        Err(error) if error.is_not_found() => Ok(root.join(relative)),
        Err(_) => Err(Error::refused(format!(
            "'{}' is reached through a symbolic link, which a skill cannot use.",
            shown(path)
        ))),
    }
}

/// How a text differs from another, each with its name.
pub fn text_diff(before: (&str, &str), after: (&str, &str)) -> String {
    let compared = TextDiff::from_lines(before.1, after.1);
    let mut diff = compared.unified_diff();
    diff.header(before.0, after.0).to_string()
}

pub(crate) fn shown(text: &str) -> String {
    hermes_text::one_line(text, 120)
}
