//! Scripts as an agent runs them.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::{identity_of, is_same_live_process};
use hermes_tools::{
    ArgKind, Argument, CallContext, CodeSettings, ExecuteCodeTool, RpcEnv, SandboxEnv, ScriptGate,
    ScriptMode, Tool, ToolSpec,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::stage::{SECRET, Stage, files_registry};

/// As the real plan: nothing but a path, a home and what calls need.
struct PlainEnv;

impl SandboxEnv for PlainEnv {
    fn variables(&self, rpc: &RpcEnv, context: &CallContext) -> Vec<(OsString, OsString)> {
        let mut variables = rpc.variables();
        variables.push(("PATH".into(), context.session.variable("PATH").unwrap()));
        variables.push(("HOME".into(), context.child_home.clone().into()));
        variables
    }
}

/// Lets every script run.
pub(crate) struct ApproveAll;

impl ScriptGate for ApproveAll {
    fn decide(
        &self,
        _: &str,
        _: &CallContext,
    ) -> Result<hermes_terminal::backend::Confinement, Value> {
        Ok(hermes_terminal::backend::Confinement::None)
    }
}

/// Lets no script run.
struct DenyAll;

impl ScriptGate for DenyAll {
    fn decide(
        &self,
        _: &str,
        _: &CallContext,
    ) -> Result<hermes_terminal::backend::Confinement, Value> {
        Err(json!({"status": "blocked", "error": "BLOCKED", "pattern_key": "execute_code"}))
    }
}

/// Stands for the terminal: says what it was given, and can take its time.
pub(crate) struct FakeTerminal;

impl Tool for FakeTerminal {
    fn spec(&self) -> ToolSpec<'_> {
        const {
            ToolSpec {
                name: "terminal",
                toolset: "terminal",
                description: "Says what it was given.",
                arguments: &[
                    Argument::required("command", ArgKind::Text, "Text."),
                    Argument::optional("background", ArgKind::Flag, "Text."),
                    Argument::optional("pty", ArgKind::Flag, "Text."),
                    Argument::optional("watch_patterns", ArgKind::Texts, "Text."),
                ],
                ..ToolSpec::DEFAULT
            }
        }
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        if args["command"] == "wait for the interrupt" {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !context.interrupt.is_raised() {
                assert!(Instant::now() < deadline, "never interrupted");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        if args["command"] == "meet" {
            // Two calls that wait for each other: they end only if they run side by side.
            static ARRIVED: std::sync::Barrier = std::sync::Barrier::new(2);
            ARRIVED.wait();
        }
        json!({"output": "", "exit_code": 0, "error": null, "given": args})
    }
}

pub(crate) fn stage_with(settings: CodeSettings) -> Stage {
    let tool = ExecuteCodeTool::new(settings, Arc::new(PlainEnv), Arc::new(ApproveAll));
    Stage::with(files_registry().with(FakeTerminal).with(tool))
}

pub(crate) fn stage() -> Stage {
    stage_with(CodeSettings::default())
}

pub(crate) fn run(stage: &Stage, code: &str) -> Value {
    stage.call("execute_code", json!({"code": code}))
}

/// What a script that succeeds prints.
pub(crate) fn printed(stage: &Stage, code: &str) -> String {
    let result = run(stage, code);
    assert_eq!(result["status"], "success", "{result}");
    result["output"].as_str().unwrap().to_owned()
}

#[test]
fn the_result_has_its_fields() {
    let stage = stage();
    let mut result = run(
        &stage,
        "print('hello')\nimport sys\nprint('note', file=sys.stderr)",
    );
    assert!(result["duration_seconds"].take().as_f64().unwrap() < 10.0);
    assert_eq!(
        result,
        json!({"status": "success", "output": "hello\n", "exit_code": 0, "tool_calls_made": 0,
            "duration_seconds": null, "stdout_truncated": false, "stdout_bytes_captured": 6,
            "stdout_bytes_total": 6, "stdout_bytes_omitted": 0})
    );
    assert_eq!(run(&stage, " \n"), json!({"error": "No code provided."}));
}

#[test]
fn tools_can_be_called_and_are_counted() {
    let stage = stage();
    let code = "from hermes_tools import *\n\
                import hermes_tools\n\
                print(write_file('a.txt', 'one\\ntwo\\n')['bytes_written'])\n\
                for n in range(3): print(read_file('a.txt', limit=1)['content'])\n\
                print(search_files(pattern='t.o')['total_count'])\n\
                print(patch(path='a.txt', old_string='one', new_string='1')['success'])\n\
                print(read_file(path='nowhere')['error'])\n\
                print(hermes_tools.shell_quote('a b'), hermes_tools.json_parse('{\"a\": \"\\t\"}'))";
    let result = run(&stage, code);
    assert_eq!(
        result["output"],
        "8\n     1|one\n     1|one\n     1|one\n1\nTrue\nFile not found: nowhere\n'a b' {'a': '\\t'}\n",
        "{result}"
    );
    assert_eq!(result["tool_calls_made"], 7);
    assert_eq!(stage.text("a.txt"), "1\ntwo\n");
}

#[test]
fn a_failing_script_shows_its_error() {
    let result = run(&stage(), "print('before')\nraise ValueError('bad')");
    assert_eq!(
        (&result["status"], &result["exit_code"]),
        (&json!("error"), &json!(1))
    );
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("ValueError: bad"), "{error}");
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("before\n\n--- stderr ---\n"), "{output}");
    let result = run(
        &stage(),
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    );
    assert_eq!(result["exit_code"], -9);
}

