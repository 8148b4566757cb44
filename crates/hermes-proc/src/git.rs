//! Git, asked about a repository that may belong to anyone.
//!
//! Nothing of the repository's choosing is run: no hooks, no file monitor, no filter, pager, editor,
//! credential helper or signing program, nothing in a submodule, and no transport that is a program: an
//! object that is missing is not fetched. Git never asks for a password, never works on a repository that
//! a variable names, and speaks English, so that its answers can be read.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_text::one_line;

use crate::{Captured, ChildEnv, ChildSpec, EnvPlan, Error, find_on_path};

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
/// Transports that do not run a program of somebody's choosing, for the commands that are given the
/// other end. All others have none: a repository may say that its objects are elsewhere, and by which
/// program they are had.
const PROTOCOLS: &str = "file:git:http:https:ssh";
/// The commands that are given the other end.
const WITH_OTHER_END: [&str; 4] = ["clone", "fetch", "ls-remote", "push"];
const NO_PROTOCOL: &str = "none";
/// Settings that keep programs which a repository names from being run. A format of its own could ask
/// for the signature of every commit, and some ways to show a submodule are another git inside of it.
const SAFE_SETTINGS: [&str; 17] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=",
    "core.gitProxy=none",
    "credential.helper=",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "format.pretty=medium",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.x509.program=false",
    "gpg.ssh.program=false",
    "submodule.recurse=false",
    "diff.submodule=short",
    "status.submoduleSummary=false",
];
/// Settings of a store whose work tree is somebody else's.
const STORE_SETTINGS: [&str; 5] = [
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
];
/// Variables that name programs.
const PROGRAMS: [&str; 3] = ["GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS"];
/// Commands that never look at the content of a file, so that no filter can be run for one.
const WITHOUT_CONTENT: [&str; 15] = [
    "branch",
    "cat-file",
    "clone",
    "commit-tree",
    "config",
    "for-each-ref",
    "init",
    "ls-remote",
    "merge-base",
    "remote",
    "rev-list",
    "rev-parse",
    "show-ref",
    "symbolic-ref",
    "update-ref",
];
/// Commands that show differences, and what keeps them from calling programs for it: an empty setting
/// would be called, too.
const SHOWING: [&str; 3] = ["diff", "log", "show"];
const SHOWN_BY_GIT: [&str; 2] = ["--no-ext-diff", "--no-textconv"];
/// Commands that look for changes in submodules, by starting git there, where filters have other names.
const LOOKING_BELOW: [&str; 2] = ["diff", "status"];
const NOT_BELOW: &str = "--ignore-submodules=dirty";
/// The settings by which a filter for the content of files is named.
const FILTERS: &str = "^filter\\..*\\.(clean|smudge|process|required)$";

/// Commands that merge the content of files, and the settings by which a repository names programs
/// for it.
const MERGING: [&str; 2] = ["merge", "merge-tree"];
const MERGE_DRIVERS: &str = "^merge\\..*\\.driver$";

/// The settings by which a repository names the program that sends objects.
const UPLOADERS: &str = "^remote\\..*\\.uploadpack$";

/// Bytes of the names of such settings that are read; whoever has more is not asked about anything.
const MOST_NAMES: usize = 1 << 20;

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
        /// What it ended with; `None` after a signal, and if it did not fail by itself.
        code: Option<i32>,
    },
}

/// A repository of our own whose work tree is somebody else's directory. Nothing is looked up in that
/// directory but its files: what it says about filters or hooks does not count, and neither do the
/// settings of the user and of the system.
#[derive(Debug, Clone, Copy)]
pub struct GitStore<'a> {
    /// The repository. Whoever makes it sees to it that its settings name no program.
    pub directory: &'a Path,
    pub work_tree: &'a Path,
    pub index: &'a Path,
}

/// A repository of somebody's, named by its directories. It is not looked up in the work tree, where
/// whoever works there could have put another one, and that its settings name another work tree does
/// not count.
#[derive(Debug, Clone, Copy)]
pub struct GitPlace<'a> {
    /// The directory with HEAD; that of a linked worktree for one.
    pub directory: &'a Path,
    pub work_tree: &'a Path,
}

/// What git printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOutput {
    pub bytes: Vec<u8>,
    /// Whether it printed more than the limit.
    pub truncated: bool,
    /// What it ended with: one of the codes that count as an answer.
    pub code: i32,
}

