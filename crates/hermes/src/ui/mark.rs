//! The three marks of a check.

use super::Printer;
use super::printer::Style;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mark {
    Ok,
    Warning,
    Problem,
}

impl Mark {
    /// The mark in its colour.
    pub(crate) fn painted(self, printer: Printer) -> String {
        match self {
            Self::Ok => printer.paint(Style::GOOD, "✓"),
            Self::Warning => printer.paint(Style::WARNING, "⚠"),
            Self::Problem => printer.paint(Style::BAD, "✗"),
        }
    }
}
