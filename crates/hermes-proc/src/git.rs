//! Git, asked about a repository that may belong to anyone.
//!
//! Nothing of the repository's choosing is run: no hooks, no file monitor, no transport that is a
//! program. Git never asks for a password, never works on a repository that a variable names, and
//! speaks English, so that its answers can be read.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_text::one_line;

use crate::{ChildEnv, ChildSpec, EnvPlan, Error, find_on_path};

/// Variables that would make git work on another repository than the one it is asked about, as when
/// we are called from a git hook.
const REDIRECTIONS: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];
/// Transports that do not run a program of somebody's choosing.
const PROTOCOLS: &str = "file:git:http:https:ssh";
/// Settings that keep programs which a repository names from being run.
const SAFE_SETTINGS: [&str; 4] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
];

/// Characters of a message of git's that are kept.
const MESSAGE_LIMIT: usize = 300;

/// Why git did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed")]
    Missing,
    #[error(transparent)]
    Process(#[from] Error),
    #[error("git {command}: {message}")]
    Refused {
        /// The command, such as `rev-parse`.
        command: String,
        message: String,
    },
}

/// Limits of one call.
#[derive(Debug, Clone, Copy)]
pub struct GitLimits {
    pub timeout: Duration,
    /// Bytes of its output that are kept.
    pub max_output: usize,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            max_output: 64 * 1024,
        }
    }
}

/// The program git, ready to run.
#[derive(Debug)]
pub struct Git {
    program: PathBuf,
    env: ChildEnv,
}

impl Git {
    /// Finds git on the PATH of a plan.
    pub fn find(plan: EnvPlan) -> Result<Self, GitError> {
        let env = REDIRECTIONS
            .into_iter()
            .fold(plan, EnvPlan::without)
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .with("LC_ALL", "C");
        let program = find_on_path(OsStr::new("git"), env.get("PATH")).ok_or(GitError::Missing)?;
        Ok(Self {
            program,
            env: env.into(),
        })
    }

    /// Runs a command in a directory and returns what it printed, without the last line break.
    pub fn run<A: Into<OsString>>(
        &self,
        directory: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        self.run_within(directory, args, GitLimits::default())
    }

    /// As [`Git::run`], with other limits.
    pub fn run_within<A: Into<OsString>>(
        &self,
        directory: &Path,
        args: impl IntoIterator<Item = A>,
        limits: GitLimits,
    ) -> Result<String, GitError> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let command = args.first().map(|arg| arg.to_string_lossy().into_owned());
        let safe = SAFE_SETTINGS.map(OsString::from).into_iter();
        let spec = ChildSpec {
            cwd: Some(directory.to_owned()),
            ..ChildSpec::new(&self.program, safe.chain(args), self.env.clone())
        };
        let answer = spec.run_captured(limits.timeout, limits.max_output)?;
        if answer.status.success() {
            let text = String::from_utf8_lossy(&answer.stdout);
            return Ok(text.trim_end().to_owned());
        }
        Err(GitError::Refused {
            command: command.unwrap_or_default(),
            message: one_line(&String::from_utf8_lossy(&answer.stderr), MESSAGE_LIMIT),
        })
    }
}
