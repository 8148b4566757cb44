//! From a plan to the arguments of `run`, and to the fingerprint by which a container is known to
//! have been made from the same plan. Pure.

use serde_json::json;

use super::labels::{self, short_hash};
use super::mounts::MountOrigin;
use super::plan::SandboxPlan;
use super::settings::InitMode;

/// What is kept of the capabilities: enough for package managers, nothing that reaches the host.
const CAPABILITIES: [&str; 3] = ["DAC_OVERRIDE", "CHOWN", "FOWNER"];
/// For changing to another user, which a container that has one already does not need.
const USER_CAPABILITIES: [&str; 2] = ["SETUID", "SETGID"];
const SECURITY: &str = "no-new-privileges";
/// Docker adds `noexec` to every memory disk that does not say `exec`; builds run from `/tmp`.
const TMP: &str = "/tmp:rw,nosuid,size=512m,exec";
const VAR_TMP: &str = "/var/tmp:rw,noexec,nosuid,size=256m";
const RUN: &str = "/run:rw,noexec,nosuid,size=64m";
/// The init of an s6 image runs programs from there.
const RUN_OF_S6: &str = "/run:rw,exec,nosuid,size=64m";

/// Where the first process of a container can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitSource {
    Engine,
    /// From the image, which is made with s6-overlay.
    Image,
    /// From nowhere: the engine has none.
    Nowhere,
}

/// What was found out about image and engine when a container is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstance {
    /// Who has an init.
    pub init: InitSource,
    /// Whether the engine can limit processor, memory and processes.
    pub limits: bool,
    pub quota: bool,
}

/// The arguments of `run`, in the order of the reference.
pub fn run_arguments(
    plan: &SandboxPlan,
    name: &str,
    owner: Option<&str>,
    circumstance: Circumstance,
) -> Vec<String> {
    let mut args = Arguments(vec!["run".to_owned(), "-d".to_owned()]);
    let init = match plan.init {
        InitMode::Auto => circumstance.init == InitSource::Engine,
        InitMode::Fixed(fixed) => fixed,
    };
    if init {
        args.flag("--init");
    }
    args.pair("--name", name);
    for (label, value) in labels_of(plan, owner) {
        args.pair("--label", format!("{label}={value}"));
    }
    args.pair("-w", &plan.directory);
    args.security(plan, circumstance);
    if let Some((uid, gid)) = plan.user {
        args.pair("--user", format!("{uid}:{gid}"));
    }
    args.mounts(plan, |origin| origin == MountOrigin::Writable);
    for disk in &plan.writable_tmpfs {
        args.pair("--tmpfs", disk);
    }
    args.resources(plan, circumstance);
    args.mounts(plan, |origin| origin != MountOrigin::Writable);
    for (name, value) in &plan.env {
        args.pair("-e", format!("{name}={value}"));
    }
    args.0.extend(plan.extra_args.iter().cloned());
    args.0.push(plan.image.clone());
    args.0.extend(["sleep", "infinity"].map(str::to_owned));
    args.0
}

/// The labels of a container, those of the reference first.
pub(crate) fn labels_of(plan: &SandboxPlan, owner: Option<&str>) -> Vec<(&'static str, String)> {
    let identity = &plan.identity;
    let mut all = vec![
        (labels::AGENT, "1".to_owned()),
        (labels::TASK_ID, identity.task_label()),
        (labels::PROFILE, identity.profile_label()),
        (labels::HOME, identity.home_key.clone()),
        (labels::FINGERPRINT, fingerprint(plan)),
        (labels::VERSION, env!("CARGO_PKG_VERSION").to_owned()),
        (labels::TASK_KEY, labels::task_key(&identity.task)),
    ];
    all.extend(owner.map(|owner| (labels::OWNER, owner.to_owned())));
    all
}

/// The capabilities a plan asks for, the user's own included.
pub(crate) fn capabilities(plan: &SandboxPlan) -> Vec<String> {
    let mut names: Vec<String> = CAPABILITIES.map(str::to_owned).into();
    if plan.user.is_none() {
        names.extend(USER_CAPABILITIES.map(str::to_owned));
    }
    names.extend(plan.extra().added_capabilities());
    names
}

