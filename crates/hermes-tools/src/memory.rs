//! `memory`: adds, replaces and removes what is remembered in later sessions.

use std::sync::Arc;

use hermes_home::PendingWrites;
use hermes_session::memory::{
    MemoryChange, MemoryFiles, MemoryRefusal, MemoryTarget, StoredMemory,
};
use hermes_text::with_separators;
use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument, type_name};
use crate::tool::{CallContext, Tool, ToolSpec};
use crate::write_gate::{WriteDecision, WriteGate, staged};

const ACTIONS: &[&str] = &["add", "replace", "remove"];

const OPERATION: &[Argument] = &[
    Argument::required("action", ArgKind::Choice(ACTIONS), "What to do."),
    Argument::text("content", "The entry, for add and replace."),
    Argument::text("old_text", "Part of the entry to replace or remove."),
];

const SPEC: ToolSpec = ToolSpec {
    name: "memory",
    toolset: "memory",
    description: "Remembers facts for later sessions, where they stand in every prompt: keep \
     entries short and lasting. Use it without being asked when the user states a preference, \
     corrects you or tells about themselves (target user), and when you learn something stable \
     about machines, projects or tools (target memory). Not for progress on the task, logs or what \
     can be looked up again; a way of doing things belongs into a skill. Make several changes in \
     one call with operations: all are made or none, and the limit counts at the end, so old \
     entries can make room for new ones.",
    arguments: &[
        Argument::optional(
            "target",
            ArgKind::Choice(&["memory", "user"]),
            "memory for your notes, user for what is known about the user. Default memory.",
        ),
        Argument::optional("action", ArgKind::Choice(ACTIONS), "For a single change."),
        Argument::text("content", "The entry, for add and replace."),
        Argument::text(
            "old_text",
            "For replace and remove: a part of the entry that no other entry has.",
        ),
        Argument::optional(
            "operations",
            ArgKind::Records(OPERATION),
            "Several changes at once.",
        ),
    ],
    checks_arguments: true,
    ..ToolSpec::DEFAULT
};

/// The tool.
pub struct MemoryTool {
    /// `None` where nothing is remembered.
    pub files: Option<MemoryFiles>,
    pub pending: PendingWrites,
    pub gate: Arc<dyn WriteGate>,
}

impl Tool for MemoryTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, _: &CallContext) -> Value {
        let Some(files) = &self.files else {
            return failure("Memory is switched off here.");
        };
        let request = match MemoryRequest::parse(args) {
            Ok(request) => request,
            Err(message) => return failure(message),
        };
        if let Some(refused) = request.refused_early(files) {
            return refused;
        }
        match self.gate.decide(&request.summary(), &request.detail()) {
            WriteDecision::Allowed => request.apply(files),
            WriteDecision::Denied => failure("The user denied the change; nothing was saved."),
            WriteDecision::Later => {
                let summary = format!("{}: {}", request.summary(), request.detail());
                let summary = hermes_text::one_line(&summary, 160);
                staged(&self.pending, &summary, args.clone(), "/memory pending")
            }
        }
    }

    fn unavailable(&self, _: &CallContext) -> Option<String> {
        let is_off = self.files.as_ref().is_none_or(MemoryFiles::is_off);
        is_off.then(|| "memory is switched off here".to_owned())
    }
}

/// Makes a change that has waited for approval. Gives the result as the tool would.
pub fn apply_pending_memory(payload: &Value, files: &MemoryFiles) -> Value {
    match MemoryRequest::parse(payload) {
        Ok(request) => request.apply(files),
        Err(message) => failure(message),
    }
}

/// A call.
struct MemoryRequest {
    target: MemoryTarget,
    changes: Vec<MemoryChange>,
    is_batch: bool,
}

impl MemoryRequest {
    fn parse(args: &Value) -> Result<Self, String> {
        let target = match &args["target"] {
            Value::Null => MemoryTarget::Notes,
            Value::String(name) => MemoryTarget::parse(name.trim())
                .ok_or_else(|| "Invalid target. Use 'memory' or 'user'.".to_owned())?,
            other => {
                return Err(format!(
                    "Invalid target: expected a string, got {}.",
                    type_name(other)
                ));
            }
        };
        let operations = match &args["operations"] {
            Value::Null => Vec::new(),
            Value::Array(items) => items.clone(),
            Value::String(text) => serde_json::from_str(text)
                .map_err(|_| "operations must be a list of objects.".to_owned())?,
            one @ Value::Object(_) => vec![one.clone()],
            other => {
                return Err(format!(
                    "operations must be a list of objects, got {}.",
                    type_name(other)
                ));
            }
        };
        let is_batch = !operations.is_empty();
        let changes = if is_batch {
            let changes = operations.iter().enumerate().map(|(at, operation)| {
                change(operation).map_err(|message| format!("Operation {}: {message}", at + 1))
            });
            changes.collect::<Result<_, _>>()?
        } else {
            vec![change(args)?]
        };
        Ok(Self {
            target,
            changes,
            is_batch,
        })
    }

