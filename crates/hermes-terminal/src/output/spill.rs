//! The whole of an output that a result shows only in part, kept in a file for a day.
//!
//! What is written has been redacted. Text is held back until it can be redacted together with what
//! follows, so that no secret is cut in two by the way the output arrived.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use hermes_secret::Redactor;

/// Most that is kept.
const LARGEST: usize = 10 * 1024 * 1024;
/// Text is redacted in blocks of about this size…
const BLOCK: usize = 512 * 1024;
/// …of which this much at the end waits for what follows.
const HELD: usize = 64 * 1024;
/// How long the files are kept.
const AGE: Duration = Duration::from_hours(24);
/// Begins a secret of many lines.
const KEY_BEGINS: &str = "-----BEGIN ";

/// A file that receives the output as it comes.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    redactor: Arc<Redactor>,
    waiting: String,
    taken: usize,
    writer: Writer,
}

/// Who redacts and writes.
#[derive(Debug)]
enum Writer {
    /// We, at the end: most outputs are one block.
    Here(BlockFile),
    /// A thread, because the command would have to wait for us.
    Thread {
        blocks: Sender<String>,
        /// Blocks that were written, to be filled again.
        empty: Receiver<String>,
        thread: JoinHandle<io::Result<()>>,
    },
}

impl Spill {
    /// Creates the file.
    pub(super) fn create(path: PathBuf, redactor: Arc<Redactor>) -> hermes_fs::Result<Self> {
        if let Some(parent) = path.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        let file = hermes_fs::create_new(&path, 0o600)?;
        Ok(Self {
            path,
            redactor,
            waiting: String::new(),
            taken: 0,
            writer: Writer::Here(BlockFile { file, written: 0 }),
        })
    }

    /// Takes the next text. Beyond the cap it is dropped.
    pub(super) fn push(&mut self, text: &str) -> io::Result<()> {
        if self.taken >= LARGEST {
            return Ok(());
        }
        self.taken += text.len();
        self.waiting.push_str(text);
        if self.waiting.len() < BLOCK {
            return Ok(());
        }
        let end = safe_cut(&self.waiting);
        let mut next = self.empty_block();
        next.push_str(self.waiting.get(end..).unwrap_or_default());
        let mut block = std::mem::replace(&mut self.waiting, next);
        block.truncate(end);
        self.write(block)
    }

    /// Writes what was held back; gives the path.
    pub(super) fn finish(mut self) -> io::Result<PathBuf> {
        let rest = std::mem::take(&mut self.waiting);
        match self.writer {
            Writer::Here(mut file) => file.write(&self.redactor.redact(&rest))?,
            Writer::Thread { blocks, thread, .. } => {
                // Refused only by a thread that has failed, which it says below.
                drop(blocks.send(rest));
                drop(blocks);
                thread
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))?;
            }
        }
        Ok(self.path)
    }

    /// Room for a block. What was used before needs no new memory.
    fn empty_block(&self) -> String {
        let used = match &self.writer {
            Writer::Here(_) => None,
            Writer::Thread { empty, .. } => empty.try_recv().ok(),
        };
        used.unwrap_or_else(|| String::with_capacity(BLOCK + HELD))
    }

    fn write(&mut self, block: String) -> io::Result<()> {
        if let Writer::Here(file) = &mut self.writer {
            let mut file = file.try_clone()?;
            let redactor = Arc::clone(&self.redactor);
            let (blocks, received) = channel::<String>();
            let (written, empty) = channel::<String>();
            let thread = std::thread::Builder::new()
                .name("full-output".to_owned())
                .spawn(move || {
                    received.iter().try_for_each(|mut block| {
                        file.write(&redactor.redact(&block))?;
                        block.clear();
                        // Not wanted any more once the output has ended.
                        drop(written.send(block));
                        Ok(())
                    })
                })?;
            self.writer = Writer::Thread {
                blocks,
                empty,
                thread,
            };
        }
        match &self.writer {
            Writer::Thread { blocks, .. } => blocks
                .send(block)
                .map_err(|_| io::Error::other("the writing thread has ended")),
            Writer::Here(_) => Ok(()),
        }
    }
}