#[test]
fn nothing_of_hermes_can_be_imported_and_little_is_in_the_environment() {
    let stage = stage();
    let code = "import os, sys\n\
                for name in ['hermes_cli', 'tools.approval', 'run_agent', 'hermes_agent']:\n\
                \x20   try:\n        __import__(name)\n        print('imported', name)\n\
                \x20   except ImportError:\n        pass\n\
                own = ('LC_', '_', 'PYENV_', 'PWD', 'SHLVL')  # of Python and of version managers\n\
                print(sorted(n for n in os.environ if not n.startswith(own)))";
    assert_eq!(
        printed(&stage, code),
        "['HERMES_EXEC_ID', 'HERMES_RPC_SOCKET', 'HERMES_RPC_TOKEN', 'HOME', 'PATH', 'PYTHONDONTWRITEBYTECODE', \
         'PYTHONIOENCODING', 'PYTHONUTF8']\n"
    );
}

#[test]
fn the_staging_directory_is_private_and_goes() {
    let stage = stage();
    let code = "import os, stat\n\
                d = os.path.dirname(os.path.abspath(__file__))\n\
                print(d)\n\
                print(oct(stat.S_IMODE(os.stat(d).st_mode)))\n\
                print(oct(stat.S_IMODE(os.stat(os.environ['HERMES_RPC_SOCKET']).st_mode)))\n\
                print(len(os.environ['HERMES_RPC_SOCKET']) <= 103, len(os.environ['HERMES_RPC_TOKEN']))";
    let output = printed(&stage, code);
    let mut lines = output.lines();
    let directory = lines.next().unwrap().to_owned();
    assert_eq!(lines.collect::<Vec<_>>(), ["0o700", "0o600", "True 43"]);
    assert!(!std::path::Path::new(&directory).exists());
}

