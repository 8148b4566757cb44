//! One connection to a loop on the remote host: opened, greeted, used, perhaps used again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::Wake;
use memchr::memmem;

use super::client::{Client, NotStarted, Ready};
use super::hello::Hello;
use super::hunt::pids_of;
use super::program::{arguments, loop_program};
use super::record::{Ended, fields_of};
use super::transport::{Transport, TransportError};
use crate::shell::ShellKind;
use crate::shell::report::report_nonce;

/// How much of what a client says before the greeting is kept for a message.
const MOST_SAID: usize = 16 * 1024;
/// In this time no command starts as many processes as there are numbers.
const SHORT: Duration = Duration::from_secs(5);
const CHUNK: usize = 64 * 1024;
/// How long a loop may take to look around after a command before it counts as lost.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) client: Client,
    pub(super) hello: Arc<Hello>,
    /// Whether a guard stands before the loop.
    pub(super) is_guarded: bool,
    key: String,
    /// With a number, the word behind the command of that number.
    end: String,
    /// The number of the next command.
    next: u64,
    pub(super) control: Vec<u8>,
    pub(super) chunk: Vec<u8>,
    /// The word behind which the loop says whether anything of the last command is left.
    asked: Option<String>,
    /// When the last command had ended.
    settled: Instant,
}

#[derive(Debug)]
pub(super) enum NotOpened {
    Refused(TransportError),
    Ended {
        code: Option<i32>,
        said: String,
    },
    OldShell,
    /// Something came in between the parts of the greeting.
    Garbled,
    Silent,
    Interrupted,
}

impl Channel {
    /// Starts a client and waits for the greeting.
    pub(super) fn open(
        transport: &dyn Transport,
        (kind, is_guarded): (ShellKind, bool),
        limit: Duration,
        interrupts: &[&Wake],
    ) -> Result<Self, NotOpened> {
        let program = loop_program(kind, is_guarded);
        let client = match Client::start(transport, &arguments(kind, &program)) {
            Ok(client) => client,
            Err(NotStarted::Failed(error)) => return Err(NotOpened::Refused(error)),
            Err(NotStarted::Refused(said)) => {
                return Err(NotOpened::Ended {
                    code: Some(1),
                    said,
                });
            }
        };
        let (nonce, end) = (report_nonce(), report_nonce());
        let mut opening = Opening {
            client,
            control: Vec::new(),
            output: Vec::new(),
            chunk: vec![0; CHUNK],
        };
        opening.client.send(format!("{nonce} {end}\n").as_bytes());
        let hello = opening.wait_for(&nonce, limit, interrupts)?;
        if !hello.is_new_enough() {
            return Err(NotOpened::OldShell);
        }
        let mut channel = Self {
            client: opening.client,
            hello: Arc::new(hello),
            is_guarded,
            key: nonce,
            end,
            next: 0,
            control: opening.control,
            chunk: opening.chunk,
            asked: None,
            settled: Instant::now(),
        };
        if is_guarded {
            let pid = channel.hello.pid;
            channel.client.send(format!("own {pid}\n").as_bytes());
        }
        Ok(channel)
    }

    /// Sends a request and gives the word that will stand behind its command.
    pub(super) fn request(&mut self, bytes: &[u8]) -> String {
        let number = self.next;
        self.next += 1;
        let mut request = format!("{} {number} ", self.key).into_bytes();
        request.extend_from_slice(bytes);
        self.pass_on(&request);
        format!("{}{number}", self.end)
    }

    /// Sends something to the loop, past the guard if there is one; in one piece, because each piece
    /// takes a way of its own.
    fn pass_on(&mut self, request: &[u8]) {
        if self.is_guarded {
            let mut line = format!("to {}\n", request.len()).into_bytes();
            line.extend_from_slice(request);
            self.client.send(&line);
        } else {
            self.client.send(request);
        }
    }

    /// Ends the channel in good order: what its commands left goes on.
    pub(super) fn say_goodbye(mut self) {
        self.client.send(b"bye\n");
        self.client.end_input();
    }

    /// Asks the guard to look for processes and to signal them; the answer comes as a record.
    pub(super) fn ask_guard(&mut self, line: &str) {
        self.client.send(line.as_bytes());
    }

    /// Tells the guard something together with the next request.
    pub(super) fn tell_guard(&mut self, line: &str) {
        self.client.put_off(line.as_bytes());
    }

