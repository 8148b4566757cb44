//! What a call is about, in one short line.

use serde_json::Value;

/// Characters of a preview.
const MOST: usize = 80;
/// The argument that says most, first.
const TELLING: &[&str] = &[
    "command", "path", "query", "pattern", "url", "title", "goal", "action", "code", "name",
];

/// A preview of the arguments of a call.
pub(crate) fn preview(arguments: &Value) -> Option<String> {
    let told = TELLING
        .iter()
        .find_map(|name| arguments.get(*name).and_then(Value::as_str));
    let first = || arguments.as_object()?.values().find_map(Value::as_str);
    let text = told.or_else(first)?;
    Some(hermes_text::one_line(text, MOST)).filter(|line| !line.is_empty())
}
