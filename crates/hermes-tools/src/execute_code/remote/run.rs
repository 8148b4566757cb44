//! One script on a remote host, from its staging to its report.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_proc::wait_for_any;
use hermes_terminal::remote::{RemoteError, ScriptOutcome, ScriptRequest, ScriptRunner};

use super::poll::RequestFiles;
use super::stage::{Stage, new_wake};
use crate::execute_code::capture::{Capture, MAX_STDERR};
use crate::execute_code::interpreter::{no_interpreter, preferred};
use crate::execute_code::module::BY_FILES;
use crate::execute_code::script::{FinishedScript, Script, ScriptEnding};
use crate::execute_code::settings::{ScriptMode, request_variables};
use crate::remote::{Locale, script as shell_script, word};

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

/// Runs a script on a host, with `variables` besides those of the host and of the session. When this
/// returns, it does not run any more. The error is a sentence.
pub(in crate::execute_code) fn run_remote(
    script: &mut Script<'_>,
    host: Arc<dyn ScriptRunner>,
    variables: Vec<(OsString, OsString)>,
) -> Result<FinishedScript, String> {
    let files = script.context.filesystem.operations();
    let cwd = files.working_directory(script.context.file_call())?;
    let stage = Stage::prepare(&host, script, &script.module(BY_FILES), &cwd)?;
    let own = stage.script_directory().into();
    let job = RemoteScript {
        directory: script.directory(cwd, stage.directory_exists, own),
        script,
        variables,
        requests: Arc::new(RequestFiles {
            host,
            stage: stage.path().to_owned(),
            calls: Arc::clone(&script.calls),
            enough: new_wake()?,
            stop: new_wake()?,
            trouble: Mutex::default(),
        }),
    };
    let ran = job.run();
    let report = stage.finish();
    let ending = match ran {
        Ok(ran) if ran.exit_code == NO_INTERPRETER => return Err(job.no_interpreter(&ran)),
        Ok(_) => None,
        Err(_) if script.context.interrupt.is_raised() => Some(ScriptEnding::Interrupted),
        Err(Stopped::TimedOut) => Some(ScriptEnding::TimedOut),
        Err(Stopped::Failed(message)) => return Err(job.requests.trouble().unwrap_or(message)),
    };
    match (ending, report) {
        (None, Ok(Some(finished))) => Ok(finished),
        (None, Ok(None)) => Err(format!(
            "The script ended in {}, but what it printed was lost.",
            job.requests.host.describe()
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

/// A script that was brought to a host.
struct RemoteScript<'a> {
    script: &'a Script<'a>,
    variables: Vec<(OsString, OsString)>,
    directory: PathBuf,
    requests: Arc<RequestFiles>,
}

/// Why a script did not come to its own end.
enum Stopped {
    TimedOut,
    /// A sentence.
    Failed(String),
}

impl From<String> for Stopped {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<RemoteError> for Stopped {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::TimedOut { .. } => Self::TimedOut,
            error => Self::Failed(error.with_hint()),
        }
    }
}

impl RemoteScript<'_> {
    /// Runs the script and serves its calls.
    fn run(&self) -> Result<ScriptOutcome, Stopped> {
        let requests = &self.requests;
        let text = self.text();
        let (ended, served) = (new_wake()?, new_wake()?);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                requests.serve();
                served.raise();
            });
            let running = scope.spawn(|| {
                let ran = requests.host.run_script(&ScriptRequest {
                    script: &text,
                    input: &[],
                    directory: None,
                    limit: self.script.settings.timeout,
                    most_output: MOST_NAMES,
                    interrupt: Some(&requests.stop),
                });
                ended.raise();
                ran
            });
            while wait_for_any(&[&ended, &self.script.context.interrupt], WATCH).is_none() {}
            if !ended.is_raised() {
                // First the calls: a command of the script must not outlive it.
                requests.calls.close();
                requests.stop.raise();
            }
            let ran = match running.join() {
                Ok(ran) => ran.map_err(Stopped::from),
                Err(_) => Err(Stopped::Failed(BROKEN.to_owned())),
            };
            requests.calls.close();
            // The fetcher sees by itself that the script has ended, which costs the host less than
            // being stopped.
            if ran.is_ok() {
                served.wait(SEES_ITSELF);
            }
            requests.enough.raise();
            ran
        })
    }

    fn text(&self) -> String {
        let exports = self.exports();
        let mode = match self.script.settings.mode {
            ScriptMode::Project => "project",
            ScriptMode::Strict => "strict",
        };
        let (out_head, out_tail) = Capture::rooms(self.script.settings.max_stdout);
        let (err_head, err_tail) = Capture::rooms(MAX_STDERR);
        let rooms = [out_head, out_tail, err_head, err_tail].map(|room| room.to_string());
        let interpreters = preferred(self.script.settings, self.script.context);
        let mut arguments = vec![
            self.requests.stage.as_bytes(),
            self.directory.as_os_str().as_bytes(),
            mode.as_bytes(),
        ];
        arguments.extend(rooms.iter().map(String::as_bytes));
        arguments.extend(interpreters.iter().map(|path| path.as_os_str().as_bytes()));
        shell_script(Locale::Usual, &[&exports, RUN], &arguments)
    }

    fn exports(&self) -> String {
        let directory = format!("{}/rpc", self.requests.stage);
        let mut variables = request_variables("HERMES_RPC_DIR", directory, &self.script.token);
        let activated = ["PATH", "VIRTUAL_ENV", "CONDA_PREFIX"];
        variables.extend(activated.into_iter().filter_map(|name| {
            let value = self.script.context.session.variable(name)?;
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

    fn no_interpreter(&self, ran: &ScriptOutcome) -> String {
        let names = ran.stdout.split(|byte| *byte == 0);
        let rejected: Vec<PathBuf> = names
            .filter(|name| !name.is_empty())
            .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
            .collect();
        let host = self.requests.host.describe();
        format!("In {host}: {}", no_interpreter(&rejected))
    }
}

fn is_identifier(name: &str) -> bool {
    let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    !name.is_empty() && name.bytes().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}
