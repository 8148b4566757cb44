//! Shells started ahead of the commands they will run.
//!
//! A shell needs longer to start than most commands need to run. A session that has run a second
//! command gets one that waits, already in its directory and with its variables. It is used for the
//! next command only if that command would have started in the very same directory with the very same
//! variables; otherwise it is ended and a new one started, so that nothing but the time differs.
//! A session with a single command never starts one, and one that is not used for a while is ended.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::reap_orphans;
use hermes_proc::sandbox::Sandbox;

use super::shell_run::ShellRun;
use super::shell_start::{GatedShell, ShellStart};
use crate::lock::lock;
use crate::shell::{SessionKey, Shell, ShellKind};

/// How long a shell waits.
const IDLE_LIMIT: Duration = Duration::from_mins(2);
/// How long a command waits for a shell that is being started for it.
const LONGEST_START: Duration = Duration::from_secs(1);
/// How many wait at a time.
const MOST: usize = 4;

/// What a shell is started with.
#[derive(Debug, Clone)]
pub(super) struct Birth {
    pub(super) shell: Shell,
    pub(super) cwd: PathBuf,
    /// With the mark by which its processes are found.
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) mark: String,
    pub(super) sandbox: Option<Arc<Sandbox>>,
}

/// A shell that waits for a command of its session.
pub(super) struct Prepared {
    shell: GatedShell,
    birth: Birth,
    /// Device and inode.
    directory: (u64, u64),
}

/// Which directory a path means, however it is called: device and inode.
fn directory_identity(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::stat(path).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

impl Prepared {
    fn new(birth: Birth) -> hermes_proc::Result<Option<Self>> {
        let Some(directory) = directory_identity(&birth.cwd) else {
            return Ok(None);
        };
        let start = ShellStart {
            shell: &birth.shell,
            login: false,
            cwd: &birth.cwd,
            variables: &birth.variables,
            sandbox: birth.sandbox.as_ref(),
        };
        let shell = start.start_gated()?;
        Ok(Some(Self {
            shell,
            birth,
            directory,
        }))
    }

    /// The value of `HERMES_EXEC_ID` it was started with.
    pub(super) fn mark(&self) -> &str {
        &self.birth.mark
    }

    /// The shell, if a new one would be no different. One that waits has nothing to read.
    pub(super) fn if_same(self, run: &ShellRun<'_>) -> Option<GatedShell> {
        let is_same = run.input.is_empty()
            && self.birth.shell == *run.shell
            && self.birth.cwd == run.cwd
            && self.birth.variables == run.variables
            && is_same_sandbox(self.birth.sandbox.as_ref(), run.sandbox)
            && directory_identity(run.cwd) == Some(self.directory)
            && !self.shell.child().has_ended();
        if is_same {
            return Some(self.shell);
        }
        // The command waits for its own shell long enough.
        self.shell.drop_soon();
        None
    }
}

fn is_same_sandbox(one: Option<&Arc<Sandbox>>, other: Option<&Arc<Sandbox>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.confines_like(other),
        _ => false,
    }
}

/// What is known of a session.
struct Slot {
    last_command: Instant,
    is_starting: bool,
    waiting: Option<Prepared>,
}

/// What is known of all sessions.
#[derive(Default)]
struct Slots {
    known: Mutex<HashMap<SessionKey, Slot>>,
    /// A shell has been started, or could not be.
    settled: Condvar,
}

#[derive(Default)]
pub(super) struct PreparedShells {
    slots: Arc<Slots>,
    starter: OnceLock<Option<SyncSender<(SessionKey, Birth)>>>,
}

impl PreparedShells {
    /// Takes the shell that waits for this session. One that is just being started is waited for:
    /// another would not be there any sooner.
    pub(super) fn take(&self, session: &SessionKey) -> Option<Prepared> {
        let known = lock(&self.slots.known);
        let (mut known, _) = self
            .slots
            .settled
            .wait_timeout_while(known, LONGEST_START, |known| {
                known.get(session).is_some_and(|slot| slot.is_starting)
            })
            .unwrap_or_else(PoisonError::into_inner);
        known.get_mut(session)?.waiting.take()
    }

