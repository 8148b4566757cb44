//! One connection to a loop on the remote host: opened, greeted, used, perhaps used again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::{PollSet, Wake};
use memchr::memmem;

use super::client::{Client, read_once};
use super::hello::Hello;
use super::program::{arguments, loop_program};
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
    key: String,
    pub(super) control: Vec<u8>,
    pub(super) chunk: Vec<u8>,
    /// The word behind which the loop says whether anything of the last command is left.
    asked: Option<String>,
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

/// Which pipes have something to say.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one answer per descriptor")]
pub(super) struct Ready {
    pub(super) output: bool,
    pub(super) control: bool,
    pub(super) input: bool,
    pub(super) exit: bool,
    pub(super) interrupt: bool,
}

impl Channel {
    /// Starts a client and waits for the greeting.
    pub(super) fn open(
        transport: &dyn Transport,
        kind: ShellKind,
        limit: Duration,
        interrupts: &[&Wake],
    ) -> Result<Self, NotOpened> {
        let program = loop_program(kind);
        let launch = transport
            .launch(&arguments(kind, &program))
            .map_err(NotOpened::Refused)?;
        let client = Client::start(launch)
            .map_err(|error| NotOpened::Refused(TransportError::missing(error)))?;
        let nonce = report_nonce();
        let mut opening = Opening {
            client,
            control: Vec::new(),
            output: Vec::new(),
            chunk: vec![0; CHUNK],
        };
        opening.client.send(format!("{nonce}\n").as_bytes());
        let hello = opening.wait_for(&nonce, limit, interrupts)?;
        if !hello.is_new_enough() {
            return Err(NotOpened::OldShell);
        }
        Ok(Self {
            client: opening.client,
            hello: Arc::new(hello),
            key: nonce,
            control: opening.control,
            chunk: opening.chunk,
            asked: None,
        })
    }

    pub(super) fn poll(&self, wait: Duration, interrupts: &[&Wake]) -> std::io::Result<Ready> {
        poll_client(&self.client, wait, interrupts)
    }

    pub(super) fn request(&mut self, bytes: &[u8]) {
        self.client.send(format!("{} ", self.key).as_bytes());
        self.client.send(bytes);
    }

    pub(super) fn read_control(&mut self) {
        let bytes = read_once(&mut self.client.errors, &mut self.chunk);
        self.control.extend_from_slice(bytes);
    }

    /// Asks the loop whether anything of the command with this pid is left. The answer is waited
    /// for when the channel is used again. A command that took long may have used up all numbers, so
    /// that what it left can have any.
    pub(super) fn ask_for_rest(&mut self, pid: u32, took: Duration) {
        let first = if took < SHORT { pid } else { 0 };
        let nonce = report_nonce();
        self.control.clear();
        self.client
            .send(format!("{} check {nonce} {pid} {first}\n", self.key).as_bytes());
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
            let Ok(ready) = self.poll(wait, &[]) else {
                return false;
            };
            if ready.input {
                self.client.push();
            }
            if ready.output {
                // Nobody's output. It would be dropped anyway, but must not fill the pipe.
                read_once(&mut self.client.output, &mut self.chunk);
            }
            if ready.control {
                self.read_control();
            }
            let is_gone = self.client.output.is_none() || self.client.errors.is_none();
            if ready.exit || is_gone {
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
            let ready = poll_client(&self.client, left, interrupts)
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
            let bytes = read_once(&mut self.client.errors, &mut self.chunk);
            self.control.extend_from_slice(bytes);
        }
        if ready.output {
            // Container engines say here that a program was not found.
            let bytes = read_once(&mut self.client.output, &mut self.chunk);
            let room = MOST_SAID.saturating_sub(self.output.len());
            self.output
                .extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
    }

    /// What it said to the very end is in the pipes.
    fn ended(&mut self) -> NotOpened {
        while let Ok(ready) = poll_client(&self.client, Duration::ZERO, &[]) {
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

fn poll_client(client: &Client, wait: Duration, interrupts: &[&Wake]) -> std::io::Result<Ready> {
    let mut set = PollSet::new();
    let output = set.readable(client.output.as_ref());
    let control = set.readable(client.errors.as_ref());
    let input = set.writable(client.blocked_input());
    let exit = set.readable([&client.child]);
    let interrupt = set.readable(interrupts.iter().copied());
    set.wait(wait)?;
    Ok(Ready {
        output: set.is_ready(&output),
        control: set.is_ready(&control),
        input: set.is_ready(&input),
        exit: set.is_ready(&exit),
        interrupt: set.is_ready(&interrupt),
    })
}
