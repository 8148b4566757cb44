//! The `process` tool.
//!
//! Text fields have been redacted. A session sees its own processes and those of its sub-agents.

use std::time::{Duration, Instant};

use hermes_proc::wait_for_any;
use serde_json::Value;

use super::frame::Frame;
use super::kill::Killed;
use super::list::list;
use super::notice::Ending;
use super::process::{Connection, Process};
use super::registry::State;
use crate::local::arguments::{Arguments, Fields};
use crate::local::tool::redact;
use crate::local::{NoticeSupport, ToolContext};
use crate::output::tail_from_line_start;

const ACTIONS: &[&str] = &[
    "list", "poll", "log", "wait", "kill", "write", "submit", "close",
];
const POLL_PREVIEW: usize = 1_000;
const RESULT_OUTPUT: usize = 2_000;
const LOG_LINES: usize = 200;
/// Ctrl-D.
const END_OF_INPUT: &[u8] = b"\x04";

/// Runs one call of the `process` tool.
pub fn process(args: &Value, context: &ToolContext<'_>) -> Value {
    let arguments = Arguments::new(args);
    let action = arguments.text("action").unwrap_or_default();
    if !ACTIONS.contains(&action) {
        return error(&format!(
            "unknown action {action:?}; use one of {}",
            ACTIONS.join(", ")
        ));
    }
    if action == "list" {
        return list(context);
    }
    let id = match arguments.get("session_id") {
        Some(Value::String(id)) if !id.is_empty() => id.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return error(&format!("session_id is required for {action}")),
    };
    let call = Call {
        context,
        arguments,
        id: &id,
    };
    if !call.with(|_| ()).is_some_and(|()| true) {
        return call.not_found();
    }
    let answer = match action {
        "poll" => Ok(call.poll()),
        "log" => call.log(),
        "wait" => call.wait(),
        "kill" => Ok(call.kill()),
        "write" => Ok(call.type_in(call.data(""))),
        "submit" => Ok(call.type_in(call.data("\n"))),
        _ => Ok(call.close()),
    };
    answer.unwrap_or_else(|message| error(&message))
}

fn error(message: &str) -> Value {
    Fields::default().with("error", message).into_value()
}

pub(super) fn status(process: &Process) -> &'static str {
    if process.is_running() {
        "running"
    } else {
        "exited"
    }
}

pub(super) fn tail(process: &Process, most: usize, context: &ToolContext<'_>) -> String {
    // Redacted as a whole: a cut could leave half a secret.
    let text = redact(context, process.output.text());
    tail_from_line_start(&text, most).to_owned()
}

struct Call<'a> {
    context: &'a ToolContext<'a>,
    arguments: Arguments<'a>,
    id: &'a str,
}

