//! Sandboxes as people manage them: list, stop, reset, remove, prune.
//!
//! Acts only on containers of this profile and home, or of the homes the caller names. Every
//! operation says what it did and what it left alone, and why.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::drift::Drift;
use super::engine::{EngineInfo, refusal};
use super::error::{DockerError, Result};
use super::host::DockerHost;
use super::identity::{HomeOf, home_of};
use super::inspect::{ContainerFacts, State};
use super::labels;
use super::plan::SandboxRequest;
use super::reaper::{parse_time, threshold};
use super::usage::{is_held, last_used};

const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Which sandboxes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those of the profile in use.
    ThisProfile,
    /// Those of all profiles; with the homes of the installation, whose containers count as its own.
    AllProfiles {
        /// Their HERMES_HOMEs.
        homes: Vec<PathBuf>,
    },
}

/// All sandboxes there are.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    /// The engine that has them.
    pub engine: EngineInfo,
    /// They.
    pub sandboxes: Vec<SandboxRow>,
}

/// One sandbox. The names of the fields are those of the JSON output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxRow {
    /// Full id.
    pub id: String,
    /// Name of the container.
    pub name: String,
    /// The engine's word.
    pub state: String,
    /// The task, as in the label.
    pub task_id: String,
    /// The profile, as in the label.
    pub profile: String,
    /// The image.
    pub image: String,
    /// When it was made.
    pub created_at: Option<String>,
    /// When it ended last.
    pub finished_at: Option<String>,
    /// When a command was last run in it.
    pub last_used_at: Option<String>,
    /// Kind of its network.
    pub network: Option<String>,
    /// Directories of the host in it.
    pub mounts: Vec<MountRow>,
    /// Settings that differ from those in effect.
    pub drift: Vec<String>,
    /// Whose it is.
    pub home: HomeOf,
}

/// A directory of the host in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MountRow {
    /// On the host.
    pub source: String,
    /// In the container.
    pub target: String,
    /// Whether it can only be read.
    pub ro: bool,
}

/// A container that something was done to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Full id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// What to prune.
#[derive(Debug, Clone)]
pub struct PruneRequest {
    /// Whose.
    pub scope: Scope,
    /// How long unused; twice the lifetime of idle sandboxes if `None`.
    pub older_than: Option<Duration>,
    /// Whether running ones go, too, if nobody has used them for so long.
    pub running: bool,
    /// Whether nothing is removed and only said what would be.
    pub dry_run: bool,
}

/// What was pruned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Ids of containers that are gone, or would be.
    pub removed: Vec<String>,
    /// Those that stay.
    pub kept: Vec<Kept>,
}

/// A container that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Full id.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// All sandboxes of a scope.
pub fn list(host: &DockerHost, scope: &Scope) -> Result<Listing> {
    let engine = host.check()?.clone();
    let found = containers(host, scope)?;
    let sandboxes = found.iter().map(|facts| row(host, facts)).collect();
    Ok(Listing { engine, sandboxes })
}

/// Processes in the sandboxes of a task, apart from the one that keeps each alive.
pub fn processes(host: &DockerHost, task: &str) -> Result<usize> {
    let mut count = 0;
    for facts in of_task(host, task)? {
        if facts.state() == State::Running {
            let answer = host.engine.ask(&["top", &facts.id], STOP_LIMIT)?;
            let lines = answer.stdout.lines().skip(1);
            count += lines
                .filter(|line| !line.contains("sleep infinity"))
                .count();
        }
    }
    Ok(count)
}

/// Stops the sandboxes of a task that run; their next use starts them again.
pub fn stop(host: &DockerHost, task: &str) -> Result<Vec<Changed>> {
    let mut stopped = Vec::new();
    for facts in of_task(host, task)? {
        if matches!(
            facts.state(),
            State::Running | State::Paused | State::Restarting
        ) {
            let args = ["stop", "-t", "10", facts.id.as_str()];
            host.engine
                .demand("stopping the sandbox", &args, STOP_LIMIT)?;
            stopped.push(changed(&facts));
        }
    }
    Ok(stopped)
}

/// Removes the containers of a task, so that its next use makes a new one. Directories stay.
pub fn reset(host: &DockerHost, task: &str) -> Result<Vec<Changed>> {
    let mut removed = Vec::new();
    for facts in of_task(host, task)? {
        remove_container(host, &facts.id)?;
        removed.push(changed(&facts));
    }
    Ok(removed)
}

/// What was removed of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Its containers.
    pub containers: Vec<Changed>,
    /// Its directory, if there was one and it is gone.
    pub directory: Option<PathBuf>,
}

