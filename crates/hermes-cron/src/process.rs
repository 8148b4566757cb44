//! A process of a run: fed, read, limited in time, and ended with everything it started.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hermes_proc::{
    Child, ChildSpec, ExitStatus, KillTiming, PollSet, ProcessTree, Streams, Wake, kill_tree,
    read_once,
};

/// How long output may still arrive after the end.
const DRAIN: Duration = Duration::from_millis(500);
/// Time to end in good order.
const TIMING: KillTiming = KillTiming {
    grace: Duration::from_secs(10),
    timeout: Duration::from_secs(5),
    force: true,
};
const CHUNK: usize = 16 * 1024;

/// When a process has had its time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// After this time.
    Total(Duration),
    /// After this time without output; never if there is none.
    Silence(Option<Duration>),
}

/// How a process is watched.
pub(crate) struct Supervised<'a> {
    /// Ends it early.
    pub(crate) cancel: &'a Wake,
    pub(crate) limit: Limit,
    /// Most bytes kept of each stream.
    pub(crate) most_output: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) ended: Ended,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// What a watcher of standard output may change.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    /// Whether silence is expected.
    pub(crate) is_patient: bool,
}

/// Runs a process to its end. `on_output` sees standard output as it comes.
pub(crate) fn supervise(
    mut spec: ChildSpec,
    input: Vec<u8>,
    how: Supervised<'_>,
    on_output: &mut dyn FnMut(Output<'_>),
) -> Result<Done, String> {
    spec.streams = Streams::Pipes {
        input: !input.is_empty(),
    };
    let mut child = spec.spawn().map_err(|error| error.to_string())?;
    let done = watch(&mut child, &input, &how, on_output);
    // Also what it left behind.
    let ended = child.kill_tree(TIMING);
    let (ended_early, stdout, stderr) = done.map_err(|error| child.lost(error).to_string())?;
    let status = ended.map_err(|error| error.to_string())?;
    Ok(Done {
        ended: ended_early.unwrap_or(Ended::Exited(status)),
        stdout,
        stderr,
    })
}

/// A piece of standard output.
pub(crate) struct Output<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) watcher: &'a mut Watcher,
}

type Watched = (Option<Ended>, Vec<u8>, Vec<u8>);

fn watch(
    child: &mut Child,
    input: &[u8],
    how: &Supervised<'_>,
    on_output: &mut dyn FnMut(Output<'_>),
) -> io::Result<Watched> {
    let mut rest = input;
    let mut stdin = child.take_stdin();
    if let Some(pipe) = &stdin {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    let (mut stdout, mut stderr) = (child.take_stdout(), child.take_stderr());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    let mut last_sign = begun;
    let mut watcher = Watcher::default();
    let mut has_ended = false;
    while !has_ended || stdout.is_some() || stderr.is_some() {
        let left = match how.limit {
            _ if has_ended => Some(DRAIN),
            Limit::Total(limit) => Some(limit.saturating_sub(begun.elapsed())),
            Limit::Silence(_) if watcher.is_patient => None,
            Limit::Silence(limit) => limit.map(|limit| limit.saturating_sub(last_sign.elapsed())),
        };
        if left.is_some_and(|left| left.is_zero()) {
            return Ok((Some(Ended::TimedOut), out, err));
        }
        let mut set = PollSet::new();
        let from_out = set.readable(stdout.as_ref());
        let from_err = set.readable(stderr.as_ref());
        let exit = set.readable((!has_ended).then_some(&*child));
        let cancelled = set.readable(Some(how.cancel));
        set.writable(stdin.as_ref());
        if !set.wait(left)? {
            if has_ended {
                break;
            }
            return Ok((Some(Ended::TimedOut), out, err));
        }
        let (from_out, from_err) = (set.is_ready(&from_out), set.is_ready(&from_err));
        has_ended |= set.is_ready(&exit);
        if set.is_ready(&cancelled) && !has_ended {
            return Ok((Some(Ended::Cancelled), out, err));
        }
        feed(&mut stdin, &mut rest)?;
        let mut chunk = [0; CHUNK];
        if from_err {
            keep(
                &mut err,
                read_once(&mut stderr, &mut chunk)?,
                how.most_output,
            );
        }
        if from_out {
            let bytes = read_once(&mut stdout, &mut chunk)?;
            if !bytes.is_empty() {
                last_sign = Instant::now();
                on_output(Output {
                    bytes,
                    watcher: &mut watcher,
                });
            }
            keep(&mut out, bytes, how.most_output);
        }
    }
    Ok((None, out, err))
}

/// Writes as much as the pipe takes; closes it when everything is written.
fn feed(stdin: &mut Option<OwnedFd>, rest: &mut &[u8]) -> io::Result<()> {
    while let Some(pipe) = stdin.as_ref() {
        if rest.is_empty() {
            *stdin = None;
            break;
        }
        match rustix::io::write(pipe, rest) {
            Ok(count) => *rest = rest.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::AGAIN) => break,
            Err(rustix::io::Errno::INTR) => {}
            // It does not want to know more; its end says why.
            Err(rustix::io::Errno::PIPE) => *stdin = None,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Keeps the end of what comes, where it is too much.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], most: usize) {
    kept.extend_from_slice(bytes);
    let excess = kept.len().saturating_sub(most);
    kept.drain(..excess);
}

/// What the processes of an attempt are known by.
pub(crate) fn mark(execution: &str) -> &str {
    execution.get(..16).unwrap_or(execution)
}

/// Ends what a run has left whose owner has died.
pub(crate) fn end_leftovers(execution: &str) {
    let tree = ProcessTree {
        leader: 0,
        start_time: 0,
        mark: mark(execution).to_owned(),
        supervisor: None,
        leader_is_ours: false,
    };
    let left = kill_tree(&tree, TIMING);
    for pid in left.survivors {
        tracing::warn!(
            pid,
            execution,
            "a process of an interrupted run cannot be ended"
        );
    }
}
