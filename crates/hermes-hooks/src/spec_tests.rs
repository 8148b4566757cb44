use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn read(setting: Value) -> Configured {
    configured(Some(&setting))
}

#[test]
fn hooks_have_the_reference_defaults() {
    let found = read(json!({
        "pre_tool_call": [
            {"command": "  check.sh  ", "matcher": "terminal|write_.*", "timeout": 5},
            {"command": "other"},
        ],
        "on_session_start": null,
        "output_spill": {"max_chars": 3},
    }));
    assert_eq!(found.problems, Vec::<String>::new());
    let [first, second] = found.hooks.as_slice() else {
        panic!("{:?}", found.hooks);
    };
    assert_eq!(first.command, "check.sh");
    assert_eq!(first.timeout, Duration::from_secs(5));
    assert!(first.is_for_tool(Some("terminal")) && first.is_for_tool(Some("write_file")));
    // The whole name, not a part of it.
    assert!(!first.is_for_tool(Some("terminal_x")) && !first.is_for_tool(None));
    assert_eq!(second.timeout, Duration::from_mins(1));
    assert_eq!(second.on_error, OnError::Allow);
    assert!(second.is_for_tool(Some("anything")));
}

#[test]
fn what_cannot_be_used_is_named_and_the_rest_is_used() {
    let found = read(json!({
        "pre_tool_cal": [{"command": "x"}],
        "unheard_of": [{"command": "x"}],
        "post_tool_call": {"command": "x"},
        "pre_llm_call": [{"command": "x", "matcher": "terminal"}, "text", {"command": " "}],
        "pre_tool_call": [
            {"command": "a", "matcher": "(?<=x)y", "timeout": "soon"},
            {"command": "b", "matcher": 7, "timeout": 9000, "on_error": "maybe"},
            {"command": "c", "timeout": 0},
        ],
        "post_llm_call": [{"command": "d", "on_error": "block"}],
    }));
    let commands: Vec<&str> = found
        .hooks
        .iter()
        .map(|hook| hook.command.as_str())
        .collect();
    assert_eq!(commands, ["x", "a", "b", "c", "d"]);
    assert_eq!(
        found.problems,
        [
            "hooks.pre_tool_cal is no event; did you mean 'pre_tool_call'?".to_owned(),
            format!(
                "hooks.unheard_of is no event; the events are {}",
                HookEvent::ALL.map(HookEvent::name).join(", ")
            ),
            "hooks.post_tool_call must be a list of hooks".to_owned(),
            "hooks.pre_llm_call[0].matcher has no effect: pre_llm_call is not about a tool".to_owned(),
            "hooks.pre_llm_call[1] must be a mapping with a command".to_owned(),
            "hooks.pre_llm_call[2] must be a mapping with a command".to_owned(),
            "hooks.pre_tool_call[0].matcher '(?<=x)y' is no pattern that can be used; it counts as the \
             name of a tool"
                .to_owned(),
            "hooks.pre_tool_call[0].timeout must be whole seconds, at least 1; 60 counts".to_owned(),
            "hooks.pre_tool_call[1].matcher must be text; the hook is for all tools".to_owned(),
            "hooks.pre_tool_call[1].timeout is at most 300 s, and that is what counts".to_owned(),
            "hooks.pre_tool_call[1].on_error must be allow or block; it counts as block".to_owned(),
            "hooks.pre_tool_call[2].timeout must be whole seconds, at least 1; 60 counts".to_owned(),
            "hooks.post_llm_call[0].on_error: nothing of this event can be blocked".to_owned(),
        ]
    );
    assert_eq!(found.hooks[2].on_error, OnError::Block);
    assert_eq!(found.hooks[2].timeout, Duration::from_mins(5));
}

#[test]
fn a_setting_of_another_kind_is_no_hook() {
    for setting in [json!([]), json!("x"), json!(3)] {
        let found = read(setting);
        assert!(found.hooks.is_empty());
        assert_eq!(found.problems.len(), 1);
    }
    assert!(configured(None).problems.is_empty());
}
