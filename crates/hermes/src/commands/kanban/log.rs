//! `hermes kanban log`: what a worker printed, byte for byte, on whatever machine it runs.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hermes_board::files::{WorkerLog, worker_log};
use hermes_board::model::{Status, TaskId};
use hermes_board::{LogPart, LogState, StoredBoard};
use hermes_proc::{EndSignal, first_readable};

use super::cards::NAME;
use super::session::{Kanban, refusal};
use crate::error::{CommandError, Result};
use crate::signal_watch::listen_for_signals;
use crate::ui::one_line;

/// Bytes copied at a time.
const CHUNK: usize = 64 * 1024;
/// Pause between two looks at a log that is followed.
const PAUSE: Duration = Duration::from_millis(300);
/// How long the last words of a worker on another machine may be on their way.
const LAST_WORDS: Duration = Duration::from_secs(3);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Only the end: at most this many bytes, starting at the beginning of a line
    #[arg(long, value_name = "BYTES")]
    tail: Option<u64>,
    /// Go on with what the worker prints, until it ends
    #[arg(long, short)]
    follow: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<ExitCode> {
    if args.follow {
        return follow(args, kanban);
    }
    let session = kanban.open()?;
    let mut out = kanban.printer.stream();
    match worker_log(&session.store, &args.id)? {
        WorkerLog::File { file, path, size } => print(file, &path, size, args.tail, &mut out)?,
        WorkerLog::Elsewhere(state) => {
            let (bytes, is_whole) = told(&session.store, &args.id)?;
            if !is_whole {
                kanban.printer.note(format!(
                    "the log is on {}; this is the end of its {} bytes",
                    one_line(state.machine(), NAME),
                    state.size
                ))?;
            }
            let end = end_of(&bytes, args.tail);
            out.write_all(end)?;
            if end.last().is_some_and(|last| *last != b'\n') {
                out.write_all(b"\n")?;
            }
        }
        WorkerLog::None => {
            let id = one_line(args.id.as_str(), NAME);
            return Err(refusal(format!("{id} has no log yet"))
                .hint("the log is created when a worker starts"));
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What another machine has told of its log, and whether that is all.
fn told(store: &StoredBoard, id: &TaskId) -> Result<(Vec<u8>, bool)> {
    let parts = store.log_parts(id, 0)?;
    let mut next = 0;
    let is_whole = parts.iter().all(|part| {
        let follows = part.start == next;
        next = part.end();
        follows
    });
    let bytes = parts.into_iter().flat_map(|part| part.content).collect();
    Ok((bytes, is_whole))
}

/// The last bytes, from the beginning of a line on unless they are one single line.
fn end_of(bytes: &[u8], most: Option<u64>) -> &[u8] {
    let most = most.and_then(|most| usize::try_from(most).ok());
    let Some(most) = most.filter(|most| *most < bytes.len()) else {
        return bytes;
    };
    let end = bytes.get(bytes.len() - most..).unwrap_or_default();
    let line = end.iter().position(|byte| *byte == b'\n');
    let whole = line.and_then(|position| end.get(position + 1..));
    whole.filter(|rest| !rest.is_empty()).unwrap_or(end)
}

fn print(
    file: File,
    path: &Path,
    size: u64,
    tail: Option<u64>,
    out: &mut impl Write,
) -> Result<()> {
    let failed = |error| unreadable(path, &error);
    let mut file = BufReader::with_capacity(CHUNK, file);
    if let Some(tail) = tail.filter(|tail| *tail < size) {
        let begin = SeekFrom::Start(size - tail);
        file.seek(begin).map_err(failed)?;
        // Cut inside a line: the rest of that line is left out, unless the end is one single line.
        file.skip_until(b'\n').map_err(failed)?;
        if file.fill_buf().map_err(failed)?.is_empty() {
            file.seek(begin).map_err(failed)?;
        }
    }
    let mut last = b'\n';
    loop {
        let bytes = file.fill_buf().map_err(failed)?;
        let (Some(end), count) = (bytes.last(), bytes.len()) else {
            break;
        };
        last = *end;
        out.write_all(bytes)?;
        file.consume(count);
    }
    if last != b'\n' {
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::user(format!("could not read {}: {error}", path.display())).of_board()
}

/// Prints a log as it grows. Ends with the attempt; a card that no worker has begun is waited for.
fn follow(args: &Args, kanban: &Kanban<'_>) -> Result<ExitCode> {
    let session = kanban.open()?;
    session.task(&args.id)?;
    let listening = listen_for_signals()?;
    let mut out = kanban.printer.stream();
    let mut follower = Follower {
        id: &args.id,
        tail: args.tail,
        host: None,
        offset: 0,
    };
    let mut grown_at = Instant::now();
    loop {
        // In this order: what is printed before the end of the attempt is found.
        let status = session.task(&args.id)?.status();
        if follower.step(&session.store, &mut out)? {
            out.flush()?;
            grown_at = Instant::now();
        }
        let may_begin = follower.host.is_none()
            && !matches!(status, Status::Done | Status::Archived | Status::Blocked);
        let is_told = match follower.host.as_deref() {
            Some("") | None => true,
            Some(_) => grown_at.elapsed() >= LAST_WORDS,
        };
        if status != Status::Running && !may_begin && is_told {
            return Ok(ExitCode::SUCCESS);
        }
        first_readable(&[listening.as_fd()], Some(PAUSE))?;
        match listening.take() {
            None => {}
            Some(EndSignal::Interrupt) => return Ok(ExitCode::SUCCESS),
            Some(signal) => return Ok(ExitCode::from(signal.exit_code())),
        }
    }
}

/// How far a log has been printed.
struct Follower<'a> {
    id: &'a TaskId,
    /// Of a log that is there already, only the end.
    tail: Option<u64>,
    /// The machine it is on, empty for this one; `None` before there is one.
    host: Option<String>,
    offset: u64,
}

impl Follower<'_> {
    /// Prints what is new; says whether there was something.
    fn step(&mut self, store: &StoredBoard, out: &mut impl Write) -> Result<bool> {
        match worker_log(store, self.id)? {
            WorkerLog::None => Ok(false),
            WorkerLog::File { file, path, size } => self.print_file(file, &path, size, out),
            WorkerLog::Elsewhere(state) => self.print_told(store, &state, out),
        }
    }

    /// Begins anew if the log is another one than before. Says whether it is the first of all.
    fn turn_to(&mut self, host: &str, size: u64) -> bool {
        let is_first = self.host.is_none();
        if self.host.as_deref() != Some(host) || size < self.offset {
            self.host = Some(host.to_owned());
            self.offset = 0;
        }
        is_first
    }

    fn print_file(
        &mut self,
        mut file: File,
        path: &Path,
        size: u64,
        out: &mut impl Write,
    ) -> Result<bool> {
        if self.turn_to("", size) {
            print(file, path, size, self.tail, out)?;
            self.offset = size;
            return Ok(size > 0);
        }
        if size == self.offset {
            return Ok(false);
        }
        let failed = |error| unreadable(path, &error);
        file.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        let mut new = file.take(size - self.offset);
        let copied = std::io::copy(&mut new, out).map_err(failed)?;
        self.offset += copied;
        Ok(copied > 0)
    }

    fn print_told(
        &mut self,
        store: &StoredBoard,
        state: &LogState,
        out: &mut impl Write,
    ) -> Result<bool> {
        let is_first = self.turn_to(&state.host, state.size);
        if state.size == self.offset {
            return Ok(false);
        }
        let parts = store.log_parts(self.id, self.offset)?;
        self.offset = parts.last().map_or(state.size, LogPart::end);
        let bytes: Vec<u8> = parts.into_iter().flat_map(|part| part.content).collect();
        out.write_all(end_of(&bytes, self.tail.filter(|_| is_first)))?;
        Ok(!bytes.is_empty())
    }
}
