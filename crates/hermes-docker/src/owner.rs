//! The process that a container must not outlive, in a form that other machines and other
//! containers can read without being wrong about it.

use std::path::Path;

use super::labels::short_hash;

/// Enough to tell machines, boots and namespaces apart.
const DIGITS: usize = 12;

/// A process, and where its number counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    machine: Option<String>,
    boot: String,
    namespace: String,
    pid: u32,
    start_time: u64,
}

impl Owner {
    /// This process; `None` where the system does not tell enough.
    pub(crate) fn this_process() -> Option<Self> {
        let process = hermes_proc::identity_of(std::process::id())?;
        let machine = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
            .into_iter()
            .find_map(|path| {
                let text = hermes_fs::read_text_capped(Path::new(path), 256).ok()?;
                let id = text.trim();
                (!id.is_empty()).then(|| short_hash(id.as_bytes(), DIGITS))
            });
        let space = hermes_proc::ProcessSpace::own()?;
        Some(Self {
            machine,
            boot: short_hash(process.boot_id.as_bytes(), DIGITS),
            namespace: short_hash(space.pid_namespace.as_bytes(), DIGITS),
            pid: process.pid,
            start_time: process.start_time,
        })
    }

    /// The value of the label.
    pub(crate) fn label(&self) -> String {
        let machine = self.machine.as_deref().unwrap_or("unknown");
        let Self {
            boot,
            namespace,
            pid,
            start_time,
            ..
        } = self;
        format!("{machine}.{boot}.{namespace}.{pid}.{start_time}")
    }

    /// Reads a label.
    pub(crate) fn parse(label: &str) -> Option<Self> {
        let mut parts = label.split('.');
        let owner = Self {
            machine: parts
                .next()
                .filter(|machine| *machine != "unknown" && !machine.is_empty())
                .map(str::to_owned),
            boot: parts.next().filter(|part| !part.is_empty())?.to_owned(),
            namespace: parts.next().filter(|part| !part.is_empty())?.to_owned(),
            pid: parts.next()?.parse().ok()?,
            start_time: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(owner)
    }

    /// Whether this owner has certainly ended, as seen by `me`: it lived in an earlier boot of this
    /// machine, or in our own namespace where nobody like it is left.
    pub(crate) fn is_dead(&self, me: &Self, lives: impl Fn(u32, u64) -> bool) -> bool {
        if self.boot != me.boot {
            return self.machine.is_some() && self.machine == me.machine;
        }
        // One boot is one machine.
        self.namespace == me.namespace && !lives(self.pid, self.start_time)
    }
}

/// Whether this very process runs.
pub(crate) fn lives(pid: u32, start_time: u64) -> bool {
    hermes_proc::start_time_of(pid) == Some(start_time) && !hermes_proc::is_zombie(pid)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn owner(machine: &str, boot: &str, namespace: &str, pid: u32) -> Owner {
        Owner::parse(&format!("{machine}.{boot}.{namespace}.{pid}.7")).unwrap()
    }

    #[test]
    fn a_label_comes_back_and_garbage_does_not() {
        let me = Owner::this_process().unwrap();
        assert_eq!(Owner::parse(&me.label()), Some(me.clone()));
        assert!(!me.is_dead(&me, lives));
        for garbage in ["", "a.b", "m.b.n.x.7", "m.b.n.1.2.3", "m..n.1.2", "1.2.3.4"] {
            assert_eq!(Owner::parse(garbage), None, "{garbage}");
        }
        assert_eq!(owner("unknown", "b", "n", 1).machine, None);
    }

    #[test]
    fn only_a_provable_death_counts() {
        let me = owner("m", "b", "n", 1);
        let nobody = |_: u32, _: u64| false;
        let everybody = |_: u32, _: u64| true;
        assert!(owner("m", "b", "n", 9).is_dead(&me, nobody));
        assert!(!owner("m", "b", "n", 9).is_dead(&me, everybody));
        assert!(owner("m", "earlier", "other", 9).is_dead(&me, everybody));
        assert!(
            !owner("m", "b", "other", 9).is_dead(&me, nobody),
            "hidden by a namespace"
        );
        assert!(
            !owner("other", "else", "n", 9).is_dead(&me, nobody),
            "another machine"
        );
        assert!(!owner("unknown", "else", "n", 9).is_dead(&me, nobody));
        let unknown_me = owner("unknown", "b", "n", 1);
        assert!(!owner("unknown", "else", "n", 9).is_dead(&unknown_me, nobody));
    }
}
