//! A container against the plan it should be made from: what differs, and what that calls for. Pure.

use super::extra_args::ExtraArgs;
use super::inspect::ContainerFacts;
use super::labels;
use super::mounts::MountOrigin;
use super::plan::SandboxPlan;
use super::run_arguments::{capabilities, fingerprint};

/// Paths whose content Hermes decides.
const AUTOMATIC: &str = "/root/.hermes/";
const MEGABYTE: i64 = 1024 * 1024;

/// What differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// Arguments of `update` that bring the limits of a live container up to date.
    pub update: Vec<String>,
    /// Settings by which the container has more rights than it should; it has to go.
    pub tightened: Vec<&'static str>,
    /// All settings that differ and cannot be changed in a live container.
    pub keys: Vec<&'static str>,
}

impl Drift {
    /// Compares.
    pub fn between(plan: &SandboxPlan, facts: &ContainerFacts) -> Self {
        let mut drift = Self {
            update: limits(plan, facts),
            ..Self::default()
        };
        drift.network(plan, facts);
        if facts.label(labels::FINGERPRINT) == Some(&fingerprint(plan)) {
            return drift;
        }
        drift.rights(plan, facts);
        drift.mounts(plan, facts);
        drift.rest(plan, facts);
        drift
    }

    /// All keys, limits included, for lists.
    pub fn all_keys(&self) -> Vec<&'static str> {
        let of_limits = [
            ("--cpus", "container_cpu"),
            ("--memory", "container_memory"),
            ("--pids-limit", "docker_pids_limit"),
        ];
        let limits = of_limits.iter().filter_map(|(flag, key)| {
            let given = self.update.iter().any(|argument| argument == flag);
            given.then_some(*key)
        });
        limits.chain(self.keys.iter().copied()).collect()
    }

    fn add(&mut self, key: &'static str) {
        if !self.keys.contains(&key) {
            self.keys.push(key);
        }
    }

    fn tighten(&mut self, key: &'static str) {
        self.add(key);
        if !self.tightened.contains(&key) {
            self.tightened.push(key);
        }
    }

    /// Asked whatever the labels say: this wall must stand.
    fn network(&mut self, plan: &SandboxPlan, facts: &ContainerFacts) {
        let is_off = facts.network_mode.as_deref() == Some("none");
        if !plan.network && !is_off {
            self.tighten("docker_network");
        }
    }

    fn rights(&mut self, plan: &SandboxPlan, facts: &ContainerFacts) {
        let extra = plan.extra();
        let wanted = capabilities(plan);
        let has_more = |name: &String| !wanted.contains(name);
        let asks_privilege = extra.has(&["--privileged"]);
        if (facts.is_privileged && !asks_privilege) || facts.added_capabilities.iter().any(has_more)
        {
            self.tighten("docker_extra_args");
        }
        if extra.has(&["--user", "-u"]) {
            return;
        }
        let user = plan.user.map(|(uid, gid)| format!("{uid}:{gid}"));
        match user {
            Some(user) if user != facts.user => self.tighten("docker_run_as_host_user"),
            None if is_numeric_pair(&facts.user) => self.add("docker_run_as_host_user"),
            _ => {}
        }
    }

    fn mounts(&mut self, plan: &SandboxPlan, facts: &ContainerFacts) {
        let known = KnownMounts::of(plan);
        for bind in &facts.binds {
            let source = bind.source.to_string_lossy();
            match known.find(&source, &bind.target) {
                Some(read_only) if read_only && !bind.is_read_only => {
                    self.tighten("docker_volumes");
                }
                Some(_) => {}
                None if bind.target.starts_with(AUTOMATIC) => {
                    // While they are wanted, skills, caches and declared files come and go.
                    if !plan.auto_mounts {
                        self.tighten("docker_auto_mounts");
                    }
                }
                None if matches!(bind.target.as_str(), "/root" | "/workspace")
                    && lies_in_sandboxes(plan, &bind.source) =>
                {
                    self.add("container_persistent");
                }
                None if bind.target == "/workspace" => {
                    self.tighten("docker_mount_cwd_to_workspace");
                }
                None => self.tighten("docker_volumes"),
            }
        }
        for mount in &plan.mounts {
            let source = mount.engine_source();
            let is_bind = source.starts_with('/');
            let there = facts.binds.iter().any(|bind| {
                bind.target == mount.target
                    && (bind.source.to_string_lossy() == source
                        || mount.origin == MountOrigin::Skills)
                    && (bind.is_read_only == mount.is_read_only()
                        || mount.origin != MountOrigin::Configured)
            });
            if is_bind && !there {
                match mount.origin {
                    MountOrigin::Writable => self.add("container_persistent"),
                    MountOrigin::CurrentDirectory => self.add("docker_mount_cwd_to_workspace"),
                    MountOrigin::Configured => self.add("docker_volumes"),
                    MountOrigin::Credential => self.add("credential_files"),
                    MountOrigin::Skills => self.add("docker_auto_mounts"),
                    MountOrigin::Cache => {}
                }
            }
        }
    }

    fn rest(&mut self, plan: &SandboxPlan, facts: &ContainerFacts) {
        if full_image_name(&facts.image) != full_image_name(&plan.image) {
            self.add("docker_image");
        }
        let has_all = plan.env.iter().all(|(name, value)| {
            let entry = format!("{name}={value}");
            facts.environment.contains(&entry)
        });
        if !has_all {
            self.add("docker_env");
        }
        let network = facts.network_mode.as_deref();
        if plan.network && network == Some("none") && !plan.extra().sets_network() {
            self.add("docker_network");
        }
        // Labelled, so the fingerprint is right: something is different that inspect does not show.
        if self.keys.is_empty() && facts.label(labels::FINGERPRINT).is_some() {
            self.add("docker_env");
            self.add("docker_extra_args");
        }
    }
}

