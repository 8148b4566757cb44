//! What was typed before, in this and earlier conversations of the profile.
//!
//! The file has the format of the Python runtime's line editor: a comment with the time, then the
//! lines of the entry with a plus before each. It is read when first needed.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::text::{Composer, Draft};
use crate::setup::Typed;

/// Only so much of the end of the file is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// A longer entry is not kept.
const MAX_ENTRY: usize = 64 * 1024;

/// Seconds since 1970.
fn now() -> f64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// Earlier entries, oldest first.
#[derive(Debug)]
pub(crate) struct History {
    path: PathBuf,
    entries: Option<Vec<Typed>>,
    /// The entry shown; `None` while the text is the person's own.
    at: Option<usize>,
    /// What was being typed when the first entry was shown.
    draft: Draft,
}

/// A step towards now.
#[derive(Debug)]
pub(crate) enum Newer {
    Entry(String),
    /// What was being typed.
    Draft(Draft),
}

impl History {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            entries: None,
            at: None,
            draft: Draft::default(),
        }
    }

    fn entries(&mut self) -> &mut Vec<Typed> {
        let path = &self.path;
        self.entries.get_or_insert_with(|| {
            // A history that is missing or cannot be read is an empty one.
            let bytes = last_bytes(path).unwrap_or_default();
            parsed(&String::from_utf8_lossy(&bytes))
        })
    }

    /// Adds an entry, here and in the file.
    pub(crate) fn add(&mut self, text: &str) {
        self.at = None;
        if text.trim().is_empty() || text.len() > MAX_ENTRY {
            return;
        }
        let entries = self.entries();
        if entries.last().is_some_and(|last| last.text == text) {
            return;
        }
        entries.push(Typed {
            at: now(),
            text: text.to_owned(),
        });
        if let Err(error) = self.append(text) {
            tracing::debug!(%error, "the history was not written");
        }
    }

    fn append(&self, text: &str) -> std::io::Result<()> {
        let mut entry = format!("\n# {:.0}\n", now());
        for line in text.split('\n') {
            entry.push_str(&format!("+{line}\n"));
        }
        let mut file = hermes_fs::open_append(&self.path, 0o600).map_err(std::io::Error::other)?;
        file.write_all(entry.as_bytes())
    }

    /// The entry before the one shown; `None` at the oldest.
    pub(crate) fn older(&mut self, current: &Composer) -> Option<String> {
        let count = self.entries().len();
        let at = match self.at {
            None => count.checked_sub(1)?,
            Some(at) => at.checked_sub(1)?,
        };
        if self.at.is_none() {
            self.draft = current.draft();
        }
        self.at = Some(at);
        self.entries().get(at).map(|entry| entry.text.clone())
    }

    /// The entry after the one shown, or what was being typed.
    pub(crate) fn newer(&mut self) -> Option<Newer> {
        let at = self.at? + 1;
        if let Some(entry) = self.entries().get(at) {
            let text = entry.text.clone();
            self.at = Some(at);
            return Some(Newer::Entry(text));
        }
        self.at = None;
        Some(Newer::Draft(std::mem::take(&mut self.draft)))
    }

    /// The text is the person's own again.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }

    /// Entries that contain all words, newest first, each once.
    pub(crate) fn search(&mut self, query: &str, most: usize) -> Vec<Typed> {
        let words = words(query);
        let mut found: Vec<Typed> = Vec::new();
        for entry in self.entries().iter().rev() {
            let is_new = !found.iter().any(|other| other.text == entry.text);
            if is_new && has_words(&entry.text, &words) {
                found.push(entry.clone());
                if found.len() == most {
                    break;
                }
            }
        }
        found
    }
}

/// The end of the file, from an entry on that begins there.
fn last_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = hermes_fs::open(path).map_err(std::io::Error::other)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(MAX_BYTES);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    if skipped > 0 {
        let begin = bytes.windows(3).position(|three| three == b"\n\n#");
        bytes.drain(..begin.unwrap_or(bytes.len()));
    }
    Ok(bytes)
}

/// The words of a query.
pub(crate) fn words(query: &str) -> Vec<String> {
    query.split_whitespace().map(str::to_lowercase).collect()
}

/// Whether a text contains all words.
pub(crate) fn has_words(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

fn parsed(text: &str) -> Vec<Typed> {
    let mut entries = Vec::new();
    let mut at = 0.0;
    let mut entry: Option<String> = None;
    for line in text.lines() {
        if let Some(more) = line.strip_prefix('+') {
            let whole = entry.get_or_insert_default();
            if !whole.is_empty() {
                whole.push('\n');
            }
            whole.push_str(more);
            continue;
        }
        entries.extend(entry.take().map(|text| Typed { at, text }));
        if let Some(written) = line.strip_prefix('#').and_then(time) {
            at = written;
        }
    }
    entries.extend(entry.map(|text| Typed { at, text }));
    entries
}

/// A time in seconds, or as the Python runtime writes it.
fn time(written: &str) -> Option<f64> {
    let written = written.trim();
    if let Ok(seconds) = written.parse() {
        return Some(seconds);
    }
    hermes_time::local_seconds(written)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::setup::PasteLimits;

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
        let mut composer = Composer::default();
        composer.set("draft");
        composer.paste(
            "a long\npaste",
            PasteLimits {
                lines: 2,
                characters: 0,
            },
            directory.path(),
        );
        for expected in ["two\nlines", "one", "from python\nsecond line"] {
            assert_eq!(again.older(&composer).as_deref(), Some(expected));
            composer.set(expected);
        }
        assert_eq!(again.older(&composer), None);
        for expected in ["one", "two\nlines"] {
            assert!(matches!(again.newer(), Some(Newer::Entry(text)) if text == expected));
        }
        let Some(Newer::Draft(back)) = again.newer() else {
            panic!("the draft is gone");
        };
        composer.restore(back);
        assert_eq!(composer.take().text, "drafta long\npaste");
        assert!(again.newer().is_none());
        let found = again.search("LINE", 9);
        let texts: Vec<&str> = found.iter().map(|typed| typed.text.as_str()).collect();
        assert_eq!(texts, ["two\nlines", "from python\nsecond line"]);
        assert!(
            found[0].at > found[1].at && found[1].at > 1.7e9,
            "{found:?}"
        );
        assert_eq!(again.search("python second", 9).len(), 1);
    }

    #[test]
    fn of_a_history_that_has_grown_large_the_end_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".hermes_history");
        let mut written = Vec::new();
        let mut number = 0;
        while written.len() < 9 * 1024 * 1024 {
            number += 1;
            written
                .extend(format!("\n# {number}\n+entry {number} {}\n", "x".repeat(60_000)).bytes());
        }
        // A byte that is no text, as another program may have left.
        written.extend(b"\n# 9\n+last \xff one\n");
        hermes_fs::write_atomic(&path, &written, 0o600).unwrap();
        let mut history = History::new(path);
        let composer = Composer::default();
        assert_eq!(
            history.older(&composer).as_deref(),
            Some("last \u{fffd} one")
        );
        let oldest = history.entries().first().unwrap().text.clone();
        assert!(
            oldest.starts_with("entry ") && !oldest.starts_with("entry 1 "),
            "{oldest:.20}"
        );
    }

    #[test]
    fn missing_history_is_empty() {
        let mut history = History::new(PathBuf::from("/nonexistent/x"));
        let composer = Composer::default();
        assert_eq!(history.older(&composer), None);
        history.add("kept in memory");
        assert_eq!(history.older(&composer).as_deref(), Some("kept in memory"));
    }
}
