//! Servers in a conversation.

use crate::{Desk, wait_for_none};

#[test]
fn an_agent_calls_a_tool_of_a_server() {
    let desk = Desk::new(&["conv-1"], "");
    let run = desk.chat(
        "turns:\n  - match: {step: 1}\n    calls: [{tool: mcp__srv__echo, arguments: {text: hallo}}]\n  \
         - match: {last: hallo}\n    text: heard\n  - text: missed\n",
    );
    run.succeeds().prints_part("heard");
    wait_for_none("conv-1");
}

#[test]
fn the_name_of_the_older_version_is_understood() {
    let desk = Desk::new(&[], "");
    let run = desk.chat(
        "turns:\n  - match: {step: 1}\n    calls: [{tool: mcp_srv_echo, arguments: {text: hallo}}]\n  \
         - match: {last: hallo}\n    text: heard\n  - text: missed\n",
    );
    run.succeeds().prints_part("heard");
}

// check 33
#[test]
fn a_server_that_died_is_started_again_by_the_next_call() {
    let desk = Desk::new(&[], "");
    let run = desk.chat(
        "turns:\n  - match: {step: 1}\n    calls: [{tool: mcp__srv__die, arguments: {}}]\n  \
         - match: {last: \"ended while the call ran\"}\n    \
         calls: [{tool: mcp__srv__echo, arguments: {text: again}}]\n  \
         - match: {last: again}\n    text: heard\n  - text: missed\n",
    );
    run.succeeds().prints_part("heard");
}

// check 33
#[test]
fn three_failures_in_a_row_give_the_server_a_rest() {
    let desk = Desk::new(&[], "");
    let run = desk.chat(
        "turns:\n  - match: {step: 1}\n    calls: [{tool: mcp__srv__die, arguments: {}}]\n  \
         - match: {step: 2}\n    calls: [{tool: mcp__srv__die, arguments: {a: 2}}]\n  \
         - match: {step: 3}\n    calls: [{tool: mcp__srv__die, arguments: {a: 3}}]\n  \
         - match: {step: 4}\n    calls: [{tool: mcp__srv__echo, arguments: {text: x}}]\n  \
         - match: {last: \"failed 3 times in a row\"}\n    text: rests\n  - text: missed\n",
    );
    run.succeeds().prints_part("rests");
}

#[test]
fn tools_that_a_server_gets_are_offered_in_the_next_turn() {
    let desk = Desk::new(&[], "");
    desk.home.put(
        "script.yaml",
        "turns:\n  - match: {user: one, step: 1}\n    calls: [{tool: mcp__srv__grow, arguments: {}}]\n  \
         - match: {tool: mcp__srv__grow}\n    calls: [{tool: terminal, arguments: {command: sleep 1}}]\n  \
         - match: {tool: terminal}\n    text: first\n  \
         - match: {user: two, step: 1}\n    calls: [{tool: mcp__srv__grown, arguments: {}}]\n  \
         - match: {last: unknown}\n    text: called\n  - text: missed\n",
    );
    let call = desk
        .home
        .hermes(["chat", "--yolo"])
        .stdin("one\ntwo\n/exit\n");
    call.run().succeeds().prints_part("called");
}

#[test]
fn a_conversation_goes_on_without_a_server_that_is_broken() {
    let desk = Desk::new(&["exits"], "");
    let run = desk.chat("turns:\n  - text: fine\n");
    run.succeeds()
        .prints_part("fine")
        .says_part("MCP server 'srv'");
}
