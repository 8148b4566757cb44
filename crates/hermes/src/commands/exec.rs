//! `hermes exec`: a command as the terminal tool would run it, with its output and exit code passed
//! through. Approval, session and limits are those of an agent; no tool set is assembled.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use hermes_policy::SandboxMode;
use hermes_runtime::{Approval, BackendKind, BackendRequest, RemoteLease, TerminalSetup};
use hermes_terminal::{CommandOutcome, CommandRequest, SessionKey};
use hermes_tools::{NotRunReport, command_result, failure_hint};
use serde_json::Value;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::{END_LIMIT, SignalWatch};
use crate::tool_access;
use crate::ui::Asked;

/// The exit code for an engine or a machine that cannot be reached.
const MISSING_PART: u8 = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory to run the command in
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// Timeout in seconds; the command is then stopped and the exit code is 124
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// Conversation the command belongs to
    #[arg(long, value_name = "KEY", default_value = "cli")]
    session: String,
    /// Backend to use instead of the one in terminal.backend
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Task whose container to use, instead of the one all tasks share
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Whether the command runs in the kernel's sandbox, instead of what terminal.sandbox says
    #[arg(long, value_name = "WHEN", value_parser = ["on", "off"])]
    sandbox: Option<String>,
    /// Print the tool's result as JSON instead of the output
    #[arg(long)]
    json: bool,
    /// The command: a single argument is a shell command line, several are a program and its
    /// arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    context.start_logging();
    let execution = Execution {
        command: &args.command,
        workdir: args.workdir.as_deref(),
        timeout: args.timeout,
        backend: BackendRequest {
            kind: BackendKind::choose(context, args.backend.as_deref())?,
            task: args.task.as_deref(),
            session: &args.session,
            credential_files: &[],
        },
        approval: Approval::Needed,
        asked: Asked::Approval,
        sandbox: args.sandbox.as_deref().map(|word| match word {
            "off" => SandboxMode::Off,
            _ => SandboxMode::On,
        }),
    };
    execution.run(context, args.json.then_some(|result, _, _| result))
}

/// A command to run, and where.
pub(super) struct Execution<'a> {
    pub(super) command: &'a [OsString],
    pub(super) workdir: Option<&'a str>,
    /// In seconds.
    pub(super) timeout: Option<u32>,
    pub(super) backend: BackendRequest<'a>,
    pub(super) approval: Approval,
    pub(super) asked: Asked,
    /// Which commands run in the sandbox, instead of what the settings say.
    pub(super) sandbox: Option<SandboxMode>,
}

/// The JSON to print, from what the terminal tool would answer.
type AsJson = fn(Value, &TerminalSetup, &SessionKey) -> Value;

impl Execution<'_> {
    /// Runs the command and prints its output, or JSON if that is asked for.
    pub(super) fn run(&self, context: &Context, as_json: Option<AsJson>) -> Result<ExitCode> {
        let line = shell_line(self.command)?;
        let mut request = tool_access::request(context, self.backend, self.approval, self.asked)?;
        request.sandbox = self.sandbox;
        let setup = TerminalSetup::assemble(context, request)?;
        let signals = SignalWatch::start(&setup, END_LIMIT)?;
        setup.recover();
        let session = SessionKey::new(self.backend.session);
        let seconds = self.timeout.map(u64::from);
        let ran = setup.terminal().run(&CommandRequest {
            command: &line,
            session: &session,
            workdir: self.workdir.filter(|dir| !dir.is_empty()),
            timeout: seconds.map(Duration::from_secs),
            interrupt: setup.interrupt(),
        });
        let outcome = ran.map_err(NotRunReport::from);
        // Why it failed, if one of our own rules is the reason.
        let hint = match (&outcome, setup.environment_rules()) {
            (Ok(outcome), Some(rules)) => failure_hint(outcome, rules),
            _ => None,
        };
        let code = exit_code(&outcome, &setup);
        if let Some(as_json) = as_json {
            let result = match outcome {
                Ok(outcome) => command_result(&line, &outcome, hint.as_deref()),
                Err(report) => report.into_value(),
            };
            let shown = as_json(result, &setup, &session);
            setup.release();
            context.json_line(&shown)?;
        } else {
            setup.release();
            show(&outcome, hint, context)?;
        }
        Ok(ExitCode::from(signals.exit_code(code)))
    }
}

/// The command's own code where it ran, as a shell would say it: a signal is 128 and its number. A
/// refusal or a failed start is 1, and 3 if the engine or the machine cannot be reached.
fn exit_code(
    outcome: &std::result::Result<CommandOutcome, NotRunReport>,
    setup: &TerminalSetup,
) -> u8 {
    let failed = match outcome {
        Ok(outcome) => outcome.no_result,
        Err(report) => report.status == "error",
    };
    match outcome {
        _ if failed && setup.remote().is_some_and(RemoteLease::is_down) => MISSING_PART,
        Err(report) if report.is_missing_part => MISSING_PART,
        Ok(outcome) if !failed => shell_code(outcome.exit_code),
        _ => 1,
    }
}

/// Prints the output, and everything else beside it.
fn show(
    outcome: &std::result::Result<CommandOutcome, NotRunReport>,
    hint: Option<String>,
    context: &Context,
) -> Result<()> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(report) => return context.note(&report.message),
    };
    context.printer.raw(&outcome.output)?;
    if !outcome.output.is_empty() && !outcome.output.ends_with('\n') {
        context.line("")?;
    }
    let notes = [
        &outcome.error,
        &hint,
        &outcome.cwd_note,
        &outcome.shell_note,
    ];
    for note in notes.into_iter().flatten() {
        context.note(note)?;
    }
    Ok(())
}

fn shell_code(code: i32) -> u8 {
    let code = if code < 0 { 128 - code } else { code };
    u8::try_from(code).unwrap_or(1)
}

/// One argument is the line itself; several are quoted so that the shell sees each as one word.
fn shell_line(command: &[OsString]) -> Result<String> {
    let words: Option<Vec<&str>> = command.iter().map(|word| word.to_str()).collect();
    let words = words.ok_or_else(|| CommandError::usage("the command is not valid UTF-8"))?;
    match words.as_slice() {
        [line] => Ok((*line).to_owned()),
        words => shlex::try_join(words.iter().copied())
            .map_err(|error| CommandError::usage(format!("the command cannot be quoted: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        shell_line(&words).unwrap()
    }

    #[test]
    fn one_argument_is_shell_and_several_are_words() {
        assert_eq!(line(&["echo $HOME | wc"]), "echo $HOME | wc");
        assert_eq!(line(&["echo", "$HOME", "a b", ""]), "echo '$HOME' 'a b' ''");
        assert_eq!(line(&["echo", "it's"]), "echo \"it's\"");
        assert!(shell_line(&["echo".into(), "a\0b".into()]).is_err());
        let bytes = std::os::unix::ffi::OsStringExt::from_vec(vec![255]);
        assert!(shell_line(&[bytes]).is_err());
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        for (code, shown) in [(0, 0), (3, 3), (124, 124), (-9, 137), (300, 1)] {
            assert_eq!(shell_code(code), shown);
        }
    }
}
