//! Making a container.
//!
//! The image is there before the container is tried; whatever fails leaves no half-made container
//! behind; and an engine that cannot set a limit gets a second chance without it, said once.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::engine::refusal;
use super::engine_words::last_line;
use super::error::{DockerError, Result};
use super::held_directory::HeldDirectory;
use super::host::DockerHost;
use super::image;
use super::inspect::State;
use super::mounts::{Mount, MountOrigin};
use super::plan::SandboxPlan;
use super::quota;
use super::run_arguments::{Circumstance, InitSource, run_arguments};
use super::settings::InitMode;
use super::skill_mirror;
use super::suspects::with_suspect;

const RUN_LIMIT: Duration = Duration::from_mins(2);
const REMOVE_LIMIT: Duration = Duration::from_secs(10);

/// What came of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The container's id.
    Container(String),
    NameTaken,
}

/// Makes a container of that name.
pub(crate) fn make(host: &DockerHost, plan: &SandboxPlan, name: &str) -> Result<Made> {
    host.check()?;
    let progress = |line: &str| host.progress(line);
    let is_s6 = image::provide(
        &host.engine,
        &plan.image,
        host.settings.pull_timeout,
        &progress,
    )?;
    let plan = prepared(host, plan)?;
    let bound = plan.bound_directory();
    let bound = bound.map(|path| HeldDirectory::open(path, &host.facts.protected_homes()));
    let bound = bound.transpose()?;
    let mut circumstance = Circumstance {
        init: if is_s6 {
            InitSource::Image
        } else if host.is_without_init.load(Ordering::Relaxed) {
            InitSource::Nowhere
        } else {
            InitSource::Engine
        },
        limits: host.can_limit(),
        quota: plan.disk_mb > 0 && quota::is_worth_trying(host),
    };
    let mut refusals = Refusals::default();
    loop {
        match attempt(host, &plan, name, circumstance)? {
            Attempt::Made(made) => {
                if let Made::Container(id) = &made {
                    refusals.remember(host);
                    if let Some(Err(error)) = bound.map(|bound| bound.check_in(host, id)) {
                        if let Err(left) = host.engine.remove(id, true, REMOVE_LIMIT) {
                            tracing::warn!(id, error = %left, "a container may be left behind");
                        }
                        return Err(error);
                    }
                }
                return Ok(made);
            }
            Attempt::WithoutLimits(words) => {
                circumstance.limits = false;
                refusals.limits = Some(words);
            }
            Attempt::WithoutInit(words) => {
                circumstance.init = InitSource::Nowhere;
                refusals.init = Some(words);
            }
            Attempt::WithoutQuota => circumstance.quota = false,
        }
    }
}

enum Attempt {
    Made(Made),
    /// Worth another try without limits; with what the engine said.
    WithoutLimits(String),
    /// Worth another try without an init; with what the engine said.
    WithoutInit(String),
    /// Worth another try without a limit of the disk.
    WithoutQuota,
}

/// What the engine refused. Only a container that could be made without it proves that it was the
/// trouble.
#[derive(Default)]
struct Refusals {
    limits: Option<String>,
    init: Option<String>,
}

impl Refusals {
    fn remember(&self, host: &DockerHost) {
        if let Some(words) = &self.limits {
            host.is_without_limits.store(true, Ordering::Relaxed);
            host.notice_once(&format!(
                "this engine cannot limit the CPU, memory and processes of sandboxes; they run \
                 without limits ({words})"
            ));
        }
        if let Some(words) = &self.init {
            host.is_without_init.store(true, Ordering::Relaxed);
            host.warn_once(&format!(
                "this engine has no init process for sandboxes; zombie processes accumulate, and \
                 stopping takes longer ({words})"
            ));
        }
    }
}

fn attempt(
    host: &DockerHost,
    plan: &SandboxPlan,
    name: &str,
    circumstance: Circumstance,
) -> Result<Attempt> {
    let owner = (!plan.is_shared).then_some(host.owner.as_ref()).flatten();
    let owner = owner.map(super::owner::Owner::label);
    let args = run_arguments(plan, name, owner.as_deref(), circumstance);
    let answer = match host.engine.ask(&args, RUN_LIMIT) {
        Ok(answer) => answer,
        Err(error) => {
            remove_half_made(host, plan, name);
            return Err(error);
        }
    };
    if answer.is_success() {
        let id = answer
            .stdout
            .lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty());
        return match id {
            Some(id) => Ok(Attempt::Made(Made::Container(id.to_owned()))),
            None => {
                remove_half_made(host, plan, name);
                Err(DockerError::Refused {
                    what: "creating the sandbox".to_owned(),
                    words: "the engine did not report the id of the new container".to_owned(),
                })
            }
        };
    }
    if is_name_conflict(&answer.words) {
        return Ok(Attempt::Made(Made::NameTaken));
    }
    remove_half_made(host, plan, name);
    if circumstance.quota && is_about_quota(&answer.words) {
        quota::tell(host, "in use");
        return Ok(Attempt::WithoutQuota);
    }
    let asks_init = circumstance.init == InitSource::Engine && plan.init == InitMode::Auto;
    if asks_init && is_about_init(&answer.words) {
        return Ok(Attempt::WithoutInit(last_line(&answer.words).to_owned()));
    }
    if circumstance.limits && is_about_cgroups(&answer.words) {
        let words = last_line(&answer.words).to_owned();
        return if host.settings.require_limits {
            Err(DockerError::NoLimits { words })
        } else {
            Ok(Attempt::WithoutLimits(words))
        };
    }
    let error = refusal("creating the sandbox", &answer);
    Err(with_suspect(error, &host.settings))
}

