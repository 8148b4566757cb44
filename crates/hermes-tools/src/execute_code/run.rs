//! One script from start to end: a single loop over its output, its exit, its socket, the clock and
//! the interrupt.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use hermes_proc::{Child, ExitStatus, KillTiming, PollSet, Wake, read_once};

use super::capture::{Capture, MAX_STDERR};
use super::rpc::RpcServer;
use super::script::{FinishedScript, ScriptEnding};
use super::staging::ScriptStage;

/// How long the pipes may be silent after the script has ended: a process it left behind may keep
/// them open for ever.
const PIPE_SILENCE: Duration = Duration::from_millis(300);
/// How long they are read after it at most.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a script that timed out may take to end on SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(5);
/// The same where a user waits, and for processes a script left behind.
const SHORT_GRACE: Duration = Duration::from_millis(250);

/// What to watch besides the script.
pub(super) struct ScriptWatch<'a> {
    pub(super) stage: &'a ScriptStage,
    pub(super) server: &'a RpcServer,
    pub(super) interrupt: &'a Wake,
    pub(super) timeout: Duration,
    /// Bytes of standard output that will be shown.
    pub(super) max_stdout: usize,
}

/// Waits for a script. When this returns, neither it nor anything it started runs any more.
pub(super) fn wait(
    mut child: Child,
    watch: &ScriptWatch<'_>,
) -> hermes_proc::Result<FinishedScript> {
    let mut streams = [
        (child.take_stdout(), watch.max_stdout),
        (child.take_stderr(), MAX_STDERR),
    ]
    .map(|(pipe, shown)| OutputStream {
        pipe,
        capture: Capture::new(shown),
    });
    let deadline = Instant::now() + watch.timeout;
    let mut stop = None;
    while stop.is_none() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            stop = Some(ScriptEnding::TimedOut);
            break;
        }
        let mut set = PollSet::new();
        let outputs = streams
            .each_ref()
            .map(|stream| set.readable(stream.pipe.as_ref()));
        let connection = set.readable([&watch.stage.listener]);
        let interrupt = set.readable([watch.interrupt]);
        let exit = set.readable([&child]);
        set.wait(left).map_err(|source| child.lost(source))?;
        if set.is_ready(&connection) {
            take_connection(&watch.stage.listener, watch.server);
        }
        let has_ended = set.is_ready(&exit);
        if set.is_ready(&interrupt) {
            stop = Some(ScriptEnding::Interrupted);
        }
        let outputs = outputs.map(|output| set.is_ready(&output));
        fill(&mut streams, outputs);
        if has_ended {
            break;
        }
    }
    let ending = match stop {
        None => {
            // Processes it left behind may be about to end by themselves.
            drain(&mut streams, Some(watch.interrupt));
            ScriptEnding::Exited(end_leftovers(&mut child)?.signed_code())
        }
        Some(ending) => {
            // First the calls: a command of the script must not outlive it.
            watch.server.stop();
            let grace = match ending {
                ScriptEnding::Interrupted => SHORT_GRACE,
                ScriptEnding::TimedOut | ScriptEnding::Exited(_) => TERM_GRACE,
            };
            child.kill_tree(timing(grace))?;
            watch.server.close();
            ending
        }
    };
    drain(&mut streams, None);
    let [stdout, stderr] = streams.map(|stream| stream.capture);
    Ok(FinishedScript {
        ending,
        stdout,
        stderr,
    })
}

fn timing(grace: Duration) -> KillTiming {
    KillTiming {
        grace,
        ..KillTiming::default()
    }
}

/// Ends processes that a script left behind. A failure to do so is no failure of the script.
fn end_leftovers(child: &mut Child) -> hermes_proc::Result<ExitStatus> {
    child.kill_tree(timing(SHORT_GRACE)).or_else(|error| {
        tracing::warn!("could not end the processes a script left behind: {error}");
        child.wait()
    })
}

/// Reads what is still in the pipes until both end or are silent, or the time is up.
fn drain(streams: &mut [OutputStream; 2], interrupt: Option<&Wake>) {
    let deadline = Instant::now() + DRAIN_TIMEOUT;
    while streams.iter().any(|stream| stream.pipe.is_some()) && Instant::now() < deadline {
        let mut set = PollSet::new();
        let outputs = streams
            .each_ref()
            .map(|stream| set.readable(stream.pipe.as_ref()));
        let interrupt = set.readable(interrupt);
        // Descriptors of our own, so only memory can be short: then the output ends here.
        if !set.wait(PIPE_SILENCE).unwrap_or(false) || set.is_ready(&interrupt) {
            return;
        }
        let outputs = outputs.map(|output| set.is_ready(&output));
        fill(streams, outputs);
    }
}

fn take_connection(listener: &UnixListener, server: &RpcServer) {
    match listener.accept() {
        Ok((stream, _)) => {
            if let Err(error) = server.take(stream) {
                tracing::warn!("a connection of a script was lost: {error}");
            }
        }
        // The client went away between the two calls.
        Err(error) => tracing::debug!("could not accept a connection of a script: {error}"),
    }
}

struct OutputStream {
    pipe: Option<OwnedFd>,
    capture: Capture,
}

/// Reads once from each stream that is ready; closes it at its end.
fn fill(streams: &mut [OutputStream; 2], ready: [bool; 2]) {
    let ready = streams
        .iter_mut()
        .zip(ready)
        .filter(|(_, is_ready)| *is_ready);
    for (stream, _) in ready {
        let mut chunk = [0; 16 * 1024];
        match read_once(&mut stream.pipe, &mut chunk) {
            Ok(bytes) => stream.capture.push(bytes),
            Err(error) => tracing::warn!("the output of a script was lost: {error}"),
        }
    }
}
