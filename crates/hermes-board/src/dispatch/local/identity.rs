//! The identity of a worker process, as the board records it.
//!
//! Process ids are valid only inside one namespace of one boot. In a container the
//! namespace is part of the recorded boot, so that a restarted container, or the one beside it, is not
//! mistaken for this one although the kernel is the same.

use std::path::Path;

use hermes_proc::ProcessIdentity;

use crate::model::WorkerIdentity;

/// The namespace of a machine that is no container.
const INITIAL: &str = "pid:[4026531836]";

/// Where process ids are valid: this boot, in this namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessSpace {
    /// As the kernel reports it.
    boot_id: String,
    /// As it is recorded.
    recorded: String,
}

impl ProcessSpace {
    /// That of this process.
    pub(crate) fn own() -> Self {
        let own = hermes_proc::identity_of(std::process::id());
        let boot_id = own.map(|own| own.boot_id).unwrap_or_default();
        // Where the system does not report it, everything is one namespace.
        let namespace = hermes_fs::read_link(Path::new("/proc/self/ns/pid")).ok();
        let namespace = namespace.and_then(|path| path.to_str().map(str::to_owned));
        Self::new(boot_id, namespace.as_deref())
    }

    fn new(boot_id: String, namespace: Option<&str>) -> Self {
        let recorded = match namespace {
            Some(namespace) if namespace != INITIAL => format!("{boot_id} {namespace}"),
            _ => boot_id.clone(),
        };
        Self { boot_id, recorded }
    }

    /// The text that is recorded.
    pub(crate) fn recorded(&self) -> &str {
        &self.recorded
    }

    /// Whether this was recorded before the machine was restarted. Other containers of the same boot
    /// have processes that cannot be seen.
    pub(crate) fn is_of_another_boot(&self, identity: &WorkerIdentity) -> bool {
        let boot = identity.boot_id.split(' ').next();
        boot.is_some_and(|boot| !boot.is_empty() && boot != self.boot_id)
    }

    /// The process with this number, if it exists, as it is recorded.
    pub(crate) fn identity_of(&self, pid: u32) -> Option<WorkerIdentity> {
        hermes_proc::identity_of(pid).map(|identity| self.record(&identity))
    }

    /// A process of this namespace, as it is recorded.
    pub(crate) fn record(&self, identity: &ProcessIdentity) -> WorkerIdentity {
        WorkerIdentity {
            start: identity.start_time,
            boot_id: self.recorded.clone(),
        }
    }

    /// The recorded process; `None` if it is of another namespace or boot.
    pub(crate) fn process(&self, pid: u32, identity: &WorkerIdentity) -> Option<ProcessIdentity> {
        (identity.boot_id == self.recorded).then(|| ProcessIdentity {
            pid,
            start_time: identity.start,
            boot_id: self.boot_id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_container_is_a_place_of_its_own() {
        let boot = || "b-1".to_owned();
        let machine = ProcessSpace::new(boot(), Some(INITIAL));
        let container = ProcessSpace::new(boot(), Some("pid:[4026532000]"));
        assert_eq!(machine.recorded(), "b-1");
        assert_eq!(container.recorded(), "b-1 pid:[4026532000]");
        assert_eq!(ProcessSpace::new(boot(), None), machine);
        let process = ProcessIdentity {
            pid: 7,
            start_time: 3,
            boot_id: boot(),
        };
        let recorded = container.record(&process);
        assert_eq!(container.process(7, &recorded), Some(process));
        assert_eq!(machine.process(7, &recorded), None);
        assert!(!machine.is_of_another_boot(&recorded));
        let later = ProcessSpace::new("b-2".to_owned(), Some(INITIAL));
        assert!(later.is_of_another_boot(&recorded));
    }

    #[test]
    fn we_find_ourselves() {
        let here = ProcessSpace::own();
        let me = here.identity_of(std::process::id()).unwrap();
        let process = here.process(std::process::id(), &me).unwrap();
        assert!(hermes_proc::is_same_live_process(&process));
    }
}
