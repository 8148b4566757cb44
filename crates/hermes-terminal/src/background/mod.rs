//! Background processes.

use serde_json::Value;

use crate::local::ToolContext;

pub(crate) struct StartRequest<'a> {
    pub(crate) command: &'a str,
    pub(crate) workdir: Option<&'a str>,
    pub(crate) pty: bool,
    pub(crate) notify_on_complete: bool,
    pub(crate) watch_patterns: Vec<String>,
    pub(crate) approval: Option<String>,
}

pub(crate) fn start_from_tool(_: StartRequest<'_>, _: &ToolContext<'_>) -> Value {
    Value::Null
}
