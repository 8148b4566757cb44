//! Colours with a meaning, and the signs that are drawn.
//!
//! Only the sixteen colours that every theme defines are used, and none is needed: what a colour
//! says, a sign or a word says too. Without UTF-8 all signs are ASCII.

use ratatui::style::{Color, Modifier, Style};

/// The styles of everything that is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    coloured: bool,
}

#[expect(
    clippy::unused_self,
    reason = "which styles need colours is nobody else's business"
)]
impl Palette {
    pub(crate) fn new(coloured: bool) -> Self {
        Self { coloured }
    }

    fn colour(self, colour: Color) -> Style {
        if self.coloured {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn emphasis(self) -> Style {
        Style::new().add_modifier(Modifier::ITALIC)
    }

    pub(crate) fn struck(self) -> Style {
        Style::new().add_modifier(Modifier::CROSSED_OUT)
    }

    pub(crate) fn link(self) -> Style {
        self.colour(Color::Blue).add_modifier(Modifier::UNDERLINED)
    }

    /// What belongs to the program itself.
    pub(crate) fn accent(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(crate) fn heading(self) -> Style {
        self.accent().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub(crate) fn warning(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(crate) fn bad(self) -> Style {
        self.colour(Color::Red)
    }

    /// Code among text.
    pub(crate) fn code(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(crate) fn keyword(self) -> Style {
        self.colour(Color::Magenta)
    }

    pub(crate) fn string(self) -> Style {
        self.colour(Color::Green)
    }

    pub(crate) fn number(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(crate) fn comment(self) -> Style {
        self.colour(Color::DarkGray).add_modifier(if self.coloured {
            Modifier::empty()
        } else {
            Modifier::DIM
        })
    }

    /// What is chosen in a list.
    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// Signs that are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Glyphs {
    pub(crate) prompt: &'static str,
    pub(crate) bullet: &'static str,
    pub(crate) quote: &'static str,
    pub(crate) done: &'static str,
    pub(crate) failed: &'static str,
    pub(crate) open: &'static str,
    pub(crate) current: &'static str,
    pub(crate) branch: &'static str,
    pub(crate) dot: &'static str,
    pub(crate) dash: &'static str,
    pub(crate) bar: &'static str,
    pub(crate) cross: &'static str,
    pub(crate) ellipsis: &'static str,
    pub(crate) resumed: &'static str,
    pub(crate) spinner: &'static [&'static str],
}

impl Glyphs {
    pub(crate) const UNICODE: Self = Self {
        prompt: "❯",
        bullet: "•",
        quote: "▏",
        done: "✓",
        failed: "✗",
        open: "○",
        current: "◐",
        branch: "└",
        dot: "·",
        dash: "─",
        bar: "│",
        cross: "┼",
        ellipsis: "…",
        resumed: "↻",
        spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    };
    pub(crate) const ASCII: Self = Self {
        prompt: ">",
        bullet: "*",
        quote: "|",
        done: "+",
        failed: "x",
        open: "o",
        current: "@",
        branch: "`-",
        dot: "-",
        dash: "-",
        bar: "|",
        cross: "+",
        ellipsis: "...",
        resumed: "->",
        spinner: &["|", "/", "-", "\\"],
    };

    pub(crate) fn new(is_utf8: bool) -> Self {
        if is_utf8 { Self::UNICODE } else { Self::ASCII }
    }
}
