//! One worker: a process, and the thread that started it, reads what it says and sees it end.
//!
//! The kernel kills the process when that thread ends, and the thread ends with this process.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use hermes_fs::SharedLock;
use hermes_proc::{
    Child, ChildSpec, KillTiming, PollSet, ProcessIdentity, Wake, identity_of, read_once,
};
use serde_json::Value;

use super::history::History;
use super::log::WorkerLog;
use super::message::{self, Incoming, MAX_LINE};
use crate::error::{AddonError, Code, Result};

const SIGTERM: i32 = 15;
const READ_PIECE: usize = 64 * 1024;
/// After the farewell, for a worker to end by itself; then from SIGTERM to SIGKILL.
const FAREWELL: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_secs(3);
/// How often an idle worker is looked at.
const IDLE_PERIOD: Duration = Duration::from_secs(1);

/// A running worker.
pub(super) struct Worker {
    shared: Arc<Shared>,
    next: AtomicU64,
}

/// What callers and the thread share.
struct Shared {
    input: Mutex<Option<OwnedFd>>,
    waiting: Mutex<HashMap<u64, Arc<Reply>>>,
    /// Why it ended.
    end: Mutex<Option<AddonError>>,
    last_use: Mutex<Instant>,
    /// Raised to have it ended.
    stop: Wake,
    /// Raised when it has ended.
    gone: Wake,
    /// Whether its end is wanted.
    is_stopping: AtomicBool,
    /// Whether it is ended because it does not work any more, which counts as a crash.
    has_failed: AtomicBool,
}

/// The place of an answer.
pub(super) struct Reply {
    answer: Mutex<Option<Result<Value>>>,
    pub(super) is_there: Wake,
}

impl Reply {
    fn fill(&self, answer: Result<Value>) {
        *lock(&self.answer) = Some(answer);
        self.is_there.raise();
    }

    /// The answer, once it is there.
    pub(super) fn take(&self) -> Option<Result<Value>> {
        lock(&self.answer).take()
    }
}

/// What a worker is started with.
pub(super) struct Start {
    pub(super) feature: String,
    pub(super) spec: ChildSpec,
    pub(super) log: WorkerLog,
    pub(super) history: History,
    /// Keeps the environment while the worker runs.
    pub(super) lease: Option<SharedLock>,
    /// Without a call for so long, the worker is ended; `None` for one that stays.
    pub(super) idle: Option<Duration>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_started(feature: &str, why: impl std::fmt::Display) -> AddonError {
    let reason = format!("its worker could not be started: {why}");
    AddonError::new(Code::AddonCrashed, reason).of(feature)
}

impl Worker {
    /// Starts the process. It has not been spoken with.
    pub(super) fn start(start: Start) -> Result<Self> {
        let feature = start.feature.clone();
        let wake = || Wake::new().map_err(|error| not_started(&feature, error));
        let shared = Arc::new(Shared {
            input: Mutex::default(),
            waiting: Mutex::default(),
            end: Mutex::default(),
            last_use: Mutex::new(Instant::now()),
            stop: wake()?,
            gone: wake()?,
            is_stopping: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        });
        let (started, outcome) = mpsc::sync_channel(1);
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("hermes-addon".to_owned())
            .spawn(move || run(start, &of_thread, &started));
        thread.map_err(|error| not_started(&feature, error))?;
        outcome
            .recv()
            .unwrap_or_else(|_| Err(not_started(&feature, "its thread ended")))?;
        Ok(Self {
            shared,
            next: AtomicU64::new(1),
        })
    }

    /// Whether it is there for calls.
    pub(super) fn is_alive(&self) -> bool {
        !self.shared.gone.is_raised() && !self.shared.is_stopping.load(Ordering::Acquire)
    }

    /// Raised when it has ended.
    pub(super) fn gone(&self) -> &Wake {
        &self.shared.gone
    }

    /// Sends a request, whose answer comes to the returned place.
    pub(super) fn send(&self, method: &str, params: &Value) -> Result<(u64, Arc<Reply>)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let bytes = message::request(number, method, params);
        if bytes.len() > MAX_LINE {
            let reason = "the arguments are too large for a message";
            return Err(AddonError::new(Code::AddonError, reason));
        }
        let is_there =
            Wake::new().map_err(|error| AddonError::new(Code::AddonError, error.to_string()))?;
        let reply = Arc::new(Reply {
            answer: Mutex::default(),
            is_there,
        });
        lock(&self.shared.waiting).insert(number, Arc::clone(&reply));
        *lock(&self.shared.last_use) = Instant::now();
        self.shared.write(&bytes);
        // It may have ended before anybody waited; then nobody else fills the place.
        if self.shared.gone.is_raised() {
            self.shared.fail_all();
        }
        Ok((number, reply))
    }

