//! One command through one channel: what is told, what comes back, and when it is over.
//!
//! A loop over descriptors without a thread. What is to be ended is ended through the guard of the
//! channel, or by whoever calls, who then collects what is left.

use std::time::{Duration, Instant};

use hermes_proc::KillTiming;
use memchr::memmem;

use super::channel::Channel;
use super::client::Ready;
use super::hunt::{Hunt, Killed, Unreachable};
use super::marked_output::MarkedOutput;
use super::record::{Ended, Started};
use super::request::{Execution, Nonces};
use crate::shell::report;

/// A channel has one command at a time, and a command one kill.
const ONE_HUNT: u64 = 1;
/// How long one answer of the guard may take.
const ANSWER_LIMIT: Duration = Duration::from_millis(1_500);
/// Output that pauses for this long after its command was ended by force is over.
const SILENCE: Duration = Duration::from_millis(300);
/// What never pauses is not listened to for longer than this.
const LONGEST_DRAIN: Duration = Duration::from_secs(3);
/// How long the last of the output may take after the loop has said how the command ended. The two
/// streams travel independently.
const OUTPUT_LAG: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Ended,
    TimedOut,
    Interrupted,
    /// The client ended, or what it says makes no sense.
    Broken,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is told, or not, by a record of its own"
)]
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) started: Option<Started>,
    /// Its directory is missing, so it did not run.
    pub(super) is_misplaced: bool,
    /// The files of a background process could not be made, so it did not run.
    pub(super) has_no_files: bool,
    pub(super) report: Vec<u8>,
    /// Its exit status, 128 + n for signal n.
    pub(super) status: Option<i32>,
    /// Whether no process is there that was started since the command before it.
    pub(super) left_nothing: bool,
    pub(super) is_complete: bool,
}

impl Known {
    /// Whether a shell has read the request to its end.
    pub(super) fn was_read(&self) -> bool {
        self.started.is_some() || self.is_misplaced || self.has_no_files
    }
}

/// A command under way.
pub(super) struct Conversation<'a> {
    execution: &'a Execution<'a>,
    nonces: &'a Nonces,
    channel: &'a mut Channel,
    /// The word behind the command.
    end: String,
    output: MarkedOutput,
    known: Known,
    /// What the guard has answered and nobody has taken yet.
    answers: Vec<Vec<u32>>,
}

impl<'a> Conversation<'a> {
    pub(super) fn begin(
        execution: &'a Execution<'a>,
        nonces: &'a Nonces,
        request: &[u8],
        channel: &'a mut Channel,
    ) -> Self {
        channel.control.clear();
        let end = channel.request(request);
        if !execution.input.is_empty() {
            channel.client.send(execution.input);
            channel.client.end_input();
        }
        Self {
            execution,
            nonces,
            output: MarkedOutput::new(&nonces.of_loop, &end),
            channel,
            end,
            answers: Vec::new(),
            known: Known::default(),
        }
    }

    /// Passes output on until it is over one way or another.
    pub(super) fn follow(&mut self, sink: &mut dyn FnMut(&[u8])) -> Over {
        let deadline = Instant::now() + self.execution.limit;
        loop {
            let now = Instant::now();
            if now >= deadline {
                return Over::TimedOut;
            }
            let wait = deadline.saturating_duration_since(now);
            let Ok(ready) = self.channel.client.poll(wait, self.execution.interrupts) else {
                return Over::Broken;
            };
            self.exchange_pieces(&ready, sink);
            if self.known.status.is_some() {
                return self.rest(sink);
            }
            if ready.exit {
                self.drain(sink, Duration::ZERO, LONGEST_DRAIN);
                return match self.known.status {
                    Some(_) => Over::Ended,
                    None => Over::Broken,
                };
            }
            if ready.interrupt {
                return Over::Interrupted;
            }
        }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.known.started.as_ref().map(|started| started.pid)
    }

