//! The `process` tool: background processes of a conversation, listed, read, awaited and ended.

use std::time::Duration;

use hermes_proc::Wake;
use hermes_terminal::background::{
    Ending, Killed, ProcessView, SessionProcesses, WaitEnd, WriteError,
};
use hermes_terminal::{Refusal, RefusalKind, SessionKey, Terminal, Typed};
use serde_json::Value;

use super::arguments::{Arguments, Fields};
use super::command::with_rule;
use super::start::NoticeSupport;
use crate::result::error;

pub(super) const ACTIONS: &[&str] = &[
    "list", "poll", "log", "wait", "kill", "write", "submit", "close",
];
const LIST_PREVIEW: usize = 200;
const POLL_PREVIEW: usize = 1_000;
const RESULT_OUTPUT: usize = 2_000;
const LOG_LINES: usize = 200;
/// Ctrl-D.
const END_OF_INPUT: &[u8] = b"\x04";

pub(super) struct ProcessCall<'a> {
    pub(super) terminal: &'a Terminal,
    pub(super) session: &'a SessionKey,
    pub(super) interrupt: &'a Wake,
    pub(super) notices: &'a NoticeSupport,
    pub(super) arguments: Arguments<'a>,
}

impl ProcessCall<'_> {
    /// The answer; an error quotes arguments and is not redacted yet.
    pub(super) fn answer(&self) -> Result<Value, Value> {
        let action = self.arguments.text("action").unwrap_or_default();
        if !ACTIONS.contains(&action) {
            return Err(error(format!(
                "unknown action {action:?}; use one of {}",
                ACTIONS.join(", ")
            )));
        }
        if action == "list" {
            return Ok(self.list());
        }
        let id = match self.arguments.get("session_id") {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return Err(error(format!("session_id is required for {action}"))),
        };
        if !self.processes().contains(&id) {
            return Err(not_found(&id));
        }
        let answer = match action {
            "poll" => Ok(self.poll(&id)),
            "log" => self.log(&id),
            "wait" => self.wait(&id),
            "kill" => Ok(self.kill(&id)),
            "write" => Ok(self.write(&id, "")),
            "submit" => Ok(self.write(&id, "\n")),
            _ => Ok(self.close(&id)),
        };
        match answer {
            Ok(answer) => answer.ok_or_else(|| not_found(&id)),
            Err(message) => Err(error(message)),
        }
    }

    fn processes(&self) -> SessionProcesses<'_> {
        self.terminal.processes_of(self.session)
    }

    fn list(&self) -> Value {
        let rows: Vec<Value> = self
            .processes()
            .list(LIST_PREVIEW)
            .iter()
            .map(list_row)
            .collect();
        Fields::default().with("processes", rows).into_value()
    }

    fn poll(&self, id: &str) -> Option<Value> {
        let end_is_shown = *self.notices == NoticeSupport::DeliveredUnlessShown;
        let process = self.processes().poll(id, POLL_PREVIEW, end_is_shown)?;
        let fields = head(&process, status(&process))
            .with("pid", process.pid)
            .with("uptime_seconds", process.uptime.as_secs())
            .with("output_preview", process.output.as_str());
        let fields = with_ending(fields, process.ending.as_ref());
        let note = process.detached.then_some(
            "The process was started before Hermes was; what it printed long ago may be missing.",
        );
        Some(
            fields
                .with_some("detached", process.detached.then_some(true))
                .with_some("note", note)
                .into_value(),
        )
    }

    fn log(&self, id: &str) -> Result<Option<Value>, String> {
        let offset = match self.arguments.whole("offset")? {
            None => None,
            Some(offset) => {
                Some(usize::try_from(offset).map_err(|_| "offset must not be negative")?)
            }
        };
        let limit = match self.arguments.positive("limit")? {
            None => LOG_LINES,
            Some(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let Some(page) = self.processes().log(id, offset, limit) else {
            return Ok(None);
        };
        let (start, end, total) = (page.start, page.end, page.total);
        let showing = match end - start {
            0 => format!("no lines of {total}"),
            _ => format!("lines {}-{end} of {total}", start + 1),
        };
        let fields = head(&page.process, status(&page.process))
            .with("output", page.lines)
            .with("total_lines", total)
            .with("showing", showing);
        Ok(Some(fields.into_value()))
    }

    fn wait(&self, id: &str) -> Result<Option<Value>, String> {
        let longest = self.terminal.settings().timeout;
        let asked = self.arguments.positive("timeout")?.map(Duration::from_secs);
        let limit = asked.unwrap_or(longest).min(longest);
        let waited = self
            .processes()
            .wait(id, limit, self.interrupt, RESULT_OUTPUT)
            .map_err(|error| error.to_string())?;
        let Some((end, process)) = waited else {
            return Ok(None);
        };
        let status = match end {
            WaitEnd::Exited => "exited",
            WaitEnd::TimedOut => "timeout",
            WaitEnd::Interrupted => "interrupted",
        };
        let timeout_note = (end == WaitEnd::TimedOut).then(|| {
            let limit = limit.as_secs();
            match asked.map(|asked| asked.as_secs()) {
                Some(asked) if asked > limit => {
                    format!("the requested {asked} s were limited to {limit} s")
                }
                _ => format!("still running after {limit} s"),
            }
        });
        let fields = with_ending(head(&process, status), process.ending.as_ref())
            .with("output", process.output)
            .with_some("timeout_note", timeout_note);
        Ok(Some(fields.into_value()))
    }

    fn kill(&self, id: &str) -> Option<Value> {
        let grace = self.terminal.settings().background_grace;
        let (killed, process) = self
            .processes()
            .kill(id, "process.kill", grace, RESULT_OUTPUT)?;
        let (status, ending, problem) = match killed {
            Killed::NotFound => return None,
            Killed::Gone(ending) => ("killed", Some(ending), None),
            Killed::AlreadyExited(ending) => ("already_exited", Some(ending), None),
            Killed::Unknown(reason) => ("error", None, Some(reason)),
            Killed::Survived(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                let problem = format!("still running after the kill: {}", pids.join(", "));
                ("error", None, Some(problem))
            }
        };
        Some(
            with_ending(head(&process, status), ending.as_ref())
                .with_some("error", problem)
                .with("output", process.output)
                .into_value(),
        )
    }

    fn write(&self, id: &str, end: &str) -> Option<Value> {
        let data = match self.arguments.get("data") {
            Some(Value::String(text)) => text.clone(),
            None => String::new(),
            Some(other) => other.to_string(),
        };
        let text = data + end;
        let typed = self
            .terminal
            .type_into(self.session, id, &text, self.interrupt);
        match typed {
            Ok(Typed::Refused(refusal)) => Some(refused(&refusal)),
            Ok(Typed::Sent { approval }) => written(Ok(()), |fields| {
                fields
                    .with("bytes_written", text.len())
                    .with_some("approval", approval)
            }),
            Err(error) => written(Err(error), |fields| fields),
        }
    }

    fn close(&self, id: &str) -> Option<Value> {
        let sent = self.processes().write(id, END_OF_INPUT.to_vec());
        written(sent, |fields| fields.with("message", "end of input sent"))
    }
}

/// Text that a shell there must not run.
fn refused(refusal: &Refusal) -> Value {
    let status = match refusal.kind {
        RefusalKind::PendingApproval => "pending_approval",
        RefusalKind::Invalid | RefusalKind::Blocked => "blocked",
    };
    let fields = Fields::default()
        .with("status", status)
        .with("error", refusal.message.as_str());
    with_rule(fields, refusal).into_value()
}

fn written(
    written: Result<(), WriteError>,
    success: impl FnOnce(Fields) -> Fields,
) -> Option<Value> {
    let status = match written {
        Ok(()) => return Some(success(Fields::default().with("status", "ok")).into_value()),
        Err(WriteError::NotFound) => return None,
        Err(WriteError::Ended) => "already_exited",
        Err(WriteError::Unsupported | WriteError::NoTerminal | WriteError::Unreachable) => "error",
    };
    let message = written.err().map(|error| error.to_string());
    Some(
        Fields::default()
            .with("status", status)
            .with_some("error", message)
            .into_value(),
    )
}

fn not_found(id: &str) -> Value {
    Fields::default()
        .with("status", "not_found")
        .with("error", format!("there is no background process {id:?}"))
        .into_value()
}

fn status(process: &ProcessView) -> &'static str {
    match process.ending {
        None => "running",
        Some(_) => "exited",
    }
}

