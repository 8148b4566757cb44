//! Which process a pid means: the pid, the moment it started, and the boot in which that was.
//!
//! Pids are given out again. A record written yesterday is only about a running process if start
//! time and boot agree; nothing here compares pids alone.

use std::time::Duration;

use crate::linux;

/// A process that cannot be mistaken for a later one with the same pid.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// When it started, in clock ticks since boot: field 22 of `/proc/<pid>/stat`.
    pub start_time: u64,
    /// The boot in which `start_time` counts.
    pub boot_id: String,
}

/// The identity of a process that exists now, zombies included.
pub fn identity_of(pid: u32) -> Option<ProcessIdentity> {
    Some(ProcessIdentity {
        pid,
        start_time: linux::stat(pid)?.start_time,
        boot_id: linux::boot_id()?,
    })
}

/// When the process with this pid started, if there is one.
pub fn start_time_of(pid: u32) -> Option<u64> {
    linux::stat(pid).map(|stat| stat.start_time)
}

/// How long exactly this process has been running, by a clock that nobody sets; `None` if it has
/// ended. A zombie has ended.
pub fn age_of(identity: &ProcessIdentity) -> Option<Duration> {
    if !is_same_live_process(identity) {
        return None;
    }
    let ticks = rustix::param::clock_ticks_per_second();
    let started = identity.start_time / ticks.max(1);
    let uptime = linux::uptime()?;
    Some(uptime.saturating_sub(Duration::from_secs(started)))
}

/// Whether exactly this process exists and has not ended. A zombie has ended.
pub fn is_same_live_process(identity: &ProcessIdentity) -> bool {
    linux::boot_id().as_deref() == Some(identity.boot_id.as_str())
        && linux::stat(identity.pid)
            .is_some_and(|stat| stat.start_time == identity.start_time && !stat.has_ended())
}

/// Whether the process has ended and only waits for its parent to notice.
pub fn is_zombie(pid: u32) -> bool {
    linux::stat(pid).is_some_and(linux::Stat::has_ended)
}

/// The parent of this process, its parent, and so on up to the first process.
pub fn ancestors_of_self() -> Vec<u32> {
    ancestors_of(std::process::id())
}

/// The same for any process.
pub(crate) fn ancestors_of(mut pid: u32) -> Vec<u32> {
    let mut ancestors = Vec::new();
    while let Some(stat) = linux::stat(pid) {
        // Zero is the parent of the first process and of those whose parent another namespace
        // hides. The second test cannot loop for ever on a table that changes under us.
        if stat.parent == 0 || ancestors.contains(&stat.parent) {
            break;
        }
        ancestors.push(stat.parent);
        pid = stat.parent;
    }
    ancestors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_identity_is_a_live_process() {
        let me = identity_of(std::process::id()).unwrap();
        assert!(is_same_live_process(&me));
        assert!(!is_zombie(me.pid));
        assert!(age_of(&me).unwrap() < Duration::from_hours(1));
        let later = ProcessIdentity {
            start_time: me.start_time + 1,
            ..me
        };
        assert_eq!(age_of(&later), None);
    }

    #[test]
    fn another_start_or_another_boot_is_another_process() {
        let me = identity_of(std::process::id()).unwrap();
        let later = ProcessIdentity {
            start_time: me.start_time + 1,
            ..me.clone()
        };
        let before_reboot = ProcessIdentity {
            boot_id: "00000000-0000-0000-0000-000000000000".to_owned(),
            ..me
        };
        assert!(!is_same_live_process(&later));
        assert!(!is_same_live_process(&before_reboot));
    }

    #[test]
    fn unknown_pid_has_no_identity() {
        assert_eq!(identity_of(u32::MAX), None);
        assert_eq!(identity_of(0), None);
        assert_eq!(linux::command_line(u32::MAX), None);
    }

    #[test]
    fn the_first_ancestor_is_our_parent() {
        assert_eq!(
            ancestors_of_self().first().copied(),
            Some(std::os::unix::process::parent_id())
        );
    }

    #[test]
    fn our_own_command_line_and_user_are_visible() {
        let me = std::process::id();
        let shown = linux::command_line(me).unwrap();
        assert_eq!(shown.first(), std::env::args_os().next().as_ref());
        assert!(linux::pids_of_user(rustix::process::geteuid().as_raw()).contains(&me));
    }
}
