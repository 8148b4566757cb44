//! The supervisor of one background process: a small process of its own.
//!
//! It is the parent of the shell and owns its pipes, so that Hermes can come and go: output is kept
//! in a bounded log, the exit code in a file, and a full pipe never stops the job. It knows nothing
//! of sessions, notices or settings; it is told what to start over its standard input.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_fs::Staging;
use hermes_proc::sandbox::Sandbox;
use hermes_proc::{
    Child, ChildExits, ChildSpec, Group, KillTiming, PollSet, Pty, Streams, adopt_orphans,
    agent_shell, kill_tree, read_once, reap_orphans,
};
use rustix::io::Errno;

use super::crash_guard::stand_guard;
use super::files::{ExitRecord, Files};
use super::frame::{Frame, StartSpec, Started};
use super::link::Link;
use super::ring::RingLog;
use super::sandbox_request::{SandboxRequest, temporary_variables};
use crate::shell::memory_file::{memory_file_of, out_of_the_way, pipe};
use crate::shell::script::{Channels, prologue, shell_arguments};

/// Size of the terminal a process gets.
const ROWS: u16 = 30;
const COLUMNS: u16 = 120;
/// Name of the directory for temporary files of a sandboxed process.
const TEMPORARY: &str = "sandbox";
/// As in the foreground: output after the end of the shell.
const SILENCE: Duration = Duration::from_millis(300);
const LONGEST_DRAIN: Duration = Duration::from_secs(3);

/// Runs as the supervisor of a process, or as the guard of a Hermes: reads which from standard
/// input
/// and returns when there is nothing left to do. The program calls this before it does anything
/// else.
pub fn supervise() -> io::Result<()> {
    let input = rustix::io::dup(rustix::stdio::stdin())?;
    let mut hermes = Link::new(UnixStream::from(input));
    let spec = match hermes.wait_for_frame()? {
        Some(Frame::Start(spec)) => spec,
        Some(Frame::Guard(table)) => return stand_guard(hermes, table),
        _ => return Err(io::Error::other("nothing to start")),
    };
    let Some(spec) = StartSpec::decode(&spec) else {
        return Err(io::Error::other("malformed start request"));
    };
    if spec
        .variables
        .iter()
        .any(|(name, _)| name == agent_shell::MARK)
    {
        // The agent's own process may end before what it started here.
        agent_shell::announce_agent();
    }
    match Supervisor::start(&spec) {
        Ok((supervisor, gate)) => supervisor.run(hermes, gate),
        Err(error) => hermes.send_now(&Frame::Failed(error.to_string())),
    }
}

struct Supervisor {
    files: Files,
    log: RingLog,
    listener: Option<UnixListener>,
    child: Child,
    started: Started,
    /// Tells of orphans that have ended.
    exits: ChildExits,
    /// Where the process's output is read; with a terminal, also where input is typed.
    output: Option<OwnedFd>,
    typed: Vec<u8>,
    clients: Vec<Link>,
    /// How many of the last bytes nobody was told.
    unheard: usize,
    /// Its temporary files, which go with it.
    _temporary: Option<Staging>,
}

impl Supervisor {
    /// Starts the shell; what it starts in turn and leaves behind becomes ours.
    fn start(spec: &StartSpec) -> Result<(Self, OwnedFd), Box<dyn std::error::Error>> {
        hermes_fs::create_dir_all(&spec.directory, 0o700)?;
        // Names relative to the directory: a socket's path has room for a hundred characters only.
        rustix::process::chdir(&spec.directory)?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        let files = Files::of(std::path::Path::new(""), &spec.id);
        let log = RingLog::create(&files.log)?;
        // Without it nobody can come back after a restart; the process runs all the same.
        let listener = UnixListener::bind(&files.socket)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .ok();
        let (output, streams) = streams(spec.pty)?;
        let is_pty = matches!(streams, Streams::Terminal(_));
        let (gate_reader, gate) = pipe()?;
        let gate_reader = out_of_the_way(gate_reader.as_fd())?;
        let script = memory_file_of(&spec.script)?;
        let script = out_of_the_way(script.as_fd())?;
        let channels = Channels {
            script: script.as_raw_fd(),
            report: None,
            gate: Some(gate_reader.as_raw_fd()),
        };
        let args = shell_arguments(spec.kind, false, &prologue(spec.kind, channels));
        let (sandbox, temporary) = confine(spec)?;
        let variables = with_temporary(spec, temporary.as_ref());
        let shell = ChildSpec {
            cwd: Some(spec.cwd.clone()),
            streams,
            group: Group::Session,
            inherited: vec![script, gate_reader],
            // Without us nobody reads what it prints, and nobody learns of its end.
            ends_with_thread: true,
            kill_on_drop: false,
            sandbox,
            ..ChildSpec::new(&spec.shell, args, variables)
        };
        let exits = ChildExits::listen()?;
        adopt_orphans()?;
        let child = shell.spawn()?;
        let started = Started {
            pid: child.pid(),
            start_time: child.start_time(),
            pty: is_pty,
        };
        let supervisor = Self {
            files,
            log,
            listener,
            child,
            started,
            exits,
            output: Some(output),
            typed: Vec::new(),
            clients: Vec::new(),
            unheard: 0,
            _temporary: temporary,
        };
        Ok((supervisor, gate))
    }