    /// The refusal of a call that lacks what it needs, so that nobody is asked about it.
    fn refused_early(&self, files: &MemoryFiles) -> Option<Value> {
        if files.limit(self.target).is_none() {
            return Some(failure(MemoryRefusal::SwitchedOff(self.target).to_string()));
        }
        let lacks = self.changes.iter().any(|change| match change {
            MemoryChange::Add { content } => content.trim().is_empty(),
            MemoryChange::Replace { old_text, content } => {
                old_text.trim().is_empty() || content.trim().is_empty()
            }
            MemoryChange::Remove { old_text } => old_text.trim().is_empty(),
        });
        lacks.then(|| self.apply(files))
    }

    fn summary(&self) -> String {
        let label = match self.target {
            MemoryTarget::Notes => "memory",
            MemoryTarget::User => "user profile",
        };
        match self.changes.as_slice() {
            [one] if !self.is_batch => match one {
                MemoryChange::Add { .. } => format!("add to {label}"),
                MemoryChange::Replace { .. } => format!("replace in {label}"),
                MemoryChange::Remove { .. } => format!("remove from {label}"),
            },
            all => format!("make {} changes to {label}", all.len()),
        }
    }

    /// What is changed, in full.
    fn detail(&self) -> String {
        let lines = self.changes.iter().map(|change| match change {
            MemoryChange::Add { content } => content.clone(),
            MemoryChange::Replace { old_text, content } => format!("{old_text} → {content}"),
            MemoryChange::Remove { old_text } => format!("without: {old_text}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn apply(&self, files: &MemoryFiles) -> Value {
        match files.change(self.target, &self.changes) {
            Ok(stored) => self.success(&stored),
            Err(refusal) => self.refused(&refusal),
        }
    }

    fn success(&self, stored: &StoredMemory) -> Value {
        let message = match self.changes.as_slice() {
            [one] if !self.is_batch => match one {
                MemoryChange::Add { .. } => "Entry saved.".to_owned(),
                MemoryChange::Replace { .. } => "Entry replaced.".to_owned(),
                MemoryChange::Remove { .. } => "Entry removed.".to_owned(),
            },
            all => format!("All {} changes were made.", all.len()),
        };
        json!({
            "success": true,
            "target": self.target.as_str(),
            "entries": stored.entries,
            "usage": format!("{}% — {} chars", stored.percent(), usage(stored)),
            "entry_count": stored.entries.len(),
            "message": message,
        })
    }

    fn refused(&self, refusal: &MemoryRefusal) -> Value {
        let index = match refusal {
            MemoryRefusal::Empty { index, .. }
            | MemoryRefusal::Threat { index, .. }
            | MemoryRefusal::NoMatch { index, .. }
            | MemoryRefusal::Several { index, .. } => Some(*index),
            MemoryRefusal::SwitchedOff(_)
            | MemoryRefusal::OverLimit { .. }
            | MemoryRefusal::Oversized { .. }
            | MemoryRefusal::File { .. } => None,
        };
        let message = match index.filter(|_| self.is_batch) {
            Some(at) => format!("Operation {}: {refusal} Nothing was changed.", at + 1),
            None => refusal.to_string(),
        };
        let mut result = failure(message);
        match refusal {
            MemoryRefusal::Empty { stored, .. }
            | MemoryRefusal::NoMatch { stored, .. }
            | MemoryRefusal::OverLimit { stored, .. } => {
                result["current_entries"] = json!(stored.entries);
                result["usage"] = json!(usage(stored));
            }
            MemoryRefusal::Several { previews, .. } => result["matches"] = json!(previews),
            MemoryRefusal::SwitchedOff(_)
            | MemoryRefusal::Threat { .. }
            | MemoryRefusal::Oversized { .. }
            | MemoryRefusal::File { .. } => {}
        }
        result
    }
}

fn change(fields: &Value) -> Result<MemoryChange, String> {
    let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
    let action = fields["action"].as_str().unwrap_or_default().trim();
    match action {
        "add" => Ok(MemoryChange::Add {
            content: text("content"),
        }),
        "replace" => Ok(MemoryChange::Replace {
            old_text: text("old_text"),
            content: text("content"),
        }),
        "remove" => Ok(MemoryChange::Remove {
            old_text: text("old_text"),
        }),
        other => Err(format!(
            "Unknown action '{}'. Use add, replace or remove.",
            hermes_text::one_line(other, 40)
        )),
    }
}

fn usage(stored: &StoredMemory) -> String {
    format!(
        "{}/{}",
        with_separators(stored.chars),
        with_separators(stored.limit)
    )
}

fn failure(message: impl Into<String>) -> Value {
    json!({"success": false, "error": message.into()})
}
