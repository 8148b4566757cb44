//! What servers print on their standard error: `logs/mcp-stderr.log`, with a line at each start, so
//! much and no more.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_secret::Redactor;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

use crate::host::ServerHost;

/// A file this large is moved away at the next start.
const MAX_FILE: u64 = 5 << 20;
/// Bytes of one run of a server that are kept.
const MAX_RUN: usize = 1 << 20;
/// Longest line that is masked as a whole.
const MAX_LINE: usize = 16 * 1024;
/// Most characters of the last line in an error.
const MAX_LAST: usize = 300;

/// The last line that a server printed.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<String>>);

impl LastWords {
    pub(super) fn get(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, line: &str) {
        let line = hermes_text::one_line(line, MAX_LAST);
        if !line.is_empty() {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *last = line;
        }
    }
}

pub(super) struct StderrLog {
    /// `None` where it cannot be written: a server runs without its log.
    file: Option<File>,
    redactor: Arc<Redactor>,
    last: LastWords,
    left: usize,
}

impl StderrLog {
    pub(super) fn open(server: &str, host: &dyn ServerHost) -> Self {
        let path = host.home().join("logs").join("mcp-stderr.log");
        let opened = appended(&path).map(|mut file| {
            let at = hermes_time::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
            let header = format!("\n===== [{at}] starting MCP server '{server}' =====\n");
            // A log that cannot be written to is found out at its next line.
            drop(file.write_all(header.as_bytes()));
            file
        });
        let file = opened
            .inspect_err(|error| tracing::warn!(%error, "no log of MCP servers"))
            .ok();
        Self {
            file,
            redactor: host.redactor(),
            last: LastWords::default(),
            left: MAX_RUN,
        }
    }

    pub(super) fn last_words(&self) -> LastWords {
        self.last.clone()
    }

    /// Copies until the server closes the pipe. Reads on when nothing more is kept: a full pipe would
    /// stop the server.
    pub(super) async fn copy(mut self, mut pipe: pipe::Receiver) {
        let mut pending: Vec<u8> = Vec::new();
        let mut buffer = vec![0; 8 * 1024];
        loop {
            let count = match pipe.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            };
            pending.extend_from_slice(buffer.get(..count).unwrap_or_default());
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                self.line(&line);
            }
            if pending.len() > MAX_LINE {
                let line = std::mem::take(&mut pending);
                self.line(&line);
            }
        }
        self.line(&pending);
    }

    fn line(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let text = self.redactor.redact(&text);
        self.last.set(&text);
        if self.left == 0 {
            return;
        }
        let kept = text.len().min(self.left);
        self.left -= kept;
        let Some(file) = &mut self.file else { return };
        let mut out = text.trim_end_matches('\n').to_owned();
        if self.left == 0 {
            out.push_str("\n[more output of this server is not kept]");
        }
        out.push('\n');
        if file.write_all(out.as_bytes()).is_err() {
            self.file = None;
        }
    }
}

fn appended(path: &Path) -> hermes_fs::Result<File> {
    if let Some(directory) = path.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    if hermes_fs::metadata(path).is_ok_and(|meta| meta.len() > MAX_FILE) {
        let mut old: PathBuf = path.to_owned();
        old.set_extension("log.1");
        hermes_fs::rename(path, &old)?;
    }
    hermes_fs::open_append(path, 0o600)
}
