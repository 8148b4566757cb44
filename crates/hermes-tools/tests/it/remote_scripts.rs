//! Scripts that run in another place.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use hermes_tools::{
    CallContext, CodeSettings, ExecuteCodeTool, RpcEnv, SandboxEnv, ScriptMode, ToolRegistry,
    WriteRules,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::execute_code::{ApproveAll, FakeTerminal, printed, run};
use crate::script_hosts::{Programs, ShellHost, program};
use crate::stage::{FixedSession, SECRET, Stage, files_registry};

/// Has a variable for scripts elsewhere, and must not be asked for those of this machine.
struct Elsewhere;

impl SandboxEnv for Elsewhere {
    fn variables(&self, _: &RpcEnv, _: &CallContext) -> Vec<(OsString, OsString)> {
        panic!("the environment of this machine was asked for");
    }

    fn remote_variables(&self, _: &CallContext) -> Vec<(OsString, OsString)> {
        vec![
            ("TZ".into(), "Asia/Tokyo".into()),
            ("ODD".into(), "it's $x\n".into()),
            ("BAD;NAME".into(), "x".into()),
        ]
    }
}

pub(crate) fn scripts_registry(settings: CodeSettings) -> ToolRegistry {
    let gate = Arc::new(ApproveAll);
    let tool = ExecuteCodeTool::new(settings, Arc::new(Elsewhere), gate);
    files_registry().with(FakeTerminal).with(tool)
}

/// A session whose PATH is that of the place.
pub(crate) fn in_its_own_path(mut stage: Stage) -> Stage {
    stage.context.session = Arc::new(FixedSession {
        cwd: stage.work(""),
        variables: Vec::new(),
    });
    stage
}

pub(crate) fn stage_with(programs: Programs, settings: CodeSettings) -> Stage {
    let stage = Stage::with(scripts_registry(settings));
    let place = ShellHost::new(programs, &stage.root("")).with_python();
    in_its_own_path(stage.moved_to(Arc::new(place), WriteRules::Unrestricted))
}

fn stages() -> impl Iterator<Item = Stage> {
    let programs = [Programs::Gnu, Programs::Busybox].into_iter();
    programs.map(|programs| stage_with(programs, CodeSettings::default()))
}

pub(crate) fn stage() -> Stage {
    stage_with(Programs::Gnu, CodeSettings::default())
}

#[test]
fn the_result_has_the_same_fields_as_here() {
    for stage in stages() {
        let code = "print('hello')\nimport sys\nprint('note', file=sys.stderr)";
        let mut result = run(&stage, code);
        assert!(result["duration_seconds"].take().is_f64());
        assert_eq!(
            result,
            json!({"status": "success", "output": "hello\n", "exit_code": 0,
                "tool_calls_made": 0, "duration_seconds": null, "stdout_truncated": false,
                "stdout_bytes_captured": 6, "stdout_bytes_total": 6, "stdout_bytes_omitted": 0})
        );
        assert_eq!(run(&stage, " \n"), json!({"error": "No code provided."}));
    }
}

#[test]
fn tools_are_called_and_act_in_the_place() {
    for stage in stages() {
        let code = "from hermes_tools import *\n\
            print(write_file('a.txt', 'one\\ntwo \\u00e9\\n')['bytes_written'])\n\
            for n in range(3): print(read_file('a.txt', limit=1)['content'])\n\
            print(search_files(pattern='t.o')['total_count'])\n\
            print(patch(path='a.txt', old_string='one', new_string='1')['success'])\n\
            print(read_file(path='nowhere')['error'])\n\
            print(terminal('x', background=True, pty=True)['given'])\n\
            print(open('a.txt').read(), end='')";
        let result = run(&stage, code);
        assert_eq!(
            result["output"],
            "11\n     1|one\n     1|one\n     1|one\n1\nTrue\nFile not found: nowhere\n\
             {'command': 'x'}\n1\ntwo é\n",
            "{result}"
        );
        assert_eq!(result["tool_calls_made"], 8);
    }
}

#[test]
fn threads_and_forked_processes_call_side_by_side() {
    let stage = stage();
    let code = "from hermes_tools import terminal, read_file\n\
        from concurrent.futures import ThreadPoolExecutor\n\
        import os\n\
        with ThreadPoolExecutor(2) as pool:\n\
        \x20   for r in pool.map(terminal, ['meet', 'meet']): print(r['exit_code'])\n\
        pids = []\n\
        for n in range(3):\n\
        \x20   pid = os.fork()\n\
        \x20   if pid == 0:\n\
        \x20       ok = terminal(str(n))['given']['command'] == str(n)\n\
        \x20       os._exit(0 if ok else 1)\n\
        \x20   pids.append(pid)\n\
        print([os.waitpid(pid, 0)[1] for pid in pids])";
    assert_eq!(printed(&stage, code), "0\n0\n[0, 0, 0]\n");
}

