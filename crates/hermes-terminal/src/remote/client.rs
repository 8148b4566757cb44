//! What connects us with a program on the remote host: a client program on this machine, or a socket.
//!
//! It holds the streams and never waits. The program there gets the end of its input when this value
//! is dropped; a client program is ended at the latest then.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hermes_proc::{Child, ChildSpec, Group, PollSet, Streams, Wake};
use rustix::io::Errno;

use super::stream::{Frames, take};
use super::transport::{Connection, Launch, Transport, TransportError};

#[derive(Debug)]
pub(super) struct Client {
    link: Link,
    unsent: Vec<u8>,
    sent: usize,
    ends_input: bool,
}

#[derive(Debug)]
enum Link {
    Program(Program),
    Socket {
        frames: Box<Frames>,
        takes_input: bool,
    },
}

#[derive(Debug)]
struct Program {
    child: Child,
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    errors: Option<OwnedFd>,
}

/// Why there is no client.
#[derive(Debug)]
pub(super) enum NotStarted {
    Failed(TransportError),
    /// The other side refused, in these words.
    Refused(String),
}

#[expect(clippy::struct_excessive_bools, reason = "one answer per descriptor")]
pub(super) struct Ready {
    pub(super) output: bool,
    pub(super) control: bool,
    pub(super) input: bool,
    pub(super) exit: bool,
    pub(super) interrupt: bool,
}

impl Client {
    /// Starts `argv` on the host.
    pub(super) fn start(transport: &dyn Transport, argv: &[&str]) -> Result<Self, NotStarted> {
        let link = match transport.connect(argv) {
            Connection::Stream(stream) => {
                rustix::io::ioctl_fionbio(&stream.socket, true)
                    .map_err(|errno| failed(std::io::Error::from(errno)))?;
                Link::Socket {
                    frames: Box::new(Frames::new(stream)),
                    takes_input: true,
                }
            }
            Connection::Refused(words) => return Err(NotStarted::Refused(words)),
            Connection::Unavailable => {
                let launch = transport.launch(argv).map_err(NotStarted::Failed)?;
                Link::Program(Program::start(launch).map_err(failed)?)
            }
        };
        Ok(Self {
            link,
            unsent: Vec::new(),
            sent: 0,
            ends_input: false,
        })
    }

    /// Waits until something happens.
    pub(super) fn poll(&mut self, wait: Duration, interrupts: &[&Wake]) -> std::io::Result<Ready> {
        let is_blocked = self.sent < self.unsent.len();
        match &mut self.link {
            Link::Program(program) => program.poll(wait, interrupts, is_blocked),
            Link::Socket {
                frames,
                takes_input,
            } => poll_socket(frames, wait, interrupts, is_blocked && *takes_input),
        }
    }

