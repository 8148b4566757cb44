//! One call of the program, in an environment that holds nothing the test did not put there.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::unprivileged::NOBODY;
use crate::{AtTerminal, OnScreen, ProgramOutput, Running};

/// Variables that a child needs to find other programs and to report coverage, nothing else.
const KEPT: &[&str] = &["PATH", "LLVM_PROFILE_FILE"];

/// A call that has not started yet.
#[derive(Debug)]
pub struct ProgramCall {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    directory: PathBuf,
    stdin: Option<Vec<u8>>,
    nobody: bool,
    wrapper: Vec<OsString>,
    scratch: PathBuf,
}

impl ProgramCall {
    /// `directory` is the test's, with the user's home in it.
    pub(crate) fn new<I, S>(program: &Path, directory: &Path, user_home: &Path, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let kept = KEPT.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((OsString::from(name), value))
        });
        let mut run = Self {
            program: program.to_owned(),
            args: args.into_iter().map(|arg| arg.as_ref().into()).collect(),
            env: kept.collect(),
            directory: user_home.to_owned(),
            stdin: None,
            nobody: false,
            wrapper: Vec::new(),
            scratch: directory.join("fake-root"),
        };
        run = run.env("HOME", user_home);
        // A machine-wide file of an administrator is not the test's.
        run.env("HERMES_MANAGED_DIR", directory.join("no-administrator"))
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().into()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.as_ref().into()));
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// Starts in another directory than the user's home.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        directory.clone_into(&mut self.directory);
        self
    }

    /// Another program in the same surroundings, such as an alias.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// What the program reads; nothing unless given.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Ends the program at its n-th write point. Debug builds only.
    #[must_use]
    pub fn kill_at_write(self, point: u64) -> Self {
        self.env("HERMES_TEST_KILL_AT_WRITE", point.to_string())
    }

    /// Runs as on a machine that is no container, wherever the test runs. Debug builds only.
    #[must_use]
    pub fn on_host(self) -> Self {
        let root = self.scratch.clone();
        self.env("HERMES_TEST_SYSTEM_ROOT", root)
    }

    /// Runs as a user without rights. The files it should own are the caller's business.
    #[must_use]
    pub fn as_nobody(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            self.nobody = true;
            self = self.reachable_by_all();
        }
        self
    }

    /// Runs the program from where every user can start it.
    #[must_use]
    pub fn reachable_by_all(mut self) -> Self {
        self.program = reachable(&self.program, self.scratch.parent().unwrap());
        self
    }

    /// Ends the program when it asks for more address space than this. What it occupies in memory
    /// is always less.
    #[must_use]
    pub fn within_megabytes(self, megabytes: u64) -> Self {
        let script = format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1024);
        self.wrapped(["sh", "-c", script.as_str()])
    }

    /// Runs `script` with `sh` first, where it may mount whatever it likes: nobody else sees it, and
    /// it is gone afterwards. The script ends with `"$0" "$@"`, which is the program.
    #[must_use]
    pub fn in_mount_namespace(self, script: &str) -> Self {
        let script = format!("set -eu\n{script}");
        let unshare: &[&str] = if rustix::process::geteuid().is_root() {
            &["unshare", "--mount"]
        } else {
            &["unshare", "--mount", "--map-root-user"]
        };
        let words = unshare.iter().copied().chain(["sh", "-c", script.as_str()]);
        self.wrapped(words)
    }

    /// Runs the program where it sees its own processes only, numbered from the start. It is the
    /// first of them.
    #[must_use]
    pub fn in_own_process_table(self) -> Self {
        let mut words = vec!["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
        if !rustix::process::geteuid().is_root() {
            words.push("--map-root-user");
        }
        self.wrapped(words)
    }

    /// Runs the program by these words, which get it and its arguments at their end.
    #[must_use]
    pub fn wrapped<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.wrapper.extend(words.into_iter().map(OsString::from));
        self
    }

    fn command(&self) -> Command {
        let mut words = self.wrapper.iter().map(OsString::as_os_str);
        let mut command = match words.next() {
            None => Command::new(&self.program),
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(&self.program);
                command
            }
        };
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// The call as one would type it, for messages.
    fn shown(&self) -> String {
        let name = self.program.file_name().unwrap_or_default();
        let words = std::iter::once(name).chain(self.args.iter().map(OsString::as_os_str));
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// Runs the program with a standard output that nobody reads any more.
    pub fn run_into_closed_pipe(self) -> ProgramOutput {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        self.run_with_stdout(writer.into())
    }

    /// Runs the program with its standard output in a file or device.
    pub fn run_into(self, path: &Path) -> ProgramOutput {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        self.run_with_stdout(file.into())
    }

    /// Runs the program to its end.
    pub fn run(self) -> ProgramOutput {
        self.run_with_stdout(Stdio::piped())
    }

    fn run_with_stdout(self, stdout: Stdio) -> ProgramOutput {
        let mut command = self.command();
        command.stdout(stdout);
        let stdin = if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut child = command
            .stdin(stdin)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.shown()));
        // From a thread, so that a program that writes before it reads does not wait for ever.
        let feeder = child.stdin.take().zip(self.stdin.clone());
        let feeder = feeder.map(|(mut pipe, bytes)| {
            // A program that does not want the rest closes its end; its exit code tells.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)))
        });
        let output = child.wait_with_output().unwrap();
        if let Some(feeder) = feeder {
            feeder.join().unwrap();
        }
        ProgramOutput {
            call: self.shown(),
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Starts the program at a terminal of its own, where somebody can be asked.
    pub fn start_at_terminal(mut self) -> AtTerminal {
        // In front, so that whatever else wraps the program is at the terminal, too.
        let session = ["setsid", "--ctty"].map(OsString::from);
        self.wrapper.splice(0..0, session);
        AtTerminal::new(self.command(), self.shown())
    }

    /// Starts the program at a terminal with a screen of this size. The terminal is of a kind that
    /// does not break lines anew when it gets narrower.
    pub fn start_on_screen(mut self, rows: u16, columns: u16) -> OnScreen {
        let session = ["setsid", "--ctty"].map(OsString::from);
        self.wrapper.splice(0..0, session);
        let call = self.env("TERM", "xterm-256color").env("XTERM_VERSION", "1");
        OnScreen::new(call.command(), call.shown(), rows, columns)
    }

    /// Starts the program and does not wait for it.
    pub fn start(self) -> Running {
        let stdin = self.stdin.clone();
        let child = self.command().stdin(Stdio::piped()).spawn();
        Running::new(child.unwrap(), self.shown(), stdin)
    }
}

/// The program where every user can start it: builds are often kept below a private directory.
fn reachable(program: &Path, directory: &Path) -> PathBuf {
    let copy = directory.join("bin").join(program.file_name().unwrap());
    if !copy.exists() {
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        match std::fs::hard_link(program, &copy) {
            Ok(()) => {}
            // Another thread was faster; a copy would go through its link into the program itself.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(_) => drop(std::fs::copy(program, &copy).unwrap()),
        }
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
    }
    copy
}