/// The plan with its directories made and its skills free of links.
fn prepared(host: &DockerHost, plan: &SandboxPlan) -> Result<SandboxPlan> {
    let mut plan = plan.clone();
    hermes_fs::create_dir_all(&plan.sandbox_directory, 0o700)?;
    for mount in &mut plan.mounts {
        match mount.origin {
            MountOrigin::Writable => {
                hermes_fs::create_dir_all(Path::new(&mount.source), 0o700)?;
            }
            MountOrigin::Skills => use_copy_if_linked(host, mount),
            _ => {}
        }
    }
    Ok(plan)
}

fn use_copy_if_linked(host: &DockerHost, mount: &mut Mount) {
    let home = &host.facts.hermes_home;
    match skill_mirror::mountable(home, Path::new(&mount.source)) {
        Ok(real) if real == Path::new(&mount.source) => {}
        Ok(copy) => {
            let there = host.host_paths().translate(&copy).unwrap_or(copy);
            mount.engine_source = Some(there.display().to_string());
        }
        // Links then lead nowhere in the container, which harms nobody.
        Err(error) => host.warn_once(&format!("skills are mounted with their links: {error}")),
    }
}

/// Removes what an engine may have made before it failed. A container that several processes share
/// and that runs is another's: ours would have succeeded.
fn remove_half_made(host: &DockerHost, plan: &SandboxPlan, name: &str) {
    if plan.is_shared {
        let facts = host.engine.inspect(&[name]).unwrap_or_default();
        let runs = |state| matches!(state, State::Running | State::Paused | State::Restarting);
        if facts
            .iter()
            .any(|facts| facts.name == name && runs(facts.state()))
        {
            return;
        }
    }
    match host.engine.ask(&["rm", "-f", name], REMOVE_LIMIT) {
        Ok(answer) if !answer.is_success() => {
            tracing::debug!(name, words = %answer.words, "could not look for an unfinished \
                container");
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(name, %error, "an unfinished container may be left behind"),
    }
}

fn is_name_conflict(words: &str) -> bool {
    words.contains("already in use") && words.contains("container name")
}

fn is_about_quota(words: &str) -> bool {
    [
        "storage-opt",
        "storage opt",
        "pquota",
        "project quota",
        "size option",
    ]
    .iter()
    .any(|part| words.contains(part))
}

/// Podman without its helper, Docker without its own, and packages that cannot hand it over.
fn is_about_init(words: &str) -> bool {
    ["container-init", "docker-init", "catatonit", "init binary"]
        .iter()
        .any(|part| words.contains(part))
}

fn is_about_cgroups(words: &str) -> bool {
    [
        "controller",
        "cgroup",
        "pids.max",
        "cpu.max",
        "cfs quota",
        "CFS quota",
        "cfs_quota",
    ]
    .iter()
    .any(|part| words.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_words_are_understood() {
        for words in [
            "docker: Error response from daemon: Conflict. The container name \"/hermes-1\" is \
             already in use by container \"x\".",
            "Error: creating container storage: the container name \"hermes-1\" is already in use \
             by x",
        ] {
            assert!(is_name_conflict(words));
        }
        assert!(!is_name_conflict("driver failed: port is already in use"));
        assert!(is_about_quota(
            "--storage-opt is supported only for overlay over xfs with 'pquota' mount option"
        ));
        assert!(is_about_init(
            "Error: container-init binary not found on the host: stat /usr/libexec/podman/catatonit"
        ));
        assert!(is_about_init(
            "exec: \"docker-init\": executable file not found in $PATH"
        ));
        for words in [
            "opening file `cpu.max` for writing: Permission denied",
            "the requested cgroup controller `pids` is not available",
            "NanoCPUs can not be set, as your kernel does not support CPU CFS scheduler or the \
             cgroup is not mounted",
            "write /sys/fs/cgroup/pids/x/pids.max: no such file",
        ] {
            assert!(is_about_cgroups(words), "{words}");
        }
        assert!(!is_about_cgroups("invalid mount path"));
    }
}
