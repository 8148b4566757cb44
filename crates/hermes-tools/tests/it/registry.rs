//! What every tool gets from the registry.

use hermes_tools::{
    ArgKind, Argument, CallContext, MAX_RESULT_CHARS, Tool, ToolRegistry, ToolSpec, is_failure,
};
use serde_json::{Value, json};

use crate::stage::{SECRET, Stage};

struct Echo;

impl Tool for Echo {
    fn spec(&self) -> ToolSpec<'_> {
        const {
            ToolSpec {
                name: "echo",
                toolset: "test",
                description: "Says what it was told.",
                arguments: &[Argument::required("text", ArgKind::Text, "What to say.")],
                ..ToolSpec::DEFAULT
            }
        }
    }

    fn call(&self, args: &Value, _: &CallContext) -> Value {
        let text = args["text"].as_str().unwrap();
        assert_ne!(text, "panic", "on purpose");
        let name: String = text.chars().take(40).collect();
        json!({"output": text, name: [text, {"deep": text}], "error": null})
    }
}

fn stage() -> Stage {
    Stage::with(ToolRegistry::default().with(Echo))
}

#[test]
fn secrets_are_masked_at_every_depth_and_in_names() {
    let shown = stage().call("echo", json!({"text": SECRET})).to_string();
    assert!(shown.contains("***") && !shown.contains(SECRET), "{shown}");
}

#[test]
fn secrets_in_wrong_calls_are_masked_too() {
    let stage = stage();
    for (tool, args) in [
        (SECRET, json!({})),
        ("echo", json!({SECRET: 1, "text": "x"})),
    ] {
        let shown = stage.call(tool, args).to_string();
        assert!(!shown.contains(SECRET), "{shown}");
    }
}

#[test]
fn a_panic_is_an_answer_without_its_words() {
    let message = stage().refused("echo", json!({"text": "panic"}));
    assert!(message.starts_with("[TOOL_ERROR] echo"), "{message}");
    assert!(!message.contains("on purpose"), "{message}");
}

#[test]
fn results_are_bounded_and_a_long_one_is_whole() {
    let long = "ä\n".repeat(200_000);
    let result = stage().call("echo", json!({"text": long}));
    assert!(
        result.to_string().contains(&"ä\\n".repeat(200_000)),
        "for whoever keeps it"
    );
    let result = stage().call("echo", json!({"text": long.repeat(10)}));
    let size = result.to_string().chars().count();
    assert!(size <= MAX_RESULT_CHARS + 100, "{size}");
    assert_eq!(result["error"], Value::Null);
}

#[test]
fn an_unknown_tool_is_answered_with_the_known_ones() {
    let message = stage().refused("ecko", json!({}));
    assert_eq!(message, "Unknown tool 'ecko'. Available: echo.");
}

#[test]
fn a_failing_command_is_no_failing_tool() {
    assert!(!is_failure(
        &json!({"output": "", "exit_code": 2, "error": null})
    ));
    assert!(is_failure(&json!({"error": "no"})));
    assert!(is_failure(
        &json!({"exit_code": -1, "status": "blocked", "error": null})
    ));
    assert!(is_failure(&json!({"success": false})));
}