#[test]
fn a_long_temporary_directory_leaves_the_socket_usable() {
    let long = tempfile::tempdir().unwrap();
    let deep = long.path().join("d".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let stage = stage_with(CodeSettings {
        temp_dir: deep,
        ..CodeSettings::default()
    });
    let code = "from hermes_tools import read_file\nprint(read_file('x')['error'])";
    assert_eq!(printed(&stage, code), "File not found: x\n");
}

#[test]
fn modes_decide_where_a_script_runs() {
    let stage = stage();
    let code = "import os; print(os.getcwd())";
    assert_eq!(
        printed(&stage, code).trim(),
        stage.work("").to_str().unwrap().trim_end_matches('/')
    );
    let strict = stage_with(CodeSettings {
        mode: ScriptMode::Strict,
        ..CodeSettings::default()
    });
    let code = "import os, sys\n\
                print(os.getcwd() == os.path.dirname(os.path.abspath(__file__)))\n\
                print(sys.flags.no_user_site)\n\
                import hermes_tools";
    assert_eq!(printed(&strict, code), "True\n1\n");
    assert_eq!(ScriptMode::parse("strict"), ScriptMode::Strict);
    assert_eq!(ScriptMode::parse("loose"), ScriptMode::Project);
}

#[test]
fn a_missing_directory_is_said() {
    let stage = stage();
    std::fs::remove_dir(stage.work("")).unwrap();
    let result = run(&stage, "print(1)");
    assert_eq!(result["status"], "success");
    assert!(
        result["warning"]
            .as_str()
            .unwrap()
            .contains("does not exist")
    );
}

#[test]
fn long_output_keeps_head_and_tail_with_counts() {
    let result = run(&stage(), "print('HEAD' + 'x' * 200_000 + 'TAIL')");
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("HEAD") && output.trim_end().ends_with("TAIL"));
    assert!(output.contains("150,009 bytes omitted out of 200,009 total"));
    assert_eq!(result["stdout_truncated"], true);
    assert_eq!(
        (
            &result["stdout_bytes_captured"],
            &result["stdout_bytes_total"],
            &result["stdout_bytes_omitted"]
        ),
        (&json!(50_000), &json!(200_009), &json!(150_009))
    );
    let code = "import sys; sys.stderr.write('e' * 50_000); sys.exit(2)";
    let result = run(&stage(), code);
    let error = result["error"].as_str().unwrap();
    assert!(
        error.len() < 10_100 && error.contains("50000 bytes"),
        "{}",
        error.len()
    );
}

#[test]
fn colours_bad_bytes_and_secrets_are_cleaned() {
    let code = format!(
        "import sys\nprint('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07end')\n\
         sys.stdout.buffer.write(b'caf\\xe9\\n')\nprint('canary-' + '{}')",
        SECRET.strip_prefix("canary-").unwrap()
    );
    assert_eq!(printed(&stage(), &code), "red end\ncaf\u{fffd}\n***\n");
}

#[test]
fn at_the_timeout_a_grandchild_in_its_own_session_dies_too() {
    let stage = stage_with(CodeSettings {
        timeout: Duration::from_secs(1),
        ..CodeSettings::default()
    });
    let code = "import subprocess, time\n\
                p = subprocess.Popen(['sleep', '300'], start_new_session=True)\n\
                open('pid', 'w').write(str(p.pid))\n\
                print('said before')\ntime.sleep(300)";
    // The identity is taken while it lives.
    let (result, sleeper) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(20);
            loop {
                let pid = std::fs::read_to_string(stage.work("pid")).ok();
                if let Some(identity) = pid.and_then(|pid| identity_of(pid.parse().ok()?)) {
                    return identity;
                }
                assert!(Instant::now() < deadline, "the sleeper never ran");
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        (run(&stage, code), watcher.join().unwrap())
    });
    assert_eq!(
        (&result["status"], &result["exit_code"]),
        (&json!("timeout"), &json!(124))
    );
    assert_eq!(
        result["output"],
        "said before\n\n[Script timed out after 1s and was stopped]"
    );
    assert!(!is_same_live_process(&sleeper));
}

