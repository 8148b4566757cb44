//! The program git, asked about a directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{ChildSpec, EnvPlan, find_on_path};

use crate::context::Context;

/// How long git may take.
const LIMIT: Duration = Duration::from_mins(1);
/// Bytes of its answers that are read.
const ANSWER: usize = 64 * 1024;

/// The program, ready to run.
pub(super) struct Git {
    program: PathBuf,
    env: EnvPlan,
}

impl Git {
    /// `None` if it is not installed.
    pub(super) fn find(context: &Context) -> Option<Self> {
        // What a hook or another git around us exported is not about this repository.
        let env = context
            .environment()
            .helper_plan()
            .without("GIT_DIR")
            .without("GIT_WORK_TREE")
            .without("GIT_INDEX_FILE")
            .without("GIT_COMMON_DIR")
            .without("GIT_PREFIX")
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("LC_ALL", "C");
        let program = find_on_path(OsStr::new("git"), env.get("PATH"))?;
        Some(Self { program, env })
    }

    /// What git answers, or what it complains about.
    pub(super) fn ask(
        &self,
        directory: &Path,
        words: &[&str],
    ) -> std::result::Result<String, String> {
        self.ask_for(directory, words, ANSWER)
    }

    /// The same, for an answer of at most so many bytes.
    pub(super) fn ask_for(
        &self,
        directory: &Path,
        words: &[&str],
        most: usize,
    ) -> std::result::Result<String, String> {
        let spec = ChildSpec {
            cwd: Some(directory.to_owned()),
            ..ChildSpec::new(&self.program, words, &self.env)
        };
        let captured = spec
            .run_captured(LIMIT, most)
            .map_err(|error| error.to_string())?;
        if captured.status.success() {
            Ok(String::from_utf8_lossy(&captured.stdout).trim().to_owned())
        } else {
            Err(String::from_utf8_lossy(&captured.stderr).trim().to_owned())
        }
    }
}