#[test]
fn limits_tokens_and_lists_hold() {
    let stage = stage_with(
        Programs::Gnu,
        CodeSettings {
            max_tool_calls: 2,
            ..CodeSettings::default()
        },
    );
    let code = "import hermes_tools, os, json, time\n\
        print(hermes_tools._call('delegate_task')['error'])\n\
        for n in range(3): print(hermes_tools.read_file('x')['error'])\n\
        token = os.environ.pop('HERMES_RPC_TOKEN')\n\
        print(hermes_tools.read_file('x')['error'])\n\
        os.environ['HERMES_RPC_TOKEN'] = 'wrong'\n\
        print(hermes_tools.read_file('x')['error'])\n\
        d = os.environ['HERMES_RPC_DIR']\n\
        def by_hand(name, data):\n\
        \x20   open(d + '/t', 'wb').write(data)\n\
        \x20   os.rename(d + '/t', d + '/req_' + name)\n\
        \x20   answer = d + '/res_' + name\n\
        \x20   while not os.path.exists(answer): time.sleep(0.01)\n\
        \x20   print(json.loads(open(answer).read())['error'])\n\
        by_hand('900000', b'no json')\n\
        by_hand('900001', b' ' * (8 * 1024 * 1024 + 1))\n\
        by_hand('900002', json.dumps({'tool': 'read_file', 'token': 5}).encode())\n\
        os.mkdir(d + '/req_odd'); open(d + '/req_; touch x', 'w').close()\n\
        print('still here')";
    let result = run(&stage, code);
    let output = result["output"].as_str().unwrap();
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].contains("Available: read_file"), "{result}");
    assert_eq!(lines[1..3], ["File not found: x"; 2]);
    assert!(lines[3].starts_with("The limit of 2 tool calls"));
    assert_eq!(lines[4..6], ["Unauthorized RPC request"; 2]);
    assert_eq!(lines[6], "The request is not a JSON object on one line.");
    assert_eq!(lines[7], "The request is longer than 8388608 bytes.");
    assert_eq!(lines[8..], ["Unauthorized RPC request", "still here"]);
    assert_eq!(result["tool_calls_made"], 2);
}

#[test]
fn failures_show_what_was_printed() {
    for stage in stages() {
        let result = run(&stage, "print('before')\nraise ValueError('bad')");
        assert_eq!(
            (&result["status"], &result["exit_code"]),
            (&json!("error"), &json!(1))
        );
        assert!(
            result["error"]
                .as_str()
                .unwrap()
                .contains("ValueError: bad")
        );
        let output = result["output"].as_str().unwrap();
        assert!(output.starts_with("before\n\n--- stderr ---\n"), "{output}");
        let code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)";
        assert_eq!(run(&stage, code)["exit_code"], -9);
        let code = "import os; os.close(1); os.close(2); os._exit(7)";
        assert_eq!(run(&stage, code)["exit_code"], 7);
    }
}

#[test]
fn long_output_keeps_both_ends_and_memory_small() {
    let stage = stage();
    let result = run(&stage, "print('HEAD' + 'x' * 200_000 + 'TAIL')");
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("HEAD") && output.trim_end().ends_with("TAIL"));
    assert!(output.contains("150,009 bytes omitted out of 200,009 total"));
    assert_eq!(result["stdout_bytes_total"], 200_009);
    let code = "import sys\n\
        for n in range(300): sys.stdout.write('y' * 100_000)\n\
        sys.stderr.write('e' * 50_000); sys.exit(2)";
    let result = run(&stage, code);
    assert_eq!(result["stdout_bytes_total"], 30_000_000);
    let error = result["error"].as_str().unwrap();
    assert!(error.len() < 10_100 && error.contains("50000 bytes"));
    let code = format!(
        "import sys\nprint('\\x1b[31mred\\x1b[0m')\nsys.stdout.buffer.write(b'caf\\xe9\\n')\n\
         print('canary-' + '{}')",
        SECRET.strip_prefix("canary-").unwrap()
    );
    assert_eq!(printed(&stage, &code), "red\ncaf\u{fffd}\n***\n");
}

#[test]
fn the_directory_is_private_and_goes() {
    for stage in stages() {
        let code = "import os, stat, sys\n\
            d = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n\
            print(d)\n\
            for name in ['.', 'script', 'script/script.py', 'rpc', 'collect.py']:\n\
            \x20   print(oct(stat.S_IMODE(os.stat(os.path.join(d, name)).st_mode)))\n\
            print(len(os.environ['HERMES_RPC_TOKEN']), os.environ['HERMES_RPC_DIR'] == d + '/rpc')\n\
            try:\n    import collect\n\
            except ImportError: print('apart')";
        let output = printed(&stage, code);
        let mut lines = output.lines();
        let directory = lines.next().unwrap().to_owned();
        assert!(directory.starts_with("/tmp/hermes-script-"), "{directory}");
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [
                "0o700", "0o700", "0o600", "0o700", "0o600", "43 True", "apart"
            ]
        );
        assert!(!Path::new(&directory).exists());
        let result = run(&stage, "import os; print(__file__); os._exit(3)");
        let script = result["output"].as_str().unwrap().lines().next().unwrap();
        assert!(!Path::new(script).exists());
    }
}

