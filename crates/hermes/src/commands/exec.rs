//! `hermes exec`: a command as the terminal tool would run it, with its output and exit code passed
//! through. The call goes through the registry, so guards, session and limits are those of an agent.

use std::ffi::OsString;
use std::process::ExitCode;

use hermes_runtime::{Approval, BackendKind, BackendRequest, RemoteBackend};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::SignalWatch;
use crate::tool_access;
use crate::ui::Asked;

/// The exit code for an engine or a machine that cannot be reached.
pub(super) const MISSING_PART: u8 = 3;
/// The tool behind the command.
pub(super) const TOOL: &str = "terminal";

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
    let _logging = context.start_logging();
    let backend = BackendRequest {
        kind: BackendKind::choose(context, args.backend.as_deref())?,
        task: args.task.as_deref(),
        session: &args.session,
    };
    let mut call = json!({"command": shell_line(&args.command)?});
    if let Some(workdir) = &args.workdir {
        call["workdir"] = json!(workdir);
    }
    if let Some(timeout) = args.timeout {
        call["timeout"] = json!(timeout);
    }
    let tools = tool_access::assemble(context, backend, Approval::Needed, Asked::Approval)?;
    if tools.registry.get(TOOL).is_none() {
        return Err(CommandError::environment(
            "this build has no terminal tool to run commands with",
        ));
    }
    let signals = SignalWatch::start(&tools)?;
    tools.recover();
    let surroundings = tools.call_context(&args.session);
    let result = tools.registry.call(TOOL, &call, &surroundings);
    let mut code = exit_code_of(&result);
    if did_not_start(&result) && tools.remote().is_some_and(RemoteBackend::is_down) {
        code = MISSING_PART;
    }
    tools.release();
    if args.json {
        context.printer.line(result.to_string())?;
    } else {
        show(context, &result)?;
    }
    Ok(signals.exit_code(code))
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

pub(super) fn show(context: &Context, result: &Value) -> Result<()> {
    let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let output = text("output");
    if !output.is_empty() {
        let end = if output.ends_with('\n') { "" } else { "\n" };
        context.printer.out(&format!("{output}{end}"))?;
    }
    for name in ["error", "hint", "cwd_note", "shell_note"] {
        if !text(name).is_empty() {
            context.printer.note(text(name))?;
        }
    }
    Ok(())
}

pub(super) fn did_not_start(result: &Value) -> bool {
    result.get("status") == Some(&json!("error"))
}

/// The command's own code where it ran, as a shell would say it: a signal is 128 and its number.
/// What was refused or did not start is 1.
pub(super) fn exit_code_of(result: &Value) -> u8 {
    let status = result.get("status").and_then(Value::as_str);
    let code = result.get("exit_code").and_then(Value::as_i64);
    match (status, code) {
        (None, Some(code)) if code >= 0 => u8::try_from(code).unwrap_or(1),
        (None, Some(code)) => u8::try_from(128 - code).unwrap_or(1),
        _ => 1,
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
        let code = |value: Value| exit_code_of(&value);
        assert_eq!(code(json!({"exit_code": 0, "error": null})), 0);
        assert_eq!(code(json!({"exit_code": 3, "error": null})), 3);
        assert_eq!(code(json!({"exit_code": 124, "error": null})), 124);
        assert_eq!(code(json!({"exit_code": -9, "error": null})), 137);
        assert_eq!(code(json!({"exit_code": -1, "status": "error"})), 1);
        assert_eq!(code(json!({"exit_code": 0, "status": "blocked"})), 1);
        assert_eq!(code(json!({"error": "no"})), 1);
    }
}
