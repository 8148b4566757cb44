//! One script on a remote host, from its staging to its report.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hermes_proc::{Wake, wait_for_any};
use hermes_terminal::remote::{RemoteError, ScriptOutcome, ScriptRequest, ScriptRunner};

use super::poll::{Fetcher, Trouble};
use super::stage::{Stage, Staging};
use crate::context::CallContext;
use crate::execute_code::calls::Calls;
use crate::execute_code::capture::Capture;
use crate::execute_code::interpreter::NoInterpreter;
use crate::execute_code::run::{FinishedScript, ScriptEnding, StreamLimits};
use crate::execute_code::settings::{CodeSettings, ScriptMode};
use crate::remote::{Locale, script, word};

const RUN: &str = include_str!("scripts/run.sh");
/// How the script that looks for an interpreter says that there is none.
const NO_INTERPRETER: i32 = 66;
/// What it may print: names of interpreters that are none.
const MOST_NAMES: usize = 64 * 1024;
/// How long the flags are watched before looking again.
const WATCH: Duration = Duration::from_mins(10);
/// How long the fetcher may take to see that the script has ended.
const SEES_ITSELF: Duration = Duration::from_secs(3);
/// What is said when one of our own threads panicked.
const BROKEN: &str = "The script was lost because of a bug; the log has the details.";

/// A script for a remote host.
pub(in crate::execute_code) struct RemoteScript<'a> {
    pub(in crate::execute_code) host: Arc<dyn ScriptRunner>,
    pub(in crate::execute_code) code: &'a str,
    pub(in crate::execute_code) module: &'a str,
    pub(in crate::execute_code) token: &'a str,
    pub(in crate::execute_code) settings: &'a CodeSettings,
    /// Variables besides those of the host and of the session.
    pub(in crate::execute_code) variables: Vec<(OsString, OsString)>,
    pub(in crate::execute_code) limits: StreamLimits,
    pub(in crate::execute_code) calls: Calls,
    pub(in crate::execute_code) context: &'a CallContext,
    pub(in crate::execute_code) swept: &'a AtomicBool,
}

/// Runs it. When this returns, it does not run any more. The error is a sentence.
pub(in crate::execute_code) fn run_remote(
    job: &RemoteScript<'_>,
    warnings: &mut Vec<String>,
) -> Result<FinishedScript, String> {
    let cwd = job.context.working_directory()?;
    let staging = Staging {
        code: job.code,
        module: job.module,
        directory: &cwd,
        swept: job.swept,
    };
    let stage = Stage::prepare(&job.host, &staging, &job.context.interrupt)?;
    let directory = job.directory_for(&stage, cwd, warnings);
    let flags = Flags::new()?;
    let ran = job.run(&stage, &directory, &flags);
    let report = stage.finish();
    let ending = match ran {
        Ok(ran) if ran.exit_code == NO_INTERPRETER => return Err(job.no_interpreter(&ran)),
        Ok(_) => None,
        Err(_) if job.context.interrupt.is_raised() => Some(ScriptEnding::Interrupted),
        Err(Stopped::TimedOut) => Some(ScriptEnding::TimedOut),
        Err(Stopped::Failed(message)) => return Err(flags.trouble.reason().unwrap_or(message)),
    };
    match (ending, report) {
        (None, Ok(Some(report))) => Ok(FinishedScript {
            ending: ScriptEnding::Exited(report.exit_code),
            stdout: report.stdout,
            stderr: report.stderr,
        }),
        (None, Ok(None)) => Err(format!(
            "The script ended in {}, but what it printed was lost.",
            job.host.describe()
        )),
        (None, Err(message)) => Err(message),
        (Some(ending), report) => {
            // It had a moment to write down what it had printed.
            let report = report.ok().flatten();
            let (stdout, stderr) = report.map_or_else(
                || (Capture::new(0), Capture::new(0)),
                |report| (report.stdout, report.stderr),
            );
            Ok(FinishedScript {
                ending,
                stdout,
                stderr,
            })
        }
    }
}

/// Why a script did not come to its own end.
enum Stopped {
    TimedOut,
    /// A sentence.
    Failed(String),
}

impl From<RemoteError> for Stopped {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::TimedOut { .. } => Self::TimedOut,
            error => Self::Failed(error.with_hint()),
        }
    }
}

/// How the threads of one script tell each other what happened.
struct Flags {
    /// The script must end.
    trouble: Arc<Trouble>,
    /// The script has ended.
    ended: Wake,
    /// Nobody needs to be served any more.
    enough: Arc<Wake>,
    /// Nobody is being served any more.
    served: Wake,
}

impl Flags {
    fn new() -> Result<Self, String> {
        let wake = || Wake::new().map_err(|error| format!("no descriptor is left: {error}"));
        Ok(Self {
            trouble: Arc::new(Trouble::new(wake()?)),
            ended: wake()?,
            enough: Arc::new(wake()?),
            served: wake()?,
        })
    }
}

