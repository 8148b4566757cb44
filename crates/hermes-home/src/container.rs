//! Whether this process runs in a container.

use std::path::Path;

use hermes_config::{Environment, vars};

use crate::SystemFacts;

/// Words of container runtimes in control group and mount tables.
const RUNTIMES: &[&str] = &[
    "docker",
    "podman",
    "/lxc/",
    "kubepods",
    "containerd",
    "crio",
];

/// Mount tables of busy hosts reach a megabyte.
const TABLE_LIMIT: u64 = 8 * 1024 * 1024;

/// Whether a container runtime has left its marks on this process.
pub fn is_container(env: &Environment, system: &SystemFacts) -> bool {
    let at = |path: &str| system.file_system_root.join(path);
    hermes_fs::exists_no_follow(&at(".dockerenv"))
        || hermes_fs::exists_no_follow(&at("run/.containerenv"))
        || env.is_set(&vars::KUBERNETES_SERVICE_HOST)
        || table(&at("proc/1/cgroup")).lines().any(names_runtime)
        || table(&at("proc/self/mountinfo"))
            .lines()
            .any(is_mounted_by_runtime)
}

/// A host that runs containers mounts them at paths named after the runtime
/// (`/var/lib/docker/…/merged`); inside a container the runtime shows in the other columns only.
fn is_mounted_by_runtime(line: &str) -> bool {
    let mount_point = line.split(' ').nth(4).unwrap_or_default();
    names_runtime(line) && !names_runtime(mount_point)
}

fn names_runtime(text: &str) -> bool {
    RUNTIMES.iter().any(|runtime| text.contains(runtime))
}

fn table(path: &Path) -> String {
    // A system without such a table is told by the other marks.
    let bytes = hermes_fs::read_capped(path, TABLE_LIMIT).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
