//! `hermes exec`: a command as the terminal tool would run it, with its output and exit code passed
//! through. Approval, session and limits are those of an agent; no tool set is assembled.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use hermes_runtime::{Approval, BackendKind, BackendRequest, RemoteLease, TerminalSetup};
use hermes_terminal::{CommandOutcome, CommandRequest, SessionKey};
use hermes_tools::{NotRunReport, command_result, failure_hint};
use serde_json::Value;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::SignalWatch;
use crate::tool_access;
use crate::ui::Asked;

/// The exit code for an engine or a machine that cannot be reached.
const MISSING_PART: u8 = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for this command
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// Seconds it may take; then it is stopped and the exit code is 124
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// Conversation the command belongs to
    #[arg(long, value_name = "KEY", default_value = "cli")]
    session: String,
    /// Where it runs, instead of the setting terminal.backend
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Task whose container it runs in, instead of the one all tasks share
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Print the tool's result as JSON instead of the output
    #[arg(long)]
    json: bool,
    /// The command: one argument is a line for the shell, several are a program with its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    context.start_logging();
    let backend = BackendRequest {
        kind: BackendKind::choose(context, args.backend.as_deref())?,
        task: args.task.as_deref(),
        session: &args.session,
    };
    let line = shell_line(&args.command)?;
    let setup = tool_access::terminal(context, backend, Approval::Needed, Asked::Approval)?;
    let signals = SignalWatch::start(&setup)?;
    setup.recover();
    let session = SessionKey::new(args.session.as_str());
    let execution = Execution::run(
        &setup,
        &CommandRequest {
            command: &line,
            session: &session,
            workdir: args.workdir.as_deref().filter(|dir| !dir.is_empty()),
            timeout: args
                .timeout
                .map(|seconds| Duration::from_secs(seconds.into())),
            interrupt: setup.interrupt(),
        },
    );
    let code = execution.exit_code(&setup);
    setup.release();
    if args.json {
        context.printer.line(execution.into_json().to_string())?;
    } else {
        execution.show(context)?;
    }
    Ok(signals.exit_code(code))
}

/// A command that was run, or was not.
pub(super) struct Execution<'a> {
    command: &'a str,
    outcome: std::result::Result<CommandOutcome, NotRunReport>,
    /// Why it failed, if one of our own rules is the reason.
    hint: Option<String>,
}

impl<'a> Execution<'a> {
    pub(super) fn run(setup: &TerminalSetup, request: &CommandRequest<'a>) -> Self {
        let outcome = setup.terminal().run(request).map_err(NotRunReport::from);
        let rules = setup.environment_rules();
        let hint = match (&outcome, rules) {
            (Ok(outcome), Some(rules)) => failure_hint(outcome, rules),
            _ => None,
        };
        Self {
            command: request.command,
            outcome,
            hint,
        }
    }

    /// The command's own code where it ran, as a shell would say it: a signal is 128 and its number.
    /// A refusal or a failed start is 1, and 3 if the engine or the machine cannot be reached.
    pub(super) fn exit_code(&self, setup: &TerminalSetup) -> u8 {
        let failed = match &self.outcome {
            Ok(outcome) => outcome.no_result,
            Err(report) => report.status == "error",
        };
        if failed && setup.remote().is_some_and(RemoteLease::is_down) {
            return MISSING_PART;
        }
        match &self.outcome {
            Ok(outcome) if !outcome.no_result => shell_code(outcome.exit_code),
            _ => 1,
        }
    }

    /// What the terminal tool would answer.
    pub(super) fn into_json(self) -> Value {
        match self.outcome {
            Ok(outcome) => command_result(self.command, &outcome, self.hint.as_deref()),
            Err(report) => report.into_value(),
        }
    }

    /// Prints the output, and everything else beside it.
    pub(super) fn show(&self, context: &Context) -> Result<()> {
        let outcome = match &self.outcome {
            Ok(outcome) => outcome,
            Err(report) => return Ok(context.printer.note(&report.message)?),
        };
        if !outcome.output.is_empty() {
            let end = if outcome.output.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            context.printer.out(&format!("{}{end}", outcome.output))?;
        }
        let notes = [
            &outcome.error,
            &self.hint,
            &outcome.cwd_note,
            &outcome.shell_note,
        ];
        for note in notes.into_iter().flatten() {
            context.printer.note(note)?;
        }
        Ok(())
    }
}

fn shell_code(code: i32) -> u8 {
    let code = if code < 0 { 128 - code } else { code };
    u8::try_from(code).unwrap_or(1)
}

/// One argument is the line itself; several are quoted so that the shell sees each as one word.
pub(super) fn shell_line(command: &[OsString]) -> Result<String> {
    let mut words = Vec::with_capacity(command.len());
    for word in command {
        let Some(word) = word.to_str() else {
            return Err(CommandError::usage("the command is not UTF-8"));
        };
        words.push(word);
    }
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
