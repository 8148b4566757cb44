//! The tools as entries of the registry, and a session's shell as other tools see it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_terminal::background::Notice;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::{
    CommandDecision, CommandKind, CommandRequest, SessionKey, StartRequest, Terminal,
};
use serde_json::Value;

use super::arguments::{Arguments, Fields, type_name};
use super::command::{NotRunReport, command_fields, failure_hint, with_rule};
use super::process::{ACTIONS, ProcessCall};
use super::start::{NoticeSupport, start};
use crate::argument::{ArgKind, Argument};
use crate::filesystem::SessionState;
use crate::hooked::transformed_output;
use crate::result::redacted;
use crate::tool::{CallContext, Tool, ToolSpec};

const TERMINAL: ToolSpec = ToolSpec {
    name: "terminal",
    toolset: "terminal",
    description: "Runs a shell command. The working directory and exported variables last \
                  from call to call. A foreground call returns as soon as the command ends, whatever its timeout. \
                  Use the file tools, not this one, to read, search, list, edit or create files. For a long job \
                  use background and wait for it with process; for a server use background alone; for a program \
                  that asks questions use background with pty.",
    arguments: &[
        Argument::required("command", ArgKind::Text, "The command line."),
        Argument::flag("background", "Run it in the background and return at once."),
        Argument::optional(
            "timeout",
            ArgKind::at_least(1),
            "Seconds a foreground command may take.",
        ),
        Argument::text("workdir", "Directory for this command only."),
        Argument::flag("pty", "Give it a terminal; with background only."),
        // Nothing carries notices to a conversation; a call that asks for them anyhow is told so.
        Argument::unlisted(
            "notify_on_complete",
            ArgKind::Flag,
            "With background: one notice when it ends.",
        ),
        Argument::unlisted(
            "watch_patterns",
            ArgKind::Texts,
            "With background: notices for lines that contain one of these texts.",
        ),
    ],
    checks_arguments: true,
    bounds_result: true,
    redacts_result: true,
    ..ToolSpec::DEFAULT
};

const PROCESS: ToolSpec = ToolSpec {
    name: "process",
    description: "Manages processes started with terminal and background: list them, poll or read \
        their output, wait for their exit, kill them, or write to those that have a terminal \
        (submit adds the line break, close ends the input).",
    arguments: &[
        Argument::required("action", ArgKind::Choice(ACTIONS), "What to do."),
        Argument::text("session_id", "The process; not needed for list."),
        Argument::text("data", "Input for write and submit."),
        Argument::optional("timeout", ArgKind::at_least(1), "Seconds to wait at most."),
        Argument::optional(
            "offset",
            ArgKind::at_least(0),
            "First line of the log to show; without it, its end.",
        ),
        Argument::optional("limit", ArgKind::at_least(1), "Lines of the log to show."),
    ],
    ..TERMINAL
};

/// Runs commands of a conversation in its shell.
pub struct TerminalTool {
    pub terminal: Arc<Terminal>,
    /// The rules about the environment of commands, which may explain their failures; `None` where
    /// commands do not run under these rules.
    pub environment: Option<Arc<LiveEnvironment>>,
    /// Whether the conversation can hear of its processes.
    pub notices: NoticeSupport,
}

/// Looks after background processes of a conversation.
pub struct ProcessTool {
    pub terminal: Arc<Terminal>,
    /// Whether the conversation can hear of its processes.
    pub notices: NoticeSupport,
}

impl Tool for ProcessTool {
    fn spec(&self) -> ToolSpec<'_> {
        PROCESS
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let call = ProcessCall {
            terminal: &self.terminal,
            session: &SessionKey::new(context.session_key.clone()),
            interrupt: &context.interrupt,
            notices: &self.notices,
            arguments: Arguments::new(args),
        };
        call.answer()
            .unwrap_or_else(|error| redacted(error, &context.redactor))
    }
}

impl Tool for TerminalTool {
    fn spec(&self) -> ToolSpec<'_> {
        TERMINAL
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        self.run(Arguments::new(args), context)
            .unwrap_or_else(NotRunReport::into_value)
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        let arguments = Arguments::new(args);
        let command = arguments.text("command").unwrap_or_default();
        let kind = if args.get("background") == Some(&Value::Bool(true)) {
            CommandKind::Background
        } else {
            CommandKind::Foreground
        };
        let session = SessionKey::new(context.session_key.clone());
        let workdir = arguments.text("workdir");
        match self.terminal.check(&session, command, workdir, kind) {
            CommandDecision::Allowed { .. } => Fields::default().with("approved", true),
            CommandDecision::Refused(refusal) => with_rule(
                Fields::default()
                    .with("approved", false)
                    .with("message", refusal.message.as_str()),
                &refusal,
            ),
        }
        .into_value()
    }
}

impl TerminalTool {
    fn run(&self, arguments: Arguments<'_>, context: &CallContext) -> Result<Value, NotRunReport> {
        let Some(command) = arguments.text("command") else {
            let found = type_name(arguments.get("command"));
            let message = format!("Invalid command: expected string, got {found}");
            return Err(NotRunReport::error(message));
        };
        if command.contains('\0') {
            let message = "Invalid command: it contains a NUL character";
            return Err(NotRunReport::error(message));
        }
        let timeout = arguments
            .positive("timeout")
            .map_err(NotRunReport::error)?
            .map(Duration::from_secs);
        let workdir = match arguments.get("workdir") {
            None => None,
            Some(Value::String(text)) => Some(text.as_str()).filter(|text| !text.is_empty()),
            Some(other) => {
                let found = type_name(Some(other));
                let message = format!("workdir must be a string, got {found}");
                return Err(NotRunReport::error(message));
            }
        };
        let session = SessionKey::new(context.session_key.clone());
        let interrupt = &context.interrupt;
        if arguments.flag("background") {
            let request = StartRequest {
                command,
                session: &session,
                workdir,
                pty: false,
                notify: false,
                watch_patterns: &[],
                interrupt,
            };
            return Ok(start(arguments, request, &self.terminal, &self.notices));
        }
        let outcome = self.terminal.run(&CommandRequest {
            command,
            session: &session,
            workdir,
            timeout,
            interrupt,
        })?;
        let hint = self
            .environment
            .as_ref()
            .and_then(|environment| failure_hint(&outcome, environment));
        let pty_note = arguments
            .flag("pty")
            .then_some("pty works with background=true only; the command ran without a terminal.");
        let result = command_fields(command, &outcome)
            .with_some("pty_note", pty_note)
            .with_some("hint", hint)
            .into_value();
        Ok(transformed_output(result, command, context))
    }
}

/// The shell of one conversation, for tools that start where it is.
pub struct TerminalSession {
    pub terminal: Arc<Terminal>,
    pub key: SessionKey,
}

impl SessionState for TerminalSession {
    fn cwd(&self) -> PathBuf {
        self.terminal.session(&self.key).snapshot().cwd
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let session = self.terminal.session(&self.key);
        self.terminal.backend().variable(&session, name)
    }

    fn take_notices(&self) -> Vec<String> {
        let notices = self.terminal.processes().drain_notices(&self.key);
        notices.iter().map(Notice::message).collect()
    }
}