fn head(process: &ProcessView, status: &str) -> Fields {
    Fields::default()
        .with("session_id", process.id.as_str())
        .with("command", process.command.as_str())
        .with("status", status)
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

fn list_row(process: &ProcessView) -> Value {
    let started = jiff::Timestamp::try_from(process.started_at)
        .unwrap_or_default()
        .to_zoned(hermes_time::local())
        .strftime("%Y-%m-%dT%H:%M:%S")
        .to_string();
    let command: String = process.command.chars().take(LIST_PREVIEW).collect();
    let patterns = &process.watch_patterns;
    let exit_code = process.ending.as_ref().map(|ending| ending.exit_code);
    Fields::default()
        .with("session_id", process.id.as_str())
        .with("command", command)
        .with("cwd", process.cwd.as_str())
        .with("pid", process.pid)
        .with("started_at", started)
        .with("uptime_seconds", process.uptime.as_secs())
        .with("status", status(process))
        .with("output_preview", process.output.as_str())
        .with_some("exit_code", exit_code)
        .with_some("detached", process.detached.then_some(true))
        .with("session_scoped", true)
        .with_some(
            "watch_patterns",
            (!patterns.is_empty()).then(|| patterns.clone()),
        )
        .with_some("watch_hit", process.watch_hit.then_some(true))
        .with_some("notify_on_complete", process.notify.then_some(true))
        .into_value()
}