    /// A command of this session has ended, and the next may start like this: has a shell made
    /// ready for it, unless this was the first.
    pub(super) fn prepare(&self, session: &SessionKey, birth: impl FnOnce() -> Birth) {
        let now = Instant::now();
        {
            let mut known = lock(&self.slots.known);
            let is_first = !known.contains_key(session);
            let slot = known.entry(session.clone()).or_insert(Slot {
                last_command: now,
                is_starting: false,
                waiting: None,
            });
            slot.last_command = now;
            if is_first || slot.is_starting || slot.waiting.is_some() {
                return;
            }
            slot.is_starting = true;
        }
        let birth = birth();
        let is_bash = birth.shell.kind == ShellKind::Bash;
        let starter = self.starter.get_or_init(|| start_thread(&self.slots));
        let is_sent = starter.as_ref().is_some_and(|starter| {
            // When it is busy with others, the next command just starts its shell itself.
            is_bash && starter.try_send((session.clone(), birth)).is_ok()
        });
        if !is_sent {
            self.slots.put(session, None);
        }
    }

    pub(super) fn end_all(&self) {
        let known = std::mem::take(&mut *lock(&self.slots.known));
        for prepared in known.into_values().filter_map(|slot| slot.waiting) {
            prepared.shell.discard();
        }
    }
}

impl Drop for PreparedShells {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// Shells are started on a thread of their own that lives as long as the terminal does: the kernel
/// ends them with the thread that started them, and no command has to wait for the start.
fn start_thread(slots: &Arc<Slots>) -> Option<SyncSender<(SessionKey, Birth)>> {
    let (sender, receiver) = mpsc::sync_channel(MOST);
    let slots = Arc::clone(slots);
    let thread = std::thread::Builder::new().name("shell-starter".into());
    match thread.spawn(move || start_on_request(&slots, &receiver)) {
        Ok(_) => Some(sender),
        Err(error) => {
            tracing::debug!(%error, "no shells are started in advance");
            None
        }
    }
}

fn start_on_request(slots: &Slots, requests: &Receiver<(SessionKey, Birth)>) {
    loop {
        match requests.recv_timeout(IDLE_LIMIT / 2) {
            Ok((session, birth)) => {
                let prepared = Prepared::new(birth).unwrap_or_else(|error| {
                    tracing::debug!(%error, "no shell was started in advance");
                    None
                });
                slots.put(&session, prepared);
            }
            Err(RecvTimeoutError::Timeout) => {
                slots.drop_unused();
                // Of commands that ended long ago.
                reap_orphans();
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Slots {
    /// The start of a shell for this session is over.
    fn put(&self, session: &SessionKey, prepared: Option<Prepared>) {
        let mut ended = Vec::new();
        {
            let mut known = lock(&self.known);
            match known.get_mut(session) {
                Some(slot) => {
                    slot.is_starting = false;
                    ended.extend(std::mem::replace(&mut slot.waiting, prepared));
                }
                // All were ended meanwhile.
                None => ended.extend(prepared),
            }
            let mut waiting: Vec<&mut Slot> = known
                .values_mut()
                .filter(|slot| slot.waiting.is_some())
                .collect();
            waiting.sort_by_key(|slot| std::cmp::Reverse(slot.last_command));
            let surplus = waiting.into_iter().skip(MOST);
            ended.extend(surplus.filter_map(|slot| slot.waiting.take()));
        }
        self.settled.notify_all();
        for prepared in ended {
            prepared.shell.discard();
        }
    }

    /// Ends shells that nobody has used for a while.
    fn drop_unused(&self) {
        let now = Instant::now();
        let mut ended = Vec::new();
        lock(&self.known).retain(|_, slot| {
            let is_wanted = slot.is_starting || now.duration_since(slot.last_command) < IDLE_LIMIT;
            if !is_wanted {
                ended.extend(slot.waiting.take());
            }
            is_wanted
        });
        for prepared in ended {
            prepared.shell.discard();
        }
    }
}