#[test]
fn the_environment_is_that_of_the_place() {
    let stage = stage();
    let code = "import os\n\
        own = ('LC_', '_', 'PWD', 'OLDPWD', 'SHLVL')  # of shells\n\
        print(sorted(n for n in os.environ if not n.startswith(own)))\n\
        print(os.environ['TZ'], repr(os.environ['ODD']), os.environ.get('LC_ALL'))\n\
        print(os.environ['HOME'])";
    let output = printed(&stage, code);
    assert_eq!(
        output,
        format!(
            "['HERMES_RPC_DIR', 'HERMES_RPC_TOKEN', 'HOME', 'ODD', 'PATH', \
             'PYTHONDONTWRITEBYTECODE', 'PYTHONIOENCODING', 'PYTHONUTF8', 'TZ']\n\
             Asia/Tokyo \"it's $x\\n\" None\n{}\n",
            stage.root("home").display()
        )
    );
}

#[test]
fn modes_and_missing_directories() {
    let mut stage = stage();
    let code = "import os; print(os.getcwd())";
    let cwd = stage.work("").display().to_string();
    assert_eq!(printed(&stage, code).trim(), cwd.trim_end_matches('/'));
    stage.context.session = Arc::new(FixedSession {
        cwd: "~".into(),
        variables: Vec::new(),
    });
    let home = stage.root("home").display().to_string();
    assert_eq!(printed(&stage, code).trim(), home);
    stage.context.session = Arc::new(FixedSession {
        cwd: "/nowhere/at all".into(),
        variables: Vec::new(),
    });
    let result = run(&stage, code);
    assert_eq!(result["status"], "success");
    assert!(
        result["warning"]
            .as_str()
            .unwrap()
            .contains("/nowhere/at all does not exist")
    );
    let strict = stage_with(
        Programs::Gnu,
        CodeSettings {
            mode: ScriptMode::Strict,
            ..CodeSettings::default()
        },
    );
    let code = "import os, sys\n\
        print(os.getcwd() == os.path.dirname(os.path.abspath(__file__)), sys.flags.no_user_site)\n\
        import hermes_tools";
    assert_eq!(printed(&strict, code), "True 1\n");
}

/// An interpreter that says its name.
fn interpreter(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = format!(
        "#!/bin/sh\nCHOSEN='{}' exec {} \"$@\"\n",
        path.display(),
        program("python3").display()
    );
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn interpreter_of_a_repository_is_not_taken_by_itself() {
    let mut stage = stage();
    let code = "import os; print(os.environ.get('CHOSEN', 'of the path'))";
    assert_eq!(printed(&stage, code), "of the path\n");
    std::fs::create_dir_all(stage.work("repo/.git")).unwrap();
    std::fs::create_dir_all(stage.work("repo/a/b")).unwrap();
    let session = |stage: &mut Stage, cwd: &str, active: Option<&str>| {
        let active = active.map(|path| ("VIRTUAL_ENV".into(), stage.work(path).into()));
        stage.context.session = Arc::new(FixedSession {
            cwd: stage.work(cwd),
            variables: active.into_iter().collect(),
        });
    };
    let chosen = |stage: &Stage| {
        let output = printed(stage, code);
        output
            .trim()
            .trim_start_matches(&stage.work("").display().to_string())
            .to_owned()
    };
    for path in [
        ".venv/bin/python",
        "repo/venv/bin/python",
        "repo/a/b/.venv/bin/python",
        "repo/a/b/python3",
    ] {
        interpreter(&stage.work(path));
    }
    session(&mut stage, "repo/a/b", None);
    assert_eq!(chosen(&stage), "of the path");
    session(&mut stage, "", None);
    assert_eq!(chosen(&stage), "of the path");
    interpreter(&stage.work("active/bin/python"));
    session(&mut stage, "repo/a/b", Some("active"));
    assert_eq!(chosen(&stage), "active/bin/python");
}

#[test]
fn without_python_the_result_says_so() {
    let settings = CodeSettings {
        python: Some("/nowhere/python".into()),
        ..CodeSettings::default()
    };
    let stage = Stage::with(scripts_registry(settings));
    let place = ShellHost::new(Programs::Busybox, &stage.root(""));
    let old = stage.root("bin/python");
    std::fs::write(&old, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let stage = in_its_own_path(stage.moved_to(Arc::new(place), WriteRules::Unrestricted));
    let result = run(&stage, "print(1)");
    assert_eq!(
        (&result["status"], &result["output"]),
        (&json!("error"), &json!(""))
    );
    let error = result["error"].as_str().unwrap();
    assert!(
        error.starts_with("In the host of a test: execute_code needs Python 3.8 or newer"),
        "{error}"
    );
    assert!(error.contains("(not usable: python)"), "{error}");
    // It is offered all the same: only a call asks the place.
    let tool = stage.context.registry.get("execute_code").unwrap();
    assert_eq!(tool.unavailable(&stage.context), None);
}
