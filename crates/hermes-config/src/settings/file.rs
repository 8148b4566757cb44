//! A settings file as found: absent, parsed or broken.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::yaml::{Document, YamlError};

/// Largest settings file we read. The longest seen in use has 60 KB.
pub(super) const MAX_BYTES: u64 = 4 << 20;

/// A settings file and its content.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    pub state: FileState,
}

/// What a settings file holds.
#[derive(Debug, Clone)]
pub enum FileState {
    Absent,
    /// A mapping, or nothing but comments.
    Parsed(Document),
    /// Something we cannot use; it is never rewritten.
    Broken(BrokenFile),
}

/// Why a settings file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenFile {
    #[error("{0}")]
    Syntax(#[from] YamlError),
    #[error("line {line}: the file must be a mapping of settings, not a {found}")]
    NotAMapping { line: usize, found: &'static str },
    #[error("{message}")]
    Unreadable {
        /// A sentence that names the file.
        message: String,
        hint: Option<String>,
    },
}

impl BrokenFile {
    pub(super) fn unreadable(error: &hermes_fs::Error) -> Self {
        Self::Unreadable {
            message: error.to_string(),
            hint: error.hint(),
        }
    }

    /// A sentence without an end: which file, and what is wrong with it.
    pub fn sentence(&self, path: &Path) -> String {
        match self {
            Self::Syntax(_) | Self::NotAMapping { .. } => {
                format!("{} cannot be parsed: {self}", path.display())
            }
            Self::Unreadable { message, .. } => message.clone(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Syntax(_) | Self::NotAMapping { .. } => {
                Some("fix it with `hermes config edit`".to_owned())
            }
            Self::Unreadable { hint, .. } => hint.clone(),
        }
    }
}

impl SettingsFile {
    /// Reads a file. Whatever is wrong with it is in the state, not an error.
    pub fn load(path: &Path) -> Self {
        let state = match hermes_fs::read_text_capped(path, MAX_BYTES) {
            Ok(text) => parse(&text).map_or_else(FileState::Broken, FileState::Parsed),
            Err(error) if error.is_not_found() => FileState::Absent,
            Err(error) => FileState::Broken(BrokenFile::unreadable(&error)),
        };
        Self {
            path: path.to_owned(),
            state,
        }
    }

    /// The parsed content, if any.
    pub fn document(&self) -> Option<&Document> {
        match &self.state {
            FileState::Parsed(document) => Some(document),
            FileState::Absent | FileState::Broken(_) => None,
        }
    }

    /// The line of a setting.
    pub fn line_of<S: AsRef<str>>(&self, path: &[S]) -> Option<usize> {
        self.document()?.find(path).map(|node| node.line)
    }
}

/// Parses the text of a settings file.
pub(super) fn parse(text: &str) -> Result<Document, BrokenFile> {
    let document = Document::parse(text)?;
    let found = match document.value() {
        Value::Null | Value::Object(_) => return Ok(document),
        Value::Array(_) => "list",
        Value::Bool(_) | Value::Number(_) | Value::String(_) => "single value",
    };
    Err(BrokenFile::NotAMapping {
        line: document.root().line,
        found,
    })
}

/// Keeps one copy of a broken file as `config.yaml.corrupt.<time>.bak`, so that it can be repaired.
///
/// None is made of a link, of an empty file, or if a copy of the same size exists.
pub(super) fn keep_corrupt_copy(path: &Path) -> hermes_fs::Result<Option<PathBuf>> {
    let meta = hermes_fs::symlink_metadata(path)?;
    if !meta.is_file() || meta.len() == 0 || meta.len() > MAX_BYTES {
        return Ok(None);
    }
    let Some(parent) = path.parent() else {
        return Ok(None);
    };
    let prefix = format!(
        "{}.corrupt.",
        path.file_name().unwrap_or_default().to_string_lossy()
    );
    for entry in hermes_fs::read_dir(parent)? {
        let name = entry.name.to_string_lossy();
        if name.starts_with(&prefix) && name.ends_with(".bak") {
            let same_size = hermes_fs::metadata(&entry.path).is_ok_and(|m| m.len() == meta.len());
            if same_size {
                return Ok(None);
            }
        }
    }
    let copy = parent.join(format!("{prefix}{}.bak", timestamp()));
    match hermes_fs::copy_file(path, &copy, 0o600) {
        Ok(_) => Ok(Some(copy)),
        // Another process saw the same breakage in the same second.
        Err(hermes_fs::Error::AlreadyExists { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Local time as the reference stamps its copies.
pub(super) fn timestamp() -> String {
    hermes_time::now().strftime("%Y%m%d-%H%M%S").to_string()
}
