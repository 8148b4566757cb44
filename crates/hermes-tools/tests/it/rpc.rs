//! The protocol between a script and our tools, spoken by scripts that misbehave.

use hermes_tools::CodeSettings;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::execute_code::{printed, run, stage, stage_with};

/// Opens the socket by hand; `say` sends one line and prints the answer.
const BY_HAND: &str = "import json, os, socket\n\
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ['HERMES_RPC_SOCKET'])\n\
    f = s.makefile('rwb'); T = os.environ['HERMES_RPC_TOKEN']\n\
    def say(line):\n\
    \x20   f.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b'\\n'); f.flush()\n\
    \x20   print(f.readline().decode().strip())\n";

fn answers(code: &str) -> Vec<Value> {
    let output = printed(&stage(), &format!("{BY_HAND}{code}"));
    output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn errors(code: &str) -> Vec<String> {
    let answers = answers(code);
    let texts = answers
        .iter()
        .map(|answer| answer["error"].as_str().unwrap().to_owned());
    texts.collect()
}

#[test]
fn nothing_happens_without_the_token() {
    let code = "say({'tool': 'write_file', 'args': {'path': 'x', 'content': ''}})\n\
                say({'tool': 'write_file', 'args': {'path': 'x', 'content': ''}, 'token': 'wrong'})\n\
                say({'tool': 'write_file', 'args': {'path': 'x', 'content': ''}, 'token': T[:-1]})\n\
                say({'tool': 'read_file', 'args': {'path': 'x'}, 'token': 5})\n\
                say({'tool': 'read_file', 'args': {'path': 'x'}, 'token': T})";
    let errors = errors(code);
    assert_eq!(
        errors.iter().take(4).collect::<Vec<_>>(),
        ["Unauthorized RPC request"; 4]
    );
    assert_eq!(errors.last().unwrap(), "File not found: x");
}

#[test]
fn other_tools_are_refused_with_the_list() {
    let code = "say({'tool': 'delegate_task', 'args': {}, 'token': T})\n\
                say({'tool': 'execute_code', 'args': {'code': '1'}, 'token': T})\n\
                say({'token': T})";
    for error in errors(code) {
        assert!(
            error.ends_with("Available: read_file, write_file, search_files, patch, terminal."),
            "{error}"
        );
    }
    let output = printed(
        &stage(),
        "import hermes_tools\nprint(hermes_tools._call('delegate_task')['error'])",
    );
    assert!(output.contains("Available: read_file"), "{output}");
}

#[test]
fn only_the_tools_of_the_session_are_there() {
    let mut stage = stage();
    stage.context.enabled_tools = vec!["read_file".to_owned(), "todo".to_owned()];
    let code = "import hermes_tools\n\
                print(hasattr(hermes_tools, 'read_file'), hasattr(hermes_tools, 'terminal'))\n\
                print(hermes_tools._call('terminal', {'command': 'x'})['error'])";
    let output = printed(&stage, code);
    assert!(output.starts_with("True False\n") && output.ends_with("Available: read_file.\n"));
    // None of the seven: then none.
    stage.context.enabled_tools = vec!["todo".to_owned()];
    let output = printed(&stage, code);
    assert!(output.starts_with("False False\n"), "{output}");
    assert!(output.contains("not available in scripts"), "{output}");
}

#[test]
fn the_call_after_the_last_is_refused_and_the_script_goes_on() {
    let code = "from hermes_tools import read_file\n\
                for n in range(50): assert 'not found' in read_file('x')['error']\n\
                print(read_file('x')['error'])\nprint('still here')";
    let result = run(&stage(), code);
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("The limit of 50 tool calls") && output.ends_with("still here\n"));
    assert_eq!(result["tool_calls_made"], 50);
    let stage = stage_with(CodeSettings {
        max_tool_calls: 0,
        ..CodeSettings::default()
    });
    let code = "from hermes_tools import read_file\nprint(read_file('x')['error'])";
    assert!(printed(&stage, code).contains("limit of 0"));
}

#[test]
fn ids_come_back_and_calls_without_are_answered_in_order() {
    let code = "say({'id': 'a', 'tool': 'read_file', 'args': {'path': 'x'}, 'token': T})\n\
                say({'id': 7, 'tool': 'nope', 'token': T})\n\
                say({'id': [1], 'tool': 'read_file', 'args': {'path': 'x'}, 'token': 'bad'})\n\
                say({'tool': 'read_file', 'args': {'path': 'x'}, 'token': T})";
    let ids: Vec<Value> = answers(code)
        .iter()
        .map(|answer| answer["id"].clone())
        .collect();
    assert_eq!(serde_json::to_string(&ids).unwrap(), "[\"a\",7,[1],null]");
    // Written at once, answered one after the other.
    let code = "for n in range(5):\n\
                \x20   f.write(json.dumps({'tool': 'read_file', 'token': T, 'args': {'path': 'f%d' % n}}).encode() + b'\\n')\n\
                f.flush()\n\
                for n in range(5): print(f.readline().decode().strip())";
    let expected: Vec<String> = (0..5).map(|n| format!("File not found: f{n}")).collect();
    assert_eq!(errors(code), expected);
}

#[test]
fn two_calls_that_wait_for_each_other_both_end() {
    let code = "for n in (1, 2):\n\
                \x20   f.write(json.dumps({'id': n, 'tool': 'terminal', 'token': T, 'args': {'command': 'meet'}}).encode() + b'\\n')\n\
                f.flush()\n\
                print(sorted(json.loads(f.readline())['id'] for n in (1, 2)))";
    assert_eq!(printed(&stage(), &format!("{BY_HAND}{code}")), "[1, 2]\n");
}

#[test]
fn bad_lines_are_answered_and_the_connection_goes_on() {
    let code = "say(b'not json')\nsay(b'[1]')\nsay(b'\\xff\\xfe')\n\
                say(b'{' + b'x' * (9 * 1024 * 1024))\n\
                say({'tool': 'read_file', 'args': [1], 'token': T})\n\
                say({'tool': 'read_file', 'args': {'path': 'x'}, 'token': T})";
    let errors = errors(code);
    for (error, part) in errors.iter().zip([
        "not a JSON object",
        "not a JSON object",
        "not a JSON object",
        "longer than",
        "must be a JSON object",
        "File not found: x",
    ]) {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(errors.len(), 6);
}

#[test]
fn one_connection_at_a_time() {
    let code = "say({'tool': 'read_file', 'args': {'path': 'x'}, 'token': T})\n\
                t = socket.socket(socket.AF_UNIX); t.connect(os.environ['HERMES_RPC_SOCKET'])\n\
                print(t.makefile().readline().strip())\n\
                f.close(); s.close()\n\
                s = socket.socket(socket.AF_UNIX); s.connect(os.environ['HERMES_RPC_SOCKET'])\n\
                f = s.makefile('rwb')\n\
                say({'tool': 'read_file', 'args': {'path': 'x'}, 'token': T})";
    let errors = errors(code);
    assert!(
        errors
            .get(1)
            .unwrap()
            .contains("already has an open connection"),
        "{errors:?}"
    );
    assert_eq!(errors.get(2).unwrap(), "File not found: x");
}

#[test]
fn half_a_request_at_the_end_is_no_request() {
    let code = "f.write(json.dumps({'tool': 'write_file', 'token': T, 'args': {'path': 'x', 'content': ''}}).encode())\n\
                f.flush()";
    let stage = stage();
    printed(&stage, &format!("{BY_HAND}{code}"));
    assert!(!stage.work("x").exists());
}
