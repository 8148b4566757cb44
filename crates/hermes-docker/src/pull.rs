//! Fetching an image, with the engine's progress passed on line by line.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hermes_proc::{PipedChild, PipedSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::engine::{Engine, unreachable_words};
use super::engine_words::{engine_words, last_line};
use super::error::{DockerError, Result};

/// What is kept of a registry's words.
const MOST_WORDS: usize = 64 * 1024;

/// Fetches an image within `limit`.
pub(crate) fn pull(
    engine: &Engine,
    image: &str,
    limit: Duration,
    progress: &dyn Fn(&str),
) -> Result<()> {
    let mut child = PipedChild::spawn(&PipedSpec {
        program: engine.program().to_owned(),
        args: vec!["pull".into(), image.into()],
        cwd: PathBuf::from("/"),
        variables: engine.variables(),
    })
    .map_err(|error| not_run(engine, &error))?;
    let mut output = Stream::of(child.take_stdout());
    let mut errors = Stream::of(child.take_stderr());
    let deadline = Instant::now() + limit;
    while output.is_open() || errors.is_open() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // Dropped, the child and its group are ended.
            return Err(DockerError::Image {
                image: image.to_owned(),
                words: format!("it was not there after {} s", limit.as_secs()),
            });
        }
        wait(&[&output, &errors], left);
        output.read(progress);
        errors.read(progress);
    }
    let status = child.wait().map_err(|error| not_run(engine, &error))?;
    if status.success() {
        return Ok(());
    }
    let words = engine_words(&errors.kept);
    Err(
        unreachable_words(&words).unwrap_or_else(|| DockerError::Image {
            image: image.to_owned(),
            words: last_line(&words).to_owned(),
        }),
    )
}

fn not_run(engine: &Engine, error: &hermes_proc::Error) -> DockerError {
    DockerError::NotExecutable {
        program: engine.program().to_owned(),
        reason: error.to_string(),
    }
}

/// A pipe, what came out of it, and the line that is being written.
struct Stream {
    pipe: Option<std::fs::File>,
    kept: Vec<u8>,
    line: Vec<u8>,
}

impl Stream {
    fn of(pipe: Option<OwnedFd>) -> Self {
        let pipe = pipe.filter(|pipe| {
            // It is read only when something is there, and again until nothing is.
            rustix::fs::fcntl_setfl(pipe, rustix::fs::OFlags::NONBLOCK).is_ok()
        });
        Self {
            pipe: pipe.map(Into::into),
            kept: Vec::new(),
            line: Vec::new(),
        }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    fn read(&mut self, progress: &dyn Fn(&str)) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = [0; 4096];
        match pipe.read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.take(chunk.get(..count).unwrap_or_default(), progress),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                ) => {}
            Err(_) => self.pipe = None,
        }
    }

    fn take(&mut self, bytes: &[u8], progress: &dyn Fn(&str)) {
        let room = MOST_WORDS.saturating_sub(self.kept.len());
        self.kept
            .extend_from_slice(bytes.get(..bytes.len().min(room)).unwrap_or_default());
        for byte in bytes {
            match byte {
                b'\n' | b'\r' => {
                    let text = String::from_utf8_lossy(&self.line);
                    if !text.trim().is_empty() {
                        progress(text.trim());
                    }
                    self.line.clear();
                }
                _ if self.line.len() < MOST_WORDS => self.line.push(*byte),
                _ => {}
            }
        }
    }
}

/// Waits until one of them has something, or its end, to read.
fn wait(streams: &[&Stream], limit: Duration) {
    let mut watched: Vec<PollFd<'_>> = streams
        .iter()
        .filter_map(|stream| stream.pipe.as_ref())
        .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
        .collect();
    let limit = Timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    // Interrupted or failed, the reads tell.
    let _: std::result::Result<usize, Errno> = poll(&mut watched, Some(&limit));
}
