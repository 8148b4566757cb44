//! Where a value came from, and what it beat.

use std::path::PathBuf;

use serde_json::Value;

/// The layers of settings, strongest first. (A flag of the command at hand would beat them all.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The administrator's file.
    Managed,
    /// A variable of the process.
    Environment,
    /// The profile's `config.yaml`.
    File,
    /// The profile's `.env`.
    DotEnv,
    /// Built in.
    Default,
}

impl Layer {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Environment => "environment",
            Self::File => "config.yaml",
            Self::DotEnv => ".env",
            Self::Default => "default",
        }
    }
}

/// A value some layer has for a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Which layer.
    pub layer: Layer,
    /// The value there, `${…}` not expanded.
    pub value: Value,
    /// The file it stands in.
    pub file: Option<PathBuf>,
    /// Its line.
    pub line: Option<usize>,
    /// The variable that holds it.
    pub variable: Option<String>,
}
