//! Changes to a memory: several at once, all or none, on the newest text.

use hermes_fs::{FileLock, LockOptions};
use hermes_policy::injection::threat_in;
use jiff::Timestamp;

use super::entries;
use super::files::{MemoryFiles, MemoryTarget, StoredMemory};

/// Characters of an entry that is shown to tell it from others.
const PREVIEW: usize = 80;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryChange {
    /// A new entry; one that is there already changes nothing.
    Add { content: String },
    /// Replaces the entry that holds a text.
    Replace { old_text: String, content: String },
    /// Removes the entry that holds a text.
    Remove { old_text: String },
}

impl MemoryChange {
    /// `add`, `replace` or `remove`.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Replace { .. } => "replace",
            Self::Remove { .. } => "remove",
        }
    }

    fn content(&self) -> Option<&str> {
        match self {
            Self::Add { content } | Self::Replace { content, .. } => Some(content.trim()),
            Self::Remove { .. } => None,
        }
    }

    fn old_text(&self) -> Option<&str> {
        match self {
            Self::Add { .. } => None,
            Self::Replace { old_text, .. } | Self::Remove { old_text } => Some(old_text.trim()),
        }
    }
}

/// Why nothing was changed. `index` is the change that cannot be made, from 0.
#[derive(Debug, thiserror::Error)]
pub enum MemoryRefusal {
    #[error("{} is switched off by {}.", .0.file_name(), .0.setting())]
    SwitchedOff(MemoryTarget),
    #[error("The argument '{argument}' is empty.")]
    Empty {
        index: usize,
        argument: &'static str,
        stored: StoredMemory,
    },
    #[error(
        "Blocked: the text matches the rule '{rule}'. What is remembered stands in every later \
         prompt and must not carry instructions, secrets or places of secrets."
    )]
    Threat { index: usize, rule: &'static str },
    #[error("No entry matched '{text}'.")]
    NoMatch {
        index: usize,
        text: String,
        stored: StoredMemory,
    },
    #[error("Multiple entries matched '{text}'. Give more of the text.")]
    Several {
        index: usize,
        text: String,
        previews: Vec<String>,
    },
    #[error(
        "That would make {} of {} characters. Shorten it, or replace and remove entries in the same \
         call.",
        hermes_text::with_separators(*.total), hermes_text::with_separators(.stored.limit)
    )]
    OverLimit { total: usize, stored: StoredMemory },
    /// Something other than a memory tool wrote a text that would be lost.
    #[error(
        "{file} has an entry that is longer than the whole file may be, so it was not changed. A \
         copy is in {copy}. Shorten the entry in the file by hand, then try again."
    )]
    Oversized { file: &'static str, copy: String },
    #[error("{} cannot be changed: {error}", .target.file_name())]
    File {
        target: MemoryTarget,
        error: hermes_fs::Error,
    },
}

impl MemoryFiles {
    /// Makes all changes or none. Gives what the file holds then.
    pub fn change(
        &self,
        target: MemoryTarget,
        changes: &[MemoryChange],
    ) -> Result<StoredMemory, MemoryRefusal> {
        let Some(limit) = self.limit(target) else {
            return Err(MemoryRefusal::SwitchedOff(target));
        };
        for (index, change) in changes.iter().enumerate() {
            if let Some(rule) = change.content().and_then(threat_in) {
                return Err(MemoryRefusal::Threat { index, rule });
            }
        }
        let file = |error| MemoryRefusal::File { target, error };
        let _lock = self.lock(target).map_err(file)?;
        let before = self.read(target).map_err(file)?;
        let mut entries = before.entries.clone();
        for (index, change) in changes.iter().enumerate() {
            self.apply(index, change, target, &mut entries, &before)?;
        }
        let after = StoredMemory::new(entries, limit);
        if after.chars > limit && after.chars >= before.chars && after != before {
            let total = after.chars;
            return Err(MemoryRefusal::OverLimit {
                total,
                stored: before,
            });
        }
        if after.entries != before.entries {
            let text = entries::join(&after.entries);
            hermes_fs::write_atomic(&self.path(target), text.as_bytes(), 0o600).map_err(file)?;
        }
        Ok(after)
    }

    /// Deletes a file; `false` if there is none.
    pub fn delete(&self, target: MemoryTarget) -> hermes_fs::Result<bool> {
        let path = self.path(target);
        if !hermes_fs::exists_no_follow(&path) {
            return Ok(false);
        }
        let _lock = self.lock(target)?;
        hermes_fs::remove_file_if_present(&path)
    }

    /// The lock that the reference takes, too.
    fn lock(&self, target: MemoryTarget) -> hermes_fs::Result<FileLock> {
        hermes_fs::create_dir_all(self.directory(), 0o700)?;
        let path = self
            .directory()
            .join(format!("{}.lock", target.file_name()));
        FileLock::acquire(&path, &LockOptions::new(target.file_name()))
    }

    fn apply(
        &self,
        index: usize,
        change: &MemoryChange,
        target: MemoryTarget,
        entries: &mut Vec<String>,
        before: &StoredMemory,
    ) -> Result<(), MemoryRefusal> {
        let empty = |argument| MemoryRefusal::Empty {
            index,
            argument,
            stored: before.clone(),
        };
        let content = change.content();
        if content == Some("") {
            return Err(empty("content"));
        }
        let Some(old_text) = change.old_text() else {
            let content = content.unwrap_or_default();
            if !entries.iter().any(|entry| entry == content) {
                entries.push(content.to_owned());
            }
            return Ok(());
        };
        if old_text.is_empty() {
            return Err(empty("old_text"));
        }
        let at = only_match(index, old_text, entries, before)?;
        let Some(entry) = entries.get_mut(at) else {
            return Ok(());
        };
        if entry.chars().count() > before.limit {
            return Err(self.oversized(target));
        }
        match content {
            Some(content) => content.clone_into(entry),
            None => {
                entries.remove(at);
            }
        }
        Ok(())
    }

    /// Keeps a copy of a file that other hands have written too much into.
    fn oversized(&self, target: MemoryTarget) -> MemoryRefusal {
        let path = self.path(target);
        let seconds = Timestamp::now().as_second();
        let copy = self
            .directory()
            .join(format!("{}.bak.{seconds}", target.file_name()));
        // One of this second is a copy of the same text: the lock has been held since.
        if !hermes_fs::exists_no_follow(&copy)
            && let Err(error) = hermes_fs::copy_file(&path, &copy, 0o600)
        {
            return MemoryRefusal::File { target, error };
        }
        MemoryRefusal::Oversized {
            file: target.file_name(),
            copy: copy.display().to_string(),
        }
    }
}

/// The one entry that holds a text.
fn only_match(
    index: usize,
    text: &str,
    entries: &[String],
    before: &StoredMemory,
) -> Result<usize, MemoryRefusal> {
    let mut found = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.contains(text));
    let Some((at, _)) = found.next() else {
        return Err(MemoryRefusal::NoMatch {
            index,
            text: hermes_text::cut(text, PREVIEW).to_owned(),
            stored: before.clone(),
        });
    };
    if found.next().is_none() {
        return Ok(at);
    }
    let all = entries.iter().filter(|entry| entry.contains(text));
    Err(MemoryRefusal::Several {
        index,
        text: hermes_text::cut(text, PREVIEW).to_owned(),
        previews: all
            .map(|entry| hermes_text::one_line(entry, PREVIEW))
            .collect(),
    })
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