#[test]
fn an_interrupt_stops_the_script_and_its_call() {
    let stage = stage();
    let interrupt = Arc::clone(&stage.context.interrupt);
    let marker = stage.work("started");
    let code = "from hermes_tools import terminal\n\
                open('started', 'w').close()\nprint(terminal('wait for the interrupt'))";
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !marker.exists() {
                assert!(Instant::now() < deadline, "the script never started");
                std::thread::sleep(Duration::from_millis(2));
            }
            interrupt.raise();
        });
        run(&stage, code)
    });
    assert_eq!(
        (&result["status"], &result["exit_code"]),
        (&json!("interrupted"), &json!(130))
    );
    assert_eq!(
        result["output"].as_str().unwrap().trim(),
        "[Script interrupted]"
    );
    assert_eq!(result.get("warning"), None, "the call was waited for");
}

#[test]
fn what_a_script_leaves_behind_holds_nothing_and_ends() {
    let stage = stage();
    let started = Instant::now();
    // One that is silent, one that never stops talking, one in a session of its own.
    let code = "import subprocess\n\
                quiet = subprocess.Popen(['sleep', '300'])\n\
                loud = subprocess.Popen(['sh', '-c', 'while echo x; do sleep 0.05; done'])\n\
                away = subprocess.Popen(['sleep', '300'], start_new_session=True,\n\
                \x20   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
                open('pids', 'w').write(f'{quiet.pid} {loud.pid} {away.pid}')\n\
                print('done')";
    let output = printed(&stage, code);
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(output.contains("done"), "{output}");
    for pid in stage.text("pids").split(' ') {
        let state = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let lives = !state.is_empty() && !state.contains("State:\tZ");
        assert!(!lives, "{pid} lives");
    }
}

#[test]
fn an_interrupt_does_not_wait_for_a_script_that_will_not_hear() {
    let stage = stage();
    let interrupt = Arc::clone(&stage.context.interrupt);
    let marker = stage.work("started");
    let code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
                open('started', 'w').close()\ntime.sleep(300)";
    let (result, raised) = std::thread::scope(|scope| {
        let raising = scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !marker.exists() {
                assert!(Instant::now() < deadline, "the script never started");
                std::thread::sleep(Duration::from_millis(2));
            }
            interrupt.raise();
            Instant::now()
        });
        (run(&stage, code), raising.join().unwrap())
    });
    assert_eq!(result["status"], "interrupted");
    // The grace of a timeout is five seconds.
    assert!(
        raised.elapsed() < Duration::from_secs(4),
        "{:?}",
        raised.elapsed()
    );
}

#[test]
fn arguments_that_outlive_a_script_are_taken_off_terminal_calls() {
    let code = "from hermes_tools import terminal\n\
                print(terminal('x', background=True, pty=True, watch_patterns=['a'])['given'])";
    assert_eq!(printed(&stage(), code), "{'command': 'x'}\n");
}

#[test]
fn threads_of_a_script_call_side_by_side() {
    let code = "from hermes_tools import terminal\n\
                from concurrent.futures import ThreadPoolExecutor\n\
                with ThreadPoolExecutor(2) as pool:\n\
                \x20   for r in pool.map(terminal, ['meet', 'meet']): print(r['exit_code'])";
    assert_eq!(printed(&stage(), code), "0\n0\n");
}

#[test]
fn the_gate_stands_before_the_interpreter() {
    let tool = ExecuteCodeTool::new(
        CodeSettings::default(),
        Arc::new(PlainEnv),
        Arc::new(DenyAll),
    );
    let stage = Stage::with(files_registry().with(tool));
    let result = run(&stage, "open('ran', 'w')");
    assert_eq!(
        (&result["status"], &result["pattern_key"]),
        (&json!("blocked"), &json!("execute_code"))
    );
    assert!(!stage.work("ran").exists());
    let args = json!({"code": "print(1)"});
    let verdict = stage
        .context
        .registry
        .verdict("execute_code", &args, &stage.context);
    assert_eq!(verdict["approved"], false);
}
