//! The list of steps an agent plans in one conversation.
//!
//! Lives in memory; a resumed conversation starts with the list of its newest answer. Mistakes in a
//! call are corrected, not refused.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// Items beyond this are ignored.
const MAX_ITEMS: usize = 256;
/// Longest text of an item, in characters.
const MAX_CHARS: usize = 4000;
/// Longest name of an item, in characters.
const MAX_ID_CHARS: usize = 100;

pub(crate) const STATES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];

#[derive(Debug, serde::Serialize)]
struct TodoItem {
    id: String,
    content: String,
    #[serde(rename = "status")]
    state: &'static str,
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
        list.merge(items);
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

    pub(crate) fn replace(&self, items: &[Value]) {
        let mut list = self.lock();
        list.clear();
        merge_into(&mut list, items);
    }

    /// Changes and adds the items named.
    pub(crate) fn merge(&self, items: &[Value]) {
        merge_into(&mut self.lock(), items);
    }

    /// The whole list, as the tool answers.
    pub(crate) fn to_json(&self) -> Value {
        let items = self.lock();
        let count = |state: &str| items.iter().filter(|item| item.state == state).count();
        json!({
            "todos": *items,
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
fn merge_into(items: &mut Vec<TodoItem>, changes: &[Value]) {
    for change in changes.iter().filter_map(parse_change) {
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
