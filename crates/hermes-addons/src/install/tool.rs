//! The installers, tried in order: `uv`, pip of the interpreter, pip of a throw-away environment.
//!
//! The next one is tried only where one is missing or cannot start. A real failure ends the attempt, so
//! that its cause is not buried under that of another tool.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::{Captured, ChildSpec, Wake, find_on_path};

use super::environment::of_installer;
use crate::error::{AddonError, Code, Result};
use crate::interpreter::Interpreter;
use crate::settings::AddonSettings;

/// Oldest `uv` that has the options we use.
const OLDEST_UV: (u32, u32) = (0, 5);
const VERSION_TIMEOUT: Duration = Duration::from_secs(15);
const VENV_TIMEOUT: Duration = Duration::from_mins(2);
/// The lock that an installer is given, in the stage.
pub(super) const REQUIREMENTS: &str = "requirements.lock";
/// What is asked for, what must not be contradicted, and what pip answers.
pub(super) const WANTED: &str = "requirements.in";
pub(super) const CONSTRAINTS: &str = "constraints.txt";
pub(super) const REPORT: &str = "report.json";
/// Files of the stage that only the resolution needs.
pub(super) const RESOLVING: [&str; 3] = [WANTED, CONSTRAINTS, REPORT];
/// Bytes kept of each output of an installer.
const MAX_OUTPUT: usize = 4 << 20;

/// Where the bytes come from. All of them are mere transport: the hashes decide.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    pub(super) mirror: Option<String>,
    pub(super) wheelhouse: Option<PathBuf>,
}

/// An installer that answered.
#[derive(Debug)]
pub(super) struct Tool {
    program: PathBuf,
    /// What comes before the arguments of an install.
    pub(super) before: Vec<OsString>,
    pub(super) name: &'static str,
    pub(super) version: String,
}

/// Runs programs in a stage, for as long as the install may take.
pub(crate) struct Runner<'a> {
    pub(crate) settings: &'a AddonSettings,
    pub(crate) stage: &'a Path,
    pub(crate) deadline: Instant,
    pub(crate) cancel: Option<&'a Arc<Wake>>,
}

impl Runner<'_> {
    pub(crate) fn run(
        &self,
        program: &Path,
        args: Vec<OsString>,
        limit: Duration,
    ) -> hermes_proc::Result<Captured> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let limit = limit.min(left);
        let env = of_installer(self.settings, program, self.stage);
        let spec = ChildSpec {
            cwd: Some(self.stage.to_owned()),
            ends_with_thread: true,
            ..ChildSpec::new(program, args, env)
        };
        let mut child = spec.start_streamed(limit, MAX_OUTPUT)?;
        if let Some(cancel) = self.cancel {
            child = child.cancelled_by(Arc::clone(cancel));
        }
        child.finish()
    }

    /// The error of a program that did not come to its own end.
    pub(crate) fn stopped(&self, error: hermes_proc::Error) -> AddonError {
        match error {
            hermes_proc::Error::Cancelled { .. } => AddonError::new(
                Code::Cancelled,
                "the install was interrupted; nothing was installed",
            ),
            hermes_proc::Error::Deadline { .. } => {
                let seconds = self.settings.install_timeout.as_secs();
                let reason = format!("the install did not finish within {seconds} s");
                AddonError::new(Code::Timeout, reason).hint(
                    "check the network, or allow more time with addons.install_timeout_seconds",
                )
            }
            other => AddonError::new(Code::InstallerFailed, other.to_string()),
        }
    }
}

impl Tool {
    /// The first installer that there is.
    pub(super) fn find(runner: &Runner<'_>, interpreter: &Interpreter) -> Result<Self> {
        if let Some(uv) = uv(runner)? {
            return Ok(uv);
        }
        if let Some(pip) = pip(runner, &interpreter.path)? {
            return Ok(pip);
        }
        let venv = runner.stage.join("pipenv");
        let args = words(["-I", "-m", "venv"], [venv.as_os_str().to_owned()]);
        let made = attempt(runner, &interpreter.path, args, VENV_TIMEOUT)?;
        if made.is_some()
            && let Some(pip) = pip(runner, &venv.join("bin/python"))?
        {
            return Ok(pip);
        }
        Err(AddonError::new(
            Code::InstallerMissing,
            "there is neither uv nor pip, and Python's venv module cannot provide one",
        )
        .hint("install uv, or the system's package python3-venv"))
    }

