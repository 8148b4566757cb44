//! Data to standard output, words to standard error; colour only on terminals.
//!
//! Whatever is printed may hold text of others: models, files, cards, providers. On a terminal nothing
//! of it is an order; that is seen to here, for every command. Our own colours are marked by a key that
//! no other text can know and become orders on the way out.

use std::io::{BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use hermes_config::{Environment, vars};
use hermes_text::{TerminalWriter, for_terminal, json_for_terminal};
use serde::Serialize;

use crate::error::{CommandError, Result};

/// Bytes gathered before they go out, where much is printed.
const STREAM_BYTES: usize = 64 * 1024;
/// Begins and ends a mark of a style; no text of people has these.
const MARK: char = '\u{fdd0}';
const MARK_END: char = '\u{fdd1}';

/// The way out for all text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    stdout: Target,
    stderr: Target,
    /// What tells our marks of styles from text that looks like them; random in every process.
    key: [u8; KEY_DIGITS],
}

const KEY_DIGITS: usize = 16;

/// Where text goes.
#[derive(Debug, Clone, Copy)]
struct Target {
    is_terminal: bool,
    colours: bool,
}

/// Colours with a meaning, as terminals number them; the text alone carries it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style(&'static str);

impl Style {
    pub(crate) const GOOD: Self = Self("32");
    pub(crate) const WARNING: Self = Self("33");
    pub(crate) const BAD: Self = Self("31");
    pub(crate) const HEADING: Self = Self("1;36");
    /// The end of any other.
    const PLAIN: Self = Self("0");
    const ALL: [Self; 5] = [
        Self::GOOD,
        Self::WARNING,
        Self::BAD,
        Self::HEADING,
        Self::PLAIN,
    ];
}

impl Printer {
    pub(crate) fn new(env: &Environment) -> Self {
        let wanted = !env.is_set(&vars::NO_COLOR) && env.text(&vars::TERM) != Some("dumb");
        let target = |is_terminal: bool| Target {
            is_terminal,
            colours: wanted && is_terminal,
        };
        let mut printer = Self {
            stdout: target(std::io::stdout().is_terminal()),
            stderr: target(std::io::stderr().is_terminal()),
            key: [b'0'; KEY_DIGITS],
        };
        if printer.stdout.colours || printer.stderr.colours {
            let random = hermes_fs::random_hex(KEY_DIGITS);
            for (digit, random) in printer.key.iter_mut().zip(random.bytes()) {
                *digit = random;
            }
        }
        printer
    }

    /// Data.
    pub(crate) fn out(self, text: &str) -> Result<()> {
        self.write_out(&self.ready(text, self.stdout))
    }

    /// Data of a program that the person runs: it is theirs to say what the terminal does.
    pub(crate) fn raw(self, text: &str) -> Result<()> {
        self.write_out(text)
    }

