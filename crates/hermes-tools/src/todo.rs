//! `todo`: the list of steps an agent plans in one conversation.
//!
//! Lives in memory; a resumed conversation starts with the list of its newest answer. Mistakes in a
//! call are corrected, not refused.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument, type_name};
use crate::context::CallContext;
use crate::tool::{Tool, error};

/// Items beyond this are ignored.
const MAX_ITEMS: usize = 256;
/// Longest text of an item, in characters.
const MAX_CHARS: usize = 4000;
/// Longest name of an item, in characters.
const MAX_ID_CHARS: usize = 100;

const STATES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TodoItem {
    id: String,
    content: String,
    state: &'static str,
}

impl TodoItem {
    fn to_json(&self) -> Value {
        json!({"id": self.id, "content": self.content, "status": self.state})
    }
}

/// What a call says about an item; a merge changes only the given fields.
struct TodoChange {
    id: String,
    content: Option<String>,
    state: Option<&'static str>,
}

/// The list of one conversation.
#[derive(Debug, Default)]
pub struct TodoList(Mutex<Vec<TodoItem>>);

impl TodoList {
    /// The list of a conversation that is taken up again, from the items of its last answer.
    pub fn restored(items: &[Value]) -> Self {
        let list = Self::default();
        list.replace(items.iter().filter_map(parse_change).collect());
        list
    }

    /// Whether there is anything on it.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// What is still to be done, a line each, for a summary of the conversation; `None` if nothing
    /// is.
    pub fn unfinished(&self) -> Option<String> {
        let items = self.lock();
        let lines: Vec<String> = items
            .iter()
            .filter(|item| matches!(item.state, "pending" | "in_progress"))
            .map(|item| format!("- [{}] {}: {}", item.state, item.id, item.content))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TodoItem>> {
        // Items are changed one by one: each is whole after a panic of another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, changes: Vec<TodoChange>) {
        let mut items = self.lock();
        items.clear();
        merge_into(&mut items, changes);
    }

    fn merge(&self, changes: Vec<TodoChange>) {
        merge_into(&mut self.lock(), changes);
    }

    fn to_json(&self) -> Value {
        let items = self.lock();
        let count = |state: &str| items.iter().filter(|item| item.state == state).count();
        json!({
            "todos": items.iter().map(TodoItem::to_json).collect::<Vec<_>>(),
            "summary": {
                "total": items.len(),
                "pending": count("pending"),
                "in_progress": count("in_progress"),
                "completed": count("completed"),
                "cancelled": count("cancelled"),
            },
        })
    }
}

/// Later changes of an item win; its position is where it was first named.
fn merge_into(items: &mut Vec<TodoItem>, changes: Vec<TodoChange>) {
    for change in changes {
        if let Some(item) = items.iter_mut().find(|item| item.id == change.id) {
            item.content = change.content.unwrap_or_else(|| item.content.clone());
            item.state = change.state.unwrap_or(item.state);
        } else if items.len() < MAX_ITEMS {
            items.push(TodoItem {
                id: change.id,
                content: change
                    .content
                    .unwrap_or_else(|| "(no description)".to_owned()),
                state: change.state.unwrap_or("pending"),
            });
        }
    }
}

/// One item of a call; `None` if it is not an object.
fn parse_change(value: &Value) -> Option<TodoChange> {
    let fields = value.as_object()?;
    let text = |name: &str, most: usize| {
        let text = match fields.get(name)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (!text.is_empty()).then(|| text.chars().take(most).collect::<String>())
    };
    Some(TodoChange {
        id: text("id", MAX_ID_CHARS).unwrap_or_else(|| "?".to_owned()),
        content: text("content", MAX_CHARS),
        state: fields.get("status").map(|word| {
            let word = word.as_str().unwrap_or_default().trim().to_lowercase();
            let known = STATES.into_iter().find(|state| *state == word);
            known.unwrap_or("pending")
        }),
    })
}

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct TodoTool;

impl Tool for TodoTool {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn toolset(&self) -> &'static str {
        "todo"
    }

    fn description(&self) -> &'static str {
        "Keeps the list of steps for this conversation. Use it for work of three or more steps, or \
         when several things were asked for. Without arguments it shows the list. With todos it \
         replaces the list; with merge it changes only the items named. The order is the order of \
         work. Keep exactly one item in_progress, mark items completed as soon as they are done, \
         and cancel what failed with a new item for the way around it. Always answers with the \
         whole list."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ITEM: &[Argument] = &[
            Argument::required(
                "id",
                ArgKind::Text,
                "Short name of the item, unique in the list.",
            ),
            Argument::required("content", ArgKind::Text, "What is to be done."),
            Argument::required("status", ArgKind::Choice(&STATES), "Where it stands."),
        ];
        const ARGUMENTS: &[Argument] = &[
            Argument::optional(
                "todos",
                ArgKind::Records(ITEM),
                "The items. Leave out to read.",
            ),
            Argument::optional(
                "merge",
                ArgKind::Flag,
                "Change and add the items named instead of replacing the list. Default false.",
            ),
        ];
        ARGUMENTS
    }

    fn checks_its_own_arguments(&self) -> bool {
        true
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
        let changes = items.iter().filter_map(parse_change).collect();
        if merge {
            list.merge(changes);
        } else {
            list.replace(changes);
        }
        list.to_json()
    }
}