impl Call<'_> {
    /// Looks at the process, if there is one and the caller may see it.
    fn with<T>(&self, look: impl FnOnce(&mut Process) -> T) -> Option<T> {
        self.with_state(|state, _| state.processes.get_mut(self.id).map(look))
    }

    fn with_state<T>(&self, look: impl FnOnce(&mut State, &str) -> Option<T>) -> Option<T> {
        let terminal = self.context.terminal;
        let session = terminal.sessions.root_of(self.context.session);
        let mut state = terminal.background.shared.lock();
        let process = state.processes.get(self.id)?;
        if process.session != session {
            return None;
        }
        look(&mut state, self.id)
    }

    fn not_found(&self) -> Value {
        Fields::default()
            .with("status", "not_found")
            .with(
                "error",
                format!("there is no background process {:?}", self.id),
            )
            .into_value()
    }

    fn head(&self, process: &Process, status: &str) -> Fields {
        Fields::default()
            .with("session_id", process.id.as_str())
            .with("command", redact(self.context, &process.command))
            .with("status", status)
    }

    fn poll(&self) -> Value {
        self.context.terminal.background.refresh(self.id);
        let consumes = self.context.notices == NoticeSupport::DeliveredUnlessShown;
        let answer = self.with_state(|state, id| {
            if consumes {
                state.end_was_shown(id);
            }
            let process = state.processes.get(id)?;
            let fields = self
                .head(process, status(process))
                .with("pid", process.tree.leader)
                .with("uptime_seconds", process.uptime().as_secs())
                .with("output_preview", tail(process, POLL_PREVIEW, self.context));
            let fields = with_ending(fields, process.ending());
            Some(detached(fields, process).into_value())
        });
        answer.unwrap_or_else(|| self.not_found())
    }

    fn log(&self) -> Result<Value, String> {
        self.context.terminal.background.refresh(self.id);
        let offset = self.arguments.whole("offset")?;
        let limit = match self.arguments.whole("limit")? {
            None => LOG_LINES,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| *limit > 0)
                .ok_or("limit must be at least 1")?,
        };
        let offset = match offset {
            None => None,
            Some(offset) => {
                Some(usize::try_from(offset).map_err(|_| "offset must not be negative")?)
            }
        };
        let answer = self.with_state(|state, id| {
            let process = state.processes.get(id)?;
            let text = redact(self.context, process.output.text());
            let lines: Vec<&str> = text.lines().collect();
            let total = lines.len();
            let start = offset.unwrap_or(total.saturating_sub(limit)).min(total);
            let end = start.saturating_add(limit).min(total);
            let shown = lines.get(start..end).unwrap_or_default().join("\n");
            let showing = match end - start {
                0 => format!("no lines of {total}"),
                _ => format!("lines {}-{end} of {total}", start + 1),
            };
            let fields = self
                .head(process, status(process))
                .with("output", shown)
                .with("total_lines", total)
                .with("showing", showing);
            if end == total {
                state.end_was_shown(id);
            }
            Some(fields.into_value())
        });
        Ok(answer.unwrap_or_else(|| self.not_found()))
    }

    fn wait(&self) -> Result<Value, String> {
        let settings = self.context.terminal.settings();
        let asked = self.arguments.positive("timeout")?.map(Duration::from_secs);
        let limit = asked.unwrap_or(settings.timeout).min(settings.timeout);
        let note = asked.filter(|asked| *asked > limit).map(|asked| {
            format!(
                "the requested {} s were limited to {} s",
                asked.as_secs(),
                limit.as_secs()
            )
        });
        let registry = &self.context.terminal.background;
        let waiter = registry
            .shared
            .add_waiter()
            .map_err(|error| error.to_string())?;
        self.with(|process| process.waiters += 1);
        registry.hurry(self.id);
        let deadline = Instant::now() + limit;
        let status = loop {
            waiter.clear();
            if self.with(|process| process.is_running()) != Some(true) {
                break "exited";
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break "timeout";
            }
            let flags = [
                &*waiter,
                self.context.interrupt,
                &self.context.terminal.shutdown,
            ];
            if wait_for_any(&flags, left).is_some_and(|flag| flag > 0) {
                break "interrupted";
            }
        };
        registry.shared.remove_waiter(&waiter);
        let answer = self.with_state(|state, id| {
            if let Some(process) = state.processes.get_mut(id) {
                process.waiters = process.waiters.saturating_sub(1);
            }
            state.end_was_shown(id);
            let process = state.processes.get(id)?;
            let fields = with_ending(self.head(process, status), process.ending())
                .with("output", tail(process, RESULT_OUTPUT, self.context));
            let timeout_note = (status == "timeout").then(|| {
                note.clone()
                    .unwrap_or_else(|| format!("still running after {} s", limit.as_secs()))
            });
            Some(fields.with_some("timeout_note", timeout_note).into_value())
        });
        Ok(answer.unwrap_or_else(|| self.not_found()))
    }

    fn kill(&self) -> Value {
        let terminal = self.context.terminal;
        let grace = terminal.settings.background_grace;
        let killed = terminal.background.kill(self.id, "process.kill", grace);
        let (status, ending, problem) = match killed {
            Killed::NotFound => return self.not_found(),
            Killed::Gone(ending) => ("killed", Some(ending), None),
            Killed::AlreadyExited(ending) => ("already_exited", Some(ending), None),
            Killed::Unknown(reason) => ("error", None, Some(redact(self.context, &reason))),
            Killed::Survived(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                let problem = format!("still running after the kill: {}", pids.join(", "));
                ("error", None, Some(problem))
            }
        };
        let answer = self.with(|process| {
            with_ending(self.head(process, status), ending.as_ref())
                .with_some("error", problem)
                .with("output", tail(process, RESULT_OUTPUT, self.context))
                .into_value()
        });
        answer.unwrap_or_else(|| self.not_found())
    }

    fn data(&self, end: &str) -> Vec<u8> {
        let data = match self.arguments.get("data") {
            Some(Value::String(text)) => text.clone(),
            None => String::new(),
            Some(other) => other.to_string(),
        };
        (data + end).into_bytes()
    }

    fn type_in(&self, bytes: Vec<u8>) -> Value {
        let count = bytes.len();
        match self.send(&Frame::Type(bytes)) {
            Ok(()) => Fields::default()
                .with("status", "ok")
                .with("bytes_written", count)
                .into_value(),
            Err(refused) => refused,
        }
    }

    fn close(&self) -> Value {
        match self.send(&Frame::Type(END_OF_INPUT.to_vec())) {
            Ok(()) => Fields::default()
                .with("status", "ok")
                .with("message", "end of input sent")
                .into_value(),
            Err(refused) => refused,
        }
    }

    fn send(&self, frame: &Frame) -> Result<(), Value> {
        let refused = |status: &str, message: &str| {
            Fields::default()
                .with("status", status)
                .with("error", message)
                .into_value()
        };
        let sent = self.with(|process| {
            if !process.is_running() {
                return Err(refused("already_exited", "the process has ended"));
            }
            if matches!(process.connection, Connection::Elsewhere(_)) {
                let message = "writing to a process works with the local backend only";
                return Err(refused("error", message));
            }
            if !process.pty {
                let message =
                    "the process has no input; start it again with pty=true to write to it";
                return Err(refused("error", message));
            }
            let Connection::Supervisor(link) = &mut process.connection else {
                return Err(refused("error", "the process cannot be reached any more"));
            };
            let is_open = link.send(&frame.encode());
            link.flush(Duration::from_secs(2));
            if is_open {
                Ok(())
            } else {
                Err(refused("error", "the process cannot be reached any more"))
            }
        });
        sent.unwrap_or_else(|| Err(self.not_found()))
    }
}

fn with_ending(fields: Fields, ending: Option<&Ending>) -> Fields {
    match ending {
        None => fields,
        Some(ending) => fields
            .with("exit_code", ending.exit_code)
            .with("completion_reason", ending.reason.as_str())
            .with("termination_source", ending.source.clone()),
    }
}

fn detached(fields: Fields, process: &Process) -> Fields {
    if !process.detached {
        return fields;
    }
    fields.with("detached", true).with(
        "note",
        "The process was started before Hermes was; what it printed long ago may be missing.",
    )
}
