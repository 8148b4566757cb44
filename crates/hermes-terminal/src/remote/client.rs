//! The program on this machine that connects us with a program on the remote host.
//!
//! It holds the three pipes and never waits. A client ends when its input does, and at the latest
//! when this value is dropped.

use std::os::fd::OwnedFd;

use hermes_proc::{Child, ChildSpec, Group, Streams};
use rustix::io::Errno;

use super::transport::Launch;

#[derive(Debug)]
pub(super) struct Client {
    pub(super) child: Child,
    pub(super) input: Option<OwnedFd>,
    pub(super) output: Option<OwnedFd>,
    pub(super) errors: Option<OwnedFd>,
    unsent: Vec<u8>,
    sent: usize,
    ends_input: bool,
}

impl Client {
    pub(super) fn start(launch: Launch) -> hermes_proc::Result<Self> {
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
            unsent: Vec::new(),
            sent: 0,
            ends_input: false,
        })
    }

    /// The input, as long as something waits to be written to it.
    pub(super) fn blocked_input(&self) -> Option<&OwnedFd> {
        let is_blocked = self.sent < self.unsent.len();
        self.input.as_ref().filter(|_| is_blocked)
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
            let Some(input) = &self.input else { break };
            match rustix::io::write(input, rest) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The client is about to end, which its reader sees.
                Err(_) => {
                    self.input = None;
                    break;
                }
            }
        }
        self.unsent.clear();
        self.sent = 0;
        if self.ends_input {
            self.input = None;
        }
    }

    /// Whether it has taken everything it was sent.
    pub(super) fn has_sent_everything(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Waits for the end and gives the exit code; `None` if a signal ended it. For clients that
    /// have ended or are about to.
    pub(super) fn exit_code(&mut self) -> Option<i32> {
        self.input = None;
        self.child
            .wait()
            .ok()
            .and_then(hermes_proc::ExitStatus::code)
    }
}

/// Reads once without waiting; closes the pipe at its end, or when it cannot be read.
pub(super) fn read_once<'c>(pipe: &mut Option<OwnedFd>, chunk: &'c mut [u8]) -> &'c [u8] {
    hermes_proc::read_once(pipe, chunk).unwrap_or_default()
}
