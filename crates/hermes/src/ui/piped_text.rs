//! Text that another program pipes in.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

use hermes_proc::{Wake, first_readable};
use rustix::fs::FileType;

use super::Printer;
use crate::error::{CommandError, Result};

/// Longer text belongs in a file that the agent can read.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// After this time without input it is said what is waited for.
const NOTICE_AFTER: Duration = Duration::from_secs(3);

/// The whole of standard input if it is a pipe or a file, without empty lines at its ends; `None` if
/// there is nothing in it.
///
/// Whoever feeds a pipe may take its time. A socket is what some programs give to their children without
/// ever using it; it is not waited for.
pub(crate) fn piped_text(interrupt: &Wake, printer: Printer) -> Result<Option<String>> {
    let stdin = rustix::stdio::stdin();
    // Closed standard input is none.
    let Ok(status) = rustix::fs::fstat(stdin) else {
        return Ok(None);
    };
    let kind = FileType::from_raw_mode(status.st_mode);
    if !matches!(
        kind,
        FileType::Fifo | FileType::RegularFile | FileType::Socket
    ) {
        return Ok(None);
    }
    let unread = |error: &std::io::Error| {
        CommandError::environment(format!("could not read standard input: {error}"))
    };
    let mut input = File::from(rustix::io::dup(stdin).map_err(|errno| unread(&errno.into()))?);
    let mut text = Vec::new();
    let mut limit = Some(NOTICE_AFTER);
    loop {
        let sources = [interrupt.as_fd(), input.as_fd()];
        match first_readable(&sources, limit).map_err(|error| unread(&error))? {
            Some(0) => return Ok(None),
            Some(_) => {}
            None if kind == FileType::Socket => break,
            None => {
                printer.note("Waiting for standard input; `< /dev/null` goes on without it.")?;
                limit = None;
                continue;
            }
        }
        let mut chunk = [0; 8 * 1024];
        let count = input.read(&mut chunk).map_err(|error| unread(&error))?;
        if count == 0 {
            break;
        }
        limit = None;
        text.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if text.len() > MAX_BYTES {
            return Err(CommandError::user(format!(
                "standard input has more than {} MiB",
                MAX_BYTES >> 20
            ))
            .hint("save it in a file and name the file in the prompt"));
        }
    }
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_end().trim_start_matches(['\r', '\n']);
    Ok((!text.is_empty()).then(|| text.to_owned()))
}
