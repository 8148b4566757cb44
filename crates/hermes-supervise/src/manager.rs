//! What looks after gateways on this machine, and what can be asked of it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{ChildSpec, find_on_path};

/// What a tool prints is read up to this size.
const MOST_OUTPUT: usize = 64 << 10;

/// A manager that runs the gateway of one home as its service.
pub trait ServiceManager {
    /// The manager, as `gateway status` names it.
    fn label(&self) -> &'static str;

    /// `user` or `system`.
    fn scope(&self) -> &'static str;

    /// The file that defines the service.
    fn file(&self) -> &Path;

    /// What stands in that file.
    fn definition(&self) -> Definition;

    /// Writes the file and tells the manager. With `enable` the service comes up with the machine or
    /// the login. Gives what did not work out but does not matter now.
    fn install(&self, enable: bool) -> Result<Vec<String>, ManagerError>;

    /// Stops the service and removes its file.
    fn uninstall(&self) -> Result<(), ManagerError>;

    /// Starts the service, now rather than after the pause between two starts.
    fn start(&self) -> Result<(), ManagerError>;

    /// Stops the service until it is started again.
    fn stop(&self) -> Result<(), ManagerError>;

    /// Whether the service runs, or is about to run again.
    fn is_active(&self) -> Result<bool, ManagerError>;
}

/// What stands in the file of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definition {
    Absent,
    /// What would be written now.
    Current,
    /// Something else, of this program or of the Python runtime.
    Outdated,
}

/// Why a manager did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    #[error("`{command}` failed: {words}")]
    Refused { command: String, words: String },
    #[error("could not run {tool}: {source}")]
    Tool {
        tool: String,
        source: hermes_proc::Error,
    },
    #[error("{0} was not found on this machine")]
    NoTool(String),
    #[error("s6-svc {verb} on '{slot}' failed (rc={code}): {words}")]
    Slot {
        verb: &'static str,
        slot: String,
        code: i32,
        words: String,
    },
    #[error("s6-svstat said what is not understood: '{0}'")]
    Status(String),
    #[error(
        "no such gateway '{profile}': s6 has no slot for it in {}",
        directory.display()
    )]
    NoSlot { profile: String, directory: PathBuf },
    #[error("{} is no directory of a service slot", .0.display())]
    ForeignSlot(PathBuf),
    #[error("s6 does not supervise '{0}' yet")]
    Unsupervised(String),
    #[error("profile '{0}' has no directory")]
    NoProfile(String),
    #[error("the registrar of service slots {0}")]
    Registrar(String),
    #[error("could not act for the user of the gateways: {0}")]
    Identity(std::io::Error),
    #[error("{0} needs root")]
    NeedsRoot(&'static str),
    #[error("the systemd of your account cannot be reached: {0} is not there")]
    NoUserBus(String),
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl ManagerError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NeedsRoot(_) => Some("run it with sudo, or leave out --system"),
            Self::NoUserBus(_) => Some(
                "run `sudo loginctl enable-linger $USER` and log in again, or install a service of \
                 the system with `sudo hermes gateway install --system`",
            ),
            Self::NoSlot { .. } => Some("`hermes gateway start` registers one and starts it"),
            Self::NoTool(_) => Some("the container image has it; elsewhere install the package s6"),
            Self::Refused { .. }
            | Self::Tool { .. }
            | Self::File(_)
            | Self::Slot { .. }
            | Self::Status(_)
            | Self::ForeignSlot(_)
            | Self::Unsupervised(_)
            | Self::NoProfile(_)
            | Self::Registrar(_)
            | Self::Identity(_) => None,
        }
    }
}

/// Who asks, and on which machine.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Variables of the tools that are run.
    pub variables: Vec<(OsString, OsString)>,
    pub uid: u32,
    /// The account's home directory.
    pub home: PathBuf,
    /// Where absolute system paths are looked up.
    pub file_system_root: PathBuf,
    pub is_container: bool,
}

impl Caller {
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.variables.iter().rev();
        let found = all.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// The path of a system file.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.file_system_root.join(path)
    }

    /// A program of the manager, if the machine has it.
    pub(crate) fn tool(&self, name: &str) -> Option<Tool> {
        let program = find_on_path(OsStr::new(name), self.variable("PATH"))?;
        Some(Tool::at(name, program, self))
    }
}

/// A program that speaks to a manager.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    name: String,
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) words: String,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

impl Tool {
    /// The tool at this path.
    pub(crate) fn at(name: &str, program: PathBuf, caller: &Caller) -> Self {
        Self {
            name: name.to_owned(),
            program,
            variables: caller.variables.clone(),
        }
    }

    /// The tool with a further variable.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Runs the tool. A refusal is an answer.
    pub(crate) fn ask(&self, words: &[&str], limit: Duration) -> Result<Answer, ManagerError> {
        let spec = ChildSpec {
            cwd: Some(PathBuf::from("/")),
            ..ChildSpec::new(&self.program, words, self.variables.as_slice())
        };
        let captured =
            spec.run_captured(limit, MOST_OUTPUT)
                .map_err(|source| ManagerError::Tool {
                    tool: self.name.clone(),
                    source,
                })?;
        let stderr = String::from_utf8_lossy(&captured.stderr);
        let words = match stderr.trim() {
            "" => format!("{}", captured.status),
            words => words.lines().collect::<Vec<_>>().join("; "),
        };
        Ok(Answer {
            code: captured.status.code(),
            stdout: String::from_utf8_lossy(&captured.stdout).trim().to_owned(),
            words,
        })
    }

    /// Runs the tool; a refusal is an error.
    pub(crate) fn demand(&self, words: &[&str], limit: Duration) -> Result<(), ManagerError> {
        let answer = self.ask(words, limit)?;
        if answer.is_success() {
            return Ok(());
        }
        Err(self.refused(words, &answer))
    }

    pub(crate) fn refused(&self, words: &[&str], answer: &Answer) -> ManagerError {
        ManagerError::Refused {
            command: format!("{} {}", self.name, words.join(" ")),
            words: answer.words.clone(),
        }
    }
}