    /// Ends the processes that belong to `seeds` through the guard of the channel; `None` if it has
    /// none or it does not answer. What they print meanwhile is taken.
    pub(super) fn kill(
        &mut self,
        seeds: &str,
        timing: KillTiming,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Option<Killed> {
        if !self.channel.is_guarded {
            return None;
        }
        let deadline = Instant::now() + timing.timeout;
        let mut killed = Killed::default();
        let mut ask = |line: &str| self.ask_guard(line, deadline, sink);
        let mut hunt = Hunt {
            id: ONE_HUNT,
            seeds,
            deadline,
            ask: &mut ask,
        };
        hunt.run(timing, &mut killed).ok()?;
        killed.is_certain = true;
        let forget = format!("forget {ONE_HUNT}\n");
        self.channel.ask_guard(&forget);
        Some(killed)
    }

    fn ask_guard(
        &mut self,
        line: &str,
        deadline: Instant,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Vec<u32>, Unreachable> {
        let deadline = deadline.min(Instant::now() + ANSWER_LIMIT);
        self.answers.clear();
        self.channel.ask_guard(line);
        loop {
            if let Some(pids) = self.answers.pop() {
                return Ok(pids);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let ready = self.channel.client.poll(left, &[]);
            let ready = ready.map_err(|_| Unreachable)?;
            if left.is_zero() || (ready.exit && !ready.control) {
                return Err(Unreachable);
            }
            self.exchange_pieces(&ready, sink);
        }
    }

    /// The command has been killed: takes what is still on the way.
    pub(super) fn after_kill(&mut self, sink: &mut dyn FnMut(&[u8])) {
        self.drain(sink, SILENCE, LONGEST_DRAIN);
    }

    /// Gives what is known; whatever was held back is output.
    pub(super) fn finish(mut self, sink: &mut dyn FnMut(&[u8])) -> Known {
        self.known.is_complete = self.output.is_complete();
        self.output.finish(sink);
        self.known
    }

    /// The loop has said its last word; the last of the output may be on the way.
    fn rest(&mut self, sink: &mut dyn FnMut(&[u8])) -> Over {
        self.drain(sink, OUTPUT_LAG, self.execution.limit.max(OUTPUT_LAG));
        if !self.output.is_complete() {
            tracing::warn!("the end of a command's output did not arrive");
        }
        Over::Ended
    }

    /// Reads until everything is there, nothing comes for `silence`, or `longest` is over.
    fn drain(&mut self, sink: &mut dyn FnMut(&[u8]), silence: Duration, longest: Duration) {
        let end = Instant::now() + longest;
        let mut quiet_since = Instant::now();
        while !(self.known.status.is_some() && self.output.is_complete()) {
            let now = Instant::now();
            let left = silence
                .saturating_sub(now.saturating_duration_since(quiet_since))
                .min(end.saturating_duration_since(now));
            let Ok(ready) = self.channel.client.poll(left, &[]) else {
                return;
            };
            if ready.output || ready.control {
                quiet_since = Instant::now();
                self.exchange_pieces(&ready, sink);
            } else if ready.exit || left.is_zero() {
                return;
            } else {
                self.exchange_pieces(&ready, sink);
            }
            if Instant::now() >= end {
                return;
            }
        }
    }

    fn exchange_pieces(&mut self, ready: &Ready, sink: &mut dyn FnMut(&[u8])) {
        if ready.input {
            self.channel.client.push();
        }
        if ready.output {
            let Channel { client, chunk, .. } = &mut *self.channel;
            let bytes = client.take_output(chunk);
            self.output.push(bytes, sink);
        }
        if ready.control {
            self.channel.read_control();
            self.look();
        }
    }

    fn look(&mut self) {
        // First: behind them may stand the end of the command, and all before it is its report.
        while let Some(pids) = self.channel.guards_answer(ONE_HUNT) {
            self.answers.push(pids);
        }
        let control = &mut self.channel.control;
        let known = &mut self.known;
        if known.started.is_none() {
            let says = |kind: &str| {
                let record = format!("\0{}\0{kind}\0", self.nonces.of_shell);
                memmem::find(control, record.as_bytes()).is_some()
            };
            known.is_misplaced |= says("nodir");
            known.has_no_files |= says("nofile");
            if let Some((started, range)) = Started::find(control, &self.nonces.of_shell) {
                control.drain(..range.end);
                known.started = Some(started);
            }
        }
        if let Some((ended, range)) = Ended::find(control, &self.end) {
            let rest = control.split_off(range.end);
            control.truncate(range.start);
            known.report = std::mem::replace(control, rest);
            known.status = Some(ended.status);
            known.left_nothing = ended.left_nothing;
        } else if control.len() > report::LONGEST {
            // Too long to be believed; the end record is still to come.
            let gone = control.len() - 1024;
            control.drain(..gone);
        }
    }
}
