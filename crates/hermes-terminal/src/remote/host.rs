//! A remote host with its channels: from a request to its outcome.
//!
//! A command is run at most once. It is sent again only if the host is gone and nothing was heard of
//! the command; after its start was seen, never.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hermes_proc::{KillTiming, Wake, wait_for_any};

use super::channel::{Channel, NotOpened};
use super::control::Control;
use super::error::RemoteError;
use super::exchange::{Conversation, Known, Over};
use super::hello::Hello;
use super::hunt::{Killed, mark_line};
use super::pool::{Pool, Slot};
use super::request::{Execution, Marks, Nonces};
use super::settings::RemoteSettings;
use super::transport::{Transport, TransportError, Trouble};
use crate::lock::lock;
use crate::shell::ShellKind;
use crate::shell::report::{Report, report_nonce};

/// Pauses before a host that was busy is tried again.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
];
/// Requests longer than this use a channel of their own.
const LARGE: usize = 96 * 1024;

/// From SIGTERM to SIGKILL when a command is ended.
const GRACE: Duration = Duration::from_secs(2);
/// For a kill as a whole.
pub(super) const KILL_BOUND: Duration = Duration::from_secs(5);
/// The same when Hermes itself is about to end.
const LAST_GRACE: Duration = Duration::from_secs(1);
const LAST_KILL_BOUND: Duration = Duration::from_secs(3);
/// How long a command may wait for the means to kill it.
const CONTROL_WAIT: Duration = Duration::from_secs(2);
/// With this code bash ends when it could not fork.
const NO_PROCESS: i32 = 254;

/// Everything that is known about a remote host.
pub(super) struct RemoteHost {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) settings: RemoteSettings,
    pool: Pool,
    pub(super) control: Control,
    shell: Mutex<ShellChoice>,
    activity: Mutex<Instant>,
    busy: AtomicUsize,
    pub(super) background: AtomicUsize,
    /// Held while their news is fetched.
    pub(super) polling: Mutex<()>,
}

/// Which shell there is, as far as we know.
#[derive(Debug)]
struct ShellChoice {
    kind: ShellKind,
    note: Option<String>,
}

impl Execution<'_> {
    fn kill_timing(&self) -> KillTiming {
        let is_last = self.shutdown.is_some_and(Wake::is_raised);
        KillTiming {
            grace: if is_last { LAST_GRACE } else { GRACE },
            force: true,
            timeout: if is_last { LAST_KILL_BOUND } else { KILL_BOUND },
        }
    }
}

/// What came of it.
pub(super) struct Executed {
    pub(super) hello: Arc<Hello>,
    nonces: Nonces,
    pub(super) known: Known,
    /// The limit that marks its processes.
    pub(super) mark: Option<u64>,
    pub(super) over: Over,
    pub(super) took: Duration,
    pub(super) killed: Option<Killed>,
}

impl Executed {
    /// The state the shell reported at its end.
    pub(super) fn report(&self) -> Option<Report> {
        Report::parse(&self.known.report, &self.nonces.of_shell)
    }
}

struct Loan {
    channel: Channel,
    slot: Option<Slot>,
}

impl RemoteHost {
    pub(super) fn new(transport: Arc<dyn Transport>, settings: RemoteSettings) -> Self {
        Self {
            transport,
            settings,
            pool: Pool::default(),
            control: Control::default(),
            shell: Mutex::new(ShellChoice {
                kind: ShellKind::Bash,
                note: None,
            }),
            activity: Mutex::new(Instant::now()),
            busy: AtomicUsize::new(0),
            background: AtomicUsize::new(0),
            polling: Mutex::new(()),
        }
    }

