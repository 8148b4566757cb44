//! What was typed before, in this and earlier conversations of the profile.
//!
//! The file has the format of the Python runtime's line editor: a comment with the time, then the
//! lines of the entry with a plus before each. It is read when first needed.

use std::io::Write;
use std::path::PathBuf;

/// More of the file is not read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// A longer entry is not kept.
const MAX_ENTRY: usize = 64 * 1024;

/// Earlier entries, oldest first.
#[derive(Debug)]
pub(crate) struct History {
    path: PathBuf,
    entries: Option<Vec<String>>,
    /// The entry shown; `None` while the text is the person's own.
    at: Option<usize>,
    /// What was being typed when the first entry was shown.
    draft: String,
}

impl History {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            entries: None,
            at: None,
            draft: String::new(),
        }
    }

    fn entries(&mut self) -> &mut Vec<String> {
        let path = &self.path;
        self.entries.get_or_insert_with(|| {
            // A history that is missing or cannot be read is an empty one.
            let text = hermes_fs::read_text_capped(path, MAX_BYTES).unwrap_or_default();
            parsed(&text)
        })
    }

    /// Adds an entry, here and in the file.
    pub(crate) fn add(&mut self, text: &str) {
        self.at = None;
        if text.trim().is_empty() || text.len() > MAX_ENTRY {
            return;
        }
        let entries = self.entries();
        if entries.last().is_some_and(|last| last == text) {
            return;
        }
        entries.push(text.to_owned());
        if let Err(error) = self.append(text) {
            tracing::debug!(%error, "the history was not written");
        }
    }

    fn append(&self, text: &str) -> std::io::Result<()> {
        let now = std::time::SystemTime::now();
        let seconds = now
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let mut entry = format!("\n# {seconds}\n");
        for line in text.split('\n') {
            entry.push_str(&format!("+{line}\n"));
        }
        let mut file = hermes_fs::open_append(&self.path, 0o600).map_err(std::io::Error::other)?;
        file.write_all(entry.as_bytes())
    }

    /// The entry before the one shown; `None` at the oldest.
    pub(crate) fn older(&mut self, current: &str) -> Option<String> {
        let count = self.entries().len();
        let at = match self.at {
            None => count.checked_sub(1)?,
            Some(at) => at.checked_sub(1)?,
        };
        if self.at.is_none() {
            current.clone_into(&mut self.draft);
        }
        self.at = Some(at);
        self.entries().get(at).cloned()
    }

    /// The entry after the one shown, or what was being typed.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let at = self.at? + 1;
        if let Some(entry) = self.entries().get(at).cloned() {
            self.at = Some(at);
            return Some(entry);
        }
        self.at = None;
        Some(std::mem::take(&mut self.draft))
    }

    /// The text is the person's own again.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }

    /// Entries that contain all words, newest first, each once.
    pub(crate) fn search(&mut self, query: &str, most: usize) -> Vec<String> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<String> = Vec::new();
        for entry in self.entries().iter().rev() {
            let lower = entry.to_lowercase();
            let matches = words.iter().all(|word| lower.contains(word.as_str()));
            if matches && !found.contains(entry) {
                found.push(entry.clone());
                if found.len() == most {
                    break;
                }
            }
        }
        found
    }
}

fn parsed(text: &str) -> Vec<String> {
    let mut entries = Vec::new();
    let mut entry: Option<String> = None;
    for line in text.lines() {
        match line.strip_prefix('+') {
            Some(more) => {
                let whole = entry.get_or_insert_default();
                if !whole.is_empty() {
                    whole.push('\n');
                }
                whole.push_str(more);
            }
            None => entries.extend(entry.take()),
        }
    }
    entries.extend(entry);
    entries
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn entries_are_kept_across_programs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".hermes_history");
        let written = b"\n# 2026-01-02 03:04:05.678\n+from python\n+second line\n";
        hermes_fs::write_atomic(&path, written, 0o600).unwrap();
        let mut history = History::new(path.clone());
        history.add("one");
        history.add("one");
        history.add("two\nlines");
        let mut again = History::new(path);
        assert_eq!(again.older("draft").as_deref(), Some("two\nlines"));
        assert_eq!(again.older("x").as_deref(), Some("one"));
        assert_eq!(
            again.older("x").as_deref(),
            Some("from python\nsecond line")
        );
        assert_eq!(again.older("x"), None);
        assert_eq!(again.newer().as_deref(), Some("one"));
        assert_eq!(again.newer().as_deref(), Some("two\nlines"));
        assert_eq!(again.newer().as_deref(), Some("draft"));
        assert_eq!(again.newer(), None);
        assert_eq!(
            again.search("LINE", 9),
            ["two\nlines", "from python\nsecond line"]
        );
        assert_eq!(again.search("python second", 9).len(), 1);
    }

    #[test]
    fn missing_history_is_empty() {
        let mut history = History::new(PathBuf::from("/nonexistent/x"));
        assert_eq!(history.older(""), None);
        history.add("kept in memory");
        assert_eq!(history.older("").as_deref(), Some("kept in memory"));
    }
}
