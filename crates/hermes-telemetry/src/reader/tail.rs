//! The last lines of a log. Without filters only the end of the newest files is read; with filters
//! every file is, oldest first, and only what is to be shown is kept.

use std::collections::VecDeque;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::chain::{self, ChainFile};
use super::error::ReadError;
use super::filter::LineFilter;
use super::follow::Follower;
use super::name::LogName;
use super::query::LogQuery;
use super::tracked_file::{CHUNK, TrackedFile};
use crate::Zone;

/// One log, from the reading side.
#[derive(Debug, Clone)]
pub struct LogReader {
    dir: PathBuf,
    name: LogName,
    zone: TimeZone,
    now: Timestamp,
}

impl LogReader {
    /// Reads `name` below the `logs` directory; ages count from `now`, stamps are in `zone`.
    pub fn new(dir: impl Into<PathBuf>, name: LogName, zone: &Zone, now: Timestamp) -> Self {
        Self {
            dir: dir.into(),
            name,
            zone: zone.resolve(),
            now,
        }
    }

    /// The newest file of the log.
    pub fn path(&self) -> PathBuf {
        self.name.path(&self.dir)
    }

    /// The last lines that match, oldest first.
    pub fn read(&self, query: &LogQuery) -> Result<Vec<String>, ReadError> {
        let files = chain::open_all(&self.dir, &self.name)?;
        if files.is_empty() {
            return Err(ReadError::Missing {
                name: self.name.clone(),
                path: self.path(),
            });
        }
        let (mut last, newest) = self.read_files(files, query)?;
        if let Some(mut newest) = newest {
            newest.finish(&mut |line| last.push(line));
        }
        Ok(last.into_lines())
    }

    /// The last lines that match, and what comes after them. A log that does not exist yet is waited
    /// for.
    pub fn follow(&self, query: &LogQuery) -> Result<(Vec<String>, Follower), ReadError> {
        let files = chain::open_all(&self.dir, &self.name)?;
        let known = files.iter().map(|file| file.id).collect();
        let (last, newest) = self.read_files(files, query)?;
        let filter = self.filter(query);
        let follower = Follower {
            dir: self.dir.clone(),
            name: self.name.clone(),
            filter,
            current: newest,
            retired: Vec::new(),
            known,
        };
        Ok((last.into_lines(), follower))
    }

    fn filter(&self, query: &LogQuery) -> LineFilter {
        LineFilter::new(query, self.now, &self.zone)
    }

    /// Gives back the newest file where reading stopped, perhaps inside a line.
    fn read_files(
        &self,
        files: Vec<ChainFile>,
        query: &LogQuery,
    ) -> hermes_fs::Result<(LastLines, Option<TrackedFile>)> {
        let filter = self.filter(query);
        let mut last = LastLines::new(query.lines);
        let mut read = Vec::new();
        let mut wanted = query.lines;
        for (index, file) in files.into_iter().enumerate() {
            // A file last written before the time in question holds nothing of it.
            let too_old = filter
                .since()
                .is_some_and(|since| modified(&file).is_some_and(|at| at < since));
            let enough = query.is_unfiltered() && wanted == 0;
            if index > 0 && (too_old || enough) {
                break;
            }
            let mut file = TrackedFile::new(file, filter.clone());
            let end = file.size()?;
            if query.is_unfiltered() {
                let (offset, found) = start_of_last_lines(&file, end, wanted)?;
                file.offset = offset;
                wanted -= found;
            }
            read.push((file, end));
        }
        let mut newest: Option<TrackedFile> = None;
        for (mut file, end) in read.into_iter().rev() {
            if let Some(mut older) = newest.take() {
                older.finish(&mut |line| last.push(line));
                file.continue_verdict_of(&older);
            }
            file.drain(Some(end), &mut |line| last.push(line))?;
            newest = Some(file);
        }
        Ok((last, newest))
    }
}

fn modified(file: &ChainFile) -> Option<Timestamp> {
    let modified = file.file.metadata().ok()?.modified().ok()?;
    Timestamp::try_from(modified).ok()
}

/// Where the last `wanted` lines before `end` begin, and how many there are, found by reading
/// backwards.
fn start_of_last_lines(
    file: &TrackedFile,
    end: u64,
    wanted: usize,
) -> hermes_fs::Result<(u64, usize)> {
    if wanted == 0 || end == 0 {
        return Ok((end, 0));
    }
    let mut buffer = vec![0; CHUNK];
    let mut found = 0;
    let mut upper = end;
    while upper > 0 {
        let lower = upper.saturating_sub(CHUNK as u64);
        let length = usize::try_from(upper - lower).unwrap_or(CHUNK);
        let piece = buffer.get_mut(..length).unwrap_or_default();
        let count = file.read_at(piece, lower)?;
        let read = buffer.get(..count).unwrap_or_default();
        for (index, _) in read.iter().enumerate().rev().filter(|(_, b)| **b == b'\n') {
            let after = lower + index as u64 + 1;
            // The newline at the very end closes the last line and begins none.
            if after == end {
                continue;
            }
            found += 1;
            if found == wanted {
                return Ok((after, found));
            }
        }
        upper = lower;
    }
    Ok((0, found + 1))
}

/// The newest lines of all that were pushed.
#[derive(Debug)]
struct LastLines {
    lines: VecDeque<String>,
    most: usize,
}

impl LastLines {
    fn new(most: usize) -> Self {
        Self {
            lines: VecDeque::new(),
            most,
        }
    }

    fn push(&mut self, line: &str) {
        if self.most == 0 {
            return;
        }
        let mut slot = if self.lines.len() == self.most {
            self.lines.pop_front().unwrap_or_default()
        } else {
            String::new()
        };
        slot.clear();
        slot.push_str(line);
        self.lines.push_back(slot);
    }

    fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}