    /// Runs a request. Says whether it is over, not whether it went well.
    pub(super) fn execute(
        self: &Arc<Self>,
        execution: &Execution<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Executed, RemoteError> {
        let mut has_retried = false;
        loop {
            let mut loan = self.lend(execution)?;
            let nonces = Nonces {
                of_loop: report_nonce(),
                of_shell: report_nonce(),
            };
            let marks = Marks::new(self.settings.of_agent);
            let mark = marks.limit;
            let request = execution.bytes(&loan.channel.hello, &nonces, marks);
            if request.len() > LARGE
                && let Some(slot) = loan.slot.take()
            {
                self.pool.lose(slot);
            }
            let begun = Instant::now();
            if let Some(mark) = mark {
                self.tell_mark(&mut loan.channel, mark);
            }
            let (over, killed, known) =
                self.converse(&mut loan, execution, (&request, mark), &nonces, sink);
            let executed = Executed {
                hello: Arc::clone(&loan.channel.hello),
                nonces,
                known,
                mark,
                over,
                took: begun.elapsed(),
                killed,
            };
            if over == Over::Broken && !executed.known.was_read() {
                let lost = self.lost_before_start(loan);
                if matches!(lost, RemoteError::Gone { .. }) && execution.revives && !has_retried {
                    has_retried = true;
                    continue;
                }
                return Err(lost);
            }
            self.settle(loan, &executed);
            return Ok(executed);
        }
    }

    fn converse(
        self: &Arc<Self>,
        loan: &mut Loan,
        execution: &Execution<'_>,
        (request, mark): (&[u8], Option<u64>),
        nonces: &Nonces,
        sink: &mut dyn FnMut(&[u8]),
    ) -> (Over, Option<Killed>, Known) {
        let hello = Arc::clone(&loan.channel.hello);
        let mut conversation = Conversation::begin(execution, nonces, request, &mut loan.channel);
        let over = conversation.follow(sink);
        if over == Over::Ended {
            return (over, None, conversation.finish(sink));
        }
        // Without a word from its shell, everything under the loop is meant.
        let leader = conversation.pid().unwrap_or(hello.pid);
        let seeds = seeds_of(&format!("{leader}:-"), mark);
        let timing = execution.kill_timing();
        let killed = conversation.kill(&seeds, timing, sink);
        let killed = killed.unwrap_or_else(|| self.kill_tree(&seeds, timing, hello.kind));
        conversation.after_kill(sink);
        (over, Some(killed), conversation.finish(sink))
    }

    /// Tells whoever ends commands should we be killed what the command of a channel is known by.
    fn tell_mark(&self, channel: &mut Channel, mark: u64) {
        let pid = channel.hello.pid;
        if channel.is_guarded {
            channel.tell_guard(&mark_line(pid, mark));
        } else {
            self.control.mark(pid, mark);
        }
    }

    pub(super) fn kill_tree(&self, seeds: &str, timing: KillTiming, kind: ShellKind) -> Killed {
        self.control
            .kill(seeds, timing, self.transport.as_ref(), kind)
    }

    /// Opens the control channel without keeping anyone waiting. Where a command has no guard it has
    /// to be there before: once the command has used up all processes there may be, nothing can be
    /// opened any more.
    fn open_control_beside(self: &Arc<Self>, kind: ShellKind) {
        if !self.control.wants_opening(kind) {
            return;
        }
        let host = Arc::clone(self);
        let opening = std::thread::Builder::new()
            .name("remote-control".to_owned())
            .spawn(move || {
                host.control
                    .open(host.transport.as_ref(), kind, host.settings.open_limit)
            });
        if let Err(error) = opening {
            tracing::warn!(%error, "no thread for the control channel");
            // The next kill opens it.
            self.control.close();
        }
    }

    /// Waits until the command that reads `input` can be ended, whatever it does.
    pub(super) fn ready_guard(self: &Arc<Self>, input: &[u8]) {
        if !is_guarded(self.shell_kind(), input) {
            self.ready_control();
        }
    }

    /// Waits until there is a control channel, or none can be had.
    pub(super) fn ready_control(self: &Arc<Self>) {
        // The first attempt may have been for a shell that is not there.
        for _ in 0..2 {
            self.open_control_beside(self.shell_kind());
            self.control.wait_until_settled(CONTROL_WAIT);
        }
    }

    fn lend(self: &Arc<Self>, execution: &Execution<'_>) -> Result<Loan, RemoteError> {
        let is_pooled = self.settings.persistent_shell && execution.input.is_empty();
        while is_pooled && let Some((used, slot)) = self.pool.take(self.settings.most_channels) {
            let Some(mut channel) = used else {
                let opened = self.open(execution).inspect_err(|_| self.pool.lose(slot));
                return opened.map(|channel| Loan {
                    channel,
                    slot: Some(slot),
                });
            };
            if channel.is_usable() {
                return Ok(Loan {
                    channel,
                    slot: Some(slot),
                });
            }
            self.pool.lose(slot);
            self.close(channel);
        }
        self.open(execution).map(|channel| Loan {
            channel,
            slot: None,
        })
    }

    /// Opens a channel; brings the host back once and waits a little if it is busy.
    fn open(self: &Arc<Self>, execution: &Execution<'_>) -> Result<Channel, RemoteError> {
        let mut pauses = PAUSES.iter();
        let mut has_revived = false;
        loop {
            if execution.revives {
                self.transport.ensure()?;
            }
            let kind = lock(&self.shell).kind;
            let is_guarded = is_guarded(kind, execution.input);
            if !is_guarded {
                self.open_control_beside(kind);
            }
            let opened = Channel::open(
                self.transport.as_ref(),
                (kind, is_guarded),
                self.settings.open_limit,
                execution.interrupts,
            );
            let trouble = match opened {
                Ok(channel) => {
                    if !is_guarded {
                        self.control.own(channel.hello.pid);
                        // In case the first attempt was made for another shell.
                        self.open_control_beside(channel.hello.kind);
                    }
                    return Ok(channel);
                }
                Err(NotOpened::Refused(error)) => Trouble::Final(error),
                Err(NotOpened::Garbled) => Trouble::Passing(TransportError {
                    hint: Some(
                        "check for a start-up file that prints to standard error".to_owned(),
                    ),
                    ..TransportError::missing(format!(
                        "{} sent an unexpected answer",
                        self.transport.describe()
                    ))
                }),
                Err(NotOpened::Interrupted) => return Err(RemoteError::Interrupted),
                Err(NotOpened::OldShell) if kind == ShellKind::Bash => {
                    self.fall_back("Bash is too old");
                    continue;
                }
                Err(NotOpened::Silent | NotOpened::OldShell) => {
                    let host = self.transport.describe();
                    let seconds = self.settings.open_limit.as_secs();
                    let message = format!("{host} did not answer within {seconds} s");
                    Trouble::Final(TransportError::missing(message))
                }
                Err(NotOpened::Ended { code, said }) => {
                    if kind == ShellKind::Bash && has_no_bash(code, &said) {
                        self.fall_back("Bash is missing");
                        continue;
                    }
                    self.transport.diagnose(code, &said)
                }
            };
            match trouble {
                Trouble::Gone if execution.revives && !has_revived => {
                    has_revived = true;
                    self.forget_shell();
                }
                Trouble::Gone => {
                    return Err(RemoteError::Gone {
                        host: self.transport.describe(),
                    });
                }
                Trouble::Passing(error) => {
                    let Some(pause) = pauses.next() else {
                        return Err(error.into());
                    };
                    tracing::warn!(%error, "the host was busy; trying again");
                    if wait_for_any(execution.interrupts, *pause).is_some() {
                        return Err(RemoteError::Interrupted);
                    }
                }
                Trouble::Final(error) => return Err(error.into()),
            }
        }
    }

    /// A channel broke before its command was seen to start.
    fn lost_before_start(&self, mut loan: Loan) -> RemoteError {
        let said = String::from_utf8_lossy(&loan.channel.control).into_owned();
        let code = loan.channel.client.exit_code();
        let trouble = self.transport.diagnose(code, &said);
        if let Some(slot) = loan.slot {
            self.pool.lose(slot);
        }
        self.close(loan.channel);
        let host = self.transport.describe();
        if trouble == Trouble::Gone {
            self.forget_shell();
            return RemoteError::Gone { host };
        }
        match code {
            Some(NO_PROCESS) => RemoteError::NoProcess {
                host,
                status: NO_PROCESS,
            },
            _ => RemoteError::LostBeforeStart { host },
        }
    }

    /// Keeps the channel for the next command if its loop is known to be well.
    fn settle(&self, mut loan: Loan, executed: &Executed) {
        let known = &executed.known;
        let is_well = known.status.is_some() && known.is_complete && known.was_read();
        let Some(slot) = loan.slot else {
            return self.close(loan.channel);
        };
        if !is_well || !loan.channel.client.has_sent_everything() {
            self.pool.lose(slot);
            return self.close(loan.channel);
        }
        if let Some(started) = &known.started
            && started.launcher.is_none()
        {
            loan.channel
                .settle(started.pid, executed.took, known.left_nothing);
        }
        if let Some(unwanted) = self.pool.give_back(loan.channel, slot) {
            self.close(unwanted);
        }
    }

    /// Ends a channel. What its commands left behind goes on.
    fn close(&self, channel: Channel) {
        if channel.is_guarded {
            channel.say_goodbye();
        } else {
            self.control.free(channel.hello.pid);
        }
    }

    /// Closes everything; what runs in the background goes on.
    pub(super) fn detach(&self) {
        for channel in self.pool.clear() {
            self.close(channel);
        }
        self.control.close();
    }

    fn fall_back(&self, reason: &str) {
        let mut choice = lock(&self.shell);
        choice.kind = ShellKind::Posix;
        choice.note = Some(format!(
            "{reason} in {}, so commands run with sh: functions and aliases are not kept from one \
             command to the next.",
            self.transport.describe()
        ));
    }

    fn forget_shell(&self) {
        lock(&self.shell).kind = ShellKind::Bash;
    }

    pub(super) fn take_note(&self) -> Option<String> {
        lock(&self.shell).note.take()
    }

    pub(super) fn shell_kind(&self) -> ShellKind {
        lock(&self.shell).kind
    }

    /// Counts a command for as long as the value lives.
    pub(super) fn count_in(&self) -> Active<'_> {
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.touch();
        Active(self)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) > 0
    }

    pub(super) fn last_activity(&self) -> Instant {
        *lock(&self.activity)
    }

    fn touch(&self) {
        *lock(&self.activity) = Instant::now();
    }
}

/// Processes to begin with, and the mark by which others are found.
pub(super) fn seeds_of(pids: &str, mark: Option<u64>) -> String {
    match mark {
        Some(mark) => format!("{pids} ={mark}"),
        None => pids.to_owned(),
    }
}

/// Whether the channel of a command has a guard of its own.
fn is_guarded(kind: ShellKind, input: &[u8]) -> bool {
    kind == ShellKind::Bash && input.is_empty()
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        self.detach();
    }
}

pub(super) struct Active<'a>(&'a RemoteHost);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.touch();
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether the client says that there is no such program, in the words of engines and shells.
fn has_no_bash(code: Option<i32>, said: &str) -> bool {
    matches!(code, Some(126 | 127)) && said.contains("not found")
}
