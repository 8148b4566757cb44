//! The list of things to do: replaced, merged, read, restored; whatever is sent.

use hermes_tools::{TodoList, TodoTool, ToolRegistry};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::stage::Stage;

fn stage() -> Stage {
    Stage::with(ToolRegistry::default().with(TodoTool))
}

fn items(result: &Value) -> Vec<(String, String, String)> {
    let items = result["todos"].as_array().unwrap().iter();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    items
        .map(|item| {
            (
                text(item, "id"),
                text(item, "content"),
                text(item, "status"),
            )
        })
        .collect()
}

fn item(id: &str, content: &str, status: &str) -> (String, String, String) {
    (id.to_owned(), content.to_owned(), status.to_owned())
}

#[test]
fn a_list_is_replaced_merged_and_read() {
    let stage = stage();
    assert_eq!(stage.call("todo", json!({}))["summary"]["total"], 0);
    let list = json!({"todos": [
        {"id": "1", "content": "look", "status": "in_progress"},
        {"id": "2", "content": "write", "status": "pending"},
    ]});
    stage.call("todo", list);
    let merged = stage.call(
        "todo",
        json!({"merge": true, "todos": [
            {"id": "1", "content": "look", "status": "completed"},
            {"id": "3", "content": "test", "status": "pending"},
        ]}),
    );
    let expected = [
        item("1", "look", "completed"),
        item("2", "write", "pending"),
        item("3", "test", "pending"),
    ];
    assert_eq!(items(&merged), expected);
    assert_eq!(
        merged["summary"],
        json!({"total": 3, "pending": 2, "in_progress": 0, "completed": 1, "cancelled": 0})
    );
    assert_eq!(stage.call("todo", json!({})), merged);
    let replaced = stage.call("todo", json!({"todos": []}));
    assert_eq!(replaced["summary"]["total"], 0);
}

#[test]
fn slips_in_a_plan_are_mended() {
    let stage = stage();
    let result = stage.call(
        "todo",
        json!({"todos": [
            {"id": 1, "content": " look ", "status": "doing"},
            {"content": "", "status": "COMPLETED"},
            "nonsense",
            {"id": "1", "status": "cancelled"},
        ]}),
    );
    let expected = [
        item("1", "look", "cancelled"),
        item("?", "(no description)", "completed"),
    ];
    assert_eq!(items(&result), expected);
    let result = stage.call(
        "todo",
        json!({"todos": "[{\"id\": \"a\", \"content\": \"b\"}]"}),
    );
    assert_eq!(items(&result), [item("a", "b", "pending")]);
    let result = stage.call(
        "todo",
        json!({"merge": "true", "todos": {"id": "a", "status": "completed"}}),
    );
    assert_eq!(items(&result), [item("a", "b", "completed")]);
    assert_eq!(
        stage.refused("todo", json!({"todos": 5})),
        "Invalid argument 'todos': expected a list of objects, got a number."
    );
}

#[test]
fn a_list_has_an_end() {
    let stage = stage();
    let many: Vec<Value> = (0..1000)
        .map(|id| json!({"id": id.to_string(), "content": "x".repeat(9000), "status": "pending"}))
        .collect();
    let result = stage.call("todo", json!({"todos": many}));
    assert_eq!(result["summary"]["total"], 256);
}

#[test]
fn a_list_is_found_again_and_told_for_a_summary() {
    let list = TodoList::restored(&[
        json!({"id": "1", "content": "look", "status": "completed"}),
        json!({"id": "2", "content": "write", "status": "in_progress"}),
        json!(7),
    ]);
    assert_eq!(list.unfinished().unwrap(), "- [in_progress] 2: write");
    assert!(!list.is_empty() && TodoList::default().unfinished().is_none());
}
