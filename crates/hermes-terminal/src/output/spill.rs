//! The whole of an output that a result shows only in part, kept in a file for a day.
//!
//! What is written has been redacted. Text is held back until it can be redacted together with what
//! follows, so that no secret is cut in two by the way the output arrived.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use hermes_secret::Redactor;

/// Most that is kept.
const LARGEST: usize = 10 * 1024 * 1024;
/// Text is redacted in blocks of about this size…
const BLOCK: usize = 512 * 1024;
/// …of which this much at the end waits for what follows.
const HELD: usize = 64 * 1024;
/// Begins a secret of many lines.
const KEY_BEGINS: &str = "-----BEGIN ";

/// A file that receives the output as it comes. A thread redacts and writes, because the command
/// would
/// have to wait for us.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    waiting: String,
    taken: usize,
    blocks: SyncSender<String>,
    writer: JoinHandle<io::Result<()>>,
}

impl Spill {
    pub(super) fn create(path: PathBuf, redactor: Arc<Redactor>) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            hermes_fs::create_dir_all(parent, 0o700).map_err(io::Error::other)?;
        }
        let mut file = hermes_fs::create_new(&path, 0o600).map_err(io::Error::other)?;
        // Room for all that is kept: a slow disk does not stop the command.
        let (blocks, received) = sync_channel::<String>(LARGEST / (BLOCK - HELD) + 2);
        let writer = std::thread::Builder::new()
            .name("full-output".to_owned())
            .spawn(move || {
                let mut room = LARGEST;
                for block in received {
                    let text = redactor.redact(&block);
                    let end = text.floor_char_boundary(room.min(text.len()));
                    file.write_all(text.get(..end).unwrap_or_default().as_bytes())?;
                    room = if end < text.len() { 0 } else { room - end };
                }
                Ok(())
            })?;
        Ok(Self {
            path,
            waiting: String::new(),
            taken: 0,
            blocks,
            writer,
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
        let rest = self.waiting.split_off(safe_cut(&self.waiting));
        let block = std::mem::replace(&mut self.waiting, rest);
        self.blocks
            .send(block)
            .map_err(|_| io::Error::other("the writing thread has ended"))
    }

    /// Writes what was held back; gives the path.
    pub(super) fn finish(self) -> io::Result<PathBuf> {
        // Refused only by a thread that has failed, which it says below.
        drop(self.blocks.send(self.waiting));
        drop(self.blocks);
        let written = self.writer.join();
        written.unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))?;
        Ok(self.path)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]
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
}
