//! Fetching an image, with the engine's progress passed on line by line.

use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hermes_proc::{ChildSpec, Group, PollSet, Streams, read_once};

use super::engine::{Engine, unreachable_words};
use super::engine_words::{engine_words, last_line};
use super::error::{DockerError, Result};

/// What is kept of a line, and of everything the engine prints.
const MOST_WORDS: usize = 64 * 1024;

/// Fetches an image within `limit`.
pub(crate) fn pull(
    engine: &Engine,
    image: &str,
    limit: Duration,
    progress: &dyn Fn(&str),
) -> Result<()> {
    let failed = |words: String| DockerError::Image {
        image: image.to_owned(),
        words,
    };
    let (reader, writer) = std::io::pipe().map_err(|error| not_run(engine, &error))?;
    // Docker tells its progress on the one stream, Podman on the other.
    let spec = ChildSpec {
        streams: Streams::Given {
            input: None,
            output: Some(writer.into()),
        },
        group: Group::Session,
        ends_with_thread: true,
        ..engine.command(&["pull", image])
    };
    let mut child = spec.spawn().map_err(|error| not_run(engine, &error))?;
    let mut pipe = Some(OwnedFd::from(reader));
    let mut printed = Printed::default();
    let deadline = Instant::now() + limit;
    while pipe.is_some() {
        let mut set = PollSet::new();
        set.readable(pipe.as_ref());
        let left = deadline.saturating_duration_since(Instant::now());
        let is_ready = set.wait(left).map_err(|error| not_run(engine, &error))?;
        if !is_ready {
            // Dropped, the child and its group are ended.
            return Err(failed(format!(
                "it was not available after {} s",
                limit.as_secs()
            )));
        }
        let mut chunk = [0; 4096];
        // A pipe that cannot be read is closed, as at its end.
        printed.take(
            read_once(&mut pipe, &mut chunk).unwrap_or_default(),
            progress,
        );
    }
    let status = child.wait().map_err(|error| not_run(engine, &error))?;
    if status.success() {
        return Ok(());
    }
    let words = engine_words(&printed.kept);
    Err(unreachable_words(&words).unwrap_or_else(|| failed(last_line(&words).to_owned())))
}

fn not_run(engine: &Engine, error: &impl Display) -> DockerError {
    DockerError::NotExecutable {
        program: engine.program().to_owned(),
        reason: error.to_string(),
    }
}

/// The end of what came out of a pipe, and the line that is being written.
#[derive(Default)]
struct Printed {
    kept: Vec<u8>,
    line: Vec<u8>,
}

impl Printed {
    fn take(&mut self, bytes: &[u8], progress: &dyn Fn(&str)) {
        self.kept.extend_from_slice(bytes);
        let surplus = self.kept.len().saturating_sub(MOST_WORDS);
        self.kept.drain(..surplus);
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
