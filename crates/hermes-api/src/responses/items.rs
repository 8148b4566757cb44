//! Output items of a response: calls, their results, the answer.

use serde_json::{Value, json};

use crate::turn::{Collect, Update};

/// Longest argument in the whole response; events have all of it.
const MOST_ARGUMENT: usize = 500;
/// Longest result.
const MOST_RESULT: usize = 1_000;

/// The calls of a turn with their results, in the order they ended.
#[derive(Debug, Default)]
pub(super) struct CollectedItems {
    pub(super) items: Vec<Value>,
}

impl Collect for CollectedItems {
    fn update(&mut self, update: &Update<'_>) {
        match update {
            Update::Calling {
                id,
                tool,
                arguments,
            } => self.items.push(call_item(None, id, tool, arguments, true)),
            Update::Called { id, result, .. } => self.items.push(result_item(id, result)),
            Update::Began { .. } | Update::Text(_) | Update::Reasoning(_) => {}
        }
    }
}

impl CollectedItems {
    /// The items with the answer behind them.
    pub(super) fn with_message(mut self, text: &str) -> Vec<Value> {
        self.items.push(message_item(None, text, "completed"));
        self.items
    }
}

fn id(prefix: &str, given: Option<&str>) -> String {
    match given {
        Some(id) => id.to_owned(),
        None => format!("{prefix}_{}", hermes_fs::random_hex(24)),
    }
}

pub(super) fn call_item(
    item_id: Option<&str>,
    call_id: &str,
    tool: &str,
    arguments: &Value,
    is_over: bool,
) -> Value {
    json!({
        "id": id("fc", item_id),
        "type": "function_call",
        "status": if is_over { "completed" } else { "in_progress" },
        "name": tool,
        "call_id": call_id,
        "arguments": arguments.to_string(),
    })
}

pub(super) fn result_item(call_id: &str, result: &str) -> Value {
    json!({
        "id": id("fco", None),
        "type": "function_call_output",
        "status": "completed",
        "call_id": call_id,
        "output": [{"type": "input_text", "text": result}],
    })
}

pub(super) fn message_item(item_id: Option<&str>, text: &str, status: &str) -> Value {
    let content = match status {
        "in_progress" => json!([]),
        _ => json!([{"type": "output_text", "text": text, "annotations": []}]),
    };
    json!({
        "id": id("msg", item_id),
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    })
}

/// Shortens long arguments and results: events have all of it.
pub(super) fn shorten(item: &mut Value) {
    if let Some(Value::Object(mut arguments)) = item["arguments"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
    {
        for value in arguments.values_mut() {
            if let Value::String(text) = value
                && text.chars().count() > MOST_ARGUMENT
            {
                *value = json!(format!("[{} characters]", text.chars().count()));
            }
        }
        item["arguments"] = json!(Value::Object(arguments).to_string());
    }
    if let Some(text) = item["output"][0]["text"].as_str()
        && text.chars().count() > MOST_RESULT
    {
        let kept = hermes_text::cut(text, MOST_RESULT / 2);
        let more = text.chars().count() - MOST_RESULT / 2;
        item["output"][0]["text"] = json!(format!("{kept}… [{more} more characters]"));
    }
}
