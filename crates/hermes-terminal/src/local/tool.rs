//! The `terminal` tool: checks in their order, then the run, then the result.
//!
//! It answers every input with an object and never with a panic or a trace. Text fields have been
//! redacted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::arguments::{Arguments, Fields, type_name};
use super::context::{CommandKind, GuardOutcome, ToolContext};
use super::foreground::{Foreground, ForegroundResult};
use crate::output::{exit_code_meaning, password_was_rejected, sudo_hint};

/// Runs one call of the tool.
pub fn terminal(args: &Value, context: &ToolContext<'_>) -> Value {
    let arguments = Arguments::new(args);
    let Some(command) = arguments.text("command") else {
        let found = type_name(arguments.get("command"));
        return refusal(
            -1,
            "error",
            &format!("Invalid command: expected string, got {found}"),
        );
    };
    if command.contains('\0') {
        return refusal(-1, "error", "Invalid command: it contains a NUL character");
    }
    let settings = context.terminal.settings();
    let is_background = arguments.flag("background");
    let limit = match arguments.positive("timeout") {
        Ok(seconds) => seconds.map_or(settings.timeout, Duration::from_secs),
        Err(error) => return refusal(-1, "error", &error),
    };
    if !is_background && limit > settings.longest_timeout {
        return refusal(-1, "error", &too_long(limit, settings.longest_timeout));
    }
    let kind = if is_background {
        CommandKind::Background
    } else {
        CommandKind::Foreground
    };
    let approval = match context.guard.check(command, kind) {
        GuardOutcome::Allowed { approval } => approval,
        GuardOutcome::Refused {
            exit_code,
            status,
            error,
            fields,
        } => return refused(context, exit_code, status, &error, fields),
    };
    if approval.is_some() {
        // Whoever answers a prompt wants the command to run, whatever they typed while it was open.
        context.interrupt.clear();
    }
    let workdir = match arguments.get("workdir") {
        None => None,
        Some(Value::String(text)) if text.is_empty() => None,
        Some(Value::String(text)) => {
            match forbidden_in_directory(text, context.terminal.remote.is_some()) {
                None => Some(text.as_str()),
                Some(name) => {
                    let error = format!("workdir must not contain a {name}");
                    return refusal(-1, "blocked", &error);
                }
            }
        }
        Some(other) => {
            let found = type_name(Some(other));
            return refusal(
                -1,
                "error",
                &format!("workdir must be a string, got {found}"),
            );
        }
    };
    if is_background {
        let request = crate::background::StartRequest {
            command,
            workdir,
            pty: arguments.flag("pty"),
            notify_on_complete: arguments.flag("notify_on_complete"),
            watch_patterns: arguments.texts("watch_patterns"),
            approval,
        };
        return crate::background::start_from_tool(request, context);
    }
    let pty_note = arguments
        .flag("pty")
        .then_some("pty works with background=true only; the command ran without a terminal.");
    run(command, workdir, limit, approval, pty_note, context)
}

fn run(
    command: &str,
    workdir: Option<&str>,
    limit: Duration,
    approval: Option<String>,
    pty_note: Option<&str>,
    context: &ToolContext<'_>,
) -> Value {
    let prepared = context
        .sudo
        .and_then(|sudo| sudo.prepare(command, context.session));
    let redactor = prepared
        .as_ref()
        .map(|prepared| Arc::new(context.terminal.redactor.that_knows(&prepared.password)));
    let foreground = Foreground {
        command: prepared
            .as_ref()
            .map_or(command, |prepared| prepared.command.as_str()),
        workdir,
        limit,
        input: prepared
            .as_ref()
            .map_or(b"", |prepared| prepared.input.expose().as_bytes()),
        redactor: redactor.as_ref(),
    };
    let mut result = context.terminal.run_foreground(foreground, context);
    let rejected = prepared.is_some() && password_was_rejected(&result.output);
    let forgotten = rejected
        && context
            .sudo
            .is_some_and(|sudo| sudo.rejected(context.session));
    if let Some(hint) = context
        .sudo
        .filter(|sudo| sudo.is_messaging())
        .and_then(|_| sudo_hint(&result.output))
    {
        result.output.push_str(&format!("\n{hint}"));
    }
    let approval = approval.map(|text| {
        if result.interrupted {
            format!("{text} The command was then interrupted.")
        } else {
            text
        }
    });
    foreground_fields(command, result, context)
        .with_some("approval", approval.map(|text| redact(context, &text)))
        .with_some("sudo_auth_failed", rejected.then_some(true))
        .with_some("sudo_cache_cleared", forgotten.then_some(true))
        .with_some("pty_note", pty_note)
        .into_value()
}

fn foreground_fields(command: &str, result: ForegroundResult, context: &ToolContext<'_>) -> Fields {
    let failed_to_start = result.exit_code == -1 && result.error.is_some();
    let meaning = exit_code_meaning(command, result.exit_code);
    Fields::default()
        .with("output", result.output)
        .with("exit_code", result.exit_code)
        .with("error", result.error.map(|text| redact(context, &text)))
        .with_some("status", failed_to_start.then_some("error"))
        .with_some("exit_code_meaning", meaning)
        .with_some(
            "cwd_note",
            result.cwd_note.map(|text| redact(context, &text)),
        )
        .with_some("shell_note", result.shell_note)
        .with_some(
            "full_output_path",
            result.full_output.map(|path| path.display().to_string()),
        )
}

fn refused(
    context: &ToolContext<'_>,
    exit_code: i32,
    status: &str,
    error: &str,
    mut fields: Map<String, Value>,
) -> Value {
    for value in fields.values_mut() {
        if let Value::String(text) = value {
            *text = redact(context, text);
        }
    }
    Fields::default()
        .with("output", "")
        .with("exit_code", exit_code)
        .with("error", redact(context, error))
        .with("status", status)
        .extend(fields)
        .into_value()
}

/// The result of a command that was not run.
pub(crate) fn refusal(exit_code: i32, status: &str, error: &str) -> Value {
    Fields::default()
        .with("output", "")
        .with("exit_code", exit_code)
        .with("error", error)
        .with("status", status)
        .into_value()
}

pub(crate) fn redact(context: &ToolContext<'_>, text: &str) -> String {
    context.terminal.redactor.redact(text).into_owned()
}

fn too_long(limit: Duration, longest: Duration) -> String {
    format!(
        "A foreground command may take {} s at most, not {} s. For longer work use background=true \
         and wait for it with process.",
        longest.as_secs(),
        limit.as_secs()
    )
}

/// On this machine the directory is handed to the kernel: only what no path can hold is refused.
/// Elsewhere it is quoted for a shell, which may take other control characters for something else.
fn forbidden_in_directory(text: &str, is_elsewhere: bool) -> Option<&'static str> {
    text.chars().find_map(|character| match character {
        '\0' => Some("NUL character"),
        '\n' => Some("newline"),
        other if is_elsewhere && other.is_control() => Some("control character"),
        _ => None,
    })
}
