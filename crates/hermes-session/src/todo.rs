//! The list of things to do, found again in a history.

use serde_json::Value;

use crate::message::{Role, StoredMessage};

/// The items of the newest answer of the `todo` tool, if there is one. A resumed session starts
/// with them.
pub fn latest_todos(history: &[StoredMessage]) -> Option<Vec<Value>> {
    history
        .iter()
        .rev()
        .filter(|stored| stored.message.role == Role::Tool)
        // Older files do not name the tool; the shape of the answer does.
        .filter(|stored| {
            stored
                .message
                .tool_name
                .as_deref()
                .is_none_or(|name| name == "todo")
        })
        .find_map(|stored| {
            let text = stored.message.text();
            if !text.contains("\"todos\"") {
                return None;
            }
            let answer: Value = serde_json::from_str(&text).ok()?;
            answer.get("todos")?.as_array().cloned()
        })
}