    fn run(mut self, mut hermes: Link, gate: OwnedFd) -> io::Result<()> {
        hermes.send_now(&Frame::Started(self.started))?;
        if !matches!(hermes.wait_for_frame(), Ok(Some(Frame::Go))) {
            // Whoever wanted it is gone before it was on record: it never runs.
            kill_tree(&self.child.tree(), KillTiming::default());
            self.files.remove();
            return Ok(());
        }
        rustix::io::write(&gate, b"\n")?;
        drop(gate);
        hermes.set_nonblocking()?;
        self.clients.push(hermes);
        // What was typed right away may have been read together with the word to go; nothing more
        // would arrive to wake us for it.
        if !self.serve(0) {
            self.clients.clear();
        }
        while !self.step(Duration::from_hours(1), true)? {}
        let end = Instant::now() + LONGEST_DRAIN;
        while self.output.is_some() && Instant::now() < end {
            let before = Instant::now();
            self.step(SILENCE, false)?;
            if before.elapsed() >= SILENCE {
                break;
            }
        }
        self.finish()
    }

    /// Waits for something to happen and deals with it; `true` when the shell has ended.
    fn step(&mut self, wait: Duration, running: bool) -> io::Result<bool> {
        let ready = self.poll(wait, running)?;
        if ready.orphan {
            self.exits.clear();
            reap_orphans();
        }
        if ready.output {
            self.read_output();
        }
        if ready.can_type {
            self.type_on();
        }
        if ready.knock {
            self.accept();
        }
        for index in (0..self.clients.len()).rev() {
            let is_ready = ready.clients.get(index).copied().unwrap_or(false);
            if is_ready && !self.serve(index) {
                self.clients.swap_remove(index);
            }
        }
        Ok(ready.exit)
    }

    fn poll(&self, wait: Duration, running: bool) -> io::Result<Ready> {
        let mut set = PollSet::new();
        let output = set.readable(self.output.as_ref());
        let input = set.writable(self.output.as_ref().filter(|_| !self.typed.is_empty()));
        let exit = set.readable(running.then_some(&self.child));
        let orphan = set.readable([&self.exits]);
        let knock = set.readable(self.listener.as_ref());
        let clients: Vec<_> = self
            .clients
            .iter()
            .map(|client| {
                let unsent = set.writable(client.has_unsent().then_some(client));
                (set.readable([client]), unsent)
            })
            .collect();
        set.wait(wait)?;
        Ok(Ready {
            output: set.is_ready(&output),
            can_type: set.is_ready(&input),
            exit: set.is_ready(&exit),
            orphan: set.is_ready(&orphan),
            knock: set.is_ready(&knock),
            clients: clients
                .iter()
                .map(|(news, unsent)| set.is_ready(news) || set.is_ready(unsent))
                .collect(),
        })
    }

    fn read_output(&mut self) {
        let mut chunk = vec![0; 64 * 1024];
        // A terminal says EIO when the last program on it has gone; that closes it, as at its end.
        let count = read_once(&mut self.output, &mut chunk).map_or(0, <[u8]>::len);
        if count == 0 {
            return;
        }
        chunk.truncate(count);
        // A full disk must not stop the job; those who listen hear it all the same.
        drop(self.log.append(&chunk));
        self.tell(&Frame::Output(chunk));
        if self.clients.is_empty() {
            self.unheard += count;
        }
    }