    /// Takes a request back.
    pub(super) fn cancel(&self, number: u64) {
        lock(&self.shared.waiting).remove(&number);
        let params = serde_json::json!({"requestId": number});
        self.shared
            .write(&message::notice("notifications/cancelled", &params));
    }

    /// Ends it, and waits until it has ended.
    pub(super) fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        if !self.shared.gone.is_raised() {
            // The answer is its end.
            drop(self.send("hermes/shutdown", &Value::Null));
            drop(lock(&self.shared.input).take());
            if !self.shared.gone.wait(FAREWELL) {
                self.shared.stop.raise();
            }
        }
        self.shared.gone.wait(GRACE * 3);
    }

    /// Kills one that does not work any more: its end counts as a crash.
    pub(super) fn fail(&self, error: AddonError) {
        self.shared.has_failed.store(true, Ordering::Release);
        self.kill(error);
    }

    /// Kills it at once; whoever waits for an answer gets `error`.
    pub(super) fn kill(&self, error: AddonError) {
        lock(&self.shared.end).get_or_insert(error);
        self.shared.stop.raise();
        self.shared.gone.wait(GRACE * 3);
    }
}

/// What a pipe takes at once when it is writable.
const PIPE_PIECE: usize = 4096;

impl Shared {
    /// Writes a line. A worker that does not read is ended by whoever waits for its answer, which
    /// ends the wait here.
    fn write(&self, bytes: &[u8]) {
        let input = lock(&self.input);
        let Some(input) = input.as_ref() else { return };
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut set = PollSet::new();
            let writable = set.writable([input]);
            let gone = set.readable([&self.gone, &self.stop]);
            if set.wait(GRACE).is_err() || set.is_ready(&gone) || !set.is_ready(&writable) {
                self.stop.raise();
                return;
            }
            // A pipe that is writable takes this much without waiting.
            let piece = rest.get(..rest.len().min(PIPE_PIECE)).unwrap_or(rest);
            match rustix::io::write(input, piece) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn fail_all(&self) {
        let error = lock(&self.end)
            .clone()
            .unwrap_or_else(|| AddonError::new(Code::AddonCrashed, "its worker has ended"));
        for (_, reply) in lock(&self.waiting).drain() {
            reply.fill(Err(error.clone()));
        }
    }

    /// Whether nobody has asked for anything for so long.
    fn is_idle(&self, limit: Duration) -> bool {
        lock(&self.waiting).is_empty() && lock(&self.last_use).elapsed() >= limit
    }
}

type Started = Result<()>;

/// The life of a worker, on its thread.
fn run(start: Start, shared: &Shared, started: &mpsc::SyncSender<Started>) {
    let Start {
        feature,
        spec,
        mut log,
        history,
        lease,
        idle,
    } = start;
    let spawned = spec.spawn().map_err(|error| not_started(&feature, error));
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            drop(started.send(Err(error)));
            return;
        }
    };
    let identity = identity_of(child.pid());
    let Some(input) = child.take_stdin() else {
        drop(started.send(Err(not_started(&feature, "it has no input"))));
        return;
    };
    if let Some(identity) = &identity {
        history.started(identity);
    }
    tracing::info!(feature, pid = child.pid(), "started a worker");
    *lock(&shared.input) = Some(input);
    drop(started.send(Ok(())));
    let mut reader = Reader {
        shared,
        buffer: Vec::new(),
        searched: 0,
    };
    let fault = attend(&mut child, &mut reader, &mut log, idle);
    let timing = KillTiming {
        grace: GRACE,
        timeout: GRACE,
        force: true,
    };
    let status = child.kill_tree(timing);
    log.finish();
    conclude(
        &feature,
        shared,
        &history,
        identity.as_ref(),
        fault,
        status,
        &log,
    );
    drop(lease);
    shared.gone.raise();
    shared.fail_all();
}

