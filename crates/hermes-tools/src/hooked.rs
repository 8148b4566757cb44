//! Calls as the user's hooks see them: refused before, told of afterwards, their results replaced.

use std::path::Path;
use std::time::Instant;

use hermes_hooks::{HookEvent, Hooks, Occasion};
use serde_json::{Value, json};

use crate::checkpointed::before_call;
use crate::result::{error, is_failure, redacted};
use crate::tool::CallContext;

/// Calls a tool, unless a hook refuses it. `id` is that of the call, as the model gave it.
pub fn call_with_hooks(tool: &str, args: &Value, id: &str, context: &CallContext) -> Value {
    let Some(hooks) = &context.conversation.hooks else {
        before_call(tool, args, context);
        return context.registry.call(tool, args, context);
    };
    let cwd = context.session.cwd();
    let hooked = HookedCall {
        hooks,
        context,
        tool,
        args,
        id,
        cwd: &cwd,
    };
    if let Some(reason) = hooked.refusal() {
        let message = format!("A hook of the user refused this call: {reason}");
        let result = redacted(error(message), &context.redactor);
        hooked.tell(&result, "blocked", Instant::now());
        return result;
    }
    before_call(tool, args, context);
    let begun = Instant::now();
    let result = context.registry.call(tool, args, context);
    let status = if is_failure(&result) { "error" } else { "ok" };
    hooked.tell(&result, status, begun);
    hooked.replacement(&result, status, begun).unwrap_or(result)
}

/// The output of a command, as hooks want it to be.
pub(crate) fn transformed_output(mut result: Value, command: &str, context: &CallContext) -> Value {
    let event = HookEvent::TransformTerminalOutput;
    let hooks = context.conversation.hooks.as_ref();
    let Some(hooks) = hooks.filter(|hooks| hooks.has(event)) else {
        return result;
    };
    let occasion = Occasion {
        event,
        tool: None,
        session: context
            .conversation
            .session_id
            .as_deref()
            .unwrap_or_default(),
        cwd: &context.session.cwd(),
        extra: json!({
            "command": command,
            "output": result.get("output"),
            "returncode": result.get("exit_code"),
        }),
        interrupt: Some(&context.interrupt),
    };
    if let Some(text) = hooks.replacement(&occasion)
        && let Some(output) = result.get_mut("output")
    {
        *output = redacted(Value::String(text), &context.redactor);
    }
    result
}

struct HookedCall<'a> {
    hooks: &'a Hooks,
    context: &'a CallContext,
    tool: &'a str,
    args: &'a Value,
    id: &'a str,
    cwd: &'a Path,
}

impl HookedCall<'_> {
    fn refusal(&self) -> Option<String> {
        let event = HookEvent::PreToolCall;
        if !self.hooks.has(event) {
            return None;
        }
        let extra = json!({"tool_call_id": self.id});
        self.hooks.refusal(&self.occasion(event, extra))
    }

    fn tell(&self, result: &Value, status: &str, begun: Instant) {
        let event = HookEvent::PostToolCall;
        if self.hooks.has(event) {
            let extra = self.outcome(result, status, begun);
            self.hooks.tell(&self.occasion(event, extra));
        }
    }

    fn replacement(&self, result: &Value, status: &str, begun: Instant) -> Option<Value> {
        let event = HookEvent::TransformToolResult;
        if !self.hooks.has(event) {
            return None;
        }
        let extra = self.outcome(result, status, begun);
        let text = self.hooks.replacement(&self.occasion(event, extra))?;
        Some(redacted(Value::String(text), &self.context.redactor))
    }

    fn outcome(&self, result: &Value, status: &str, begun: Instant) -> Value {
        let text = match result {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        json!({
            "tool_call_id": self.id,
            "result": text,
            "status": status,
            "error_message": result.get("error").and_then(Value::as_str),
            "duration_ms": u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn occasion(&self, event: HookEvent, extra: Value) -> Occasion<'_> {
        let session = self.context.conversation.session_id.as_deref();
        Occasion {
            event,
            tool: Some((self.tool, self.args)),
            session: session.unwrap_or_default(),
            cwd: self.cwd,
            extra,
            interrupt: Some(&self.context.interrupt),
        }
    }
}
