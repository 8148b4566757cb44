//! What a command outside the sandbox gets to see of the Hermes that started it, which runs as the
//! same user: nothing. Root sees everything, so these tests are an ordinary user's.

use serde_json::Value;

use super::world::{User, World};

fn world() -> World {
    World::new(
        User::Nobody,
        "terminal: {sandbox: off}\napprovals: {noninteractive_mode: approve}\n",
    )
    .env("OPENROUTER_API_KEY", "sk-or-v1-canary-canary-canary")
}

fn output(result: &Value) -> &str {
    result["output"].as_str().unwrap_or_default()
}

const ATTACH: &str = "import ctypes, os, sys\n\
    libc = ctypes.CDLL(None, use_errno=True)\n\
    pid = int(sys.argv[1])\n\
    for request in (16, 0x4206):\n\
    \x20   print(libc.ptrace(request, pid, 0, 0), os.strerror(ctypes.get_errno()))\n\
    \x20   libc.ptrace(17, pid, 0, 0)\n\
    room = ctypes.create_string_buffer(8)\n\
    class Piece(ctypes.Structure):\n\
    \x20   _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]\n\
    ours, theirs = Piece(ctypes.addressof(room), 8), Piece(0x10000, 8)\n\
    print(libc.process_vm_readv(pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0), \
    os.strerror(ctypes.get_errno()))\n";

#[test]
fn a_command_reads_neither_environment_nor_memory_of_hermes() {
    let world = world();
    world.put("attach.py", ATTACH);
    let mut talk = world.talk();
    let hermes = talk.0.pid();
    for file in ["environ", "mem", "maps", "auxv", "syscall", "stack"] {
        let result = talk.run(&format!("head -c 64 /proc/{hermes}/{file}"));
        assert_ne!(result["exit_code"], 0, "{file}: {result}");
        assert!(output(&result).contains("denied") || output(&result).contains("not permitted"));
    }
    for link in ["fd", "map_files"] {
        let result = talk.run(&format!("ls /proc/{hermes}/{link}"));
        assert_ne!(result["exit_code"], 0, "{link}: {result}");
    }
    for link in ["exe", "cwd", "root", "ns/mnt"] {
        let result = talk.run(&format!("readlink /proc/{hermes}/{link}"));
        assert_ne!(result["exit_code"], 0, "{link}: {result}");
    }
    let result = talk.run(&format!("python3 attach.py {hermes}"));
    let refusals = output(&result)
        .matches("-1 Operation not permitted")
        .count();
    assert_eq!(refusals, 3, "{result}");
}

#[test]
fn helpers_of_hermes_are_closed_as_well() {
    let world = world();
    let mut talk = world.talk();
    let started = talk.call(
        "terminal",
        &serde_json::json!({"command": "sleep 60", "background": true}),
    );
    assert_eq!(started["exit_code"], 0, "{started}");
    let hermes = talk.0.pid();
    let result = talk.run(&format!(
        "n=0; for p in $(cat /proc/{hermes}/task/*/children); do \
         case $(tr '\\0' ' ' </proc/$p/cmdline) in *proc-shim*) n=$((n+1)); cat /proc/$p/environ && echo open;; esac; \
         done; echo seen $n"
    ));
    assert!(!output(&result).contains("open"), "{result}");
    assert!(!output(&result).contains("seen 0"), "{result}");
}

#[test]
fn a_command_is_as_open_as_without_hermes() {
    let world = world();
    let mut talk = world.talk();
    talk.works(
        "test -r /proc/self/environ && ls /proc/$$/fd >/dev/null && cat /proc/$$/maps >/dev/null",
    );
    // Its own debugger works.
    let attach = "import ctypes, subprocess\n\
        child = subprocess.Popen(['sleep', '60'])\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        print(libc.ptrace(0x4206, child.pid, 0, 0))\nchild.kill()\n";
    world.put("own.py", attach);
    assert_eq!(talk.works("python3 own.py").trim(), "0");
}

#[test]
fn hermes_leaves_no_core_file_and_commands_keep_their_limit() {
    let world = world();
    let script = "import resource, os, sys\n\
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 30))\n\
        os.execv(sys.argv[1], sys.argv[1:])\n";
    world.put("limited.py", script);
    // Hermes starts Hermes with the limit that a user with core files has.
    let mut talk = world.talk();
    let report = "grep core /proc/self/limits; grep core /proc/$PPID/limits";
    let program = talk.works("readlink -f \"$(command -v hermes)\"");
    let result = talk.works(&format!(
        "python3 limited.py {} exec -- '{report}'",
        program.trim()
    ));
    let limits: Vec<Vec<&str>> = result
        .lines()
        .map(|line| line.split_whitespace().skip(4).collect())
        .collect();
    assert_eq!(
        limits,
        [
            ["1048576", "1073741824", "bytes"],
            ["0", "1073741824", "bytes"]
        ],
        "{result}"
    );
}

#[test]
fn what_hermes_reads_of_itself_works_for_an_ordinary_user() {
    // Descriptors by path, its own program, namespaces, and a sandbox for the foreground, the
    // background, a terminal and a script.
    let world = World::new(
        User::Nobody,
        "terminal: {sandbox: on}\napprovals: {noninteractive_mode: approve}\n",
    );
    let mut talk = world.talk();
    assert_eq!(talk.works("id -u").trim(), "65534");
    assert_ne!(talk.run("touch /etc/x")["exit_code"], 0);
    for pty in [false, true] {
        let started = talk.call(
            "terminal",
            &serde_json::json!({"command": "echo inside", "background": true, "pty": pty}),
        );
        let wait = serde_json::json!({
            "action": "wait", "session_id": started["session_id"], "timeout": 20
        });
        let ended = talk.call("process", &wait);
        assert_eq!(ended["status"], "exited", "{started} {ended}");
        assert_eq!(ended["exit_code"], 0, "{ended}");
    }
    let script = serde_json::json!({"code": "print('scripted')"});
    let result = talk.call("execute_code", &script);
    assert_eq!(result["status"], "success", "{result}");
    world.hermes(&["doctor"]).run();
}
