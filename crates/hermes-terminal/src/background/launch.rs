//! The background half of the `terminal` tool.

use serde_json::Value;

use super::start::NewProcess;
use crate::local::arguments::Fields;
use crate::local::random_id::random_hex;
use crate::local::script::Script;
use crate::local::tool::{redact, refusal};
use crate::local::{NoticeSupport, SpawnRequest, Terminal, ToolContext};

/// A background command as the `terminal` tool hands it over.
pub(crate) struct StartRequest<'a> {
    pub(crate) command: &'a str,
    pub(crate) workdir: Option<&'a str>,
    pub(crate) pty: bool,
    pub(crate) notify_on_complete: bool,
    pub(crate) watch_patterns: Vec<String>,
    pub(crate) approval: Option<String>,
}

/// Starts a background process and says so.
pub(crate) fn start_from_tool(request: StartRequest<'_>, context: &ToolContext<'_>) -> Value {
    let terminal = context.terminal;
    let session = terminal
        .sessions
        .get(context.session, &terminal.settings.start_directory);
    terminal.ensure_login(&session, context);
    let place = match terminal.place(&session, request.workdir, context) {
        Ok(place) => place,
        Err(refused) => return refusal(refused.exit_code, "error", &refused.output),
    };
    let can_hear = !matches!(context.notices, NoticeSupport::Unsupported(_));
    let notify = request.notify_on_complete && can_hear;
    // Both would tell the same end twice.
    let ignored = request.notify_on_complete && !request.watch_patterns.is_empty();
    let watch_patterns = if ignored || !can_hear {
        &[]
    } else {
        request.watch_patterns.as_slice()
    };
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
        notify,
        watch_patterns,
        watcher: &context.watcher,
        shell: &shell,
        script: script.text(shell.kind, None),
        variables,
        mark,
        supervisor: &terminal.settings.supervisor,
    });
    let started = match started {
        Ok(started) => started,
        Err(error) => return refusal(-1, "error", &redact(context, &error.to_string())),
    };
    let pty_note = match (request.pty, started.pty) {
        (true, false) if takes_token => {
            Some("The command reads a token until the end of its input, so it got no terminal.")
        }
        (true, false) => Some("No pseudo-terminal could be opened; the process runs on pipes."),
        _ => None,
    };
    let hint = (!request.notify_on_complete && request.watch_patterns.is_empty()).then_some(
        "Nothing will tell you when it ends: use process(action=\"poll\" or \"wait\"), or start with \
         notify_on_complete=true.",
    );
    let mut fields = Fields::default()
        .with("output", "Background process started")
        .with("session_id", started.id)
        .with("pid", started.pid)
        .with("exit_code", 0)
        .with("error", Value::Null)
        .with_some(
            "approval",
            request.approval.map(|text| redact(context, &text)),
        )
        .with_some("cwd_note", place.note.map(|text| redact(context, &text)))
        .with_some("pty_note", pty_note)
        .with_some("hint", hint);
    if let (NoticeSupport::Unsupported(reason), true) = (&context.notices, hint.is_none()) {
        fields = fields
            .with("notify_on_complete", false)
            .with("notify_unsupported", redact(context, reason));
    } else if notify {
        fields = fields.with("notify_on_complete", true);
    }
    if !watch_patterns.is_empty() {
        fields = fields.with("watch_patterns", watch_patterns.to_vec());
    }
    if ignored {
        fields = fields.with(
            "watch_patterns_ignored",
            "watch_patterns and notify_on_complete exclude each other; only the latter is used.",
        );
    }
    fields.into_value()
}
