//! From styled lines to the bytes of a terminal: colours, wrapping, and the live region at the
//! bottom of the screen.

mod palette;
mod region;
mod sgr;
mod wrap;

pub(crate) use palette::{Glyphs, Palette, frames};
pub(crate) use region::{Cursor, Frame, Region, lines_at};
pub(crate) use wrap::{clip, cut_middle, display_width, wrap};

/// A line that owns its text.
pub(crate) type Line = ratatui::text::Line<'static>;
/// A piece of a line that owns its text.
pub(crate) type Span = ratatui::text::Span<'static>;
