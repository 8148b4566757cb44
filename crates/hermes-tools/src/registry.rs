//! All tools, and the one way to call them: arguments checked, panics caught, secrets masked, size
//! bounded.

use std::sync::Arc;

use hermes_secret::Redactor;
use serde_json::Value;

use crate::argument::checked;
use crate::context::CallContext;
use crate::result_cap::capped;
use crate::tool::{Tool, error};

/// Most characters of a result as JSON text: a bound for memory. The agent decides how much of a
/// result goes into the conversation.
pub const MAX_RESULT_CHARS: usize = 4 * 1024 * 1024;

/// Tools by name, in the order they were added.
#[derive(Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// Adds a tool; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.retain(|other| other.name() != tool.name());
        self.tools.push(Arc::new(tool));
        self
    }

    /// All tools.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Tool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        self.iter().find(|tool| tool.name() == name)
    }

    /// Calls a tool. Whatever happens, the answer is a JSON value without secrets and of bounded
    /// size.
    pub fn call(&self, name: &str, args: &Value, context: &CallContext) -> Value {
        self.run(name, args, context, |tool, args, context| {
            tool.call(args, context)
        })
    }

    /// What the guards say about a call, without making it.
    pub fn verdict(&self, name: &str, args: &Value, context: &CallContext) -> Value {
        self.run(name, args, context, |tool, args, context| {
            tool.verdict(args, context)
        })
    }

    fn run(
        &self,
        name: &str,
        args: &Value,
        context: &CallContext,
        action: fn(&dyn Tool, &Value, &CallContext) -> Value,
    ) -> Value {
        let Some(tool) = self.get(name) else {
            let known: Vec<&str> = self.iter().map(Tool::name).collect();
            let name: String = name.chars().take(60).collect();
            let message = format!("Unknown tool '{name}'. Available: {}.", known.join(", "));
            return redacted(error(message), &context.redactor);
        };
        let args = match checked(tool.arguments(), args) {
            Ok(args) => args,
            Err(_) if tool.checks_its_own_arguments() && args.is_object() => args.clone(),
            Err(message) => return redacted(error(message), &context.redactor),
        };
        // A bug in one tool must not end a gateway that serves other conversations.
        let result = hermes_telemetry::contained(|| action(tool, &args, context));
        let result = result.unwrap_or_else(|_| {
            tracing::error!(tool = name, "a tool panicked");
            error(format!(
                "[TOOL_ERROR] {name} failed because of a bug in it; the log has the details."
            ))
        });
        let result = if tool.redacts_its_own_result() {
            result
        } else {
            redacted(result, &context.redactor)
        };
        if tool.bounds_its_own_result() {
            result
        } else {
            capped(result, MAX_RESULT_CHARS)
        }
    }
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(Tool::name)).finish()
    }
}

/// The value with secrets masked in every string, names of fields included.
pub(crate) fn redacted(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => match redactor.redact(&text) {
            std::borrow::Cow::Borrowed(_) => Value::String(text),
            std::borrow::Cow::Owned(masked) => Value::String(masked),
        },
        Value::Array(items) => items
            .into_iter()
            .map(|item| redacted(item, redactor))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let name = redactor.redact(&name).into_owned();
                (name, redacted(value, redactor))
            })
            .collect(),
        other => other,
    }
}
