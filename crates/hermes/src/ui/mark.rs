//! The three marks of a check.

use super::Printer;
use super::printer::Style;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Ok,
    Warning,
    Problem,
}

impl Mark {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Ok => "✓",
            Self::Warning => "⚠",
            Self::Problem => "✗",
        }
    }

    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }

    pub(crate) fn painted(self, printer: &Printer) -> String {
        let style = match self {
            Self::Ok => Style::Good,
            Self::Warning => Style::Warning,
            Self::Problem => Style::Bad,
        };
        printer.paint(style, self.symbol())
    }
}
