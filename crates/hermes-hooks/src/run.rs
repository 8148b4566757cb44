//! Runs one hook: without a shell, with the event on its standard input, for a limited time.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::{ChildSpec, Error, Group, Wake, find_on_path};

use crate::command::words;
use crate::event::HookEvent;
use crate::host::HookHost;
use crate::reply::HookReply;
use crate::spec::{HookSpec, OnError};

/// What a hook prints is read up to this size.
const MOST_OUTPUT: usize = 1 << 20;
/// The code by which a hook refuses a call; what it wrote to standard error is the reason.
const REFUSES: i32 = 2;
/// Calls the `handle` of a module of the user's.
const PYTHON_HANDLER: &str = include_str!("handler.py");
/// Characters of standard error that go into the log.
const LOGGED: usize = 400;

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEnd {
    /// With this code; `None` if a signal ended it.
    Exited(Option<i32>),
    TimedOut,
    /// It was not run, or was not run to its end.
    Failed(String),
}

/// One run of a hook.
#[derive(Debug, Clone)]
pub struct HookRun {
    pub end: HookEnd,
    pub took: Duration,
    pub stdout: String,
    pub stderr: String,
    pub reply: HookReply,
    /// Why it counts as failed.
    pub problem: Option<String>,
}

/// Runs a hook and reads its answer.
pub fn run_hook(
    spec: &HookSpec,
    payload: &str,
    host: &dyn HookHost,
    cwd: &Path,
    interrupt: Option<&Arc<Wake>>,
) -> HookRun {
    let begun = Instant::now();
    let (end, stdout, stderr) = match start(spec, payload, host, cwd, interrupt) {
        Ok((code, stdout, stderr)) => (HookEnd::Exited(code), stdout, stderr),
        Err(end) => (end, String::new(), String::new()),
    };
    let (reply, problem) = understood(spec, &end, &stdout, &stderr);
    HookRun {
        end,
        took: begun.elapsed(),
        stdout,
        stderr,
        reply,
        problem,
    }
}

type Output = (Option<i32>, String, String);

fn start(
    spec: &HookSpec,
    payload: &str,
    host: &dyn HookHost,
    cwd: &Path,
    interrupt: Option<&Arc<Wake>>,
) -> Result<Output, HookEnd> {
    let failed = |why: &str| HookEnd::Failed(why.to_owned());
    let mut words = words(&spec.command, host.account_home())
        .ok_or_else(|| failed("its command cannot be split into words"))?;
    if spec.event.is_of_gateway() && words.iter().any(|word| word.ends_with("handler.py")) {
        let python = ["python3", "-c", PYTHON_HANDLER].map(str::to_owned);
        words.splice(0..0, python);
    } else if spec.event.is_of_gateway() {
        words.push(spec.event.name().to_owned());
    }
    let variables = host.variables(&spec.env_passthrough);
    let path = variables.iter().rev().find(|(name, _)| name == "PATH");
    let program = words.first().map_or("", String::as_str);
    let found = find_on_path(
        OsStr::new(program),
        path.map(|(_, value)| value.as_os_str()),
    );
    let program = found.ok_or_else(|| HookEnd::Failed(format!("{program} was not found")))?;
    let child = ChildSpec {
        cwd: Some(cwd.to_owned()),
        group: Group::Session,
        ends_with_thread: true,
        sandbox: host.sandbox().map_err(HookEnd::Failed)?,
        ..ChildSpec::new(program, words.iter().skip(1).map(OsString::from), variables)
    };
    let ended = |error: Error| match error {
        Error::Deadline { .. } => HookEnd::TimedOut,
        error => HookEnd::Failed(error.to_string()),
    };
    let mut child = child
        .start_streamed(spec.timeout, MOST_OUTPUT)
        .map_err(ended)?;
    if let Some(interrupt) = interrupt {
        child = child.cancelled_by(Arc::clone(interrupt));
    }
    // A hook need not read; its end says what became of it.
    drop(child.write_all(payload.as_bytes()));
    let done = child.finish().map_err(ended)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok((done.status.code(), text(&done.stdout), text(&done.stderr)))
}

/// What a run means, and what is wrong with it.
fn understood(
    spec: &HookSpec,
    end: &HookEnd,
    stdout: &str,
    stderr: &str,
) -> (HookReply, Option<String>) {
    let problem = match end {
        HookEnd::Exited(Some(REFUSES)) if spec.event == HookEvent::PreToolCall => {
            let reply = match HookReply::parse(spec.event, stdout) {
                Ok(block @ HookReply::Block(_)) => block,
                _ => HookReply::block(stderr),
            };
            return (reply, None);
        }
        HookEnd::Exited(code) => {
            // What the handler of a gateway says is not asked for.
            let parsed = if spec.event.is_of_gateway() {
                Ok(HookReply::Nothing)
            } else {
                HookReply::parse(spec.event, stdout)
            };
            match (code, parsed) {
                // An answer counts, whatever the code.
                (_, Ok(reply)) if reply != HookReply::Nothing => return (reply, None),
                (Some(0), Ok(reply)) => return (reply, None),
                (Some(0), Err(problem)) => problem.to_owned(),
                (Some(code), _) => match hermes_text::one_line(stderr, LOGGED) {
                    words if words.is_empty() => format!("it ended with code {code}"),
                    words => format!("it ended with code {code}: {words}"),
                },
                (None, _) => "it was ended by a signal".to_owned(),
            }
        }
        HookEnd::TimedOut => format!("it took longer than {} s", spec.timeout.as_secs_f64()),
        HookEnd::Failed(why) => why.clone(),
    };
    let reply = match spec.on_error {
        OnError::Allow => HookReply::Nothing,
        OnError::Block => HookReply::block(&format!(
            "the hook {} must agree to it, but {problem}",
            spec.command
        )),
    };
    (reply, Some(problem))
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
