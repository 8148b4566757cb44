//! The channel through which processes on the remote host are signalled.
//!
//! It is opened beside the first command and kept. The program at its other end never waits, so
//! several kills can be under way at once; the waiting is done here. If it is lost, the next kill
//! opens another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::KillTiming;

use super::client::Client;
use super::hunt::{Hunt, Killed, Unreachable, mark_line, pids_of};
use super::program::{arguments, control_program};
use super::transport::Transport;
use crate::lock::lock;
use crate::shell::ShellKind;

/// How long one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_millis(1_500);
/// How long the program may take to begin.
const OPEN_LIMIT: Duration = Duration::from_secs(10);
/// Pause before a channel that did not open is tried again without need.
const SECOND_ATTEMPT: Duration = Duration::from_secs(10);
/// How long a client may take to end after the goodbye.
const GOODBYE_LIMIT: Duration = Duration::from_millis(500);
/// The same for one that was too slow before.
const LONG_GOODBYE_LIMIT: Duration = Duration::from_mins(1);

/// The channel, and the loops it looks after.
#[derive(Debug, Default)]
pub(super) struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    link: Link,
    /// Loops whose commands end should we be killed.
    owned: BTreeSet<u32>,
    /// What their commands are known by.
    marks: BTreeMap<u32, u64>,
    last_id: u64,
    /// When opening failed last, and for what.
    failed: Option<(Instant, ShellKind)>,
}

#[derive(Debug, Default)]
enum Link {
    #[default]
    Closed,
    Opening,
    Open(Connection),
}

impl Control {
    /// Looks after the commands of a loop from now on.
    pub(super) fn own(&self, pid: u32) {
        let mut state = lock(&self.state);
        state.owned.insert(pid);
        state.tell(&format!("own {pid}\n"));
    }

    /// Remembers what the next command of a loop is known by.
    pub(super) fn mark(&self, pid: u32, mark: u64) {
        let mut state = lock(&self.state);
        state.marks.insert(pid, mark);
        state.tell(&mark_line(pid, mark));
    }

    pub(super) fn free(&self, pid: u32) {
        let mut state = lock(&self.state);
        state.owned.remove(&pid);
        state.marks.remove(&pid);
        state.tell(&format!("free {pid}\n"));
    }

    /// Whether someone has to open the channel for this kind of shell; if so, the caller does. Where
    /// that failed a moment ago it is not tried again at once.
    pub(super) fn wants_opening(&self, kind: ShellKind) -> bool {
        let mut state = lock(&self.state);
        let wants = match &mut state.link {
            Link::Opening => false,
            Link::Open(connection) => connection.has_ended(),
            Link::Closed => state
                .failed
                .is_none_or(|(at, failed)| failed != kind || at.elapsed() > SECOND_ATTEMPT),
        };
        if wants {
            state.link = Link::Opening;
        }
        wants
    }

    /// Waits while someone opens the channel.
    pub(super) fn wait_until_settled(&self, limit: Duration) {
        let state = lock(&self.state);
        // Without it commands run all the same.
        drop(
            self.changed
                .wait_timeout_while(state, limit, |state| matches!(state.link, Link::Opening)),
        );
    }

    /// Opens the channel. Only for the one who was told to by [`Control::wants_opening`].
    pub(super) fn open(&self, transport: &dyn Transport, kind: ShellKind, limit: Duration) -> bool {
        let opened = Connection::open(transport, kind, limit.min(OPEN_LIMIT));
        let mut state = lock(&self.state);
        if !matches!(state.link, Link::Opening) {
            // Everything was closed meanwhile.
            drop(state);
            if let Some(connection) = opened {
                connection.say_goodbye(GOODBYE_LIMIT);
            }
            return false;
        }
        let is_open = opened.is_some();
        state.link = match opened {
            Some(connection) => Link::Open(connection),
            None => {
                tracing::debug!(host = transport.describe(), "no control channel");
                state.failed = Some((Instant::now(), kind));
                Link::Closed
            }
        };
        let owned = state.owned.clone();
        for pid in owned {
            state.tell(&format!("own {pid}\n"));
        }
        for (pid, mark) in state.marks.clone() {
            state.tell(&mark_line(pid, mark));
        }
        drop(state);
        self.changed.notify_all();
        is_open
    }

    /// Ends the processes that belong to `seeds`: pids with their start time, or `-` for it. The
    /// timeout is for everything.
    pub(super) fn kill(
        &self,
        seeds: &str,
        timing: KillTiming,
        transport: &dyn Transport,
        kind: ShellKind,
    ) -> Killed {
        let deadline = Instant::now() + timing.timeout;
        let mut killed = Killed::default();
        // A channel that was lost since its last use is replaced once.
        for _ in 0..2 {
            if !self.reach(deadline, transport, kind) {
                break;
            }
            let id = {
                let mut state = lock(&self.state);
                state.last_id += 1;
                state.last_id
            };
            let mut ask = |line: &str| self.ask(id, line, deadline);
            let mut hunt = Hunt {
                id,
                seeds,
                deadline,
                ask: &mut ask,
            };
            match hunt.run(timing, &mut killed) {
                Ok(()) => {
                    killed.is_certain = true;
                    lock(&self.state).tell(&format!("forget {id}\n"));
                    break;
                }
                Err(Unreachable) => tracing::debug!("the control channel was lost"),
            }
        }
        killed
    }

