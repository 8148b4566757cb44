//! Limits of tools that the settings change.

use std::path::PathBuf;
use std::time::Duration;

use hermes_config::Config;
use hermes_terminal::environment::LiveEnvironment;
use hermes_tools::{CodeSettings, ReadFileTool, ScriptMode};

use crate::context::Context;

pub(super) fn positive(config: &Config, key: &str) -> Option<usize> {
    let number = config.int(key).filter(|number| *number > 0)?;
    usize::try_from(number).ok()
}

pub(super) fn read_file(config: &Config) -> ReadFileTool {
    let usual = ReadFileTool::default();
    let lines = positive(config, "tool_output.max_lines").and_then(|n| u64::try_from(n).ok());
    let line = positive(config, "tool_output.max_line_length");
    ReadFileTool {
        max_chars: positive(config, "file_read_max_chars").unwrap_or(usual.max_chars),
        max_lines: lines.unwrap_or(usual.max_lines),
        max_line_chars: line.unwrap_or(usual.max_line_chars),
    }
}

pub(super) fn code_settings(context: &Context, environment: &LiveEnvironment) -> CodeSettings {
    let config = context.config();
    let fallback = CodeSettings::default();
    let seconds = positive(config, "code_execution.timeout")
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map(Duration::from_secs);
    let python = config.text("code_execution.python");
    CodeSettings {
        mode: ScriptMode::parse(config.text("code_execution.mode")),
        python: (!python.is_empty()).then(|| PathBuf::from(python)),
        timeout: seconds.unwrap_or(fallback.timeout),
        max_tool_calls: positive(config, "code_execution.max_tool_calls")
            .unwrap_or(fallback.max_tool_calls),
        temp_dir: Some(context.temp_dir())
            .filter(|dir| dir.is_absolute() && dir.is_dir())
            .unwrap_or(fallback.temp_dir),
        own_install_roots: environment.current().policy().own_install.roots().to_vec(),
        ..fallback
    }
}
