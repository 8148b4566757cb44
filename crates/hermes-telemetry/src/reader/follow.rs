//! Following a log: every line once, across rotations and truncations.
//!
//! A file is identified by device and inode, never by its name. When the name points elsewhere, the
//! old file is read to its end first, then whatever came between, then the new one. The old file is
//! kept a while longer, because a writer that was about to write when it was rotated still does.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::chain::{self, FileId};
use super::error::ReadError;
use super::filter::LineFilter;
use super::name::LogName;
use super::tracked_file::TrackedFile;

/// Time between two looks at the log.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a rotated file is watched for lines of late writers.
const LATE_WRITERS: Duration = Duration::from_secs(5);

/// A log being followed.
#[derive(Debug)]
pub struct Follower {
    pub(super) dir: PathBuf,
    pub(super) name: LogName,
    pub(super) filter: LineFilter,
    pub(super) current: Option<TrackedFile>,
    pub(super) retired: Vec<Retired>,
    /// Files that have been read or were there before; never read again from the start.
    pub(super) known: Vec<FileId>,
}

/// A rotated file that late writers may still write.
#[derive(Debug)]
pub(super) struct Retired {
    file: TrackedFile,
    until: Instant,
}

impl Follower {
    /// Gives out what was added since the last look, complete lines only. Does not wait.
    pub fn poll(&mut self, emit: &mut dyn FnMut(&str)) -> Result<(), ReadError> {
        let newest = match hermes_fs::metadata(&self.name.path(&self.dir)) {
            Ok(meta) if meta.is_file() => Some(FileId::of(&meta)),
            // In the middle of a rotation, or not there yet.
            Ok(_) => None,
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        match (&mut self.current, newest) {
            (_, None) => self.drain(emit),
            (Some(current), Some(newest)) if current.id == newest => self.drain(emit),
            (_, Some(_)) => self.switch(emit),
        }
    }

    /// Looks every [`POLL_INTERVAL`] until `stop` is set or `emit` breaks off. What was written
    /// before `stop` was set is still given out.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        loop {
            let stopping = stop.load(Ordering::Acquire);
            let mut broken_off = false;
            self.poll(&mut |line| {
                if !broken_off {
                    broken_off = emit(line).is_break();
                }
            })?;
            if stopping || broken_off {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Reads the older files to their ends, then the current one as far as it went before that. So
    /// a late writer's line in an older file comes before its next one in the newer.
    fn drain(&mut self, emit: &mut dyn FnMut(&str)) -> Result<(), ReadError> {
        let end = self.current.as_ref().map(TrackedFile::size).transpose()?;
        self.drain_retired(emit)?;
        if let (Some(current), Some(end)) = (&mut self.current, end) {
            if end < current.offset {
                current.rewind();
            }
            current.drain(Some(end), emit)?;
        }
        Ok(())
    }

    fn drain_retired(&mut self, emit: &mut dyn FnMut(&str)) -> Result<(), ReadError> {
        let now = Instant::now();
        for retired in &mut self.retired {
            retired.file.drain(None, emit)?;
            if now >= retired.until {
                retired.file.finish(emit);
            }
        }
        self.retired.retain(|retired| now < retired.until);
        Ok(())
    }

    /// Reads the old file to its end, then every newer one, and stays at the newest.
    fn switch(&mut self, emit: &mut dyn FnMut(&str)) -> Result<(), ReadError> {
        let files = chain::open_all(&self.dir, &self.name)?;
        self.drain(emit)?;
        let present: Vec<FileId> = files.iter().map(|file| file.id).collect();
        let position = self
            .current
            .as_ref()
            .and_then(|current| present.iter().position(|id| *id == current.id));
        let unread = files
            .into_iter()
            .enumerate()
            .filter(|(index, file)| match position {
                Some(position) => *index < position,
                // Rotated out or deleted: every file that was not there before is new, and so is
                // the newest, even if it got the inode of a known file.
                None => *index == 0 || !self.known.contains(&file.id),
            });
        let mut unread: Vec<_> = unread.map(|(_, file)| file).collect();
        while let Some(next) = unread.pop() {
            let mut file = TrackedFile::new(next, self.filter.clone());
            if let Some(older) = self.current.take() {
                file.continue_verdict_of(&older);
                self.retired.push(Retired {
                    file: older,
                    until: Instant::now() + LATE_WRITERS,
                });
            }
            self.current = Some(file);
            self.drain(emit)?;
        }
        // Forgetting what is gone keeps a reused inode from being taken for it.
        self.known = present;
        Ok(())
    }
}