    /// Says goodbye and closes the channel: what runs goes on.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        let link = std::mem::take(&mut state.link);
        state.owned.clear();
        state.marks.clear();
        state.failed = None;
        drop(state);
        self.changed.notify_all();
        if let Link::Open(connection) = link {
            connection.say_goodbye(GOODBYE_LIMIT);
        }
    }

    fn reach(&self, deadline: Instant, transport: &dyn Transport, kind: ShellKind) -> bool {
        let mut state = lock(&self.state);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            match state.link {
                Link::Open(_) => return true,
                Link::Opening => {
                    (state, _) = self
                        .changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                Link::Closed => {
                    state.link = Link::Opening;
                    drop(state);
                    return self.open(transport, kind, left);
                }
            }
        }
    }

    /// Sends a line and gives the pids in the answer.
    fn ask(&self, id: u64, line: &str, deadline: Instant) -> Result<Vec<u32>, Unreachable> {
        let mut state = lock(&self.state);
        let Link::Open(connection) = &mut state.link else {
            return Err(Unreachable);
        };
        let limit = deadline
            .saturating_duration_since(Instant::now())
            .min(ANSWER_LIMIT);
        connection.client.send(line.as_bytes());
        let answer = connection.answer(&format!("{id} "), limit);
        if answer.is_none()
            && let Link::Open(connection) = std::mem::take(&mut state.link)
        {
            connection.retire();
        }
        answer.ok_or(Unreachable)
    }
}

impl State {
    fn tell(&mut self, line: &str) {
        if let Link::Open(connection) = &mut self.link {
            connection.client.send(line.as_bytes());
        }
    }
}

/// The client of the control program.
#[derive(Debug)]
struct Connection {
    client: Client,
    heard: Vec<u8>,
}

impl Connection {
    fn open(transport: &dyn Transport, kind: ShellKind, limit: Duration) -> Option<Self> {
        let program = control_program(kind);
        let client = Client::start(transport, &arguments(kind, &program)).ok()?;
        let mut connection = Self {
            client,
            heard: Vec::new(),
        };
        connection.line("ready", limit).map(|_| connection)
    }

    fn has_ended(&mut self) -> bool {
        self.client.has_ended()
    }

    fn answer(&mut self, head: &str, limit: Duration) -> Option<Vec<u32>> {
        let line = self.line(head, limit)?;
        Some(pids_of(line.strip_prefix(head).unwrap_or_default()))
    }

    /// Waits for a line that begins like this; others are dropped.
    fn line(&mut self, head: &str, limit: Duration) -> Option<String> {
        let deadline = Instant::now() + limit;
        let mut chunk = vec![0; 4096];
        loop {
            while let Some(end) = memchr::memchr(b'\n', &self.heard) {
                let rest = self.heard.split_off(end + 1);
                let line = std::mem::replace(&mut self.heard, rest);
                let line = String::from_utf8_lossy(&line)
                    .trim_end_matches('\n')
                    .to_owned();
                if line.starts_with(head) {
                    return Some(line);
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.client.push();
            // What goes wrong here shows as silence.
            let ready = self.client.poll(left, &[]).ok()?;
            if ready.control {
                self.client.take_errors(&mut chunk);
            }
            let bytes = self.client.take_output(&mut chunk);
            self.heard.extend_from_slice(bytes);
            if ready.exit && !ready.output {
                return None;
            }
        }
    }

    /// Lets go of a connection that is too slow. It must hear the goodbye all the same: without one
    /// it would end every command it looks after.
    fn retire(self) {
        let goodbye = std::thread::Builder::new()
            .name("remote-goodbye".to_owned())
            .spawn(move || self.say_goodbye(LONG_GOODBYE_LIMIT));
        if let Err(error) = goodbye {
            tracing::warn!(%error, "a control channel was closed without a goodbye");
        }
    }

    fn say_goodbye(mut self, limit: Duration) {
        self.client.send(b"bye\n");
        self.client.end_input();
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(ready) = self.client.poll(left, &[]) else {
                return;
            };
            // One that does not end by itself is ended with the value.
            if ready.exit || left.is_zero() {
                return;
            }
            let mut chunk = [0; 1024];
            if ready.output {
                self.client.take_output(&mut chunk);
            }
            if ready.control {
                self.client.take_errors(&mut chunk);
            }
            self.client.push();
        }
    }
}
