//! Fetching an image, with the engine's progress passed on line by line.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hermes_proc::{ChildSpec, Group, PollSet, read_once};

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
    let spec = ChildSpec {
        cwd: Some(PathBuf::from("/")),
        group: Group::Session,
        ends_with_thread: true,
        ..ChildSpec::new(engine.program(), ["pull", image], engine.variables())
    };
    let mut child = spec.spawn().map_err(|error| not_run(engine, &error))?;
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
        let mut set = PollSet::new();
        let [from_output, from_errors] =
            [&output, &errors].map(|stream| set.readable(stream.pipe.as_ref()));
        if let Err(source) = set.wait(left) {
            return Err(not_run(engine, &child.lost(source)));
        }
        let (from_output, from_errors) = (set.is_ready(&from_output), set.is_ready(&from_errors));
        if from_output {
            output.read(progress);
        }
        if from_errors {
            errors.read(progress);
        }
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
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
    line: Vec<u8>,
}

impl Stream {
    fn of(pipe: Option<OwnedFd>) -> Self {
        Self {
            pipe,
            kept: Vec::new(),
            line: Vec::new(),
        }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    fn read(&mut self, progress: &dyn Fn(&str)) {
        let mut chunk = [0; 4096];
        // A pipe that cannot be read is closed, as at its end.
        let bytes = read_once(&mut self.pipe, &mut chunk).unwrap_or_default();
        self.take(bytes, progress);
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
