//! Data to standard output, words to standard error; colour only on terminals.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use hermes_config::{Environment, vars};
use serde_json::Value;

/// Bytes gathered before they go out, where much is printed.
const STREAM_BYTES: usize = 64 * 1024;

/// The way out for all text.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    colour: Arc<Colour>,
}

#[derive(Debug, Clone, Copy)]
struct Colour {
    stdout: bool,
    stderr: bool,
}

/// Colours with a meaning; the text alone carries it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Good,
    Warning,
    Bad,
    Heading,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Warning => "33",
            Self::Bad => "31",
            Self::Heading => "1;36",
        }
    }
}

impl Printer {
    pub(crate) fn new(env: &Environment) -> Self {
        let wanted = !env.is_set(&vars::NO_COLOR) && env.text(&vars::TERM) != Some("dumb");
        Self {
            colour: Arc::new(Colour {
                stdout: wanted && std::io::stdout().is_terminal(),
                stderr: wanted && std::io::stderr().is_terminal(),
            }),
        }
    }

    /// Data, as it is.
    #[expect(clippy::unused_self, reason = "text leaves through a printer only")]
    pub(crate) fn out(&self, text: &str) -> std::io::Result<()> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Data that comes bit by bit. Nobody else gets to print while it is held.
    #[expect(clippy::unused_self, reason = "text leaves through a printer only")]
    pub(crate) fn stream(&self) -> impl Write {
        std::io::BufWriter::with_capacity(STREAM_BYTES, std::io::stdout().lock())
    }

    /// A line of data.
    pub(crate) fn line(&self, text: impl AsRef<str>) -> std::io::Result<()> {
        self.out(&format!("{}\n", text.as_ref()))
    }

    /// A value for programs.
    pub(crate) fn json(&self, value: &Value) -> crate::error::Result<()> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        Ok(self.out(&text)?)
    }

    /// Words, as they are.
    #[expect(clippy::unused_self, reason = "text leaves through a printer only")]
    pub(crate) fn err(&self, text: &str) -> std::io::Result<()> {
        std::io::stderr().lock().write_all(text.as_bytes())
    }

    /// A line of words beside the data.
    pub(crate) fn note(&self, text: impl AsRef<str>) -> std::io::Result<()> {
        self.err(&format!("{}\n", text.as_ref()))
    }

    /// A warning, with what to do about it.
    pub(crate) fn warn(&self, text: impl AsRef<str>, hint: Option<&str>) -> std::io::Result<()> {
        let label = paint(self.colour.stderr, Style::Warning, "warning:");
        self.note(format!("{label} {}", text.as_ref()))?;
        match hint {
            Some(hint) => self.note(format!("hint: {hint}")),
            None => Ok(()),
        }
    }

    /// Text for standard output in a colour, where colour is wanted.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        paint(self.colour.stdout, style, text)
    }
}

fn paint(on: bool, style: Style, text: &str) -> String {
    if on {
        format!("\x1b[{}m{text}\x1b[0m", style.code())
    } else {
        text.to_owned()
    }
}
