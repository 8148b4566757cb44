//! One script from start to end: a single loop over its output, its exit, its socket, the clock and
//! the interrupt.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use hermes_proc::{PipedChild, PipedSpec, Wake};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::capture::Capture;
use super::rpc::RpcServer;
use super::staging::ScriptStage;

/// How long the pipes may be silent after the script has ended: a process it left behind may hold
/// them for ever.
const SILENCE: Duration = Duration::from_millis(300);
/// How long they may go on talking after it.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a script whose time is over may take to end on SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(5);
/// The same where a person waits, and for what a script left behind.
const SHORT_GRACE: Duration = Duration::from_millis(250);

/// What to watch besides the script.
pub(super) struct Watch<'a> {
    pub(super) stage: &'a ScriptStage,
    pub(super) server: &'a RpcServer,
    pub(super) interrupt: &'a Wake,
    pub(super) timeout: Duration,
}

/// How a script ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// With this code, or that of the signal below zero.
    Exited(i32),
    TimedOut,
    Interrupted,
}

/// What a script left.
pub(super) struct Finished {
    pub(super) ending: Ending,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
}

/// Bytes of each stream that will be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamLimits {
    pub(super) stdout: usize,
    pub(super) stderr: usize,
}

/// The one place where scripts are started.
pub(super) fn spawn_script(spec: &PipedSpec) -> hermes_proc::Result<PipedChild> {
    PipedChild::spawn(spec)
}

/// Waits for a script. When this returns, neither it nor anything it started runs any more.
pub(super) fn wait(
    mut child: PipedChild,
    watch: &Watch<'_>,
    limits: StreamLimits,
) -> hermes_proc::Result<Finished> {
    let mut streams = [
        Stream::new(child.take_stdout(), limits.stdout),
        Stream::new(child.take_stderr(), limits.stderr),
    ];
    let deadline = Instant::now() + watch.timeout;
    let mut stop = None;
    while stop.is_none() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            stop = Some(Ending::TimedOut);
            break;
        }
        let [stdout, stderr] = &streams;
        let ready = ready(
            [
                stdout.descriptor(),
                stderr.descriptor(),
                Some(watch.stage.listener.as_fd()),
                Some(watch.interrupt.as_fd()),
                Some(child.exit_descriptor()),
            ],
            left,
        );
        for (stream, ready) in streams.iter_mut().zip(ready) {
            if ready {
                stream.fill();
            }
        }
        let [_, _, connection, interrupted, ended] = ready;
        if connection {
            take_connection(&watch.stage.listener, watch.server);
        }
        if interrupted {
            stop = Some(Ending::Interrupted);
        } else if ended {
            break;
        }
    }
    let mark = &watch.stage.rpc.mark;
    let ending = match stop {
        None => {
            // What it left behind may be about to end by itself.
            drain(&mut streams, Some(watch.interrupt));
            Ending::Exited(exit_code(end_leftovers(&mut child, mark)?))
        }
        Some(ending) => {
            // First the calls: a command of the script must not outlive it.
            watch.server.stop();
            let grace = match ending {
                Ending::Interrupted => SHORT_GRACE,
                Ending::TimedOut | Ending::Exited(_) => TERM_GRACE,
            };
            child.kill_tree(mark, grace)?;
            watch.server.close();
            ending
        }
    };
    drain(&mut streams, None);
    let [stdout, stderr] = streams.map(|stream| stream.capture);
    Ok(Finished {
        ending,
        stdout,
        stderr,
    })
}

fn exit_code(status: ExitStatus) -> i32 {
    let by_signal = || -status.signal().unwrap_or(1);
    status.code().unwrap_or_else(by_signal)
}

/// Ends what a script that has ended left behind. It is no failure of the script if that cannot be
/// done.
fn end_leftovers(child: &mut PipedChild, mark: &str) -> hermes_proc::Result<ExitStatus> {
    child.kill_tree(mark, SHORT_GRACE).or_else(|error| {
        tracing::warn!("what a script left behind: {error}");
        child.wait()
    })
}

/// Reads what is still in the pipes, until both end or fall silent, or for long enough.
fn drain(streams: &mut [Stream; 2], interrupt: Option<&Wake>) {
    let deadline = Instant::now() + LAST_WORDS;
    while streams.iter().any(|stream| stream.pipe.is_some()) && Instant::now() < deadline {
        let [stdout, stderr] = &*streams;
        let interrupt = interrupt.map(AsFd::as_fd);
        let ready = ready(
            [stdout.descriptor(), stderr.descriptor(), interrupt],
            SILENCE,
        );
        let [_, _, interrupted] = ready;
        if interrupted || ready == [false; 3] {
            return;
        }
        for (stream, ready) in streams.iter_mut().zip(ready) {
            if ready {
                stream.fill();
            }
        }
    }
}

fn take_connection(listener: &UnixListener, server: &RpcServer) {
    match listener.accept() {
        Ok((stream, _)) => {
            if let Err(error) = server.take(stream) {
                tracing::warn!("a connection of a script was lost: {error}");
            }
        }
        // It went away again between the two calls.
        Err(error) => tracing::debug!("no connection after all: {error}"),
    }
}

struct Stream {
    pipe: Option<OwnedFd>,
    capture: Capture,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>, shown: usize) -> Self {
        Self {
            pipe,
            capture: Capture::new(shown),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads once from a pipe that is ready; closes it at its end.
    fn fill(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut chunk = [0; 16 * 1024];
        match rustix::io::read(pipe, &mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.capture.push(chunk.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => {
                tracing::warn!("the output of a script was lost: {errno}");
                self.pipe = None;
            }
        }
    }
}

/// Which of the descriptors are readable or closed at the other end, within `limit`.
fn ready<const N: usize>(sources: [Option<BorrowedFd<'_>>; N], limit: Duration) -> [bool; N] {
    let mut watched: Vec<PollFd<'_>> = sources
        .iter()
        .flatten()
        .map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN))
        .collect();
    let timeout = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    if let Err(errno) = poll(&mut watched, Some(&timeout))
        && errno != Errno::INTR
    {
        // Descriptors of our own, so only memory can be short; the deadline still ends the loop.
        tracing::warn!("waiting for a script: {errno}");
        return [false; N];
    }
    let mut results = watched.iter().map(|fd| !fd.revents().is_empty());
    sources.map(|source| source.is_some() && results.next().unwrap_or(false))
}