    /// What the program printed, as much as fits.
    pub(super) fn take_output<'c>(&mut self, chunk: &'c mut [u8]) -> &'c [u8] {
        match &mut self.link {
            Link::Program(program) => read_once(&mut program.output, chunk),
            Link::Socket { frames, .. } => take(&mut frames.output, chunk),
        }
    }

    /// The same of its standard error.
    pub(super) fn take_errors<'c>(&mut self, chunk: &'c mut [u8]) -> &'c [u8] {
        match &mut self.link {
            Link::Program(program) => read_once(&mut program.errors, chunk),
            Link::Socket { frames, .. } => take(&mut frames.errors, chunk),
        }
    }

    /// Whether nothing more can come on one of the streams.
    pub(super) fn is_closed(&self) -> bool {
        match &self.link {
            Link::Program(program) => program.output.is_none() || program.errors.is_none(),
            Link::Socket { frames, .. } => frames.has_ended,
        }
    }

    /// Whether the program, or the client that speaks for it, has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        let ready = self.poll(Duration::ZERO, &[]);
        ready.is_ok_and(|ready| ready.exit)
    }

    /// Keeps bytes for the next [`Client::send`], to go out in one piece with those.
    pub(super) fn put_off(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Writes what goes without waiting and keeps the rest for [`Client::push`].
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        self.push();
    }

    /// Ends the input as soon as everything is written.
    pub(super) fn end_input(&mut self) {
        self.ends_input = true;
        self.push();
    }

    /// Writes what goes without waiting.
    pub(super) fn push(&mut self) {
        while let Some(rest) = self.unsent.get(self.sent..).filter(|rest| !rest.is_empty()) {
            let input = match &self.link {
                Link::Program(program) => program.input.as_ref(),
                Link::Socket {
                    frames,
                    takes_input,
                } => takes_input.then(|| frames.socket()),
            };
            let Some(input) = input else { break };
            match rustix::io::write(input, rest) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The client is about to end, which its reader sees.
                Err(_) => {
                    self.close_input();
                    break;
                }
            }
        }
        self.unsent.clear();
        self.sent = 0;
        if self.ends_input {
            self.close_input();
        }
    }

    /// Whether it has taken everything it was sent.
    pub(super) fn has_sent_everything(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Waits for the end and gives the exit code; `None` if a signal ended it. For clients that
    /// have ended or are about to.
    pub(super) fn exit_code(&mut self) -> Option<i32> {
        self.close_input();
        match &mut self.link {
            Link::Program(program) => program
                .child
                .wait()
                .ok()
                .and_then(hermes_proc::ExitStatus::code),
            Link::Socket { frames, .. } => frames.exit_code(),
        }
    }

    fn close_input(&mut self) {
        match &mut self.link {
            Link::Program(program) => program.input = None,
            Link::Socket {
                frames,
                takes_input,
            } => {
                if std::mem::take(takes_input) {
                    frames.end_input();
                }
            }
        }
    }
}

impl Program {
    fn start(launch: Launch) -> hermes_proc::Result<Self> {
        let spec = ChildSpec {
            cwd: Some("/".into()),
            streams: Streams::Pipes { input: true },
            group: Group::Session,
            ..ChildSpec::new(launch.program, launch.args, launch.variables)
        };
        let mut child = spec.spawn()?;
        let (input, output, errors) =
            (child.take_stdin(), child.take_stdout(), child.take_stderr());
        for pipe in [&input, &output, &errors].into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true).map_err(|errno| child.lost(errno.into()))?;
        }
        Ok(Self {
            child,
            input,
            output,
            errors,
        })
    }

    fn poll(
        &self,
        wait: Duration,
        interrupts: &[&Wake],
        is_blocked: bool,
    ) -> std::io::Result<Ready> {
        let mut set = PollSet::new();
        let output = set.readable(self.output.as_ref());
        let control = set.readable(self.errors.as_ref());
        let input = set.writable(self.input.as_ref().filter(|_| is_blocked));
        let exit = set.readable([&self.child]);
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
}

/// The end of the stream is told when everything before it has been taken.
fn poll_socket(
    frames: &mut Frames,
    wait: Duration,
    interrupts: &[&Wake],
    is_blocked: bool,
) -> std::io::Result<Ready> {
    let wait = if frames.has_some() || frames.has_ended {
        Duration::ZERO
    } else {
        wait
    };
    let (is_readable, input, interrupt) = {
        let mut set = PollSet::new();
        let readable = set.readable(Some(frames.socket()).filter(|_| !frames.has_ended));
        let input = set.writable(Some(frames.socket()).filter(|_| is_blocked));
        let interrupt = set.readable(interrupts.iter().copied());
        set.wait(wait)?;
        (
            set.is_ready(&readable),
            set.is_ready(&input),
            set.is_ready(&interrupt),
        )
    };
    // Not read ahead without need: what nobody takes stays with the engine.
    if is_readable && !frames.has_some() {
        frames.read();
    }
    Ok(Ready {
        output: !frames.output.is_empty(),
        control: !frames.errors.is_empty(),
        input,
        exit: frames.has_ended && !frames.has_some(),
        interrupt,
    })
}

fn failed(error: impl ToString) -> NotStarted {
    NotStarted::Failed(TransportError::missing(error))
}

/// Reads once without waiting; closes the pipe at its end, or when it cannot be read.
fn read_once<'c>(pipe: &mut Option<OwnedFd>, chunk: &'c mut [u8]) -> &'c [u8] {
    hermes_proc::read_once(pipe, chunk).unwrap_or_default()
}
