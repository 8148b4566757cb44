//! `hermes kanban log`: what a worker printed, byte for byte.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use hermes_board::model::TaskId;

use super::cards::NAME;
use super::session::{Kanban, refusal};
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Bytes copied at a time.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Only the end: at most this many bytes, beginning with a whole line
    #[arg(long, value_name = "BYTES")]
    tail: Option<u64>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let path = session.store.board().log_of(&args.id)?;
    let (file, size) = match hermes_fs::open_regular(&path) {
        Ok((file, meta)) => (file, meta.len()),
        Err(error) if error.is_not_found() => {
            let id = one_line(args.id.as_str(), NAME);
            return Err(refusal(format!("{id} has no log yet"))
                .hint("the log is created when a worker starts"));
        }
        Err(error) => return Err(error.into()),
    };
    let mut out = kanban.printer.stream();
    print(file, &path, size, args.tail, &mut out)?;
    out.flush()?;
    Ok(())
}

fn print(
    mut file: File,
    path: &Path,
    size: u64,
    tail: Option<u64>,
    out: &mut impl Write,
) -> Result<()> {
    let failed = |error: std::io::Error| {
        CommandError::user(format!("could not read {}: {error}", path.display())).of_board()
    };
    let mut buffer = vec![0; CHUNK];
    // Cut inside a line: the rest of that line is left out, unless the end is one single line.
    let mut skipping = false;
    if let Some(tail) = tail.filter(|tail| *tail < size) {
        let begin = size - tail;
        skipping = has_line_break(&mut file, begin, &mut buffer).map_err(failed)?;
        file.seek(SeekFrom::Start(begin)).map_err(failed)?;
    }
    let mut last = b'\n';
    loop {
        let count = file.read(&mut buffer).map_err(failed)?;
        let Some(mut bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        if skipping {
            let Some(line_break) = bytes.iter().position(|byte| *byte == b'\n') else {
                continue;
            };
            skipping = false;
            bytes = bytes.get(line_break + 1..).unwrap_or_default();
        }
        out.write_all(bytes)?;
        last = bytes.last().copied().unwrap_or(last);
    }
    if last != b'\n' {
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Whether a line ends after `begin`, with text after it.
fn has_line_break(file: &mut File, begin: u64, buffer: &mut [u8]) -> std::io::Result<bool> {
    file.seek(SeekFrom::Start(begin))?;
    let mut found = false;
    loop {
        let count = file.read(buffer)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(false);
        }
        if found {
            return Ok(true);
        }
        if let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            found = true;
            if at + 1 < bytes.len() {
                return Ok(true);
            }
        }
    }
}
