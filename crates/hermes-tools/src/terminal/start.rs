//! A background process started by the `terminal` tool.

use hermes_terminal::background::PtyState;
use hermes_terminal::{StartRequest, Started, Terminal};
use serde_json::Value;

use super::arguments::{Arguments, Fields};
use super::command::NotRunReport;

/// Whether a conversation can hear of its processes without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeSupport {
    /// It gets notices, whether it asked in between or not: a chat.
    Delivered,
    /// It gets notices, but none about an end it has been shown by `poll`: a terminal.
    DeliveredUnlessShown,
    /// It cannot: the reason goes into the result.
    Unsupported(String),
}

/// What a call asks to be told about a process.
struct Notices<'a> {
    notify: bool,
    watch_patterns: Vec<String>,
    support: &'a NoticeSupport,
}

/// Starts a background process and says so. What the call asks for besides its command is in
/// `arguments`.
pub(super) fn start(
    arguments: Arguments<'_>,
    request: StartRequest<'_>,
    terminal: &Terminal,
    support: &NoticeSupport,
) -> Value {
    let notices = Notices {
        notify: arguments.flag("notify_on_complete"),
        watch_patterns: arguments.texts("watch_patterns"),
        support,
    };
    let started = terminal.start(&StartRequest {
        pty: arguments.flag("pty"),
        notify: notices.notifies(),
        watch_patterns: notices.watched(),
        ..request
    });
    match started {
        Ok(started) => result(&started, &notices),
        Err(reason) => NotRunReport::from(reason).into_value(),
    }
}

impl Notices<'_> {
    fn are_delivered(&self) -> bool {
        !matches!(self.support, NoticeSupport::Unsupported(_))
    }

    fn notifies(&self) -> bool {
        self.notify && self.are_delivered()
    }

    /// Both would tell the same end twice.
    fn is_contradictory(&self) -> bool {
        self.notify && !self.watch_patterns.is_empty()
    }

    fn watched(&self) -> &[String] {
        if self.is_contradictory() || !self.are_delivered() {
            &[]
        } else {
            &self.watch_patterns
        }
    }
}

fn result(started: &Started, notices: &Notices<'_>) -> Value {
    let asks_for_none = !notices.notify && notices.watch_patterns.is_empty();
    let hint = asks_for_none.then_some(if notices.are_delivered() {
        "You will not be notified when it exits: use process(action=\"poll\" or \"wait\"), or \
         start with notify_on_complete=true."
    } else {
        "You will not be notified when it exits: use process(action=\"poll\" or \"wait\")."
    });
    let mut fields = Fields::default()
        .with("output", "Background process started")
        .with("session_id", started.id.as_str())
        .with("pid", started.pid)
        .with("exit_code", 0)
        .with("error", Value::Null)
        .with_some("approval", started.approval.as_deref())
        .with_some("sandboxed", started.sandboxed.then_some(true))
        .with_some("cwd_note", started.cwd_note.as_deref())
        .with_some("pty_note", pty_note(started.pty))
        .with_some("hint", hint);
    if let (NoticeSupport::Unsupported(reason), false) = (notices.support, asks_for_none) {
        fields = fields
            .with("notify_on_complete", false)
            .with("notify_unsupported", reason.as_str());
    } else if notices.notifies() {
        fields = fields.with("notify_on_complete", true);
    }
    let watched = notices.watched();
    fields
        .with_some(
            "watch_patterns",
            (!watched.is_empty()).then(|| watched.to_vec()),
        )
        .with_some(
            "watch_patterns_ignored",
            notices.is_contradictory().then_some(
                "watch_patterns and notify_on_complete are mutually exclusive; only the latter is \
                 used.",
            ),
        )
        .into_value()
}

fn pty_note(pty: PtyState) -> Option<&'static str> {
    match pty {
        PtyState::Given | PtyState::NotRequested => None,
        PtyState::RefusedForToken => {
            Some("The command reads a token until the end of its input, so it got no terminal.")
        }
        PtyState::Unavailable => {
            Some("No pseudo-terminal could be opened; the process runs on pipes.")
        }
        PtyState::Unsupported => {
            Some("pty works with the local backend only; the process runs without a terminal.")
        }
    }
}
