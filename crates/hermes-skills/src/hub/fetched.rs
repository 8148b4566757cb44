//! A skill from elsewhere, and what fetching needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hermes_config::Config;
use hermes_fs::Kind;
use hermes_http::Downloads;
use hermes_proc::EnvPlan;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::files::shown;
use crate::guard::Trust;
use crate::head::split;
use crate::name::check_name;

/// Files of a skill that are fetched; the scan objects to far fewer.
const MAX_FILES: usize = 200;
/// Bytes of them all.
pub(super) const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What fetching needs of the program.
#[derive(Debug)]
pub struct FetchTools {
    /// The environment of git.
    pub(super) git: EnvPlan,
    pub(super) downloads: Downloads,
    /// What `~` stands for.
    pub(super) user_home: PathBuf,
}

impl FetchTools {
    /// As the settings say. `git` is the environment of git, `user_home` what `~` stands for.
    pub fn new(config: &Config, git: EnvPlan, user_home: &Path) -> Self {
        Self {
            git,
            downloads: Downloads::resolve(config),
            user_home: user_home.to_owned(),
        }
    }
}

/// A skill from elsewhere.
#[derive(Debug)]
pub struct FetchedSkill {
    /// The name that it declares or has there; `None` if it has none that can be used.
    pub name: Option<String>,
    pub description: String,
    /// `github`, `git`, `url`, `well-known`, `local` or `official`.
    pub source: &'static str,
    /// Names it again.
    pub identifier: String,
    pub trust: Trust,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub metadata: Value,
}

impl FetchedSkill {
    /// A skill of these files. `place` is the name of its directory there.
    pub(super) fn new(
        files: BTreeMap<PathBuf, Vec<u8>>,
        place: &str,
        source: &'static str,
        identifier: String,
        trust: Trust,
    ) -> Result<Self> {
        let text = files.get(Path::new("SKILL.md"));
        let text = text.ok_or_else(|| {
            Error::refused(format!("There is no SKILL.md in '{}'.", shown(&identifier)))
        })?;
        let text = String::from_utf8_lossy(text);
        let (head, _) = split(&text);
        let mut names = [head.name(), Some(place.to_owned())].into_iter().flatten();
        Ok(Self {
            name: names.find(|name| check_name(name).is_ok()),
            description: head.description(),
            source,
            identifier,
            trust,
            files,
            metadata: json!({}),
        })
    }

    /// The text of its `SKILL.md`.
    pub fn text(&self) -> String {
        let text = self.files.get(Path::new("SKILL.md"));
        String::from_utf8_lossy(text.map_or(&[][..], Vec::as_slice)).into_owned()
    }

    /// The hash that the list of installed skills keeps.
    pub fn content_hash(&self) -> String {
        content_hash(
            self.files
                .iter()
                .map(|(path, bytes)| (path.as_path(), bytes.as_slice())),
        )
    }
}

/// The hash of files, in the order of their paths.
pub(super) fn content_hash<'a>(files: impl Iterator<Item = (&'a Path, &'a [u8])>) -> String {
    let mut hasher = Sha256::new();
    for (path, bytes) in files {
        hasher.update(path.to_string_lossy().as_bytes());
        hasher.update(b"\0");
        hasher.update(bytes);
    }
    let digest: String = hermes_fs::hex(&hasher.finalize())
        .chars()
        .take(16)
        .collect();
    format!("sha256:{digest}")
}

/// The files of a directory, none of which is a link.
pub(super) fn read_files(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut total = 0;
    hermes_fs::walk(directory, &mut |relative, entry| -> Result<bool> {
        let entry = entry?;
        let name = entry.name.to_string_lossy();
        match entry.kind {
            Kind::Dir => {
                return Ok(name != ".git" && name != "node_modules" && name != "__pycache__");
            }
            Kind::Symlink | Kind::Special => {
                return Err(Error::refused(format!(
                    "The skill contains '{}', which is a link or a special file.",
                    shown(&relative.to_string_lossy())
                )));
            }
            Kind::File => {}
        }
        let bytes = hermes_fs::read_capped(&entry.path, MAX_BYTES)?;
        total += bytes.len() as u64;
        files.insert(relative.to_owned(), bytes);
        if files.len() > MAX_FILES || total > MAX_BYTES {
            return Err(Error::refused(format!(
                "The skill has more than {MAX_FILES} files or {} MiB.",
                MAX_BYTES >> 20
            )));
        }
        Ok(false)
    })?;
    Ok(files)
}
