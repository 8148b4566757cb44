//! `execute_code`: what a script can reach, and what comes back.

use pretty_assertions::assert_eq;

use super::{Place, text};

#[test]
fn a_script_cannot_import_hermes() {
    // check 29
    let place = Place::that_approves().env("PYTHONPATH", "/opt");
    let printed = place.talk().printed(
        "for name in ['tools.approval', 'hermes_cli', 'run_agent']:\n\
         \x20   try:\n        __import__(name); print('imported', name)\n\
         \x20   except ImportError: print('no', name)",
    );
    assert_eq!(printed, "no tools.approval\nno hermes_cli\nno run_agent\n");
}

#[test]
fn a_script_has_no_settings_of_the_terminal() {
    // check 29
    let place = Place::that_approves()
        .env("TERMINAL_TIMEOUT", "77")
        .env("TERMINAL_ENV", "local")
        .env("PYTHONPATH", "/opt");
    let printed = place.talk().printed(
        "import os\nprint([n for n in os.environ if n.startswith('TERMINAL_') or n == 'PYTHONPATH'])",
    );
    assert_eq!(printed, "[]\n");
}

#[test]
fn a_wrong_token_is_refused() {
    // check 29
    let place = Place::that_approves();
    let printed = place.talk().printed(
        "import os, socket, json\n\
         s = socket.socket(socket.AF_UNIX)\n\
         s.connect(os.environ['HERMES_RPC_SOCKET'])\n\
         s.sendall(json.dumps({'tool': 'terminal', 'args': {'command': 'touch ran'}, 'token': 'wrong'}).encode() + b'\\n')\n\
         print(s.makefile().readline().strip())",
    );
    assert_eq!(printed, "{\"error\":\"Unauthorized RPC request\"}\n");
    assert!(!place.work("ran").exists());
}

#[test]
fn a_script_calls_some_tools_and_not_others() {
    // check 29
    let place = Place::that_approves();
    let printed = place
        .talk()
        .printed("import hermes_tools\nprint(hermes_tools._call('delegate_task', {})['error'])");
    for name in [
        "read_file",
        "write_file",
        "search_files",
        "patch",
        "terminal",
    ] {
        assert!(printed.contains(name), "{printed}");
    }
}

#[test]
fn the_fifty_first_call_is_refused_and_the_script_goes_on() {
    // check 29
    let place = Place::that_approves();
    let mut talk = place.talk();
    let result = talk.script(
        "from hermes_tools import search_files\n\
         answers = [search_files(pattern='nothing-here') for n in range(52)]\n\
         print([n for n, a in enumerate(answers) if 'error' in a])\n\
         print('50' in answers[50]['error'])",
    );
    assert_eq!(text(&result, "output"), "[50, 51]\nTrue\n", "{result}");
    assert_eq!(result["tool_calls_made"], 50);
}

#[test]
fn a_terminal_call_of_a_script_is_in_the_foreground() {
    // check 29
    let place = Place::that_approves();
    let printed = place.talk().printed(
        "from hermes_tools import terminal\n\
         r = terminal('echo here', background=True, pty=True)\n\
         print(r['output'], r['exit_code'], 'session_id' in r)",
    );
    assert_eq!(printed, "here 0 False\n");
}

#[test]
fn a_script_shares_the_session_of_the_terminal() {
    // check 29
    let place = Place::that_approves();
    let mut talk = place.talk();
    talk.output("mkdir sub; cd sub; export MINE=1");
    let printed = talk.printed(
        "import os\nfrom hermes_tools import terminal\n\
         print(os.path.basename(os.getcwd()), terminal('echo $MINE; export BACK=2')['output'])",
    );
    assert_eq!(printed, "sub 1\n");
    assert_eq!(talk.output("echo $BACK"), "2");
}

#[test]
fn long_output_of_a_script_is_cut_and_counted() {
    // check 29
    let place = Place::that_approves();
    let mut talk = place.talk();
    let result = talk.script("print('A' * 100000 + 'Z' * 99999)");
    assert_eq!(result["stdout_truncated"], true);
    assert_eq!(result["stdout_bytes_total"], 200_000);
    let captured = result["stdout_bytes_captured"].as_u64().unwrap();
    let omitted = result["stdout_bytes_omitted"].as_u64().unwrap();
    assert_eq!((captured, captured + omitted), (50_000, 200_000));
    let output = text(&result, "output");
    let letters = |letter: char| output.chars().filter(|one| *one == letter).count();
    assert!(
        letters('A') >= 20_000 && letters('A') < 20_100,
        "{}",
        letters('A')
    );
    assert!(
        letters('Z') >= 29_990 && letters('Z') < 30_100,
        "{}",
        letters('Z')
    );
}

/// Puts something that is no program in the place of every interpreter, then goes on.
const WITHOUT_PYTHON: &str =
    "for python in /usr/bin/python* /usr/local/bin/python* /bin/python*; do
  if [ -f \"$python\" ]; then mount --bind /dev/null \"$python\"; fi
done
exec \"$0\" \"$@\"";

#[test]
fn without_python_there_is_no_such_tool_and_a_call_says_why() {
    // check 29
    let place = Place::that_approves().env("PATH", "/usr/bin:/bin");
    let run = |args: &[&str]| place.hermes(args).in_mount_namespace(WITHOUT_PYTHON).run();
    let result = run(&["tools", "call", "execute_code", r#"{"code": "print(1)"}"#]);
    let result = result.exits(1).json();
    assert!(text(&result, "error").contains("3.8"), "{result}");
    let tools = run(&["tools", "list", "--json"]).json();
    let tool = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "execute_code");
    assert!(
        tool.is_none_or(|tool| tool["available"] == false),
        "{tools}"
    );
}
