//! Questions. Without a terminal there is nobody to ask, and no answer is a no.

use std::io::{BufRead, IsTerminal, Read};

use super::Printer;
use crate::error::{CommandError, Result};

/// Longest answer read.
const MAX_ANSWER: u64 = 4096;

/// Prints a question and reads a line; `None` at the end of input.
///
/// Reads from a pipe too: scripts answer that way. `/dev/null` gives `None`.
pub(crate) fn ask_line(printer: Printer, question: &str) -> Result<Option<String>> {
    let _usual = hermes_chat::usual_terminal();
    printer.err(question)?;
    let mut answer = String::new();
    let stdin = std::io::stdin().lock();
    let read = std::io::BufReader::new(stdin.take(MAX_ANSWER)).read_line(&mut answer)?;
    if read == 0 {
        printer.note("")?;
        return Ok(None);
    }
    Ok(Some(answer.trim().to_owned()))
}

/// A yes or no question; `None` if there is no terminal to ask on.
pub(crate) fn confirm(printer: Printer, question: &str) -> Result<Option<bool>> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let answer = ask_line(printer, &format!("{question} [y/N] "))?;
    Ok(Some(answer.is_some_and(|a| {
        ["y", "yes"].iter().any(|yes| a.eq_ignore_ascii_case(yes))
    })))
}

/// Asks before something is lost. Without a terminal nobody can be asked, and `--yes` must say it.
pub(crate) fn must_confirm(printer: Printer, yes: bool, question: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    match confirm(printer, question)? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::cancelled()),
        None => Err(CommandError::user(
            "nothing was done: there is no terminal to ask for confirmation",
        )
        .hint("add --yes to continue without confirmation")),
    }
}
