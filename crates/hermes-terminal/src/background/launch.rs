//! The background half of the `terminal` tool.

use std::sync::Arc;

use serde_json::Value;

use super::elsewhere::NewElsewhere;
use super::start::{NewProcess, StartError};
use crate::local::arguments::Fields;
use crate::local::script::Script;
use crate::local::tool::{redact, refusal};
use crate::local::{NoticeSupport, SpawnRequest, Terminal, ToolContext};
use crate::remote::RemoteTerminal;
use hermes_fs::random_hex;

/// A background command as the `terminal` tool hands it over.
pub(crate) struct StartRequest<'a> {
    pub(crate) command: &'a str,
    pub(crate) workdir: Option<&'a str>,
    pub(crate) pty: bool,
    pub(crate) notify_on_complete: bool,
    pub(crate) watch_patterns: Vec<String>,
    pub(crate) approval: Option<String>,
}

/// A process that runs, for the result.
struct Running {
    id: String,
    pid: u32,
    cwd_note: Option<String>,
    pty_note: Option<&'static str>,
}

/// Starts a background process and says so.
pub(crate) fn start_from_tool(request: StartRequest<'_>, context: &ToolContext<'_>) -> Value {
    let started = match &context.terminal.remote {
        Some(place) => start_elsewhere(&request, place, context),
        None => start_here(&request, context),
    };
    match started {
        Ok(running) => request.result(running, context),
        Err(refused) => refused,
    }
}

fn start_here(request: &StartRequest<'_>, context: &ToolContext<'_>) -> Result<Running, Value> {
    let terminal = context.terminal;
    let session = terminal
        .sessions
        .get(context.session, &terminal.settings.start_directory);
    terminal.ensure_login(&session, context);
    let place = terminal
        .place(&session, request.workdir, context)
        .map_err(|refused| refusal(refused.exit_code, "error", &refused.output))?;
    let takes_token =
        request.command.contains("gh auth login") && request.command.contains("--with-token");
    let wants_pty = request.pty && !takes_token;
    let state = session.snapshot();
    let mark = random_hex(16);
    let variables = Terminal::variables(
        context,
        SpawnRequest {
            session: context.session,
            overlay: &state.overlay,
            background: true,
            pty: wants_pty,
            exec_id: &mark,
        },
    );
    let shell = terminal.shells.find();
    let script = Script {
        state: &state,
        command: request.command.as_bytes(),
        nonce: "",
    };
    let started = terminal.background.start(NewProcess {
        session: terminal.sessions.root_of(context.session),
        task_id: context.session.as_str(),
        // It is written to a file and shown; what runs is the script.
        command: &redact(context, request.command),
        cwd: &place.path,
        pty: wants_pty,
        notify: request.notifies(context),
        watch_patterns: request.watched(context),
        watcher: &context.watcher,
        shell: &shell,
        script: script.text(shell.kind, None),
        variables,
        mark,
        supervisor: &terminal.settings.supervisor,
    });
    let started = started.map_err(|error| failure(&error, context))?;
    Ok(Running {
        id: started.id,
        pid: started.pid,
        cwd_note: place.note,
        pty_note: match (request.pty, started.pty) {
            (true, false) if takes_token => {
                Some("The command reads a token until the end of its input, so it got no terminal.")
            }
            (true, false) => Some("No pseudo-terminal could be opened; the process runs on pipes."),
            _ => None,
        },
    })
}

fn start_elsewhere(
    request: &StartRequest<'_>,
    place: &Arc<RemoteTerminal>,
    context: &ToolContext<'_>,
) -> Result<Running, Value> {
    let terminal = context.terminal;
    let new = NewElsewhere {
        place,
        session: terminal.sessions.root_of(context.session),
        command: request.command,
        shown_command: &redact(context, request.command),
        workdir: request.workdir,
        notify: request.notifies(context),
        watch_patterns: request.watched(context),
    };
    let started = terminal
        .background
        .start_elsewhere(&new, context)
        .map_err(|error| failure(&error, context))?;
    Ok(Running {
        id: started.id,
        pid: started.pid,
        cwd_note: started.cwd_note,
        pty_note: request.pty.then_some(
            "pty works with the local backend only; the process runs without a terminal.",
        ),
    })
}

fn failure(error: &StartError, context: &ToolContext<'_>) -> Value {
    let exit_code = match error {
        StartError::Directory(_) => 126,
        _ => -1,
    };
    refusal(exit_code, "error", &redact(context, &error.to_string()))
}

impl StartRequest<'_> {
    fn notifies(&self, context: &ToolContext<'_>) -> bool {
        self.notify_on_complete && can_hear(context)
    }

    /// Both would tell the same end twice.
    fn has_too_many_wishes(&self) -> bool {
        self.notify_on_complete && !self.watch_patterns.is_empty()
    }

    fn watched(&self, context: &ToolContext<'_>) -> &[String] {
        if self.has_too_many_wishes() || !can_hear(context) {
            &[]
        } else {
            &self.watch_patterns
        }
    }

    fn result(&self, running: Running, context: &ToolContext<'_>) -> Value {
        let shown = |text: &String| redact(context, text);
        let watch_patterns = self.watched(context);
        let hint = (!self.notify_on_complete && self.watch_patterns.is_empty()).then_some(
            if can_hear(context) {
                "Nothing will tell you when it ends: use process(action=\"poll\" or \"wait\"), or \
                 start with notify_on_complete=true."
            } else {
                "Nothing will tell you when it ends: use process(action=\"poll\" or \"wait\")."
            },
        );
        let mut fields = Fields::default()
            .with("output", "Background process started")
            .with("session_id", running.id)
            .with("pid", running.pid)
            .with("exit_code", 0)
            .with("error", Value::Null)
            .with_some("approval", self.approval.as_ref().map(shown))
            .with_some("cwd_note", running.cwd_note.as_ref().map(shown))
            .with_some("pty_note", running.pty_note)
            .with_some("hint", hint);
        if let (NoticeSupport::Unsupported(reason), true) = (&context.notices, hint.is_none()) {
            fields = fields
                .with("notify_on_complete", false)
                .with("notify_unsupported", redact(context, reason));
        } else if self.notifies(context) {
            fields = fields.with("notify_on_complete", true);
        }
        if !watch_patterns.is_empty() {
            fields = fields.with("watch_patterns", watch_patterns.to_vec());
        }
        if self.has_too_many_wishes() {
            fields = fields.with(
                "watch_patterns_ignored",
                "watch_patterns and notify_on_complete exclude each other; only the latter is used.",
            );
        }
        fields.into_value()
    }
}

fn can_hear(context: &ToolContext<'_>) -> bool {
    !matches!(context.notices, NoticeSupport::Unsupported(_))
}
