//! What of a sandbox this kernel enforces, and what it does not.

/// Which means of the kernel may be used: all it has, unless a test simulates an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSupport {
    /// The newest version of Landlock that may be used.
    pub landlock: u32,
    pub namespaces: bool,
}

impl KernelSupport {
    /// Everything the kernel has.
    pub const ALL: Self = Self {
        landlock: u32::MAX,
        namespaces: true,
    };

    /// A kernel without the parts that are named, with commas between: `landlock`, `namespaces`, or
    /// `landlock-3` for one whose Landlock ends with version 3.
    pub fn without(parts: &str) -> Self {
        let mut support = Self::ALL;
        for part in parts.split(',').map(str::trim) {
            match part.strip_prefix("landlock-").map(str::parse) {
                Some(Ok(version)) => support.landlock = version,
                _ if part == "landlock" => support.landlock = 0,
                _ if part == "namespaces" => support.namespaces = false,
                _ => {}
            }
        }
        support
    }
}

/// Something that a sandbox on this machine does not enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// A word for programs.
    pub id: &'static str,
    /// What is not enforced, as a sentence without its end.
    pub what: &'static str,
    /// Why not.
    pub reason: String,
}

/// What a prepared sandbox enforces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enforcement {
    /// Version of Landlock in use; 0 for none.
    pub landlock: u32,
    /// Whether commands have a mount namespace of their own.
    pub namespaces: bool,
    pub gaps: Vec<Gap>,
}

impl Enforcement {
    /// The gaps that follow from the version of Landlock and from the namespaces, whose reason is
    /// given where there are none.
    pub(super) fn new(landlock: u32, without_namespaces: Option<&str>) -> Self {
        let mut gaps = Vec::new();
        let mut gap = |id, what, reason: String| gaps.push(Gap { id, what, reason });
        let old = |needed: u32| match landlock {
            0 => "the kernel has no Landlock".to_owned(),
            version => format!("the kernel has Landlock {version}, and this needs {needed}"),
        };
        if let Some(reason) = without_namespaces {
            let reason = format!("no mount namespace: {reason}");
            gap(
                "sockets",
                "sockets that have a path, such as those of D-Bus, Docker and tmux, can be reached",
                reason.clone(),
            );
            gap(
                "attributes",
                "modes, owners and times of the user's files outside can be changed",
                reason.clone(),
            );
            gap(
                "git",
                "hooks and settings of a git repository in the workspace can be changed",
                reason.clone(),
            );
            gap(
                "terminals",
                "other terminals of the same user can be written to and read",
                reason.clone(),
            );
            gap(
                "ipc",
                "memory and semaphores that others share by number (System V) can be used",
                reason,
            );
        }
        if landlock < 6 {
            gap(
                "signals",
                "processes of the same user can be signalled",
                old(6),
            );
            gap(
                "abstract-sockets",
                "sockets with an abstract name can be reached",
                old(6),
            );
        }
        if without_namespaces.is_some() && landlock < 3 {
            gap(
                "truncate",
                "files outside can be cut to a shorter length",
                old(3),
            );
        }
        if landlock == 0 {
            gap(
                "replaced-files",
                "a hidden file that is replaced while a command runs can be read by it",
                old(1),
            );
        }
        Self {
            landlock,
            namespaces: without_namespaces.is_none(),
            gaps,
        }
    }

    /// The mechanisms in use, for people.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        match self.landlock {
            0 => {}
            version => parts.push(format!("Landlock {version}")),
        }
        if self.namespaces {
            parts.push("a mount namespace".to_owned());
        }
        parts.push("seccomp".to_owned());
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(landlock: u32, reason: Option<&str>) -> Vec<&'static str> {
        let enforcement = Enforcement::new(landlock, reason);
        enforcement.gaps.iter().map(|gap| gap.id).collect()
    }

    #[test]
    fn gaps_follow_from_what_the_kernel_lacks() {
        assert!(ids(7, None).is_empty());
        assert_eq!(ids(5, None), ["signals", "abstract-sockets"]);
        assert_eq!(
            ids(7, Some("x")),
            ["sockets", "attributes", "git", "terminals", "ipc"]
        );
        assert!(ids(2, Some("x")).contains(&"truncate"));
        assert!(ids(0, None).contains(&"replaced-files"));
    }

    #[test]
    fn a_simulated_kernel_lacks_what_is_named() {
        assert_eq!(KernelSupport::without(""), KernelSupport::ALL);
        let both = KernelSupport::without("landlock, namespaces");
        assert_eq!((both.landlock, both.namespaces), (0, false));
        assert_eq!(KernelSupport::without("landlock-3").landlock, 3);
    }
}
