//! Kill means dead for daemons, too: what forks twice, makes a session of its own, empties its
//! environment and lets go of every descriptor ends with the command that started it.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use hermes_testkit::eventually;

use super::{Place, is_alive, text};

/// A place with the two scripts of a daemon.
fn place() -> Place {
    let place = Place::with_config(
        "terminal: {foreground_guard: false, daemon_term_grace_seconds: 0.3}\n\
         approvals: {noninteractive_mode: approve}\n\
         code_execution: {timeout: 2}\n",
    );
    std::fs::write(
        place.work("inner.sh"),
        "exec </dev/null >/dev/null 2>&1\ncd /\necho $$ >\"$1.new\"\nmv \"$1.new\" \"$1\"\nexec sleep 60\n",
    )
    .unwrap();
    let inner = place.work("inner.sh");
    std::fs::write(
        place.work("daemon.sh"),
        format!(
            "env -i PATH=\"$PATH\" setsid /bin/sh -c '(setsid /bin/sh {} \"$1\" &)' sh \"$1\"\n",
            inner.display()
        ),
    )
    .unwrap();
    place
}

fn command(pid_file: &Path) -> String {
    format!("sh daemon.sh {}; sleep 60", pid_file.display())
}

/// Waits for the daemon and makes sure that nothing but the kernel knows whose it is.
#[track_caller]
fn pid_in(file: &Path) -> String {
    let mut pid = String::new();
    eventually("the daemon runs", || {
        pid = std::fs::read_to_string(file).unwrap_or_default();
        pid.ends_with('\n')
    });
    let environment = std::fs::read(format!("/proc/{}/environ", pid.trim())).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(!environment.contains("HERMES_EXEC_ID"), "{environment}");
    pid
}

#[test]
fn a_daemon_dies_with_the_timeout_of_its_command() {
    let place = place();
    let mut talk = place.talk();
    talk.output("true");
    let file = place.work("pid");
    let result = talk.terminal(json!({"command": command(&file), "timeout": 2}));
    assert_eq!(result["exit_code"], 124, "{result}");
    let pid = std::fs::read_to_string(&file).unwrap();
    assert!(!is_alive(&pid), "{pid} lives");
}

#[test]
fn a_daemon_that_took_its_mark_away_dies_with_the_timeout_of_its_command() {
    let place = place();
    let mut talk = place.talk();
    talk.output("true");
    let file = place.work("pid");
    let command = format!("ulimit -x 7; {}", command(&file));
    let result = talk.terminal(json!({"command": command, "timeout": 2}));
    assert_eq!(result["exit_code"], 124, "{result}");
    let pid = std::fs::read_to_string(&file).unwrap();
    assert!(!is_alive(&pid), "{pid} lives");
    // One that was left on purpose goes on, and nobody buries it alive.
    let other = place.work("other");
    talk.output(&format!("ulimit -x 7; sh daemon.sh {}", other.display()));
    let pid = pid_in(&other);
    talk.output("true");
    assert!(is_alive(&pid), "{pid} was ended");
    let pid = pid.trim();
    talk.output(&format!("kill {pid}"));
    let path = format!("/proc/{pid}");
    eventually("the orphan is buried", || {
        talk.output("true");
        !Path::new(&path).exists()
    });
}

#[test]
fn a_daemon_that_was_left_on_purpose_stays() {
    let place = place();
    let mut talk = place.talk();
    let file = place.work("pid");
    let result = talk.run(&format!("sh daemon.sh {}", file.display()));
    assert_eq!(result["exit_code"], 0, "{result}");
    let pid = pid_in(&file);
    let result = talk.terminal(json!({"command": "sleep 60", "timeout": 1}));
    assert_eq!(result["exit_code"], 124, "{result}");
    assert!(is_alive(&pid), "{pid} was not that command's");
    talk.output(&format!("kill {}", pid.trim()));
    eventually("the daemon is gone", || !is_alive(&pid));
}

#[test]
fn a_daemon_dies_with_its_background_process() {
    for pty in [false, true] {
        let place = place();
        let mut talk = place.talk();
        let file = place.work("pid");
        let id = talk.start(&command(&file), pty);
        let pid = pid_in(&file);
        let result = talk.process(json!({"action": "kill", "session_id": id}));
        assert_eq!(result["status"], "killed", "{result}");
        assert!(!is_alive(&pid), "{pid} lives, pty: {pty}");
    }
}

