//! Data to standard output, words to standard error; colour only on terminals.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use hermes_config::{Environment, vars};
use serde::Serialize;

use crate::error::{CommandError, Result};

/// Bytes gathered before they go out, where much is printed.
const STREAM_BYTES: usize = 64 * 1024;

/// The way out for all text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    /// Whether standard output and standard error show colours.
    colours: (bool, bool),
}

/// Colours with a meaning, as terminals number them; the text alone carries it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style(&'static str);

impl Style {
    pub(crate) const GOOD: Self = Self("32");
    pub(crate) const WARNING: Self = Self("33");
    pub(crate) const BAD: Self = Self("31");
    pub(crate) const HEADING: Self = Self("1;36");
}

impl Printer {
    pub(crate) fn new(env: &Environment) -> Self {
        let wanted = !env.is_set(&vars::NO_COLOR) && env.text(&vars::TERM) != Some("dumb");
        let stdout = wanted && std::io::stdout().is_terminal();
        Self {
            colours: (stdout, wanted && std::io::stderr().is_terminal()),
        }
    }

    /// Data, as it is.
    #[expect(clippy::unused_self, reason = "all text is written through a printer")]
    pub(crate) fn out(self, text: &str) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    }

    /// Data that comes bit by bit. Nobody else gets to print while it is held.
    #[expect(clippy::unused_self, reason = "all text is written through a printer")]
    pub(crate) fn stream(self) -> impl Write {
        std::io::BufWriter::with_capacity(STREAM_BYTES, std::io::stdout().lock())
    }

    /// A line of data.
    pub(crate) fn line(self, text: impl AsRef<str>) -> Result<()> {
        self.out(&format!("{}\n", text.as_ref()))
    }

    /// A value for programs.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<()> {
        self.line(serde_json::to_string_pretty(value)?)
    }

    /// Words, as they are.
    #[expect(clippy::unused_self, reason = "all text is written through a printer")]
    pub(crate) fn err(self, text: &str) -> Result<()> {
        Ok(std::io::stderr().lock().write_all(text.as_bytes())?)
    }

    /// A line of words beside the data.
    pub(crate) fn note(self, text: impl AsRef<str>) -> Result<()> {
        self.err(&format!("{}\n", text.as_ref()))
    }

    pub(crate) fn warn(self, text: impl AsRef<str>) -> Result<()> {
        let label = paint(self.colours.1, Style::WARNING, "warning:");
        self.note(format!("{label} {}", text.as_ref()))
    }

    /// What to do about a warning or an error.
    pub(crate) fn hint(self, text: impl AsRef<str>) -> Result<()> {
        self.note(format!("hint: {}", text.as_ref()))
    }

    /// Prints an error and gives the exit code.
    pub(crate) fn report(self, error: &CommandError) -> ExitCode {
        if let Some(text) = error.report() {
            tracing::debug!(%text, "command failed");
            // Standard error may be closed; the exit code still tells.
            drop(self.err(&text));
        }
        ExitCode::from(error.exit_code())
    }

    /// Text for standard output in a colour, where colour is wanted.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        paint(self.colours.0, style, text)
    }
}

fn paint(on: bool, style: Style, text: &str) -> String {
    if on {
        format!("\x1b[{}m{text}\x1b[0m", style.0)
    } else {
        text.to_owned()
    }
}