/// Notes how it ended, unless somebody said so already.
fn conclude(
    feature: &str,
    shared: &Shared,
    history: &History,
    identity: Option<&ProcessIdentity>,
    fault: Option<String>,
    status: hermes_proc::Result<hermes_proc::ExitStatus>,
    log: &WorkerLog,
) {
    // Somebody asked it to end, in this process or with `hermes addons restart`.
    let was_asked = matches!(&status, Ok(status) if status.signed_code() == -SIGTERM);
    let is_wanted = !shared.has_failed.load(Ordering::Acquire)
        && (shared.is_stopping.load(Ordering::Acquire)
            || was_asked && lock(&shared.waiting).is_empty());
    if is_wanted && fault.is_none() {
        if let Some(identity) = identity {
            history.ended(identity);
        }
        tracing::debug!(feature, "a worker has ended");
        return;
    }
    let error = lock(&shared.end).clone().unwrap_or_else(|| {
        let (code, reason) = match (fault, status) {
            (Some(fault), _) => (
                Code::ProtocolError,
                format!("its worker was ended because {fault}"),
            ),
            (None, Ok(status)) => (
                Code::AddonCrashed,
                format!("its worker ended with {status}"),
            ),
            (None, Err(error)) => (Code::AddonCrashed, format!("its worker: {error}")),
        };
        let tail = log.tail();
        let reason = if tail.is_empty() {
            reason
        } else {
            format!("{reason}; it said last:\n{tail}")
        };
        AddonError::new(code, reason)
            .hint(format!("its log: hermes addons logs {feature}"))
            .of(feature)
    });
    tracing::warn!(feature, "{error}");
    history.crashed(identity, &error.reason);
    *lock(&shared.end) = Some(error);
}

/// Reads what the worker says until it ends or has to be ended; what it did wrong, if that is why.
fn attend(
    child: &mut Child,
    reader: &mut Reader<'_>,
    log: &mut WorkerLog,
    idle: Option<Duration>,
) -> Option<String> {
    let (mut output, mut errors) = (child.take_stdout(), child.take_stderr());
    let mut piece = vec![0; READ_PIECE];
    let shared = reader.shared;
    loop {
        let has_ended = child.has_ended();
        let (out, err) = {
            let mut set = PollSet::new();
            let out = set.readable(output.as_ref());
            let err = set.readable(errors.as_ref());
            let stop = set.readable([&shared.stop]);
            if !has_ended {
                set.readable([&*child]);
            }
            let limit = if has_ended {
                Duration::ZERO
            } else {
                IDLE_PERIOD
            };
            if set.wait(limit).is_err() {
                return Some("it could not be waited for".to_owned());
            }
            if set.is_ready(&stop) {
                return None;
            }
            (set.is_ready(&out), set.is_ready(&err))
        };
        if err && let Ok(bytes) = read_once(&mut errors, &mut piece) {
            log.take(bytes);
        }
        if out {
            let read = read_once(&mut output, &mut piece);
            let taken = read.map_or(Ok(()), |bytes| reader.take(bytes));
            if let Err(fault) = taken {
                return Some(fault);
            }
        }
        if has_ended && !out && !err {
            return None;
        }
        let is_idle = idle.is_some_and(|limit| shared.is_idle(limit));
        if is_idle && !shared.is_stopping.swap(true, Ordering::AcqRel) {
            return None;
        }
    }
}

/// Puts lines together and answers to their places.
struct Reader<'a> {
    shared: &'a Shared,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold no end of line.
    searched: usize,
}

impl Reader<'_> {
    fn take(&mut self, bytes: &[u8]) -> std::result::Result<(), String> {
        self.buffer.extend_from_slice(bytes);
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                if self.buffer.len() > MAX_LINE {
                    return Err("it sent a message that is too long".to_owned());
                }
                return Ok(());
            };
            let line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
            self.searched = 0;
            self.line(line.trim_ascii())?;
        }
    }

    fn line(&self, line: &[u8]) -> std::result::Result<(), String> {
        if line.is_empty() {
            return Ok(());
        }
        match Incoming::parse(line)? {
            Incoming::Answer { number, result } => {
                *lock(&self.shared.last_use) = Instant::now();
                // One that nobody waits for any more was taken back.
                if let Some(reply) = lock(&self.shared.waiting).remove(&number) {
                    reply.fill(result.map_err(|text| AddonError::new(Code::AddonError, text)));
                }
            }
            Incoming::Notice => {}
            // Nothing that we start may ask us for anything.
            Incoming::Request { number } => self.shared.write(&message::refusal(&number)),
        }
        Ok(())
    }
}