    /// The arguments of an install into `site`.
    fn arguments(&self, interpreter: &Interpreter, stage: &Path, origin: &Origin) -> Vec<OsString> {
        let site = stage.join("site").into_os_string();
        let lock = stage.join(REQUIREMENTS).into_os_string();
        let is_uv = self.is_uv();
        let mut args = self.before.clone();
        if is_uv {
            args.extend(words(
                ["pip", "install", "--python"],
                [interpreter.path.clone().into()],
            ));
        } else {
            args.extend(words(
                ["--no-input", "--disable-pip-version-check", "install"],
                [],
            ));
        }
        args.extend(words(["--target"], [site]));
        args.extend(words(
            ["--require-hashes", "--only-binary", ":all:", "--no-deps"],
            [],
        ));
        if is_uv {
            args.extend(words(["--link-mode", "copy"], []));
        } else {
            args.extend(words(
                ["--no-compile", "--timeout", "15", "--retries", "1"],
                [],
            ));
        }
        args.extend(self.source(origin));
        args.extend(words(["-r"], [lock]));
        args
    }

    /// The options that name where bytes come from; none for what the machine's account says.
    pub(super) fn source(&self, origin: &Origin) -> Vec<OsString> {
        let mut args = Vec::new();
        if let Some(mirror) = &origin.mirror {
            let option = if self.is_uv() {
                "--default-index"
            } else {
                "--index-url"
            };
            args.extend(words([option, mirror], []));
        }
        if let Some(wheelhouse) = &origin.wheelhouse {
            args.extend(words(
                ["--no-index", "--find-links"],
                [wheelhouse.clone().into()],
            ));
        }
        args
    }

    pub(super) fn is_uv(&self) -> bool {
        self.name == "uv"
    }

    /// Installs what the lock in the stage names.
    pub(super) fn install(
        &self,
        runner: &Runner<'_>,
        interpreter: &Interpreter,
        origin: &Origin,
    ) -> Result<Captured> {
        let args = self.arguments(interpreter, runner.stage, origin);
        self.run(runner, args)
    }

    /// Runs the installer until it ends or the time is over.
    pub(super) fn run(&self, runner: &Runner<'_>, args: Vec<OsString>) -> Result<Captured> {
        runner
            .run(&self.program, args, runner.settings.install_timeout)
            .map_err(|error| runner.stopped(error))
    }
}

pub(super) fn words<const N: usize>(
    words: [&str; N],
    more: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    words.iter().map(OsString::from).chain(more).collect()
}

/// Runs a program that may be missing or of no use: `None` unless it starts and succeeds.
fn attempt(
    runner: &Runner<'_>,
    program: &Path,
    args: Vec<OsString>,
    limit: Duration,
) -> Result<Option<String>> {
    match runner.run(program, args, limit) {
        Ok(captured) if captured.status.success() => {
            Ok(Some(String::from_utf8_lossy(&captured.stdout).into_owned()))
        }
        Ok(_) | Err(hermes_proc::Error::Start { .. } | hermes_proc::Error::Deadline { .. }) => {
            Ok(None)
        }
        Err(error) => Err(runner.stopped(error)),
    }
}

fn uv(runner: &Runner<'_>) -> Result<Option<Tool>> {
    let found = find_on_path("uv".as_ref(), Some(&runner.settings.search_path));
    let Some(program) = found.filter(|path| path.is_absolute()) else {
        return Ok(None);
    };
    let args = words(["--version"], []);
    let Some(answer) = attempt(runner, &program, args, VERSION_TIMEOUT)? else {
        return Ok(None);
    };
    let version = answer
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let mut numbers = version
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    Ok((number >= OLDEST_UV).then_some(Tool {
        program,
        before: Vec::new(),
        name: "uv",
        version,
    }))
}

fn pip(runner: &Runner<'_>, python: &Path) -> Result<Option<Tool>> {
    let before = words(["-I", "-m", "pip"], []);
    let mut args = before.clone();
    args.push("--version".into());
    let answer = attempt(runner, python, args, VERSION_TIMEOUT)?;
    Ok(answer.map(|answer| Tool {
        program: python.to_owned(),
        before,
        name: "pip",
        version: answer
            .split_whitespace()
            .nth(1)
            .unwrap_or_default()
            .to_owned(),
    }))
}