/// Removes the containers of a task and its directory. Refused while a live process uses it.
pub fn purge(host: &DockerHost, task: &str) -> Result<Removed> {
    let directory = host.settings.sandbox_of(&labels::sanitize(task));
    if is_held(&directory) {
        return Err(DockerError::InUse {
            task: task.to_owned(),
        });
    }
    let found = of_task(host, task)?;
    let mut containers = Vec::new();
    for facts in &found {
        remove_container(host, &facts.id)?;
        containers.push(changed(facts));
    }
    let there = hermes_fs::exists_no_follow(&directory);
    if there {
        let image = found
            .first()
            .map_or(&host.settings.image, |facts| &facts.image);
        remove_directory(host, &directory, image)?;
    }
    Ok(Removed {
        containers,
        directory: there.then_some(directory),
    })
}

/// Removes containers that nobody has used for long.
pub fn prune(host: &DockerHost, request: &PruneRequest) -> Result<Pruned> {
    host.check()?;
    let oldest = request
        .older_than
        .unwrap_or_else(|| threshold(host.settings.lifetime));
    let now = Timestamp::now();
    let mut pruned = Pruned::default();
    for facts in containers(host, &request.scope)? {
        let kept = match reason_to_keep(host, &facts, request, oldest, now) {
            Some(reason) => Some(reason),
            None if request.dry_run => None,
            None => remove_container(host, &facts.id)
                .err()
                .map(|error| error.to_string()),
        };
        match kept {
            Some(reason) => pruned.kept.push(Kept {
                id: facts.id,
                reason,
            }),
            None => pruned.removed.push(facts.id),
        }
    }
    Ok(pruned)
}

/// Sandboxes of this profile that run and that nobody has used for so long.
pub fn idle(host: &DockerHost, longer_than: Duration) -> Result<Vec<SandboxRow>> {
    let now = Timestamp::now();
    let found = containers(host, &Scope::ThisProfile)?;
    let is_idle = |facts: &&ContainerFacts| {
        let used = last_use(host, facts).or_else(|| parse_time(facts.created_at.as_deref()?));
        facts.state() == State::Running && used.is_some_and(|used| since(used, now) > longer_than)
    };
    Ok(found
        .iter()
        .filter(is_idle)
        .map(|facts| row(host, facts))
        .collect())
}

fn reason_to_keep(
    host: &DockerHost,
    facts: &ContainerFacts,
    request: &PruneRequest,
    oldest: Duration,
    now: Timestamp,
) -> Option<String> {
    if !is_ours(host, facts, &request.scope) {
        return Some("it belongs to another home".to_owned());
    }
    let directory = directory_of(host, facts);
    if whose(host, facts) == HomeOf::This && is_held(&directory) {
        return Some("a running Hermes process uses it".to_owned());
    }
    let (unused_since, word) = match facts.state() {
        State::Exited => (
            facts.finished_at.as_deref().and_then(parse_time),
            "it ended",
        ),
        State::Created => (
            facts.created_at.as_deref().and_then(parse_time),
            "it was made",
        ),
        State::Running | State::Paused if request.running => {
            (last_use(host, facts), "it was last used")
        }
        State::Running | State::Paused => return Some("it is running".to_owned()),
        State::Restarting | State::Leaving | State::Other => {
            return Some(format!("its state is {}", facts.state_word));
        }
    };
    let Some(time) = unused_since else {
        return Some(format!("when {word} is not known"));
    };
    let age = since(time, now);
    (age < oldest).then(|| format!("{word} {} seconds ago", age.as_secs()))
}

