//! A mark of a command that its processes cannot lose by accident.
//!
//! The mark in the environment is gone after `env -i`, the session after `setsid`, the parent after a
//! second fork: a daemon does all three. Limits of resources, though, are inherited through every fork
//! and every program, and one of them has meant nothing since Linux 2.4.25: the number of file locks.
//! So it holds a number made from the mark. A process can lower a limit and never raise it again; the
//! sandbox does not let it do even that, and outside of it the orphan that did so is known by having
//! no number at all (`has_lost_mark`).
//!
//! Two numbers fit in: that of the command, and, should the command be a Hermes itself, that of the
//! command the Hermes belongs to. Whoever ends the outer one so finds the inner ones as well.
//!
//! One bit between the two tells commands that a person chose from those that an agent chose. It is
//! set for a person's, because a limit can only become lower: an agent in a person's command takes
//! the bit away, and nothing below can bring it back.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use crate::linux;

/// Stands in the lower half while there is no inner command.
const NOBODY: u64 = 0x7fff_ffff;
/// Set in the marks of commands that a person chose.
const BY_PERSON: u64 = NOBODY + 1;
/// No limit of an administrator's making is that large.
const SMALLEST: u64 = 1 << 32;

/// The limit that carries the mark.
pub(crate) const CARRIER: libc::__rlimit_resource_t = libc::RLIMIT_LOCKS;

/// What a mark becomes; `None` for a text that is no mark.
pub(crate) fn number_of(mark: &str) -> Option<u32> {
    let bits = u64::from_str_radix(mark.get(..16)?, 16).ok()?;
    let number = u32::try_from((bits ^ (bits >> 32)) & NOBODY).ok()?;
    (number != 0 && u64::from(number) != NOBODY).then_some(number)
}

/// Who chose a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    Person,
    Agent,
}

/// The limit for a child with this mark, given the one we have; `None` if it stays as it is.
pub(crate) fn limit_for(mark: &str, chosen_by: ChosenBy, ours: u64) -> Option<u64> {
    let number = u64::from(number_of(mark)?);
    let limit = match ours {
        libc::RLIM_INFINITY => (number << 32) | BY_PERSON | NOBODY,
        _ if !is_mark(ours) => return None,
        _ if ours & NOBODY == NOBODY => (ours & !NOBODY) | number,
        // A command of a Hermes that is itself a command of one: it keeps the mark it was given.
        _ => ours,
    };
    let limit = match chosen_by {
        ChosenBy::Person => limit,
        ChosenBy::Agent => limit & !BY_PERSON,
    };
    (limit != ours).then_some(limit)
}

/// Whether this process belongs to a command that an agent chose.
pub(crate) fn is_chosen_by_agent() -> bool {
    let limit = own_limit();
    is_mark(limit) && limit & BY_PERSON == 0
}

/// The limit that marks a command on a host where there is none yet; `None` for a text that is no
/// mark.
pub fn limit_mark(mark: &str) -> Option<u64> {
    limit_for(mark, ChosenBy::Person, libc::RLIM_INFINITY)
}

fn is_mark(limit: u64) -> bool {
    (SMALLEST..1 << 63).contains(&limit)
}

/// Whether a process with this limit belongs to the command of this number.
fn carries(limit: u64, number: u32) -> bool {
    let number = u64::from(number);
    is_mark(limit) && (limit >> 32 == number || limit & NOBODY == number)
}

/// Whether a process carries the number of a command.
pub(crate) fn is_marked(pid: u32, number: u32) -> bool {
    // The call is quick, and refused for processes that have become another user; the file is not.
    let limit = limit_of(pid).or_else(|| linux::limit(pid, "Max file locks"));
    limit.is_some_and(|limit| carries(limit, number))
}

/// Whether a process has the limit of a command, or one that it can only have made of that: limits
/// become lower and never higher. `None` if it has gone.
pub(crate) fn is_of_a_command(pid: u32) -> Option<bool> {
    let limit = limit_of(pid).or_else(|| linux::limit(pid, "Max file locks"))?;
    Some(if limit == own_limit() {
        is_chosen_by_agent()
    } else {
        limit != libc::RLIM_INFINITY
    })
}

/// Whether a process below us has another limit than we have, and none that we gave.
pub(crate) fn has_lost_mark(pid: u32) -> bool {
    let Some(limit) = limit_of(pid).filter(|limit| *limit != own_limit()) else {
        return false;
    };
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_given = |number: u64| u32::try_from(number).is_ok_and(|number| given.contains(&number));
    !is_mark(limit) || !(is_given(limit >> 32) || is_given(limit & NOBODY))
}

/// The numbers of the commands of this process, also of those that have ended: what they left behind
/// carries them.
static GIVEN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Remembers that a command carries this mark.
pub(crate) fn remember_mark(mark: &str) {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    given.extend(number_of(mark));
}

/// The limit of this process.
pub(crate) fn own_limit() -> u64 {
    // Only a kernel without the call fails, and then there is no mark.
    limit_of(0).unwrap_or(0)
}

#[expect(unsafe_code, reason = "rustix changes limits, and reads only our own")]
fn limit_of(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: a system call that fills the structure if it succeeds, and changes nothing.
    unsafe {
        (libc::prlimit(pid, CARRIER, std::ptr::null(), limit.as_mut_ptr()) == 0)
            .then(|| limit.assume_init().rlim_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const OUTER: &str = "0123456789abcdef";
    const INNER: &str = "fedcba9876543211";

    #[test]
    fn a_command_in_a_command_carries_both_numbers() {
        let number = |mark| number_of(mark).unwrap();
        let by = ChosenBy::Person;
        let outer = limit_for(OUTER, by, libc::RLIM_INFINITY).unwrap();
        let inner = limit_for(INNER, by, outer).unwrap();
        assert!(inner < outer);
        assert!(carries(outer, number(OUTER)) && !carries(outer, number(INNER)));
        assert!(carries(inner, number(OUTER)) && carries(inner, number(INNER)));
        assert_eq!(limit_for("00000000deadbeef", by, inner), None);
    }

    #[test]
    fn what_an_agent_chose_stays_known_and_never_raises_a_limit() {
        let by_agent = |limit| is_mark(limit) && limit & BY_PERSON == 0;
        let person = limit_for(OUTER, ChosenBy::Person, libc::RLIM_INFINITY).unwrap();
        assert!(!by_agent(person) && !by_agent(libc::RLIM_INFINITY));
        let agent = limit_for(INNER, ChosenBy::Agent, person).unwrap();
        assert!(agent < person && by_agent(agent));
        assert!(carries(agent, number_of(OUTER).unwrap()));
        assert!(carries(agent, number_of(INNER).unwrap()));
        // Whoever is called from there calls for the agent, whatever it says.
        assert_eq!(limit_for("00000000deadbeef", ChosenBy::Person, agent), None);
        let alone = limit_for(OUTER, ChosenBy::Agent, libc::RLIM_INFINITY).unwrap();
        let below = limit_for(INNER, ChosenBy::Person, alone).unwrap();
        assert!(below < alone && by_agent(below));
    }

    #[test]
    fn limits_of_others_are_no_marks() {
        let number = number_of(OUTER).unwrap();
        for limit in [0, 1, 100, u64::from(number), libc::RLIM_INFINITY] {
            assert!(!carries(limit, number), "{limit}");
        }
        assert_eq!(limit_for(OUTER, ChosenBy::Agent, 100), None);
        for text in ["", "x", "0000000000000000", "0123456789abcdeg"] {
            assert_eq!(number_of(text), None, "{text}");
        }
    }
}
