//! `GET /api/tools/toolsets`: which tools a conversation at a terminal gets.

use hermes_tools::{ToolSelection, basic_toolsets};
use serde_json::{Value, json};

use crate::call::{Answered, Call};

/// The platform whose settings are shown.
const PLATFORM: &str = "cli";

pub(crate) fn toolsets(call: &Call) -> Answered {
    let context = call.context();
    let platform = call
        .query("platform")
        .unwrap_or_else(|| PLATFORM.to_owned());
    let selection = ToolSelection::resolve(context.config(), &context.env, &platform, None);
    let on = selection.expanded();
    let rows: Vec<Value> = basic_toolsets()
        .map(|name| {
            let is_on = on.contains(name);
            json!({
                "name": name,
                "label": name.replace('_', " "),
                "description": "",
                "enabled": is_on,
                "available": is_on,
                "configured": true,
                "tools": [],
            })
        })
        .collect();
    call.answer(Value::Array(rows))
}