#[test]
fn a_daemon_of_a_background_process_dies_though_it_sheds_every_mark() {
    // Even the limit that the kernel keeps: the supervisor is the parent of what is left behind.
    let place = place();
    let mut talk = place.talk();
    let file = place.work("pid");
    let shed = format!(
        "bash -c 'ulimit -x 0; exec env -i PATH=\"$PATH\" sh daemon.sh {}'; sleep 60",
        file.display()
    );
    let id = talk.start(&shed, false);
    let pid = pid_in(&file);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", pid.trim())).unwrap();
    let locks = limits
        .lines()
        .find(|line| line.starts_with("Max file locks"));
    let locks: Vec<&str> = locks.unwrap().split_whitespace().collect();
    assert_eq!(locks[3..], ["0", "0", "locks"]);
    let result = talk.process(json!({"action": "kill", "session_id": id}));
    assert_eq!(result["status"], "killed", "{result}");
    assert!(!is_alive(&pid), "{pid} lives");
}

#[test]
fn a_daemon_of_a_background_process_is_ended_by_a_later_hermes() {
    let place = place();
    let mut talk = place.talk();
    let file = place.work("pid");
    let id = talk.start(&command(&file), false);
    let pid = pid_in(&file);
    talk.hermes.kill();
    let mut talk = place.talk();
    let result = talk.process(json!({"action": "kill", "session_id": id}));
    assert_eq!(result["status"], "killed", "{result}");
    assert!(!is_alive(&pid), "{pid} lives");
}

#[test]
fn a_daemon_dies_with_its_script() {
    let place = place();
    let mut talk = place.talk();
    let file = place.work("pid");
    let code = format!(
        "import subprocess, time\nsubprocess.run(['sh', 'daemon.sh', '{}'], cwd='{}')\ntime.sleep(60)",
        file.display(),
        place.work("").display()
    );
    let result = talk.script(&code);
    assert_eq!(result["status"], "timeout", "{result}");
    let pid = std::fs::read_to_string(&file).unwrap();
    assert!(!is_alive(&pid), "{pid} lives");
}

#[test]
fn a_daemon_dies_with_a_hermes_that_is_killed() {
    let place = place();
    let mut talk = place.talk();
    let file = place.work("pid");
    talk.output("true");
    talk.send("main", "terminal", &json!({"command": command(&file)}));
    let pid = pid_in(&file);
    talk.hermes.kill();
    eventually("the daemon is gone", || !is_alive(&pid));
}

#[test]
fn helpers_and_commands_end_with_a_hermes_that_is_killed_under_a_debugger() {
    let place = place();
    let mut talk = place.talk();
    let file = place.work("pid");
    talk.output("true");
    talk.send("main", "terminal", &json!({"command": command(&file)}));
    let pid = pid_in(&file);
    let hermes = talk.hermes.pid();
    let helpers = children_of(hermes);
    assert!(helpers.len() >= 2, "{helpers:?}");
    let mut tracer = hold_as_a_debugger(hermes);
    let killed = rustix::process::Pid::from_raw(i32::try_from(hermes).unwrap()).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    // The debugger still holds it: for everyone else it has not ended.
    eventually("the daemon is gone", || !is_alive(&pid));
    for helper in helpers {
        eventually("a helper is gone", || !is_alive(&helper));
    }
    assert!(PathBuf::from(format!("/proc/{hermes}")).exists());
    // A Hermes that comes now does not take it for one that runs.
    let threads = format!("/proc/{hermes}/task");
    assert!(std::fs::read_dir(threads).unwrap().count() > 1);
    assert!(hermes_proc::is_zombie(hermes));
    drop(tracer.stdin.take());
    tracer.wait().unwrap();
}

/// Attaches to every thread of a process, as a debugger does, lets them go on, and never looks after
/// them again until its input ends.
fn hold_as_a_debugger(pid: u32) -> std::process::Child {
    use std::io::BufRead;
    const HOLD: &str = "import ctypes, os, sys\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        pid = sys.argv[1]\n\
        for thread in os.listdir(f'/proc/{pid}/task'):\n\
        \x20   assert libc.ptrace(0x4206, int(thread), 0, 0) == 0, ctypes.get_errno()\n\
        print('held', flush=True)\n\
        sys.stdin.read()\n";
    let mut tracer = std::process::Command::new("python3")
        .args(["-c", HOLD, &pid.to_string()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(tracer.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "held\n");
    tracer
}

fn children_of(pid: u32) -> Vec<String> {
    let mut children = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let listed = std::fs::read_to_string(thread.unwrap().path().join("children")).unwrap();
        children.extend(listed.split_whitespace().map(str::to_owned));
    }
    children
}

/// What a command says of its limits is what the user has, apart from the mark.
#[test]
fn other_limits_are_the_users() {
    let place = place();
    let shown = |result: &Value| {
        let lines = text(result, "output").lines().map(str::to_owned);
        lines
            .filter(|line| !line.starts_with("file locks"))
            .collect::<Vec<_>>()
    };
    let plain = std::process::Command::new("bash")
        .args(["-c", "ulimit -a"])
        .output()
        .unwrap();
    let plain = json!({"output": String::from_utf8_lossy(&plain.stdout)});
    assert_eq!(shown(&place.talk().run("ulimit -a")), shown(&plain));
}
