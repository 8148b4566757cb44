//! Where a value came from, and what it beat.

use std::path::PathBuf;

use serde_json::Value;

/// The layers of settings, strongest first. (A flag of the command at hand would beat them all.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The administrator's file.
    Managed,
    Environment,
    File,
    DotEnv,
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
    pub layer: Layer,
    /// The value there, `${…}` not expanded.
    pub value: Value,
    pub file: Option<PathBuf>,
    pub line: Option<usize>,
    pub variable: Option<String>,
}
