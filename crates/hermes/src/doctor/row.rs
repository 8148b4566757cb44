//! The result of one check, for the table and for `--json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::ui::Mark;

/// The result of one check.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Its heading.
    pub(crate) section: &'static str,
    /// Stable name for programs.
    pub(crate) id: &'static str,
    pub(crate) mark: Mark,
    pub(crate) text: String,
    pub(crate) hints: Vec<String>,
    pub(crate) fix: Option<Fix>,
}

/// A repair that loses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fix {
    /// Make the home and its directories.
    EnsureHome,
    /// Give a file or directory this mode.
    SetMode(PathBuf, u32),
    /// Bring the settings to the current schema version.
    MigrateConfig,
    /// Move keys that belong into `.env` out of `config.yaml`.
    MoveVariables(Vec<String>),
    /// Remove a wrapper whose profile is gone.
    RemoveAlias(String),
    /// Make the links that children of this home rely on.
    MakeLinks(PathBuf),
}

impl Row {
    fn new(section: &'static str, id: &'static str, mark: Mark, text: impl Into<String>) -> Self {
        Self {
            section,
            id,
            mark,
            text: text.into(),
            hints: Vec::new(),
            fix: None,
        }
    }

    pub(super) fn ok(section: &'static str, id: &'static str, text: impl Into<String>) -> Self {
        Self::new(section, id, Mark::Ok, text)
    }

    pub(super) fn warning(
        section: &'static str,
        id: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self::new(section, id, Mark::Warning, text)
    }

    pub(super) fn problem(
        section: &'static str,
        id: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self::new(section, id, Mark::Problem, text)
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub(super) fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    #[must_use]
    pub(super) fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "section": self.section,
            "id": self.id,
            "status": self.mark.name(),
            "text": self.text,
            "hints": self.hints,
            "fixable": self.fix.is_some(),
        })
    }
}
