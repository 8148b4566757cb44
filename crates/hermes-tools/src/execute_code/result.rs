//! The result of a script, from how it ended and what it printed.

use serde_json::{Value, json};

use super::capture::MAX_STDERR;
use super::script::{FinishedScript, ScriptEnding};
use super::settings::CodeSettings;
use crate::tool::CallContext;

pub(super) fn report(
    settings: &CodeSettings,
    finished: FinishedScript,
    context: &CallContext,
) -> Value {
    let shown = finished.stdout.show(settings.max_stdout, &context.redactor);
    let stderr = finished.stderr.show_head(MAX_STDERR, &context.redactor);
    let mut output = shown.text.clone();
    let (status, exit_code, failure) = match finished.ending {
        ScriptEnding::Exited(0) => ("success", 0, None),
        ScriptEnding::Exited(code) => {
            let stderr = stderr.trim_end();
            let failure = if stderr.is_empty() {
                format!("The script ended with exit code {code}.")
            } else {
                output.push_str(&format!("\n--- stderr ---\n{stderr}"));
                stderr.to_owned()
            };
            ("error", code, Some(failure))
        }
        ScriptEnding::TimedOut => {
            let note = format!(
                "[Script timed out after {}s and was stopped]",
                settings.timeout.as_secs()
            );
            output.push_str(&format!("\n{note}"));
            ("timeout", 124, Some(note))
        }
        ScriptEnding::Interrupted => {
            let note = "[Script interrupted]".to_owned();
            output.push_str(&format!("\n{note}"));
            ("interrupted", 130, Some(note))
        }
    };
    let mut result = json!({
        "status": status,
        "output": output,
        "exit_code": exit_code,
        "tool_calls_made": 0,
        "duration_seconds": 0.0,
        "stdout_truncated": shown.truncated,
        "stdout_bytes_captured": shown.kept,
        "stdout_bytes_total": shown.total,
        "stdout_bytes_omitted": shown.total.saturating_sub(shown.kept),
    });
    if let Some(failure) = failure {
        result["error"] = json!(failure);
    }
    result
}