/// Sixteen hexadecimal digits that change when a container would have to be made anew. Limits, start
/// directory and forwarded variables are not part of it: those can change while it runs. Neither is
/// what comes and goes by itself: caches.
pub fn fingerprint(plan: &SandboxPlan) -> String {
    let mut mounts: Vec<String> = plan
        .mounts
        .iter()
        .filter(|mount| mount.origin != MountOrigin::Cache)
        .map(|mount| {
            let options = mount.options.as_deref().unwrap_or_default();
            format!("{}:{}:{options}", mount.source, mount.target)
        })
        .collect();
    mounts.sort();
    let env: Vec<String> = plan
        .env
        .iter()
        .map(|(name, value)| format!("{name}={}", short_hash(value.as_bytes(), 16)))
        .collect();
    let mut tmpfs = vec![TMP.to_owned(), VAR_TMP.to_owned(), RUN.to_owned()];
    tmpfs.extend(plan.writable_tmpfs.iter().cloned());
    let init = match plan.init {
        InitMode::Auto => "auto".to_owned(),
        InitMode::Fixed(fixed) => fixed.to_string(),
    };
    let canonical = json!([
        plan.image,
        init,
        plan.user.map(|(uid, gid)| format!("{uid}:{gid}")),
        capabilities(plan),
        [SECURITY],
        tmpfs,
        mounts,
        plan.network,
        env,
        plan.extra_args,
    ]);
    short_hash(canonical.to_string().as_bytes(), 16)
}

struct Arguments(Vec<String>);

impl Arguments {
    fn flag(&mut self, flag: &str) {
        self.0.push(flag.to_owned());
    }

    fn pair(&mut self, flag: &str, value: impl AsRef<str>) {
        self.0.push(flag.to_owned());
        self.0.push(value.as_ref().to_owned());
    }

    fn security(&mut self, plan: &SandboxPlan, circumstance: Circumstance) {
        self.pair("--cap-drop", "ALL");
        for name in CAPABILITIES {
            self.pair("--cap-add", name);
        }
        self.pair("--security-opt", SECURITY);
        let run = match circumstance.init {
            InitSource::Image => RUN_OF_S6,
            InitSource::Engine | InitSource::Nowhere => RUN,
        };
        for disk in [TMP, VAR_TMP, run] {
            self.pair("--tmpfs", disk);
        }
        if plan.user.is_none() {
            for name in USER_CAPABILITIES {
                self.pair("--cap-add", name);
            }
        }
    }

    fn resources(&mut self, plan: &SandboxPlan, circumstance: Circumstance) {
        if circumstance.limits {
            for (flag, value) in limit_arguments(plan) {
                self.pair(flag, value);
            }
        }
        if circumstance.quota && plan.disk_mb > 0 {
            self.pair("--storage-opt", format!("size={}m", plan.disk_mb));
        }
        if !plan.network {
            self.flag("--network=none");
        }
    }

    fn mounts(&mut self, plan: &SandboxPlan, wanted: impl Fn(MountOrigin) -> bool) {
        for mount in plan.mounts.iter().filter(|mount| wanted(mount.origin)) {
            self.pair("-v", mount.argument());
        }
    }
}

/// The limits that are set, as arguments.
pub(crate) fn limit_arguments(plan: &SandboxPlan) -> Vec<(&'static str, String)> {
    let limits = plan.limits;
    let mut args = Vec::new();
    if limits.cpus > 0.0 {
        args.push(("--cpus", limits.cpus.to_string()));
    }
    if limits.memory_mb > 0 {
        args.push(("--memory", format!("{}m", limits.memory_mb)));
    }
    if limits.pids > 0 {
        args.push(("--pids-limit", limits.pids.to_string()));
    }
    args
}

#[cfg(test)]
#[path = "run_arguments_tests.rs"]
mod tests;