impl RemoteScript<'_> {
    /// Runs the script and serves its calls.
    fn run(
        &self,
        stage: &Stage,
        directory: &Path,
        flags: &Flags,
    ) -> Result<ScriptOutcome, Stopped> {
        let fetcher = Fetcher {
            host: Arc::clone(&self.host),
            stage: stage.path().to_owned(),
            calls: self.calls.clone(),
            enough: Arc::clone(&flags.enough),
            trouble: Arc::clone(&flags.trouble),
        };
        let text = self.text(stage, directory);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                fetcher.serve();
                flags.served.raise();
            });
            let running = scope.spawn(|| {
                let ran = self.host.run_script(&ScriptRequest {
                    script: &text,
                    input: &[],
                    directory: None,
                    limit: self.settings.timeout,
                    most_output: MOST_NAMES,
                    interrupt: Some(&flags.trouble.stop),
                });
                flags.ended.raise();
                ran
            });
            while wait_for_any(&[&flags.ended, &self.context.interrupt], WATCH).is_none() {}
            if !flags.ended.is_raised() {
                // First the calls: a command of the script must not outlive it.
                self.calls.close();
                flags.trouble.stop.raise();
            }
            let ran = match running.join() {
                Ok(ran) => ran.map_err(Stopped::from),
                Err(_) => Err(Stopped::Failed(BROKEN.to_owned())),
            };
            self.calls.close();
            // The fetcher sees by itself that the script has ended, which costs the host less than
            // being stopped.
            if ran.is_ok() {
                flags.served.wait(SEES_ITSELF);
            }
            flags.enough.raise();
            ran
        })
    }

    /// What runs the script there.
    fn text(&self, stage: &Stage, directory: &Path) -> String {
        let exports = self.exports(stage);
        let mode = match self.settings.mode {
            ScriptMode::Project => "project",
            ScriptMode::Strict => "strict",
        };
        let (out_head, out_tail) = Capture::rooms(self.limits.stdout);
        let (err_head, err_tail) = Capture::rooms(self.limits.stderr);
        let rooms = [out_head, out_tail, err_head, err_tail].map(|room| room.to_string());
        let interpreters = self.interpreters();
        let mut arguments = vec![
            stage.path().as_bytes(),
            directory.as_os_str().as_bytes(),
            mode.as_bytes(),
        ];
        arguments.extend(rooms.iter().map(String::as_bytes));
        arguments.extend(interpreters.iter().map(|path| path.as_os_str().as_bytes()));
        script(Locale::Usual, &[&exports, RUN], &arguments)
    }

    fn exports(&self, stage: &Stage) -> String {
        let directory = format!("{}/rpc", stage.path());
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("HERMES_RPC_DIR".into(), directory.into()),
            ("HERMES_RPC_TOKEN".into(), self.token.into()),
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
            ("PYTHONIOENCODING".into(), "utf-8".into()),
            ("PYTHONUTF8".into(), "1".into()),
        ];
        let activated = ["PATH", "VIRTUAL_ENV", "CONDA_PREFIX"];
        variables.extend(activated.into_iter().filter_map(|name| {
            let value = self.context.session.variable(name)?;
            Some((name.into(), value))
        }));
        variables.extend(self.variables.iter().cloned());
        let mut text = String::new();
        for (name, value) in variables {
            // A name is no place for a value to be read as something else.
            let Some(name) = name.to_str().filter(|name| is_identifier(name)) else {
                continue;
            };
            text.push_str(&format!("export {name}={}\n", word(value.as_bytes())));
        }
        text
    }

    /// Interpreters that are tried before those of the project and of the path.
    fn interpreters(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self.settings.python.iter().cloned().collect();
        if self.settings.mode == ScriptMode::Project {
            for marker in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
                let activated = self.context.session.variable(marker);
                found.extend(activated.map(|prefix| PathBuf::from(prefix).join("bin/python")));
            }
        }
        found.retain(|path| path.is_absolute());
        found
    }

    fn directory_for(&self, stage: &Stage, cwd: PathBuf, warnings: &mut Vec<String>) -> PathBuf {
        if self.settings.mode == ScriptMode::Strict {
            return stage.script_directory().into();
        }
        if stage.directory_exists {
            return cwd;
        }
        warnings.push(format!(
            "The working directory {} does not exist; the script ran in a temporary one.",
            cwd.display()
        ));
        stage.script_directory().into()
    }

    fn no_interpreter(&self, ran: &ScriptOutcome) -> String {
        let names = ran.stdout.split(|byte| *byte == 0);
        let rejected = names
            .filter(|name| !name.is_empty())
            .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
            .collect();
        let host = self.host.describe();
        format!("In {host}: {}", NoInterpreter { rejected })
    }
}

fn is_identifier(name: &str) -> bool {
    let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    name.bytes().all(is_part)
        && name
            .bytes()
            .next()
            .is_some_and(|byte| !byte.is_ascii_digit())
}
