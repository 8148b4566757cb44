//! Whether a command was called from an agent's shell: the one answer to that question.
//!
//! An agent must not free itself by calling this program: change what it may do, hand itself keys or
//! answer its own questions. Its shells carry the mark `HERMES_AGENT_SHELL`, which children inherit.
//! A shell can take a variable away, so two more things count: a limit that the kernel hands down from
//! the shell ([`crate::kernel_mark`]), and an ancestor that runs a conversation. Programs that run one
//! conversation carry a name of their own, which nobody else can take from them. A server does not:
//! it starts more than the shells of its agents.

use std::ffi::{CStr, OsStr};
use std::io;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

use crate::identity::ancestors_of;
use crate::kernel_mark::{self, is_of_a_command};
use crate::linux;

/// The variable that marks shells and scripts of an agent.
pub const MARK: &str = "HERMES_AGENT_SHELL";

/// The name of processes that run a conversation, as `ps` shows it; the kernel keeps 15 bytes.
const PROCESS_NAME: &CStr = c"hermes-agent";

/// Who called this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A person, or a program that a person started.
    Person,
    /// An agent, from one of its shells or scripts.
    Agent(Evidence),
}

/// How an agent is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The variable [`MARK`].
    Mark,
    /// The limit by which the processes of a command are known.
    Limit,
    /// This process runs a conversation, and ours descends from it.
    Ancestor(u32),
}

impl Caller {
    /// Whether it is an agent.
    pub fn is_agent(self) -> bool {
        matches!(self, Self::Agent(_))
    }
}

/// Who called this program, given the value of [`MARK`] it was started with. Reads `/proc` if there
/// is none, once, so only commands that need the answer ask.
pub fn caller(mark: Option<&OsStr>) -> Caller {
    // Nobody becomes an ancestor later, and a server asks with every turn.
    static ABOVE: OnceLock<Option<u32>> = OnceLock::new();
    if mark.is_some_and(|value| !value.is_empty()) {
        return Caller::Agent(Evidence::Mark);
    }
    if kernel_mark::is_chosen_by_agent() {
        return Caller::Agent(Evidence::Limit);
    }
    match *ABOVE.get_or_init(|| agent_above(std::process::id())) {
        Some(agent) => Caller::Agent(Evidence::Ancestor(agent)),
        None => Caller::Person,
    }
}

/// Gives this process the name by which its descendants know that it runs a conversation.
#[expect(unsafe_code, reason = "the name of a thread is set by a system call")]
pub fn announce_agent() {
    // The name of a process is that of its first thread.
    // SAFETY: takes nothing and always succeeds.
    let is_first = unsafe { libc::gettid() } == rustix::process::getpid().as_raw_pid();
    // SAFETY: the name is a string with its NUL, which the kernel copies.
    if is_first && unsafe { libc::prctl(libc::PR_SET_NAME, PROCESS_NAME.as_ptr()) } == 0 {
        return;
    }
    // From another thread, unless the process may not be looked at: then the mark in the environment
    // is what is left.
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if let Ok(name) = rustix::fs::open("/proc/self/comm", flags, Mode::empty()) {
        let _: rustix::io::Result<usize> = rustix::io::write(&name, PROCESS_NAME.to_bytes());
    }
}

/// The nearest process above this one that runs a conversation.
fn agent_above(pid: u32) -> Option<u32> {
    above(pid).find(|one| runs_conversation(*one))
}

/// The processes above this one. A process whose parent has ended belongs to the first process of the
/// machine, but still to the session and the group of the shell that started it.
fn above(pid: u32) -> impl Iterator<Item = u32> {
    let own = linux::stat(pid);
    let starts = own.map(|own| [own.parent, own.session, own.group]);
    let starts = starts.into_iter().flatten();
    starts
        .filter(move |start| *start > 1 && *start != pid)
        .flat_map(|start| std::iter::once(start).chain(ancestors_of(start)))
}

fn runs_conversation(pid: u32) -> bool {
    linux::name(pid).as_deref() == PROCESS_NAME.to_str().ok()
}

/// Whether another process belongs to an agent: stricter than [`caller`], since what a process says of
/// itself may be a lie. Any limit of a command counts, a person's as well: whoever may change its own
/// limit can make the one look like the other, and cannot get rid of it. An error if it has gone.
pub(crate) fn evidence_about(pid: u32) -> io::Result<Option<Evidence>> {
    if is_of_a_command(pid).ok_or(io::ErrorKind::NotFound)? {
        return Ok(Some(Evidence::Limit));
    }
    if says_so(pid) {
        return Ok(Some(Evidence::Mark));
    }
    let mut those = std::iter::once(pid).chain(above(pid));
    let agent = those.find(|one| runs_conversation(*one) || is_marked(*one));
    Ok(agent.map(Evidence::Ancestor))
}

/// Whether a process carries a mark of a command itself.
pub(crate) fn is_marked(pid: u32) -> bool {
    is_of_a_command(pid) == Some(true) || says_so(pid)
}

/// Whether the mark stands in the environment that a process was started with, if that can be read.
fn says_so(pid: u32) -> bool {
    let mut variables = linux::environment(pid).into_iter().flatten();
    variables.any(|(name, value)| name == MARK && !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_tells_an_agent_and_an_empty_one_does_not() {
        let marked = caller(Some(OsStr::new("1")));
        assert_eq!(marked, Caller::Agent(Evidence::Mark));
        assert!(marked.is_agent());
        assert_eq!(caller(Some(OsStr::new(""))), caller(None));
    }

    #[test]
    fn names_that_processes_take_fit_the_kernel() {
        assert!(PROCESS_NAME.count_bytes() <= 15);
    }

    #[test]
    fn a_process_that_is_gone_descends_from_nobody() {
        assert_eq!(agent_above(u32::MAX), None);
    }
}