/// The branch that a worktree is made on.
#[derive(Debug, Clone, Copy)]
pub enum WorktreeBranch<'a> {
    /// One that is there.
    Existing(&'a str),
    /// One that is made from HEAD.
    New(&'a str),
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
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    env: ChildEnv,
    /// Settings that every call gets besides the safe ones.
    settings: Vec<Cow<'static, str>>,
    /// Whether nobody's settings count: then there are no filters, and no other end.
    is_of_nobody: bool,
}

impl Git {
    /// Finds git on the PATH of a plan.
    pub fn find(plan: EnvPlan) -> Result<Self, GitError> {
        let env = REDIRECTIONS
            .into_iter()
            .chain(PROGRAMS)
            .fold(plan, EnvPlan::without)
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("GIT_PAGER", "cat")
            .with("GIT_EDITOR", "true")
            .with("GIT_ALLOW_PROTOCOL", NO_PROTOCOL)
            .with("GIT_NO_LAZY_FETCH", "1")
            .with("LC_ALL", "C");
        let program = find_on_path(OsStr::new("git"), env.get("PATH")).ok_or(GitError::Missing)?;
        Ok(Self {
            program,
            env: env.into(),
            settings: Vec::new(),
            is_of_nobody: false,
        })
    }

    /// The same program for a store of our own.
    #[must_use]
    pub fn on_store(&self, store: GitStore<'_>) -> Self {
        self.of_nobody()
            .with("GIT_DIR", store.directory)
            .with("GIT_WORK_TREE", store.work_tree)
            .with("GIT_INDEX_FILE", store.index)
    }

    /// The same program without the settings of the user and of the system.
    #[must_use]
    pub fn of_nobody(&self) -> Self {
        let mut git = Self {
            settings: STORE_SETTINGS.map(Cow::Borrowed).to_vec(),
            is_of_nobody: true,
            ..self.clone()
        };
        // Settings may come as variables, too.
        git.env.remove_prefixed("GIT_");
        let given = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            // A store of our own has no other end.
            ("GIT_ALLOW_PROTOCOL", NO_PROTOCOL),
            ("GIT_NO_LAZY_FETCH", "1"),
        ];
        given
            .into_iter()
            .fold(git, |git, (name, value)| git.with(name, value))
    }

    /// With more settings, each `name=value`.
    #[must_use]
    pub fn with_settings(mut self, settings: &[&'static str]) -> Self {
        let settings = settings.iter().map(|setting| Cow::Borrowed(*setting));
        self.settings.extend(settings);
        self
    }

    /// With one more setting, `name=value`.
    #[must_use]
    pub fn with_setting(mut self, setting: String) -> Self {
        self.settings.push(Cow::Owned(setting));
        self
    }

    /// The same program in a repository that is not looked up. Locks that can be done without are not
    /// taken.
    #[must_use]
    pub fn at(&self, place: GitPlace<'_>) -> Self {
        self.clone()
            .with("GIT_DIR", place.directory)
            .with("GIT_WORK_TREE", place.work_tree)
            .with("GIT_OPTIONAL_LOCKS", "0")
    }

    /// The same program with another index.
    #[must_use]
    pub fn with_index(self, index: &Path) -> Self {
        self.with("GIT_INDEX_FILE", index)
    }

    /// The same program, which takes every path for a name and not for a pattern.
    #[must_use]
    pub fn with_literal_paths(self) -> Self {
        self.with("GIT_LITERAL_PATHSPECS", "1")
    }

    /// With one more variable.
    fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.set(name, value.into());
        self
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
        let output = self.run_accepting(&[0], directory, args, b"", limits)?;
        let text = String::from_utf8_lossy(&output.bytes);
        Ok(text.trim_end().to_owned())
    }

    /// As [`Git::run_within`], with something on standard input. Gives all bytes that were printed; more
    /// than the limit are an error, since half a list is a wrong one.
    pub fn run_with_input<A: Into<OsString>>(
        &self,
        directory: &Path,
        args: impl IntoIterator<Item = A>,
        input: &[u8],
        limits: GitLimits,
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let command = command_of(&args);
        let output = self.run_accepting(&[0], directory, args, input, limits)?;
        if output.truncated {
            return Err(GitError::Refused {
                command,
                message: format!("it printed more than {} bytes", limits.max_output),
                code: None,
            });
        }
        Ok(output.bytes)
    }

    /// As [`Git::run_with_input`] with the whole answer, of which these exit codes are a part.
    pub fn run_accepting<A: Into<OsString>>(
        &self,
        codes: &[i32],
        directory: &Path,
        args: impl IntoIterator<Item = A>,
        input: &[u8],
        limits: GitLimits,
    ) -> Result<GitOutput, GitError> {
        let mut args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let command = command_of(&args);
        let own = self
            .settings
            .iter()
            .map(|setting| setting.clone().into_owned());
        let mut settings: Vec<String> = SAFE_SETTINGS.map(str::to_owned).into();
        settings.extend(own);
        if SHOWING.contains(&command.as_str()) {
            args.splice(1..1, SHOWN_BY_GIT.map(OsString::from));
        }
        if LOOKING_BELOW.contains(&command.as_str()) {
            args.insert(1, OsString::from(NOT_BELOW));
        }
        if !self.is_of_nobody && !WITHOUT_CONTENT.contains(&command.as_str()) {
            settings.extend(self.off(directory, FILTERS, filter_off)?);
            if MERGING.contains(&command.as_str()) {
                // A driver that always fails leaves a conflict, which is what there is to say.
                settings.extend(self.off(directory, MERGE_DRIVERS, |_| "false")?);
            }
        }
        if command == "push" || command == "fetch" {
            // Objects that are missing could be had through them, by a git that does not know how to
            // do without.
            settings.extend(self.off(directory, UPLOADERS, |_| "git-upload-pack")?);
        }
        let answer = self.call(directory, &settings, args, input, limits)?;
        let code = answer.status.code();
        if let Some(code) = code.filter(|code| codes.contains(code)) {
            return Ok(GitOutput {
                bytes: answer.stdout,
                truncated: answer.truncated,
                code,
            });
        }
        Err(GitError::Refused {
            command,
            message: one_line(&String::from_utf8_lossy(&answer.stderr), MESSAGE_LIMIT),
            code,
        })
    }

    /// Adds a worktree to a repository, on a branch that is there or, from HEAD, on a new one.
    ///
    /// It is made without files first: what the settings say may depend on the worktree and its branch,
    /// so only there can the filters be known that must not run for its files.
    pub fn add_worktree(
        &self,
        repository: &Path,
        target: &Path,
        branch: WorktreeBranch<'_>,
    ) -> Result<(), GitError> {
        let mut words: Vec<OsString> = ["worktree", "add", "--no-checkout"]
            .map(OsString::from)
            .into();
        match branch {
            WorktreeBranch::Existing(branch) => words.extend([target.into(), branch.into()]),
            WorktreeBranch::New(branch) => {
                words.extend(["-b".into(), branch.into(), target.into(), "HEAD".into()]);
            }
        }
        self.run(repository, words)?;
        let filled = self.run(target, ["reset", "--hard", "--quiet"]);
        if let Err(error) = filled {
            let remove: [OsString; 4] = [
                "worktree".into(),
                "remove".into(),
                "--force".into(),
                target.into(),
            ];
            // The first error is the one to tell.
            let _kept = self.run(repository, remove);
            if let WorktreeBranch::New(branch) = branch {
                let _kept = self.run(repository, ["branch", "-D", branch]);
            }
            return Err(error);
        }
        Ok(())
    }

    /// Settings that switch off the programs named by settings of this directory, by name: which file
    /// they are for is for the repository to say, and so may be how.
    fn off(
        &self,
        directory: &Path,
        names: &str,
        value: fn(&str) -> &'static str,
    ) -> Result<Vec<String>, GitError> {
        let ask = ["config", "--null", "--name-only", "--get-regexp", names];
        let ask = ask.map(OsString::from).into();
        let safe = SAFE_SETTINGS.map(str::to_owned);
        let limits = GitLimits {
            max_output: MOST_NAMES,
            ..GitLimits::default()
        };
        let answer = self.call(directory, &safe, ask, b"", limits)?;
        if answer.truncated {
            return Err(GitError::Refused {
                command: "config".to_owned(),
                message: "the repository names too many programs to switch them off".to_owned(),
                code: None,
            });
        }
        let names = String::from_utf8_lossy(&answer.stdout);
        let names = names.split_terminator('\0').map(|name| {
            // Git takes what follows the first of these for the value.
            if name.contains('=') {
                let message = format!("the setting {name:?} cannot be switched off");
                let command = "config".to_owned();
                return Err(GitError::Refused {
                    command,
                    message,
                    code: None,
                });
            }
            Ok(format!("{name}={}", value(name)))
        });
        names.collect()
    }

    fn call(
        &self,
        directory: &Path,
        settings: &[String],
        args: Vec<OsString>,
        input: &[u8],
        limits: GitLimits,
    ) -> Result<Captured, GitError> {
        let command = args.first().and_then(|command| command.to_str());
        let has_other_end = command.is_some_and(|command| WITH_OTHER_END.contains(&command));
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        let words = settings.map(OsString::from).chain(args);
        let mut env = self.env.clone();
        if has_other_end && !self.is_of_nobody {
            env.set("GIT_ALLOW_PROTOCOL", PROTOCOLS.into());
        }
        let spec = ChildSpec {
            cwd: Some(directory.to_owned()),
            ..ChildSpec::new(&self.program, words, env)
        };
        if input.is_empty() {
            return Ok(spec.run_captured(limits.timeout, limits.max_output)?);
        }
        let mut child = spec.start_streamed(limits.timeout, limits.max_output)?;
        // A git that stops reading says why when it ends; so does one that is killed at the limit.
        let _gone = child.write_all(input);
        Ok(child.finish()?)
    }
}

/// The command among the arguments.
fn command_of(args: &[OsString]) -> String {
    let command = args.first().map(|arg| arg.to_string_lossy().into_owned());
    command.unwrap_or_default()
}

/// What keeps a filter from being run.
fn filter_off(name: &str) -> &'static str {
    if name.ends_with(".required") {
        "false"
    } else {
        ""
    }
}
