//! `todo`: shows and changes the list of steps of a conversation.

use serde_json::Value;

use crate::argument::{ArgKind, Argument, type_name};
use crate::result::error;
use crate::todo_list::STATES;
use crate::tool::{CallContext, Tool, ToolSpec};

const ITEM: &[Argument] = &[
    Argument::required(
        "id",
        ArgKind::Text,
        "Short name of the item, unique in the list.",
    ),
    Argument::required("content", ArgKind::Text, "What to do."),
    Argument::required("status", ArgKind::Choice(&STATES), "Where it stands."),
];

const SPEC: ToolSpec = ToolSpec {
    name: "todo",
    toolset: "todo",
    description: "Keeps the list of steps for this conversation. Use it for work of three or more steps, or \
     when several things were asked for. Without arguments it shows the list. With todos it \
     replaces the list; with merge it changes only the items named. The order is the order of \
     work. Keep exactly one item in_progress, mark items completed as soon as they are done, \
     and cancel what failed with a new item for the way around it. Always answers with the \
     whole list.",
    arguments: &[
        Argument::optional(
            "todos",
            ArgKind::Records(ITEM),
            "The items. Leave out to read.",
        ),
        Argument::flag(
            "merge",
            "Change and add the items named instead of replacing the list. Default false.",
        ),
    ],
    checks_arguments: true,
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct TodoTool;

impl Tool for TodoTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let list = &context.conversation.todos;
        let parsed: Option<Value> = args["todos"]
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        let items = match parsed.as_ref().unwrap_or(&args["todos"]) {
            Value::Null => return list.to_json(),
            Value::Array(items) => items.as_slice(),
            single @ Value::Object(_) => std::slice::from_ref(single),
            other => {
                return error(format!(
                    "Invalid argument 'todos': expected a list of objects, got {}.",
                    type_name(other)
                ));
            }
        };
        let merge = match &args["merge"] {
            Value::Bool(flag) => *flag,
            Value::String(word) => matches!(word.as_str(), "true" | "1" | "yes"),
            _ => false,
        };
        if merge {
            list.merge(items);
        } else {
            list.replace(items);
        }
        list.to_json()
    }
}