fn since(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

fn containers(host: &DockerHost, scope: &Scope) -> Result<Vec<ContainerFacts>> {
    let profile = labels::sanitize(&host.facts.profile);
    let mut filters = vec![(labels::AGENT, "1")];
    if *scope == Scope::ThisProfile {
        filters.push((labels::PROFILE, profile.as_str()));
    }
    shown(host, &filters)
}

/// The containers that are sandboxes of a task of this profile and home.
fn of_task(host: &DockerHost, task: &str) -> Result<Vec<ContainerFacts>> {
    host.check()?;
    let (label, profile) = (
        labels::sanitize(task),
        labels::sanitize(&host.facts.profile),
    );
    let filters = [
        (labels::AGENT, "1"),
        (labels::TASK_ID, label.as_str()),
        (labels::PROFILE, profile.as_str()),
    ];
    let mut found = shown(host, &filters)?;
    let key = labels::task_key(task);
    found.retain(|facts| {
        let same_task = facts
            .label(labels::TASK_KEY)
            .is_none_or(|known| known == key);
        same_task && whose(host, facts) == HomeOf::This
    });
    Ok(found)
}

fn shown(host: &DockerHost, filters: &[(&str, &str)]) -> Result<Vec<ContainerFacts>> {
    let Some(listed) = host.engine.list(filters) else {
        return Err(DockerError::Refused {
            what: "listing containers".to_owned(),
            words: "the engine did not answer".to_owned(),
        });
    };
    if listed.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<String> = listed.into_iter().map(|one| one.id).collect();
    Ok(host.engine.inspect(&ids).unwrap_or_default())
}

fn whose(host: &DockerHost, facts: &ContainerFacts) -> HomeOf {
    let sandboxes = host.host_paths().translate(&host.sandboxes());
    let nowhere = PathBuf::from("/nonexistent");
    home_of(
        facts,
        &labels::home_key(&host.facts.hermes_home),
        &sandboxes.unwrap_or(nowhere),
    )
}

fn is_ours(host: &DockerHost, facts: &ContainerFacts, scope: &Scope) -> bool {
    if whose(host, facts) == HomeOf::This {
        return true;
    }
    match (scope, facts.label(labels::HOME)) {
        (Scope::AllProfiles { homes }, Some(label)) => {
            homes.iter().any(|home| labels::home_key(home) == label)
        }
        _ => false,
    }
}

fn directory_of(host: &DockerHost, facts: &ContainerFacts) -> PathBuf {
    let task = facts.label(labels::TASK_ID).unwrap_or("unknown");
    host.settings.sandbox_of(&labels::sanitize(task))
}

fn last_use(host: &DockerHost, facts: &ContainerFacts) -> Option<Timestamp> {
    (whose(host, facts) == HomeOf::This)
        .then(|| last_used(&directory_of(host, facts)))
        .flatten()
}

fn row(host: &DockerHost, facts: &ContainerFacts) -> SandboxRow {
    let label = |name| facts.label(name).unwrap_or_default().to_owned();
    SandboxRow {
        id: facts.id.clone(),
        name: facts.name.clone(),
        state: facts.state_word.clone(),
        task_id: label(labels::TASK_ID),
        profile: label(labels::PROFILE),
        image: facts.image.clone(),
        created_at: facts.created_at.clone(),
        finished_at: facts.finished_at.clone(),
        last_used_at: last_use(host, facts).map(|time| time.to_string()),
        network: facts.network_mode.clone(),
        mounts: facts
            .binds
            .iter()
            .map(|bind| MountRow {
                source: bind.source.display().to_string(),
                target: bind.target.clone(),
                ro: bind.is_read_only,
            })
            .collect(),
        drift: drift_of(host, facts),
        home: whose(host, facts),
    }
}

/// What differs from the settings in effect, for containers those settings are about.
fn drift_of(host: &DockerHost, facts: &ContainerFacts) -> Vec<String> {
    let of_profile = labels::sanitize(&host.facts.profile);
    let is_meant =
        facts.label(labels::PROFILE) == Some(&of_profile) && whose(host, facts) == HomeOf::This;
    if !is_meant {
        return Vec::new();
    }
    let task = facts.label(labels::TASK_ID).unwrap_or_default();
    let Ok(plan) = host.plan(&SandboxRequest::of(task)) else {
        return Vec::new();
    };
    let keys = Drift::between(&plan, facts).all_keys();
    keys.into_iter().map(str::to_owned).collect()
}

fn changed(facts: &ContainerFacts) -> Changed {
    Changed {
        id: facts.id.clone(),
        name: facts.name.clone(),
    }
}

fn remove_container(host: &DockerHost, id: &str) -> Result<()> {
    let args = ["rm", "-f", id];
    host.engine
        .demand("removing the sandbox", &args, STOP_LIMIT)
        .map(drop)
}

/// Removes a directory whose files may belong to root: then the engine, which made them, does it.
fn remove_directory(host: &DockerHost, directory: &Path, image: &str) -> Result<()> {
    let Err(error) = hermes_fs::remove_tree(directory) else {
        return Ok(());
    };
    let there = host.host_paths().translate(directory);
    let is_denied = error.io_kind() == Some(std::io::ErrorKind::PermissionDenied);
    let (true, Some(there)) = (is_denied, there) else {
        return Err(error.into());
    };
    let mount = format!("{}:/purge", there.display());
    let args = [
        "run",
        "--rm",
        "--network=none",
        "--entrypoint",
        "rm",
        "-v",
        &mount,
        image,
        "-rf",
        "/purge/home",
        "/purge/workspace",
    ];
    let answer = host.engine.ask(&args, STOP_LIMIT)?;
    if !answer.is_success() {
        return Err(refusal("removing the files of the sandbox", &answer));
    }
    Ok(hermes_fs::remove_tree(directory)?)
}
