//! The trait every tool implements.

use std::time::Duration;

use serde_json::{Value, json};

use crate::argument::{Argument, schema_of};
use crate::context::CallContext;

/// What a call can touch; decides which calls may run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolReach {
    /// It changes nothing that another call could see.
    ReadOnly,
    /// It reads the file in its argument `path`.
    ReadsPath,
    /// It changes the file in its argument `path` and nothing else; without that argument, anything.
    ChangesPath,
    /// Anything, or it talks to the user: it runs alone.
    Anything,
}

/// Something an agent can call. A call never fails as a Rust value: what went wrong is in the
/// result, as a sentence for the model.
pub trait Tool: Send + Sync {
    /// Its name, unique in a registry.
    fn name(&self) -> &'static str;

    /// The set by which it is switched on and off.
    fn toolset(&self) -> &'static str;

    /// What it does, for the model.
    fn description(&self) -> &'static str;

    /// What it takes.
    fn arguments(&self) -> &'static [Argument];

    /// Runs it. `args` is an object in the declared types.
    fn call(&self, args: &Value, context: &CallContext) -> Value;

    /// What the guards say about this call, without making it:
    /// `{"approved", "hardline"?, "pattern_key"?, "description"?, "message"?}`.
    fn verdict(&self, _args: &Value, _context: &CallContext) -> Value {
        json!({"approved": true})
    }

    /// Why it cannot be offered here, if so. Never touches the network.
    fn unavailable(&self, _context: &CallContext) -> Option<String> {
        None
    }

    /// What its calls can touch.
    fn reach(&self) -> ToolReach {
        ToolReach::Anything
    }

    /// Whether arguments that break the declared types reach [`Tool::call`] all the same, because
    /// the tool's result shape has its own way to say so.
    fn checks_its_own_arguments(&self) -> bool {
        false
    }

    /// Whether the tool bounds its results itself.
    fn bounds_its_own_result(&self) -> bool {
        false
    }

    /// Whether texts in its results are redacted before they reach the tool.
    fn redacts_its_own_result(&self) -> bool {
        false
    }

    /// The JSON schema of its arguments.
    fn schema(&self) -> Value {
        schema_of(self.arguments())
    }
}

/// `{"error": …}`.
pub fn error(message: impl Into<String>) -> Value {
    json!({"error": message.into()})
}

/// Seconds as results show them.
pub(crate) fn two_decimals(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}

/// Whether a result says that the tool did not do what was asked: a non-null `error`, `success:
/// false`, or a `status` of refusal. A command that ran and ended with another code than 0 is no
/// failure of the tool.
pub fn is_failure(result: &Value) -> bool {
    const REFUSALS: &[&str] = &[
        "error",
        "blocked",
        "disabled",
        "pending_approval",
        "not_found",
        "timeout",
        "interrupted",
    ];
    let status = result.get("status").and_then(Value::as_str);
    result.get("error").is_some_and(|error| !error.is_null())
        || result.get("success") == Some(&Value::Bool(false))
        || status.is_some_and(|status| REFUSALS.contains(&status))
}
