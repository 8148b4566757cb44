//! `hermes tools` and `hermes exec` as a person or a script uses them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests look at files and processes from outside"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use hermes_testkit::TestHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A private home and working directory.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for name in ["home", "hermes", "work"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        place
    }

    /// With scripts allowed although nobody can be asked.
    fn with_scripts() -> Self {
        let place = Self::new();
        place.config("approvals:\n  noninteractive_mode: approve\n");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn config(&self, text: &str) {
        std::fs::write(self.path("hermes/config.yaml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hermes"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("HERMES_HOME", self.path("hermes"))
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("TERMINAL_TIMEOUT", "77")
            .env("PYTHONPATH", "/somewhere")
            .env("OPENROUTER_API_KEY", "canary-77aa55bb33cc")
            .current_dir(self.path("work"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    fn run_with_input(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Exit code and result of `hermes tools call`.
    fn call(&self, args: &[&str]) -> (i32, Value) {
        let full: Vec<&str> = ["tools", "call"].iter().chain(args).copied().collect();
        result_of(&self.run(&full))
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn result_of(output: &Output) -> (i32, Value) {
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}{}", text(&output.stdout), text(&output.stderr)));
    (output.status.code().unwrap(), value)
}

#[test]
fn the_list_has_every_tool_with_its_schema() {
    let place = Place::new();
    let output = place.run(&["tools", "list", "--json"]);
    let (code, tools) = result_of(&output);
    assert_eq!(code, 0);
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in [
        "read_file",
        "write_file",
        "patch",
        "search_files",
        "execute_code",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let read = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "read_file")
        .unwrap();
    assert_eq!(read["toolset"], "file");
    assert_eq!(read["available"], true);
    assert_eq!(read["parameters"]["required"], json!(["path"]));
    let table = place.run(&["tools", "list"]);
    assert!(
        text(&table.stdout)
            .lines()
            .any(|line| line.starts_with("read_file"))
    );
}

/// The system's directories are always on the session's PATH, so Python is hidden under them.
const WITHOUT_PYTHON: &str = "for file in /usr/bin/python* /usr/local/bin/python* /bin/python*; do
    if [ -x \"$file\" ]; then mount --bind /dev/null \"$(readlink -f \"$file\")\"; fi
done
exec \"$0\" \"$@\"";

#[test]
fn without_python_scripts_are_not_offered_and_say_why() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put(
        "config.yaml",
        "approvals:\n  noninteractive_mode: approve\n",
    );
    let run = |args: &[&str]| {
        home.hermes(args)
            .env("PATH", "/usr/bin:/bin")
            .in_mount_namespace(WITHOUT_PYTHON)
            .run()
    };
    let tools = run(&["tools", "list", "--json"]).succeeds().json();
    let tools = tools.as_array().unwrap();
    let tool = tools
        .iter()
        .find(|tool| tool["name"] == "execute_code")
        .unwrap();
    assert_eq!(tool["available"], false);
    assert!(tool["reason"].as_str().unwrap().contains("Python 3.8"));
    let result = run(&["tools", "call", "execute_code", r#"{"code": "1"}"#])
        .exits(1)
        .json();
    assert!(result["error"].as_str().unwrap().contains("Python 3.8"));
}

#[test]
fn what_a_project_brings_is_not_started_to_make_a_list() {
    let place = Place::new();
    let python = place.path("work/.venv/bin/python");
    std::fs::create_dir_all(python.parent().unwrap()).unwrap();
    let started = place.path("started");
    let text = format!("#!/bin/sh\ntouch {}\necho 3 12\n", started.display());
    std::fs::write(&python, text).unwrap();
    std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(place.run(&["tools", "list"]).status.success());
    assert!(!started.exists());
}

#[test]
fn exit_codes_follow_the_result() {
    let place = Place::new();
    std::fs::write(place.path("work/a"), "one\n").unwrap();
    let (code, result) = place.call(&["read_file", r#"{"path": "a"}"#]);
    assert_eq!((code, &result["content"]), (0, &json!("     1|one")));
    let (code, result) = place.call(&["read_file", r#"{"path": "b"}"#]);
    assert_eq!((code, &result["error"]), (1, &json!("File not found: b")));
    let (code, result) = place.call(&["read_file"]);
    assert_eq!(code, 1);
    assert!(result["error"].as_str().unwrap().contains("'path'"));
    let (code, result) = place.call(&["no_such_tool", "{}"]);
    assert_eq!(code, 1);
    assert!(result["error"].as_str().unwrap().contains("read_file"));
    for wrong in [
        &["tools", "call"][..],
        &["tools", "call", "read_file", "{"],
        &["tools", "call", "read_file", "[1]"],
        &["tools", "call", "--stdin", "read_file"],
    ] {
        let output = place.run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty(), "{wrong:?}");
    }
}

#[test]
fn arguments_come_from_standard_input() {
    let place = Place::new();
    let args = ["tools", "call", "write_file", "-"];
    let input = json!({"path": "new", "content": "x".repeat(300_000)}).to_string();
    let (code, result) = result_of(&place.run_with_input(&args, input.as_bytes()));
    assert_eq!((code, &result["bytes_written"]), (0, &json!(300_000)));
    assert_eq!(place.path("work/new").metadata().unwrap().len(), 300_000);
    let output = place.run_with_input(&args, b"\xff\xfe");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_check_tells_the_verdict_and_does_nothing() {
    let place = Place::new();
    let (code, verdict) =
        place.call(&["write_file", r#"{"path": "x", "content": "1"}"#, "--check"]);
    assert_eq!((code, verdict), (0, json!({"approved": true})));
    assert!(!place.path("work/x").exists());
    let (code, verdict) = place.call(&[
        "write_file",
        r#"{"path": "/etc/hermes-test", "content": "1"}"#,
        "--check",
    ]);
    assert_eq!((code, &verdict["approved"]), (1, &json!(false)));
    assert!(verdict["message"].is_string());
    place.config("terminal: {sandbox: off}\n");
    let (code, verdict) = place.call(&["execute_code", r#"{"code": "1"}"#, "--check"]);
    assert_eq!((code, &verdict["pattern_key"]), (1, &json!("execute_code")));
}

#[test]
fn lines_are_answered_one_by_one_and_bad_ones_do_not_end_it() {
    let place = Place::new();
    let mut child = place
        .command(&["tools", "call", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    // Each answer is awaited before the next line is sent: nothing may sit in a buffer.
    let mut say = |line: &str| -> Value {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let written = say(r#"{"tool": "write_file", "args": {"path": "a", "content": "one\n"}}"#);
    assert_eq!(written["bytes_written"], 4);
    for bad in [
        "nonsense",
        "[1]",
        "{}",
        r#"{"tool": 5}"#,
        r#"{"tool": "x", "session": 5}"#,
    ] {
        assert!(say(bad)["error"].is_string(), "{bad}");
    }
    assert!(
        say(r#"{"tool": "x"}"#)["error"]
            .as_str()
            .unwrap()
            .contains("Unknown tool")
    );
    let read = r#"{"tool": "read_file", "args": {"path": "a"}}"#;
    assert_eq!(say(read)["content"], "     1|one");
    // The session goes on from line to line; another one has seen nothing.
    assert_eq!(say(read)["status"], "unchanged");
    let other = r#"{"tool": "read_file", "args": {"path": "a"}, "session": "other"}"#;
    assert_eq!(say(other)["content"], "     1|one");
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_last_line_without_an_end_and_long_and_empty_lines() {
    let place = Place::new();
    let mut input = vec![b'x'; 17 * 1024 * 1024];
    input.extend(b"\n\n  \n\xff\n{\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}");
    let output = place.run_with_input(&["tools", "call", "--stdin"], &input);
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.first().unwrap().contains("longer than"));
    assert!(lines.last().unwrap().contains("File not found"));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn scripts_need_an_approval_when_nobody_can_be_asked() {
    let place = Place::new();
    let script = r#"{"code": "print(6 * 7)"}"#;
    place.config("terminal: {sandbox: off}\n");
    let (code, result) = place.call(&["execute_code", script]);
    assert_eq!((code, &result["status"]), (1, &json!("blocked")));
    for config in [
        "approvals:\n  noninteractive_mode: approve\n",
        "approvals:\n  mode: off\n",
    ] {
        place.config(config);
        let (code, result) = place.call(&["execute_code", script]);
        assert_eq!(
            (code, &result["output"]),
            (0, &json!("42\n")),
            "{config}: {result}"
        );
    }
}

#[test]
fn a_script_sees_its_list_of_variables_and_calls_tools() {
    let place = Place::with_scripts();
    let code = "import os, json\n\
                from hermes_tools import write_file, read_file\n\
                write_file('made', 'by a script\\n')\n\
                print(read_file('made')['content'])\n\
                bad = [n for n in os.environ if n.startswith('TERMINAL_') or n == 'PYTHONPATH' or 'API_KEY' in n]\n\
                print(bad)\n\
                try:\n    import hermes_cli\nexcept ImportError: print('no such module')\n\
                raise SystemExit(3)";
    let (exit, result) = place.call(&["execute_code", &json!({"code": code}).to_string()]);
    assert_eq!(exit, 1);
    assert_eq!(result["exit_code"], 3);
    assert_eq!(
        result["output"], "     1|by a script\n[]\nno such module\n",
        "{result}"
    );
    assert_eq!(result["tool_calls_made"], 2);
}

#[test]
fn no_secret_of_the_environment_comes_out() {
    let place = Place::with_scripts();
    std::fs::write(place.path("work/a"), "key canary-77aa55bb33cc\n").unwrap();
    for args in [
        &["read_file", r#"{"path": "a"}"#][..],
        &["search_files", r#"{"pattern": "canary"}"#],
        &["execute_code", r#"{"code": "print(open('a').read())"}"#],
        &["read_file", r#"{"path": "canary-77aa55bb33cc"}"#],
    ] {
        let (_, result) = place.call(args);
        assert!(!result.to_string().contains("canary-77"), "{result}");
    }
}

#[test]
fn exec_has_its_usage_and_never_falls_back_to_the_host() {
    let place = Place::new();
    for wrong in [
        &["exec"][..],
        &["exec", "--"],
        &["exec", "ls"],
        &["exec", "--timeout", "0", "--", "ls"],
    ] {
        assert_eq!(place.run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    // No engine takes this name, and none asks a registry for it.
    let image = "docker_image: 'no image'";
    place.config(&format!("terminal:\n  {image}\n"));
    for backend in ["docker", "ssh", "modal", "moon"] {
        let output = place.run(&["exec", "--backend", backend, "--", "touch ran"]);
        assert!(
            matches!(output.status.code(), Some(1 | 3)),
            "{backend}: {output:?}"
        );
    }
    place.config(&format!("terminal:\n  backend: docker\n  {image}\n"));
    let output = place.run(&["exec", "--", "touch ran"]);
    assert!(matches!(output.status.code(), Some(1 | 3)), "{output:?}");
    assert!(!place.path("work/ran").exists());
}

#[test]
fn a_list_and_a_check_change_nothing() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    let before = home.tree();
    home.run(["tools", "list"]).succeeds();
    home.run([
        "tools",
        "call",
        "terminal",
        r#"{"command": "true"}"#,
        "--check",
    ])
    .succeeds();
    before.is_still(&home.tree());
}
