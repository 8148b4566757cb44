//! The results of checks, for the table and for `--json`.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::ui::Mark;

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) section: &'static str,
    /// Stable name for programs.
    pub(crate) id: &'static str,
    #[serde(rename = "status")]
    pub(crate) mark: Mark,
    pub(crate) text: String,
    pub(crate) hints: Vec<String>,
    #[serde(rename = "fixable", serialize_with = "is_there")]
    pub(crate) fix: Option<Fix>,
}

#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn is_there<S: Serializer>(fix: &Option<Fix>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(fix.is_some())
}

/// A repair that loses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fix {
    /// Make the home and its directories.
    EnsureHome,
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
    pub(super) fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hints.push(hint.into());
        self
    }

    pub(super) fn hints(&mut self, hints: impl IntoIterator<Item = String>) {
        self.hints.extend(hints);
    }

    pub(super) fn fix(&mut self, fix: Fix) {
        self.fix = Some(fix);
    }
}

/// The rows so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The heading of the next rows.
    pub(super) section: &'static str,
    pub(super) rows: Vec<Row>,
}

impl Report {
    pub(super) fn ok(&mut self, id: &'static str, text: impl Into<String>) {
        self.add(id, Mark::Ok, text);
    }

    pub(super) fn warning(&mut self, id: &'static str, text: impl Into<String>) -> &mut Row {
        self.add(id, Mark::Warning, text)
    }

    pub(super) fn problem(&mut self, id: &'static str, text: impl Into<String>) -> &mut Row {
        self.add(id, Mark::Problem, text)
    }

    pub(super) fn add(
        &mut self,
        id: &'static str,
        mark: Mark,
        text: impl Into<String>,
    ) -> &mut Row {
        self.rows.push_mut(Row {
            section: self.section,
            id,
            mark,
            text: text.into(),
            hints: Vec::new(),
            fix: None,
        })
    }
}
