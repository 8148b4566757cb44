//! Colours with a meaning, and the signs that are drawn.
//!
//! Unless a skin says otherwise, only the sixteen colours that every theme defines are used. None is
//! needed: what a colour says, a sign or a word says too. Without UTF-8 all signs are ASCII.

use ratatui::style::{Color, Modifier, Style};

use crate::look::{ColourDepth, Indicator, Rgb, Skin, Theme};

/// The styles of everything that is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    depth: ColourDepth,
    skin: Skin,
}

#[expect(
    clippy::unused_self,
    reason = "which styles need colours is nobody else's business"
)]
impl Palette {
    pub(crate) fn new(theme: &Theme) -> Self {
        Self {
            depth: theme.depth,
            skin: theme.skin,
        }
    }

    /// The colours of the terminal's theme, or none.
    #[cfg(test)]
    pub(crate) fn plain_theme(coloured: bool) -> Self {
        let depth = if coloured {
            ColourDepth::Sixteen
        } else {
            ColourDepth::None
        };
        Self {
            depth,
            skin: Skin::default(),
        }
    }

    fn colour(self, colour: Color) -> Style {
        match self.depth {
            ColourDepth::None => Style::new(),
            ColourDepth::Sixteen | ColourDepth::Indexed | ColourDepth::Full => {
                Style::new().fg(colour)
            }
        }
    }

    /// The colour of the skin, or the usual one.
    fn skinned(self, own: Option<Rgb>, usual: Color) -> Style {
        self.colour(own.map_or(usual, |rgb| shown_as(rgb, self.depth)))
    }

    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) fn faint(self) -> Style {
        match self.skin.faint {
            Some(rgb) if self.depth != ColourDepth::None => self.colour(shown_as(rgb, self.depth)),
            Some(_) | None => Style::new().add_modifier(Modifier::DIM),
        }
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
        self.skinned(self.skin.accent, Color::Cyan)
    }

    pub(crate) fn heading(self) -> Style {
        let own = self.skin.heading.or(self.skin.accent);
        self.skinned(own, Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn good(self) -> Style {
        self.skinned(self.skin.good, Color::Green)
    }

    pub(crate) fn warning(self) -> Style {
        self.skinned(self.skin.warning, Color::Yellow)
    }

    pub(crate) fn bad(self) -> Style {
        self.skinned(self.skin.bad, Color::Red)
    }

    /// Code among text.
    pub(crate) fn code(self) -> Style {
        self.skinned(self.skin.code, Color::Cyan)
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
        self.colour(Color::DarkGray)
            .add_modifier(if self.depth == ColourDepth::None {
                Modifier::DIM
            } else {
                Modifier::empty()
            })
    }

    /// What is chosen in a list.
    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// A colour as a terminal of this depth shows it best.
fn shown_as(rgb: Rgb, depth: ColourDepth) -> Color {
    let Rgb(red, green, blue) = rgb;
    match depth {
        ColourDepth::Full => Color::Rgb(red, green, blue),
        ColourDepth::Indexed => Color::Indexed(indexed(rgb)),
        ColourDepth::None | ColourDepth::Sixteen => {
            let nearest = BASIC.iter().min_by_key(|(_, other)| distance(rgb, *other));
            nearest.map_or(Color::Reset, |(colour, _)| *colour)
        }
    }
}

/// The sixteen colours, roughly as most themes have them. Black is left out: on many terminals it
/// cannot be seen.
const BASIC: [(Color, Rgb); 15] = [
    (Color::Red, Rgb(205, 49, 49)),
    (Color::Green, Rgb(13, 188, 121)),
    (Color::Yellow, Rgb(229, 190, 16)),
    (Color::Blue, Rgb(36, 114, 200)),
    (Color::Magenta, Rgb(188, 63, 188)),
    (Color::Cyan, Rgb(17, 168, 205)),
    (Color::Gray, Rgb(200, 200, 200)),
    (Color::DarkGray, Rgb(102, 102, 102)),
    (Color::LightRed, Rgb(241, 76, 76)),
    (Color::LightGreen, Rgb(35, 209, 139)),
    (Color::LightYellow, Rgb(245, 245, 67)),
    (Color::LightBlue, Rgb(59, 142, 234)),
    (Color::LightMagenta, Rgb(214, 112, 214)),
    (Color::LightCyan, Rgb(41, 184, 219)),
    (Color::White, Rgb(250, 250, 250)),
];

fn distance(one: Rgb, other: Rgb) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    square(one.0, other.0) + square(one.1, other.1) + square(one.2, other.2)
}

/// The nearest of the colours from 16 to 255: a cube with six steps a side, and 24 greys.
fn indexed(rgb: Rgb) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let cube = (0..216_u8).map(|index| {
        let step = |at: u8| STEPS.get(usize::from(at)).copied().unwrap_or_default();
        let colour = Rgb(step(index / 36), step(index / 6 % 6), step(index % 6));
        (16 + index, colour)
    });
    let greys = (0..24_u8).map(|index| {
        let level = 8 + 10 * index;
        (232 + index, Rgb(level, level, level))
    });
    let nearest = cube
        .chain(greys)
        .min_by_key(|(_, other)| distance(rgb, *other));
    nearest.map_or(7, |(index, _)| index)
}

/// What moves while the agent works.
pub(crate) fn frames(indicator: Indicator, is_utf8: bool) -> &'static [&'static str] {
    match indicator {
        _ if !is_utf8 => Glyphs::ASCII.spinner,
        Indicator::Ascii => Glyphs::ASCII.spinner,
        Indicator::Unicode => Glyphs::UNICODE.spinner,
        Indicator::Emoji => &["🌑", "🌒", "🌓", "🌔", "🌕", "🌖", "🌗", "🌘"],
        Indicator::Kaomoji => &["(・_・)", "(・ω・)", "(－ω－)", "(・ω・)"],
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn colours_of_a_skin_are_shown_as_well_as_the_terminal_can() {
        let red = Rgb(255, 0, 0);
        assert_eq!(shown_as(red, ColourDepth::Full), Color::Rgb(255, 0, 0));
        assert_eq!(shown_as(red, ColourDepth::Indexed), Color::Indexed(196));
        assert_eq!(shown_as(red, ColourDepth::Sixteen), Color::Red);
        let grey = Rgb(118, 118, 118);
        assert_eq!(shown_as(grey, ColourDepth::Indexed), Color::Indexed(243));
        let skin = Skin {
            accent: Some(red),
            ..Skin::default()
        };
        let without = Palette {
            depth: ColourDepth::None,
            skin,
        };
        assert_eq!(without.accent(), Style::new());
        assert_eq!(without.faint(), Style::new().add_modifier(Modifier::DIM));
    }
}
