//! What a sandbox allows, as plain data that another process can be told.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Which network a sandboxed command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// The machine's.
    #[default]
    On,
    /// Addresses of this machine only.
    Loopback,
    Off,
}

/// What a sandboxed command may do. All paths are absolute, exist and have no links in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxPlan {
    /// Directories and files that may be changed, with everything in them.
    pub writable: Vec<PathBuf>,
    /// Entries below a writable directory that stay as they are.
    pub protected: Vec<PathBuf>,
    /// Directories below a writable one whose contents may change, but not their name: what is
    /// protected inside could otherwise be moved out of the way.
    pub pinned: Vec<PathBuf>,
    /// Files and directories whose contents are not shown.
    pub hidden: Vec<PathBuf>,
    /// Sockets, and directories of sockets, that cannot be reached.
    pub sockets: Vec<PathBuf>,
    pub network: Network,
}

impl SandboxPlan {
    /// The plan as bytes, for a process that starts the command in our place.
    pub fn encode(&self) -> Vec<u8> {
        let network = match self.network {
            Network::On => "on",
            Network::Loopback => "loopback",
            Network::Off => "off",
        };
        let mut out = network.as_bytes().to_vec();
        let lists = [
            (b'w', &self.writable),
            (b'r', &self.protected),
            (b'p', &self.pinned),
            (b'h', &self.hidden),
            (b's', &self.sockets),
        ];
        for (kind, paths) in lists {
            for path in paths {
                out.extend([0, kind]);
                out.extend_from_slice(path.as_os_str().as_bytes());
            }
        }
        out
    }

    /// The plan that [`SandboxPlan::encode`] made these bytes of. A plan that makes no sense is none:
    /// whoever was told it must not run the command without.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.split(|byte| *byte == 0);
        let mut plan = Self {
            network: match parts.next()? {
                b"on" => Network::On,
                b"loopback" => Network::Loopback,
                b"off" => Network::Off,
                _ => return None,
            },
            ..Self::default()
        };
        for part in parts {
            let (kind, path) = part.split_first()?;
            let path = PathBuf::from(OsString::from_vec(path.to_owned()));
            if !path.is_absolute() {
                return None;
            }
            match kind {
                b'w' => plan.writable.push(path),
                b'r' => plan.protected.push(path),
                b'p' => plan.pinned.push(path),
                b'h' => plan.hidden.push(path),
                b's' => plan.sockets.push(path),
                _ => return None,
            }
        }
        Some(plan)
    }

    /// Whether a path lies in something that may be changed.
    pub fn may_write(&self, path: &Path) -> bool {
        let below = |paths: &[PathBuf]| paths.iter().any(|parent| path.starts_with(parent));
        below(&self.writable) && !below(&self.protected)
    }
}

/// Devices that every program may use.
pub(super) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Memory shared between processes, by name.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn plan() -> SandboxPlan {
        SandboxPlan {
            writable: vec!["/w".into(), "/t mp".into()],
            protected: vec!["/w/.git/config".into()],
            pinned: vec!["/w/.git".into()],
            hidden: vec!["/h/.ssh".into()],
            sockets: vec![OsString::from_vec(vec![b'/', 255]).into()],
            network: Network::Loopback,
        }
    }

    #[test]
    fn a_plan_comes_back_as_it_was() {
        assert_eq!(SandboxPlan::decode(&plan().encode()), Some(plan()));
        let empty = SandboxPlan::default();
        assert_eq!(SandboxPlan::decode(&empty.encode()), Some(empty));
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        for bytes in [&b""[..], b"maybe", b"on\0", b"on\0wrelative", b"on\0x/a"] {
            assert_eq!(SandboxPlan::decode(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn writing_needs_a_writable_parent_and_no_protection() {
        let plan = plan();
        assert!(plan.may_write(Path::new("/w/a/b")));
        assert!(!plan.may_write(Path::new("/w/.git/config")));
        assert!(!plan.may_write(Path::new("/wide")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            drop(SandboxPlan::decode(&bytes));
        }
    }
}
