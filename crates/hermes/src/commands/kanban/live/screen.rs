//! The terminal: taken over while the board is shown, and restored however that ends.

use std::io::{Stdout, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{Attribute, Color, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use hermes_config::{Environment, vars};
use hermes_proc::TerminalSignals;

use super::glyphs::in_ascii;
use super::render::{Emphasis, Line, Piece, Tone};
use super::view::Size;
use crate::ui::is_utf8;

/// Assumed size of a terminal that does not report its own.
const USUAL: Size = Size {
    width: 80,
    height: 24,
};

/// The alternate screen.
pub(super) struct Screen {
    out: Stdout,
    /// Whether faint text and colours are shown; what is chosen always stands out.
    is_coloured: bool,
    is_utf8: bool,
    /// What is on it.
    shown: Vec<Line>,
    size: Option<Size>,
}

impl Screen {
    pub(super) fn enter(env: &Environment) -> std::io::Result<Self> {
        enable_raw_mode()?;
        // From here on dropping it gives the terminal back.
        let mut screen = Self {
            out: std::io::stdout(),
            is_coloured: !env.is_set(&vars::NO_COLOR),
            is_utf8: is_utf8(env),
            shown: Vec::new(),
            size: None,
        };
        execute!(screen.out, EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Gives the terminal back, stops this program as Ctrl-Z does, and takes the terminal again when
    /// it goes on.
    pub(super) fn suspend(&mut self) -> std::io::Result<()> {
        execute!(self.out, Show, LeaveAlternateScreen)?;
        disable_raw_mode()?;
        TerminalSignals::pause();
        enable_raw_mode()?;
        self.size = None;
        execute!(self.out, EnterAlternateScreen, Hide)
    }

    pub(super) fn size() -> Size {
        match crossterm::terminal::size() {
            Ok((width, height)) if width > 0 && height > 0 => Size {
                width: width.into(),
                height: height.into(),
            },
            Ok(_) | Err(_) => USUAL,
        }
    }

    /// Shows these lines; only those that differ from what is there are sent.
    pub(super) fn draw(&mut self, lines: &[Line]) -> std::io::Result<()> {
        let size = Self::size();
        if self.size != Some(size) {
            queue!(self.out, Clear(ClearType::All))?;
            self.shown.clear();
            self.size = Some(size);
        }
        for (row, line) in lines.iter().enumerate() {
            if self.shown.get(row) == Some(line) {
                continue;
            }
            let row = u16::try_from(row).unwrap_or(u16::MAX);
            queue!(self.out, MoveTo(0, row), Clear(ClearType::CurrentLine))?;
            for piece in line {
                self.put(piece)?;
            }
        }
        self.shown = lines.to_vec();
        self.out.flush()
    }

    fn put(&mut self, piece: &Piece) -> std::io::Result<()> {
        let attribute = match piece.emphasis {
            Emphasis::Plain => None,
            Emphasis::Strong => Some(Attribute::Bold),
            Emphasis::Faint => self.is_coloured.then_some(Attribute::Dim),
            Emphasis::Chosen => Some(Attribute::Reverse),
        };
        if let Some(attribute) = attribute {
            queue!(self.out, SetAttribute(attribute))?;
        }
        if let Some(tone) = piece.tone.filter(|_| self.is_coloured) {
            queue!(self.out, SetForegroundColor(colour(tone)))?;
        }
        if self.is_utf8 {
            queue!(self.out, Print(&piece.text))?;
        } else {
            queue!(self.out, Print(in_ascii(&piece.text)))?;
        }
        queue!(self.out, SetAttribute(Attribute::Reset))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        drop(execute!(self.out, Show, LeaveAlternateScreen));
        drop(disable_raw_mode());
    }
}

fn colour(tone: Tone) -> Color {
    match tone {
        Tone::Good => Color::DarkGreen,
        Tone::Busy => Color::DarkYellow,
        Tone::Bad => Color::DarkRed,
        Tone::Next => Color::DarkCyan,
        Tone::Asking => Color::DarkMagenta,
    }
}