struct KnownMounts {
    entries: Vec<(String, String, bool)>,
}

impl KnownMounts {
    fn of(plan: &SandboxPlan) -> Self {
        let ours = plan.mounts.iter().chain(&plan.missing).map(|mount| {
            let source = mount.engine_source().to_owned();
            (source, mount.target.clone(), mount.is_read_only())
        });
        Self {
            entries: ours.chain(plan.extra().mounts()).collect(),
        }
    }

    /// Whether the mount is wanted, and whether it should be read-only.
    fn find(&self, source: &str, target: &str) -> Option<bool> {
        let same = |(s, t, _): &&(String, String, bool)| s == source && t == target;
        self.entries
            .iter()
            .find(same)
            .map(|(_, _, read_only)| *read_only)
    }
}

fn lies_in_sandboxes(plan: &SandboxPlan, source: &std::path::Path) -> bool {
    let of_home = plan.engine_sandbox_dir.as_deref();
    of_home.is_some_and(|directory| source.starts_with(directory))
}

/// An image as every engine understands it: Podman names the registry, and `latest` goes without
/// saying.
fn full_image_name(image: &str) -> String {
    let registries = ["docker.io/library/", "docker.io/", "localhost/"];
    let bare = registries
        .iter()
        .find_map(|registry| image.strip_prefix(registry))
        .unwrap_or(image);
    let last = bare.rsplit('/').next().unwrap_or(bare);
    if last.contains([':', '@']) {
        bare.to_owned()
    } else {
        format!("{bare}:latest")
    }
}

fn is_numeric_pair(user: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    user.split_once(':')
        .is_some_and(|(uid, gid)| digits(uid) && digits(gid))
}

/// The arguments of `update` for limits that differ. A limit of the user's own arguments stays, and
/// one that is only taken away waits for a new container: engines cannot lift one.
fn limits(plan: &SandboxPlan, facts: &ContainerFacts) -> Vec<String> {
    let extra: ExtraArgs<'_> = plan.extra();
    let limits = plan.limits;
    let mut args = Vec::new();
    let mut set = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "no machine has so many cores"
    )]
    let nano_cpus = (limits.cpus * 1e9).round() as i64;
    let own_cpus = extra.has(&["--cpus", "--cpu-quota", "--cpu-period"]);
    if limits.cpus > 0.0 && nano_cpus != facts.nano_cpus && !own_cpus {
        set("--cpus", limits.cpus.to_string());
    }
    let memory = limits.memory_mb.saturating_mul(MEGABYTE);
    let own_memory = extra.has(&["--memory", "-m", "--memory-swap"]);
    if limits.memory_mb > 0 && memory != facts.memory && !own_memory {
        set("--memory", format!("{}m", limits.memory_mb));
        // An engine refuses a limit above the old one of memory and swap together; twice the memory
        // is what it sets by itself.
        set(
            "--memory-swap",
            format!("{}m", limits.memory_mb.saturating_mul(2)),
        );
    }
    let pids = (limits.pids > 0).then_some(limits.pids);
    if pids != facts.pids_limit && !extra.has(&["--pids-limit"]) {
        set(
            "--pids-limit",
            pids.map_or_else(|| "-1".to_owned(), |pids| pids.to_string()),
        );
    }
    args
}

#[cfg(test)]
#[path = "drift_tests.rs"]
mod tests;