/// The file, up to its cap.
#[derive(Debug)]
struct BlockFile {
    file: File,
    written: usize,
}

impl BlockFile {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.try_clone()?,
            written: self.written,
        })
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let room = LARGEST.saturating_sub(self.written);
        let end = text.floor_char_boundary(room.min(text.len()));
        let kept = text.get(..end).unwrap_or_default();
        self.file.write_all(kept.as_bytes())?;
        self.written = if end < text.len() {
            LARGEST
        } else {
            self.written + kept.len()
        };
        Ok(())
    }
}

/// Where a block can be cut: after a line that is not part of a private key, or failing that after
/// a word, well before the end.
fn safe_cut(text: &str) -> usize {
    let limit = text.floor_char_boundary(text.len().saturating_sub(HELD));
    let early = text.get(..limit).unwrap_or_default();
    // Older keys have been seen whole.
    let recent = text.floor_char_boundary(limit.saturating_sub(HELD));
    let after_key = early
        .get(recent..)
        .and_then(|recent| recent.rfind(KEY_BEGINS))
        .map(|begin| recent + begin)
        .filter(|begin| *begin > 0);
    let early = early.get(..after_key.unwrap_or(limit)).unwrap_or(early);
    let line = early.rfind('\n').map(|index| index + 1);
    line.or_else(|| early.rfind(' ').map(|index| index + 1))
        .filter(|index| *index > 0)
        .unwrap_or(early.len())
}

/// Removes outputs older than a day from `directory`; says how many.
pub fn remove_old_outputs(directory: &Path, now: SystemTime) -> usize {
    // Nothing was ever kept: the usual case.
    let entries = hermes_fs::read_dir(directory).unwrap_or_default();
    let mut removed = 0;
    for entry in entries {
        let is_old = hermes_fs::symlink_metadata(&entry.path)
            .ok()
            .filter(std::fs::Metadata::is_file)
            .and_then(|meta| meta.modified().ok())
            .and_then(|modified| now.duration_since(modified).ok())
            .is_some_and(|age| age > AGE);
        if !is_old {
            continue;
        }
        match hermes_fs::remove_file_if_present(&entry.path) {
            Ok(_) => removed += 1,
            Err(error) => tracing::warn!(%error, "an old output stays"),
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests look at files directly")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn no_secret_is_cut_in_two_and_the_file_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let redactor = Arc::new(Redactor::new(["correct-horse-battery-staple"]));
        let mut spill = Spill::create(dir.path().join("deep/x.log"), redactor).unwrap();
        let line = "some words around correct-horse-battery-staple and more\n";
        for _ in 0..40_000 {
            for piece in line.split_inclusive('h') {
                spill.push(piece).unwrap();
            }
        }
        let path = spill.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 40_000);
        assert!(!text.contains("horse"));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_cap_holds_and_text_without_lines_does_not_wait_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let redactor = Arc::new(Redactor::default());
        let mut spill = Spill::create(dir.path().join("x.log"), redactor).unwrap();
        let chunk = "é".repeat(32 * 1024);
        for _ in 0..400 {
            spill.push(&chunk).unwrap();
            assert!(spill.waiting.len() <= BLOCK + chunk.len());
        }
        let path = spill.finish().unwrap();
        assert_eq!(std::fs::metadata(path).unwrap().len(), LARGEST as u64);
    }

    #[test]
    fn old_outputs_go_after_a_day() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.log"), "x").unwrap();
        let now = SystemTime::now();
        assert_eq!(remove_old_outputs(dir.path(), now), 0);
        let later = now + Duration::from_hours(25);
        assert_eq!(remove_old_outputs(dir.path(), later), 1);
        assert_eq!(remove_old_outputs(&dir.path().join("none"), later), 0);
    }
}
