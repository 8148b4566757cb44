//! What sandboxed commands do not see: private places, and sockets behind which somebody does what
//! they are told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::facts::SandboxFacts;
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
pub(super) fn hidden(facts: &SandboxFacts) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for home in &facts.account_homes {
        for (entry, place) in entries_of_home() {
            if place.refuses(Access::Sandbox) {
                add(&mut found, &home.join(entry));
            }
        }
        // Copies of them have other names.
        for entry in hermes_fs::read_dir(home).unwrap_or_default() {
            if in_home(Path::new(&entry.name)).is_some_and(|place| place.refuses(Access::Sandbox)) {
                add(&mut found, &entry.path);
            }
        }
    }
    if facts.is_root {
        for home in hermes_fs::read_dir(Path::new("/home")).unwrap_or_default() {
            for (entry, place) in entries_of_home() {
                if place.refuses(Access::Sandbox) {
                    add(&mut found, &home.path.join(entry));
                }
            }
        }
        for path in OF_ROOT {
            add(&mut found, Path::new(path));
        }
        for entry in hermes_fs::read_dir(Path::new("/etc/ssh")).unwrap_or_default() {
            let name = entry.name.to_string_lossy();
            if name.starts_with("ssh_host_") && name.ends_with("_key") {
                add(&mut found, &entry.path);
            }
        }
    }
    for home in &facts.hermes_homes {
        of_hermes(home, facts, &mut found);
    }
    found.into_iter().collect()
}

fn of_hermes(home: &Path, facts: &SandboxFacts, found: &mut BTreeSet<PathBuf>) {
    for (entry, place) in entries_of_hermes_home() {
        if place.refuses(Access::Sandbox) {
            add(found, &home.join(entry));
        }
    }
    for entry in hermes_fs::read_dir(home).unwrap_or_default() {
        let name = Path::new(&entry.name);
        let is_private = in_hermes_home(name).is_some_and(|place| place.refuses(Access::Sandbox));
        if is_private || is_database(&entry.name.to_string_lossy()) {
            add(found, &entry.path);
        }
    }
    for entry in RUNTIME {
        add(found, &home.join(entry));
    }
    // Databases of the boards; their workspaces lie beside them.
    for board in hermes_fs::read_dir(&home.join("kanban/boards")).unwrap_or_default() {
        for entry in hermes_fs::read_dir(&board.path).unwrap_or_default() {
            if is_database(&entry.name.to_string_lossy()) {
                add(found, &entry.path);
            }
        }
    }
    for profile in hermes_fs::read_dir(&home.join("profiles")).unwrap_or_default() {
        let is_own = facts
            .hermes_homes
            .iter()
            .any(|own| own.starts_with(&profile.path));
        if !is_own {
            add(found, &profile.path);
        }
    }
}

fn is_database(name: &str) -> bool {
    name.split(['-', '.'])
        .any(|part| ["db", "sqlite", "sock"].contains(&part))
}

/// Sockets that cannot be reached.
pub(super) fn sockets(facts: &SandboxFacts) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for path in SOCKETS {
        add(&mut found, Path::new(path));
    }
    if let Some(agent) = &facts.ssh_agent {
        add(&mut found, agent);
    }
    for entry in hermes_fs::read_dir(Path::new("/tmp")).unwrap_or_default() {
        let name = entry.name.to_string_lossy();
        if TEMPORARY_SOCKETS
            .iter()
            .any(|start| name.starts_with(start))
        {
            add(&mut found, &entry.path);
        }
    }
    found.into_iter().collect()
}

fn add(found: &mut BTreeSet<PathBuf>, path: &Path) {
    if hermes_fs::symlink_metadata(path).is_ok()
        && let Ok(path) = hermes_fs::canonicalize(path)
    {
        found.insert(path);
    }
}
