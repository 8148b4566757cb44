//! Every way out fails, and the result shows it.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use super::attempts::ATTEMPTS;
use super::world::{User, World, read};

/// What is outside: a process of the same user, and sockets that would do what they are told.
struct Outside {
    sibling: Child,
    sockets: Vec<UnixListener>,
    shared: tempfile::NamedTempFile,
    multiplexer: tempfile::TempDir,
    terminal: OwnedFd,
    terminal_name: String,
    memory: String,
}

/// Makes or removes memory that processes share by number.
fn shared_memory(call: &str) -> String {
    let script = format!("import ctypes; print(ctypes.CDLL(None).{call})");
    let output = Command::new("python3").args(["-c", &script]).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    output.trim().to_owned()
}

/// A terminal that anybody may write to and read from, by its end and its name.
fn terminal() -> (OwnedFd, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&end).unwrap();
    unlockpt(&end).unwrap();
    let name = ptsname(&end, Vec::new()).unwrap().into_string().unwrap();
    std::fs::set_permissions(&name, PermissionsExt::from_mode(0o666)).unwrap();
    (end, name)
}

impl Outside {
    fn new(world: &World, user: User, abstract_name: &str) -> Self {
        let mut sibling = Command::new("sleep");
        sibling
            .arg("1000")
            .env("SECRET", "canary")
            .stdin(Stdio::null());
        if user == User::Nobody && rustix::process::geteuid().is_root() {
            sibling.uid(65534).gid(65534);
        }
        let proc = world.home.path("cache/proc");
        std::fs::create_dir_all(&proc).unwrap();
        let multiplexer = tempfile::Builder::new()
            .prefix("tmux-hermes-")
            .tempdir_in("/tmp")
            .unwrap();
        let open = |path: &std::path::Path| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
        };
        open(multiplexer.path());
        let address = SocketAddr::from_abstract_name(abstract_name).unwrap();
        let paths = [
            proc.join("p.sock"),
            multiplexer.path().join("default"),
            world.home.outside("agent.sock"),
        ];
        let mut sockets = vec![UnixListener::bind_addr(&address).unwrap()];
        for path in paths {
            sockets.push(UnixListener::bind(&path).unwrap());
            open(&path);
        }
        world.give();
        let shared = tempfile::Builder::new()
            .prefix("hermes-canary-")
            .tempfile_in("/dev/shm")
            .unwrap();
        open(shared.path());
        let (terminal, terminal_name) = terminal();
        Self {
            sibling: sibling.spawn().unwrap(),
            sockets,
            shared,
            multiplexer,
            terminal,
            terminal_name,
            memory: shared_memory("shmget(0, 4096, 0o1666)"),
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        drop(self.sibling.kill());
        drop(self.sibling.wait());
        shared_memory(&format!("shmctl({}, 0, None)", self.memory));
    }
}

