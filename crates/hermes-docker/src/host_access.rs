//! Whether commands in a sandbox can reach the host, which decides whether they are asked about.

use super::extra_args::is_host_path;
use super::plan::SandboxPlan;

/// The setting that binds a directory of the host.
pub(crate) const BOUND_DIRECTORY: &str = "docker_mount_cwd_to_workspace";

/// Ways from a sandbox to the host, as the user would recognise them; empty for a closed one.
///
/// The sandbox's own directories and what is mounted read-only by itself do not count.
pub fn host_access(plan: &SandboxPlan, volumes: &[String]) -> Vec<String> {
    let mut ways = Vec::new();
    if plan.identity.bound_directory.is_some() {
        ways.push(BOUND_DIRECTORY.to_owned());
    }
    let of_host = |entry: &&String| is_host_path(entry.trim());
    ways.extend(
        volumes
            .iter()
            .filter(of_host)
            .map(|entry| format!("docker_volumes: {entry}")),
    );
    let extra = plan.extra();
    ways.extend(
        extra
            .weakenings()
            .into_iter()
            .map(|argument| format!("docker_extra_args: {argument}")),
    );
    if ways.is_empty() && extra.mounts_host_path() {
        ways.push("docker_extra_args: a mount of the host".to_owned());
    }
    ways
}
