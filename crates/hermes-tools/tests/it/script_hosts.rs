//! Hosts for scripts that are real shells on this machine, with the programs of different systems.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hermes_terminal::remote::{
    RemoteError, ScriptOutcome, ScriptRequest, ScriptRunner, TransportError,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// Which programs a host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Programs {
    /// Those of a usual Linux: bash and GNU tools.
    Gnu,
    /// The same with ripgrep.
    Ripgrep,
    /// One small program for all, as in the smallest images.
    Busybox,
}

impl Programs {
    pub(crate) const ALL: [Self; 3] = [Self::Gnu, Self::Ripgrep, Self::Busybox];
}

/// What scripts may use of this machine.
const GNU: &[&str] = &[
    "sh", "bash", "cat", "head", "tail", "cut", "od", "tr", "wc", "stat", "find", "grep", "sort",
    "xargs", "readlink", "mkdir", "chmod", "chown", "mv", "rm", "sync", "sleep", "id", "env", "ls",
];

pub(crate) struct ShellHost {
    shell: PathBuf,
    home: PathBuf,
    path: PathBuf,
}

impl ShellHost {
    /// A host whose programs are linked into a directory below `root`.
    pub(crate) fn new(programs: Programs, root: &Path) -> Self {
        let path = root.join("bin");
        std::fs::create_dir_all(&path).unwrap();
        let shell = if programs == Programs::Busybox {
            let mut install = Command::new("busybox");
            install.args(["--install", "-s"]).arg(&path);
            assert!(install.status().unwrap().success());
            "ash"
        } else {
            for name in GNU {
                std::os::unix::fs::symlink(program(name), path.join(name)).unwrap();
            }
            "bash"
        };
        if programs == Programs::Ripgrep {
            std::os::unix::fs::symlink(program("rg"), path.join("rg")).unwrap();
        }
        Self {
            shell: path.join(shell),
            home: root.join("home"),
            path,
        }
    }

    /// The same with Python.
    pub(crate) fn with_python(self) -> Self {
        std::os::unix::fs::symlink(program("python3"), self.path.join("python3")).unwrap();
        self
    }
}

/// A program of this machine. A missing one fails the test: it is needed.
pub(crate) fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let own = |dir: &PathBuf| !dir.display().to_string().contains("pyenv");
    let found = std::env::split_paths(&path)
        .filter(own)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not installed"))
}

impl ScriptRunner for ShellHost {
    fn run_script(&self, job: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        let mut command = Command::new(&self.shell);
        command
            .arg("-c")
            .arg(job.script)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", &self.path)
            .current_dir("/");
        run_child(command, job, signal_group)
    }

    fn describe(&self) -> String {
        "the host of a test".to_owned()
    }
}

/// Signals a group on this machine, or only looks; whether somebody was there.
pub(crate) fn signal_group(pid: Pid, signal: Option<Signal>) -> bool {
    match signal {
        Some(signal) => kill_process_group(pid, signal).is_ok(),
        None => test_kill_process_group(pid).is_ok(),
    }
}

/// Runs a client in a group of its own. What it started is stopped with `signal`, which says whether
/// somebody was there: SIGTERM, two seconds for all to end, SIGKILL.
pub(crate) fn run_child(
    mut command: Command,
    job: &ScriptRequest<'_>,
    signal: impl Fn(Pid, Option<Signal>) -> bool,
) -> Result<ScriptOutcome, RemoteError> {
    let interrupt = job.interrupt.unwrap();
    if interrupt.is_raised() {
        return Err(RemoteError::Interrupted);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| unusable(&error.to_string()))?;
    let pid = Pid::from_child(&child);
    let mut stdin = child.stdin.take().unwrap();
    let input = job.input.to_vec();
    // A script that needs no input has ended before it is written.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let stdout = child.stdout.take().unwrap();
    let most = job.most_output as u64 + 1;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.take(most).read_to_end(&mut bytes).unwrap();
        bytes
    });
    let deadline = Instant::now() + job.limit;
    let mut status = None;
    while status.is_none() {
        if Instant::now() >= deadline || interrupt.is_raised() {
            break;
        }
        status = child.try_wait().unwrap();
        interrupt.wait(Duration::from_millis(3));
    }
    if status.is_none() {
        signal(pid, Some(Signal::TERM));
        let grace_ends = Instant::now() + Duration::from_secs(2);
        while signal(pid, None) && Instant::now() < grace_ends {
            // The leader stays in the group until it is waited for.
            child.try_wait().unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(pid, Some(Signal::KILL));
        drop(child.kill());
        child.wait().unwrap();
    }
    writer.join().unwrap();
    let stdout = reader.join().unwrap();
    let Some(status) = status else {
        if interrupt.is_raised() {
            return Err(RemoteError::Interrupted);
        }
        return Err(RemoteError::TimedOut { limit: job.limit });
    };
    Ok(ScriptOutcome {
        is_cut: stdout.len() > job.most_output,
        stdout,
        exit_code: status.code().unwrap_or(-1),
    })
}

/// The error of a host that cannot be used.
pub(crate) fn unusable(message: &str) -> RemoteError {
    RemoteError::Unusable(TransportError {
        message: message.to_owned(),
        hint: None,
        is_missing_part: true,
    })
}

/// A host that is not to be used.
pub(crate) struct Unreachable;

impl ScriptRunner for Unreachable {
    fn run_script(&self, _: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        Err(unusable("The container engine is not running; start it."))
    }

    fn describe(&self) -> String {
        "nowhere".to_owned()
    }
}
