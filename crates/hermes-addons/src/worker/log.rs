//! What a worker prints: kept in a file of its feature, with secrets masked, and its last lines for
//! errors.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_secret::Redactor;

/// A file this large is moved away; two old ones are kept.
const MAX_FILE: u64 = 1 << 20;
const KEPT: usize = 3;
/// Longest line that is kept whole.
const MAX_LINE: usize = 16 * 1024;
/// Lines in the error of a call.
const TAIL_LINES: usize = 20;

/// The log of one worker.
pub(super) struct WorkerLog {
    path: PathBuf,
    /// `None` where it cannot be written: a worker runs without its log.
    file: Option<File>,
    written: u64,
    redactor: Arc<Redactor>,
    pending: Vec<u8>,
    tail: VecDeque<String>,
}

/// Where the log of a feature is.
fn path_of(home: &Path, feature: &str) -> PathBuf {
    home.join("logs/addons").join(format!("{feature}.log"))
}

impl WorkerLog {
    pub(super) fn open(home: &Path, feature: &str, redactor: Arc<Redactor>) -> Self {
        let path = path_of(home, feature);
        let mut log = Self {
            file: None,
            written: 0,
            redactor,
            pending: Vec::new(),
            tail: VecDeque::new(),
            path,
        };
        log.reopen();
        log
    }

    fn reopen(&mut self) {
        let opened = self.path.parent().map_or(Ok(()), |directory| {
            hermes_fs::create_dir_all(directory, 0o700)
        });
        let opened = opened.and_then(|()| hermes_fs::open_append(&self.path, 0o600));
        self.written = hermes_fs::metadata(&self.path).map_or(0, |meta| meta.len());
        self.file = opened
            .inspect_err(|error| tracing::warn!(%error, "a worker runs without its log"))
            .ok();
    }

    /// Takes what was printed, in whatever pieces.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            self.line(&line);
        }
        if self.pending.len() > MAX_LINE {
            self.finish();
        }
    }

    /// The rest, which has no end of line.
    pub(super) fn finish(&mut self) {
        let line = std::mem::take(&mut self.pending);
        self.line(&line);
    }

    fn line(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            return;
        }
        let text = self.redactor.redact(text).into_owned();
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(hermes_text::one_line(&text, 300));
        if self.written > MAX_FILE {
            self.rotate();
        }
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let line = format!("{at} {text}\n");
        self.written += line.len() as u64;
        if let Some(file) = &mut self.file
            && file.write_all(line.as_bytes()).is_err()
        {
            self.file = None;
        }
    }

    fn rotate(&mut self) {
        let old = |number: usize| self.path.with_extension(format!("log.{number}"));
        for number in (1..KEPT - 1).rev() {
            // The first rotations find nothing to move.
            drop(hermes_fs::rename(&old(number), &old(number + 1)));
        }
        if let Err(error) = hermes_fs::rename(&self.path, &old(1)) {
            tracing::debug!(%error, "the log of a worker was not moved away");
        }
        self.reopen();
    }

    /// The last lines.
    pub(super) fn tail(&self) -> String {
        let lines: Vec<&str> = self.tail.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at files directly")]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_size_is_bounded() {
        let home = tempfile::tempdir().unwrap();
        let redactor = Arc::new(Redactor::new(["hunter2-hunter2"]));
        let mut log = WorkerLog::open(home.path(), "a.b", redactor);
        log.take(b"the key is hunter2-");
        log.take(b"hunter2\nrest");
        log.finish();
        let text = std::fs::read_to_string(path_of(home.path(), "a.b")).unwrap();
        assert!(
            !text.contains("hunter2-hunter2") && text.contains("rest"),
            "{text}"
        );
        assert!(log.tail().ends_with("\nrest"));
        for _ in 0..5_000 {
            log.take(&[&[b'x'; 1_000][..], b"\n"].concat());
        }
        let directory = std::fs::read_dir(home.path().join("logs/addons")).unwrap();
        let sizes: Vec<u64> = directory
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), KEPT);
        assert!(
            sizes.iter().all(|size| *size < MAX_FILE + 2_000),
            "{sizes:?}"
        );
    }
}