fn all_attempts_fail(user: User) {
    let world = World::new(user, "terminal: {sandbox: on}\n");
    let abstract_name = format!("hermes-escape-{}-{user:?}", std::process::id());
    let mut outside = Outside::new(&world, user, &abstract_name);
    let agent = world.home.outside("agent.sock").canonicalize().unwrap();
    let world = world.env("SSH_AUTH_SOCK", agent.display().to_string());
    std::fs::write(world.home.path("state.db"), "canary").unwrap();
    std::fs::write(world.home.path("kanban.db"), "canary").unwrap();
    world.put("calls.py", include_str!("calls.py"));
    world.give();
    let canary = world.home.user_home().join("outside/canary");
    let before = std::fs::metadata(&canary).unwrap();
    let mut talk = world.talk();
    let root = world.home.root();
    talk.works(&format!(
        "git init -q . && export P=$PPID S={} O=~/outside R='{}' K='{}' A='@{abstract_name}' T='{}' \
         M={}; \
         call() {{ python3 calls.py \"$@\"; }}",
        outside.sibling.id(),
        root.display(),
        outside.multiplexer.path().display(),
        outside.terminal_name,
        outside.memory,
    ));
    let mut out = Vec::new();
    let mut silent = Vec::new();
    for (name, command) in ATTEMPTS {
        let result = talk.run(command);
        assert_eq!(result["sandboxed"], true, "{name}: {result}");
        if result["exit_code"] == 0 {
            out.push(format!("{name}: {command}: {result}"));
        }
        let shown = result["output"].as_str().unwrap_or_default();
        if shown.trim().is_empty() && result.get("hint").is_none() {
            silent.push(format!("{name}: {command}: {result}"));
        }
        for secret in ["canary\n", "SECRET=canary", "KEPT=canary"] {
            assert!(!format!("{shown}\n").contains(secret), "{name}: {result}");
        }
    }
    assert!(out.is_empty(), "these got out:\n{}", out.join("\n"));
    assert!(
        silent.is_empty(),
        "these say nothing:\n{}",
        silent.join("\n")
    );
    // Hermes lives, and what lies outside is as it was.
    assert_eq!(talk.works("echo alive"), "alive");
    assert_eq!(read(&canary), "canary");
    let after = std::fs::metadata(&canary).unwrap();
    assert_eq!(
        (after.mode(), after.mtime(), after.nlink(), after.uid()),
        (before.mode(), before.mtime(), before.nlink(), before.uid())
    );
    let beside: Vec<_> = std::fs::read_dir(canary.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
    for socket in &outside.sockets {
        socket.set_nonblocking(true).unwrap();
        assert!(socket.accept().is_err(), "somebody connected");
    }
    let flags = rustix::fs::fcntl_getfl(&outside.terminal).unwrap();
    rustix::fs::fcntl_setfl(&outside.terminal, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    let typed = rustix::io::read(&outside.terminal, &mut [0; 16]);
    assert!(typed.is_err(), "somebody wrote to a terminal: {typed:?}");
    let look = format!(
        "shmctl({}, 2, ctypes.create_string_buffer(256))",
        outside.memory
    );
    assert_eq!(shared_memory(&look), "0", "the shared memory is gone");
    let ended = outside.sibling.try_wait().unwrap();
    assert!(
        ended.is_none(),
        "somebody killed another process: {ended:?}"
    );
    let limits = read(format!("/proc/{}/limits", outside.sibling.id()).as_ref());
    assert!(!limits.contains("Max open files            3 "), "{limits}");
    let mut shared = String::new();
    outside
        .shared
        .as_file()
        .read_to_string(&mut shared)
        .unwrap();
    assert_eq!(shared, "");
}

#[test]
fn every_attempt_fails_visibly_as_the_user_of_the_tests() {
    all_attempts_fail(User::Own);
}

#[test]
fn every_attempt_fails_visibly_as_an_ordinary_user() {
    all_attempts_fail(User::Nobody);
}

#[test]
fn there_are_at_least_eighty_attempts() {
    assert!(ATTEMPTS.len() >= 80, "{}", ATTEMPTS.len());
}

#[test]
fn what_a_sandboxed_command_defines_does_not_reach_one_outside() {
    // Not sandboxed unless it would be refused.
    let world = World::new(User::Own, "");
    world.put("evil/git", "#!/bin/sh\ntouch \"$HOME/outside/escaped\"\n");
    let mut talk = world.talk();
    let flagged = "export PATH=$PWD/evil:$PATH LD_PRELOAD=x; git() { touch ~/outside/escaped; }; \
                   alias ls='touch ~/outside/escaped'; python3 -c 'print(1)'; cd evil";
    let result = talk.run(flagged);
    assert_eq!(result["sandboxed"], true, "{result}");
    let note = result["shell_note"].as_str().unwrap_or_default();
    assert!(note.contains("are not kept"), "{result}");
    let next = talk.run("git --version; ls; pwd; echo ${LD_PRELOAD:-none}");
    assert!(next.get("sandboxed").is_none(), "{next}");
    let output = next["output"].as_str().unwrap_or_default();
    assert!(output.contains("none"), "{next}");
    assert!(
        output.contains("work/evil"),
        "the directory is kept: {next}"
    );
    assert!(!world.home.user_home().join("outside/escaped").exists());
}

#[test]
fn background_processes_terminals_and_scripts_are_confined_as_well() {
    use serde_json::json;
    for user in [User::Own, User::Nobody] {
        let world = World::new(user, "terminal: {sandbox: on}\n");
        let mut talk = world.talk();
        for pty in [false, true] {
            let started = talk.call(
                "terminal",
                &json!({
                    "command": "echo x > ~/outside/escaped; cat ~/.ssh/id_rsa; touch inside $TMPDIR/t; echo end",
                    "background": true, "pty": pty
                }),
            );
            assert_eq!(started["sandboxed"], true, "{started}");
            let id = started["session_id"].as_str().unwrap();
            let wait = json!({"action": "wait", "session_id": id, "timeout": 20});
            let end = talk.call("process", &wait);
            assert_eq!(end["exit_code"], 0, "{end}");
            let log = talk.call(
                "process",
                &json!({"action": "log", "session_id": id, "offset": 0}),
            );
            let output = log["output"].as_str().unwrap_or_default();
            assert!(output.contains("Read-only file system"), "{log}");
            assert!(
                output.contains("end") && !output.contains("canary"),
                "{log}"
            );
        }
        assert!(world.work("inside").exists());
        let script = talk.call(
            "execute_code",
            &json!({"code": "import os\nfrom hermes_tools import terminal\n\
                print(terminal('echo from-terminal')['output'])\n\
                open('made', 'w').close()\n\
                for p in ['~/outside/escaped', '~/.ssh/id_rsa']:\n\
                \x20   try: print(open(os.path.expanduser(p), 'w' if 'out' in p else 'r').read())\n\
                \x20   except OSError as e: print('refused', e)"}),
        );
        assert_eq!(script["status"], "success", "{script}");
        assert_eq!(script["sandboxed"], true, "{script}");
        let output = script["output"].as_str().unwrap_or_default();
        assert!(output.contains("from-terminal"), "{script}");
        assert_eq!(output.matches("refused").count(), 2, "{script}");
        assert!(world.work("made").exists());
        let file = talk.call(
            "write_file",
            &json!({"path": "~/.local/bin/ls", "content": "#!/bin/sh"}),
        );
        assert!(
            file.to_string().contains("outside of what this sandbox"),
            "{file}"
        );
        assert!(!world.home.user_home().join("outside/escaped").exists());
    }
}