    #[expect(clippy::unused_self, reason = "all text is written through a printer")]
    fn write_out(self, text: &str) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    }

    /// Data that comes bit by bit. Nobody else gets to print while it is held.
    pub(crate) fn stream(self) -> Box<dyn Write> {
        if self.stdout.is_terminal {
            self.json_stream()
        } else {
            let out = std::io::stdout().lock();
            Box::new(BufWriter::with_capacity(STREAM_BYTES, out))
        }
    }

    /// The same for JSON, which holds no orders wherever it goes.
    #[expect(clippy::unused_self, reason = "all text is written through a printer")]
    pub(crate) fn json_stream(self) -> Box<dyn Write> {
        // Gathered first: what comes in small pieces is looked at in large ones.
        let out = TerminalWriter::new(std::io::stdout().lock());
        Box::new(BufWriter::with_capacity(STREAM_BYTES, out))
    }

    /// A line of data.
    pub(crate) fn line(self, text: impl AsRef<str>) -> Result<()> {
        self.out(&format!("{}\n", text.as_ref()))
    }

    /// A value for programs.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string_pretty(value)?;
        self.write_out(&format!("{}\n", json_for_terminal(&json)))
    }

    /// A value for programs, on one line.
    pub(crate) fn json_line(self, value: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string(value)?;
        self.write_out(&format!("{}\n", json_for_terminal(&json)))
    }

    /// Words.
    pub(crate) fn err(self, text: &str) -> Result<()> {
        let text = self.ready(text, self.stderr);
        Ok(std::io::stderr().lock().write_all(text.as_bytes())?)
    }

    /// Replaces the current line of a terminal.
    pub(crate) fn replace_line(self, text: &str) -> Result<()> {
        let line = format!("\r\x1b[K{}", self.ready(text, self.stderr));
        Ok(std::io::stderr().lock().write_all(line.as_bytes())?)
    }

    /// A line of words beside the data.
    pub(crate) fn note(self, text: impl AsRef<str>) -> Result<()> {
        self.err(&format!("{}\n", text.as_ref()))
    }

    pub(crate) fn warn(self, text: impl AsRef<str>) -> Result<()> {
        let label = self.styled(self.stderr, Style::WARNING, "warning:");
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

    /// Text for standard output in a colour, where colour is wanted. It has to leave through this
    /// printer.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        self.styled(self.stdout, style, text)
    }

    fn styled(self, target: Target, style: Style, text: &str) -> String {
        if target.colours {
            format!("{}{text}{}", self.mark(style), self.mark(Style::PLAIN))
        } else {
            text.to_owned()
        }
    }

    fn mark(self, style: Style) -> String {
        let key = String::from_utf8_lossy(&self.key);
        format!("{MARK}{key}{}{MARK_END}", style.0)
    }

    /// Text as it goes out: our marks become colours, and for a terminal nothing else is an order.
    fn ready(self, text: &str, target: Target) -> String {
        let mut pieces = text.split(MARK);
        let mut out = safe(pieces.next().unwrap_or_default(), target);
        for piece in pieces {
            let marked = self.styled_piece(piece);
            let (style, rest) = marked.map_or((None, piece), |(style, rest)| (Some(style), rest));
            match style {
                Some(style) if target.colours => out.push_str(&format!("\x1b[{}m", style.0)),
                Some(_) => {}
                // Of somebody else.
                None => out.push(MARK),
            }
            out.push_str(&safe(rest, target));
        }
        out
    }

    /// The style that a piece behind a mark begins with, and the rest.
    fn styled_piece(self, piece: &str) -> Option<(Style, &str)> {
        let (mark, rest) = piece.split_once(MARK_END)?;
        let number = mark.strip_prefix(std::str::from_utf8(&self.key).ok()?)?;
        let style = Style::ALL.into_iter().find(|style| style.0 == number)?;
        Some((style, rest))
    }
}

fn safe(text: &str, target: Target) -> String {
    if target.is_terminal {
        for_terminal(text).into_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const TERMINAL: Target = Target {
        is_terminal: true,
        colours: true,
    };
    const PIPE: Target = Target {
        is_terminal: false,
        colours: false,
    };

    fn printer(target: Target) -> Printer {
        Printer {
            stdout: target,
            stderr: target,
            key: *b"0123456789abcdef",
        }
    }

    #[test]
    fn own_colours_pass_and_orders_of_others_do_not() {
        let printer = printer(TERMINAL);
        let text = format!(
            "{} \x1b[2J\u{9b}1m\u{202e}evil\r",
            printer.paint(Style::GOOD, "✓ \x1b[31m")
        );
        assert_eq!(
            printer.ready(&text, TERMINAL),
            "\x1b[32m✓ \\u{1b}[31m\x1b[0m \\u{1b}[2J\\u{9b}1m\\u{202e}evil\\u{d}"
        );
        // Marks that do not know the key are text.
        let forged = "\u{fdd0}ffffffffffffffff32\u{fdd1}green";
        assert_eq!(printer.ready(forged, TERMINAL), forged);
        assert_eq!(printer.ready("\u{fdd0}", TERMINAL), "\u{fdd0}");
    }

    #[test]
    fn data_in_a_pipe_is_as_it_was() {
        let printer = printer(PIPE);
        let text = "a\x1b[2J\r\n\u{202e}";
        assert_eq!(printer.ready(text, PIPE), text);
        assert_eq!(printer.paint(Style::BAD, "x"), "x");
        // Painted for a terminal, printed elsewhere: without colour.
        let painted = super::tests::printer(TERMINAL).paint(Style::BAD, "x");
        assert_eq!(printer.ready(&painted, PIPE), "x");
    }
}
