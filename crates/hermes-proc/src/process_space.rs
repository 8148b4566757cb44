//! Where a pid counts: one boot of one machine, and in it one namespace. Two containers can have the
//! same pid for different processes, and a record on a shared volume outlives them both.

use std::path::Path;

use crate::linux;

/// A machine, one of its boots, and a namespace of pids there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpace {
    /// For people: a container has the name that its engine gave it.
    pub host_name: String,
    pub boot_id: String,
    /// As the kernel writes it; it means something within a boot.
    pub pid_namespace: String,
}

impl ProcessSpace {
    /// That of this process; `None` where the system does not tell enough.
    pub fn own() -> Option<Self> {
        let namespace = hermes_fs::read_link(Path::new("/proc/self/ns/pid")).ok()?;
        Some(Self {
            host_name: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            boot_id: linux::boot_id()?,
            pid_namespace: namespace.to_string_lossy().into_owned(),
        })
    }

    /// Whether a pid that was recorded there means the same process here.
    pub fn shares_pids_with(&self, other: &Self) -> bool {
        self.shares_kernel_with(other) && self.pid_namespace == other.pid_namespace
    }

    /// Whether one kernel knows the processes of both, and so their locks.
    pub fn shares_kernel_with(&self, other: &Self) -> bool {
        self.boot_id == other.boot_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_count_within_a_namespace_of_a_boot() {
        let own = ProcessSpace::own().unwrap();
        assert!(!own.host_name.is_empty());
        assert!(own.shares_pids_with(&ProcessSpace {
            host_name: "renamed".to_owned(),
            ..own.clone()
        }));
        let container = ProcessSpace {
            pid_namespace: "pid:[1]".to_owned(),
            ..own.clone()
        };
        assert!(own.shares_kernel_with(&container) && !own.shares_pids_with(&container));
        let rebooted = ProcessSpace {
            boot_id: "another".to_owned(),
            ..own.clone()
        };
        assert!(!own.shares_kernel_with(&rebooted) && !own.shares_pids_with(&rebooted));
    }
}
