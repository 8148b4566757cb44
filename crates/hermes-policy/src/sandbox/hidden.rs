//! What sandboxed commands do not see: private places, and sockets behind which somebody does what
//! they are told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::facts::SandboxFacts;
use super::look::Look;
use crate::private_places::{
    Access, entries_of_hermes_home, entries_of_home, in_hermes_home, in_home,
};

/// Files of the machine that only root can read; root's commands do not.
const OF_ROOT: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/wireguard",
];

/// Sockets, and directories of sockets: who can talk to them acts outside of the sandbox.
const SOCKETS: &[&str] = &[
    // Container engines.
    "/run/docker.sock",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/buildkit",
    "/run/lxd.socket",
    "/var/lib/lxd/unix.socket",
    "/run/libvirt",
    // Services of the system, and of users who are logged in.
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/io.system.ManagedOOM",
    "/run/snapd.socket",
    "/run/snapd-snap.socket",
    "/run/user",
    "/run/cups",
    "/run/screen",
    "/run/uuidd",
    "/tmp/.X11-unix",
    "/tmp/.ICE-unix",
];

/// Beginnings of names of such directories and sockets in the temporary directory.
const TEMPORARY_SOCKETS: &[&str] = &["tmux-", "ssh-", "vscode-", "kitty-", "dbus-", "screens"];

/// Directories of a Hermes home with sockets and records of running processes.
const RUNTIME: &[&str] = &["cache/proc", "cache/ssh"];

/// What is hidden, without links in it.
pub(super) fn hidden(facts: &SandboxFacts, look: &Look) -> Vec<PathBuf> {
    let mut found = Found::new(look);
    for home in &facts.account_homes {
        for (entry, place) in entries_of_home() {
            if place.refuses(Access::Sandbox) {
                found.add(&home.join(entry));
            }
        }
        // Copies of them have other names.
        let is_private = |name: &str| {
            in_home(Path::new(name)).is_some_and(|place| place.refuses(Access::Sandbox))
        };
        for entry in look.list(home, is_private) {
            found.add(&entry.path);
        }
    }
    if facts.is_root {
        for home in look.list(Path::new("/home"), |_| true) {
            for (entry, place) in entries_of_home() {
                if place.refuses(Access::Sandbox) {
                    found.add(&home.path.join(entry));
                }
            }
        }
        for path in OF_ROOT {
            found.add(Path::new(path));
        }
        let is_key = |name: &str| name.starts_with("ssh_host_") && name.ends_with("_key");
        for entry in look.list(Path::new("/etc/ssh"), is_key) {
            found.add(&entry.path);
        }
    }
    for home in &facts.hermes_homes {
        of_hermes(home, facts, &mut found);
    }
    found.paths.into_iter().collect()
}

fn of_hermes(home: &Path, facts: &SandboxFacts, found: &mut Found<'_>) {
    let look = found.look;
    for (entry, place) in entries_of_hermes_home() {
        if place.refuses(Access::Sandbox) {
            found.add(&home.join(entry));
        }
    }
    let is_private = |name: &str| {
        let place = in_hermes_home(Path::new(name));
        place.is_some_and(|place| place.refuses(Access::Sandbox)) || is_database(name)
    };
    for entry in look.list(home, is_private) {
        found.add(&entry.path);
    }
    for entry in RUNTIME {
        found.add(&home.join(entry));
    }
    // Databases of the boards; their workspaces lie beside them.
    for board in look.list(&home.join("kanban/boards"), |_| true) {
        for entry in look.list(&board.path, is_database) {
            found.add(&entry.path);
        }
    }
    for profile in look.list(&home.join("profiles"), |_| true) {
        let is_own = facts
            .hermes_homes
            .iter()
            .any(|own| own.starts_with(&profile.path));
        if !is_own {
            found.add(&profile.path);
        }
    }
}

fn is_database(name: &str) -> bool {
    name.split(['-', '.'])
        .any(|part| ["db", "sqlite", "sock"].contains(&part))
}

/// Sockets that cannot be reached.
pub(super) fn sockets(facts: &SandboxFacts, look: &Look) -> Vec<PathBuf> {
    let mut found = Found::new(look);
    for path in SOCKETS {
        found.add(Path::new(path));
    }
    if let Some(agent) = &facts.ssh_agent {
        found.add(agent);
    }
    let is_socket = |name: &str| {
        TEMPORARY_SOCKETS
            .iter()
            .any(|start| name.starts_with(start))
    };
    for entry in look.list(Path::new("/tmp"), is_socket) {
        found.add(&entry.path);
    }
    found.paths.into_iter().collect()
}

/// Paths that exist, without links in them.
struct Found<'l> {
    look: &'l Look,
    paths: BTreeSet<PathBuf>,
}

impl<'l> Found<'l> {
    fn new(look: &'l Look) -> Self {
        Self {
            look,
            paths: BTreeSet::new(),
        }
    }

    fn add(&mut self, path: &Path) {
        if self.look.has(path)
            && let Some(path) = self.look.resolved(path)
        {
            self.paths.insert(path);
        }
    }
}