    /// The answer of the guard to the question `id`, if it has come.
    pub(super) fn guards_answer(&mut self, id: u64) -> Option<Vec<u32>> {
        let (fields, range) = fields_of(&self.control, &self.key, "pids", 1)?;
        let text = String::from_utf8_lossy(fields.first()?).into_owned();
        self.control.drain(range);
        Some(pids_of(text.strip_prefix(&format!("{id} "))?))
    }

    pub(super) fn read_control(&mut self) {
        let bytes = self.client.take_errors(&mut self.chunk);
        self.control.extend_from_slice(bytes);
    }

    /// The command with this pid has ended. Asks the loop whether anything of it is left, unless that
    /// is known; the answer is waited for when the channel is used again. A command that took long may
    /// have used up all numbers, so that what it left can have any. What the loop says by itself
    /// counts from the command before.
    pub(super) fn settle(&mut self, pid: u32, took: Duration, left_nothing: bool) {
        let now = Instant::now();
        let since = now.duration_since(std::mem::replace(&mut self.settled, now));
        if left_nothing && since < SHORT {
            self.control.clear();
            return;
        }
        let first = if took < SHORT { pid } else { 0 };
        let nonce = report_nonce();
        self.control.clear();
        let (key, next) = (&self.key, self.next);
        let line = format!("{key} {next} check {nonce} {pid} {first}\n");
        self.pass_on(line.as_bytes());
        self.asked = Some(nonce);
    }

    /// Whether the channel can be used: the loop is there and nothing of an earlier command can
    /// write to it any more.
    pub(super) fn is_usable(&mut self) -> bool {
        let deadline = Instant::now() + SETTLE_LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = if self.asked.is_some() {
                left
            } else {
                Duration::ZERO
            };
            let Ok(ready) = self.client.poll(wait, &[]) else {
                return false;
            };
            if ready.input {
                self.client.push();
            }
            if ready.output {
                // Nobody's output. It would be dropped anyway, but must not fill the pipe.
                self.client.take_output(&mut self.chunk);
            }
            if ready.control {
                self.read_control();
            }
            if ready.exit || self.client.is_closed() {
                return false;
            }
            // A shell that waited and ended has taken its number with it.
            if Ended::find(&self.control, &format!("{}{}", self.end, self.next)).is_some() {
                return false;
            }
            let Some(nonce) = &self.asked else {
                return true;
            };
            let answer = |word: &str| {
                memmem::find(&self.control, format!("\0{nonce}\0{word}\0").as_bytes()).is_some()
            };
            if answer("idle") {
                self.asked = None;
                self.control.clear();
                return true;
            }
            if answer("busy") || left.is_zero() {
                return false;
            }
        }
    }
}

/// A client that has not greeted yet.
struct Opening {
    client: Client,
    control: Vec<u8>,
    output: Vec<u8>,
    chunk: Vec<u8>,
}

impl Opening {
    fn wait_for(
        &mut self,
        nonce: &str,
        limit: Duration,
        interrupts: &[&Wake],
    ) -> Result<Hello, NotOpened> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NotOpened::Silent);
            }
            let ready = self
                .client
                .poll(left, interrupts)
                .map_err(|error| NotOpened::Refused(TransportError::missing(error)))?;
            if ready.interrupt {
                return Err(NotOpened::Interrupted);
            }
            if ready.input {
                self.client.push();
            }
            self.read(&ready);
            if let Some((hello, range)) = Hello::find(&self.control, nonce) {
                self.control.drain(..range.end);
                return Ok(hello);
            }
            if Hello::is_over(&self.control, nonce) {
                return Err(NotOpened::Garbled);
            }
            if ready.exit {
                return Err(self.ended());
            }
        }
    }

    fn read(&mut self, ready: &Ready) {
        if ready.control {
            let bytes = self.client.take_errors(&mut self.chunk);
            self.control.extend_from_slice(bytes);
        }
        if ready.output {
            // Container engines say here that a program was not found.
            let bytes = self.client.take_output(&mut self.chunk);
            let room = MOST_SAID.saturating_sub(self.output.len());
            self.output
                .extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
    }

    /// What it said to the very end is in the pipes.
    fn ended(&mut self) -> NotOpened {
        while let Ok(ready) = self.client.poll(Duration::ZERO, &[]) {
            if !ready.control && !ready.output {
                break;
            }
            self.read(&ready);
            if self.control.len() > MOST_SAID {
                break;
            }
        }
        let mut said = String::from_utf8_lossy(&self.control).into_owned();
        said.push_str(&String::from_utf8_lossy(&self.output));
        NotOpened::Ended {
            code: self.client.exit_code(),
            said,
        }
    }
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
