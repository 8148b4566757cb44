//! `hermes kanban log`: what a worker printed, byte for byte.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
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
    /// Only the end: at most this many bytes, starting at the beginning of a line
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
    file: File,
    path: &Path,
    size: u64,
    tail: Option<u64>,
    out: &mut impl Write,
) -> Result<()> {
    let failed = |error: std::io::Error| {
        CommandError::user(format!("could not read {}: {error}", path.display())).of_board()
    };
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