    fn tell(&mut self, frame: &Frame) {
        let bytes = frame.encode();
        self.clients.retain_mut(|client| client.send(&bytes));
    }

    fn type_on(&mut self) {
        let Some(output) = &self.output else { return };
        match rustix::io::write(output, &self.typed) {
            Ok(count) => drop(self.typed.drain(..count)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.typed.clear(),
        }
    }

    /// A Hermes that came back gets the history first; what nobody has heard yet is news.
    fn accept(&mut self) {
        let Some(listener) = &self.listener else {
            return;
        };
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        let mut client = Link::new(stream);
        if client.set_nonblocking().is_err() {
            return;
        }
        let mut history = self.log.read();
        let news = history.split_off(history.len().saturating_sub(self.unheard));
        let mut frames = vec![Frame::Started(self.started), Frame::History(history)];
        if !news.is_empty() {
            frames.push(Frame::Output(news));
        }
        if frames.iter().all(|frame| client.send(&frame.encode())) {
            self.unheard = 0;
            self.clients.push(client);
        }
    }

    /// Deals with one client; `false` when it is gone.
    fn serve(&mut self, index: usize) -> bool {
        let Some(client) = self.clients.get_mut(index) else {
            return false;
        };
        let is_open = client.exchange();
        while let Ok(Some(frame)) = client.next_frame() {
            if let (Frame::Type(bytes), true) = (frame, self.started.pty) {
                self.typed.extend(bytes);
            }
        }
        is_open
    }

    fn finish(mut self) -> io::Result<()> {
        let exit_code = self.child.wait().map_err(io::Error::other)?.signed_code();
        let record = ExitRecord {
            exit_code,
            finished_at: jiff::Timestamp::now().as_duration().as_secs_f64(),
            unheard_bytes: self.unheard,
        };
        // Said before it is written down: whoever hears it needs no file, and a busy disk takes
        // seconds.
        let last = Frame::Exited(exit_code).encode();
        for client in &mut self.clients {
            client.send(&last);
            client.flush(Duration::from_secs(2));
        }
        // A full disk: the next Hermes takes the process for lost.
        drop(self.files.write_exit(&record));
        drop(self.listener);
        // Nobody listens on it any more; what stays is removed with the other files.
        drop(hermes_fs::remove_file_if_present(&self.files.socket));
        Ok(())
    }
}

#[expect(clippy::struct_excessive_bools, reason = "one answer per descriptor")]
struct Ready {
    output: bool,
    can_type: bool,
    exit: bool,
    orphan: bool,
    knock: bool,
    clients: Vec<bool>,
}

/// A sandbox, and the directory for its temporary files.
type Confined = (Option<Arc<Sandbox>>, Option<Staging>);

/// The sandbox of the process, with a directory for its temporary files.
fn confine(spec: &StartSpec) -> Result<Confined, Box<dyn std::error::Error>> {
    if spec.sandbox.is_empty() {
        return Ok((None, None));
    }
    let Some(request) = SandboxRequest::decode(&spec.sandbox) else {
        return Err("malformed sandbox".into());
    };
    let mut plan = request.plan;
    hermes_fs::create_dir_all(&request.temp_directory, 0o700)?;
    let temporary = Staging::begin(&request.temp_directory, TEMPORARY)?;
    plan.writable.push(temporary.path().to_owned());
    let sandbox = Sandbox::prepare(plan, request.support)?;
    Ok((Some(Arc::new(sandbox)), Some(temporary)))
}

/// The variables of the process; one with a directory of its own for temporary files finds it.
fn with_temporary(spec: &StartSpec, temporary: Option<&Staging>) -> Vec<(OsString, OsString)> {
    let mut variables = spec.variables.clone();
    variables.extend(temporary_variables(temporary.map(Staging::path)));
    variables
}

/// Where output is read, and the streams of the process. A terminal that cannot be had is replaced
/// by a pipe.
fn streams(pty: bool) -> io::Result<(OwnedFd, Streams)> {
    if pty && let Ok(pty) = Pty::open(ROWS, COLUMNS) {
        let controller = OwnedFd::from(pty.controller);
        rustix::io::ioctl_fionbio(&controller, true)?;
        return Ok((controller, Streams::Terminal(pty.terminal)));
    }
    let (reader, writer) = pipe()?;
    let streams = Streams::Given {
        input: None,
        output: Some(writer),
    };
    Ok((reader, streams))
}
