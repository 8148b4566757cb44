//! Looking at sandboxes. Changes nothing.

use std::time::Duration;

use jiff::Timestamp;

use super::find::{containers, is_ours, last_use, of_task, since, whose};
use super::report::{Listing, MountRow, SandboxRow, Scope};
use crate::drift::Drift;
use crate::error::Result;
use crate::host::DockerHost;
use crate::identity::HomeOf;
use crate::inspect::{ContainerFacts, State};
use crate::labels;
use crate::plan::SandboxRequest;
use crate::reaper::parse_time;

const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// All sandboxes of a scope. A container about which nothing tells whose it is may be ours.
pub fn list(host: &DockerHost, scope: &Scope) -> Result<Listing> {
    let engine = host.check()?.clone();
    let mut found = containers(host, scope)?;
    let all = found.len();
    found.retain(|facts| {
        *scope == Scope::AllHomes
            || is_ours(host, facts, scope)
            || whose(host, facts) == HomeOf::Unknown
    });
    Ok(Listing {
        engine,
        left_out: all - found.len(),
        sandboxes: found.iter().map(|facts| row(host, facts)).collect(),
    })
}

/// Processes in the sandboxes of a task, apart from the one that keeps each alive.
pub fn processes(host: &DockerHost, task: &str) -> Result<usize> {
    let mut count = 0;
    for facts in of_task(host, task)? {
        if facts.state() == State::Running {
            let listed = listed_processes(host, &facts.id)?;
            let lines = listed.lines().skip(1);
            count += lines
                .filter(|line| !line.contains("sleep infinity"))
                .count();
        }
    }
    Ok(count)
}

/// Podman refuses the whole list when a process ends while it looks, so it is asked again.
fn listed_processes(host: &DockerHost, id: &str) -> Result<String> {
    for _ in 0..3 {
        let answer = host.engine.ask(&["top", id], LOOK_LIMIT)?;
        if answer.is_success() {
            return Ok(answer.stdout);
        }
    }
    host.engine.demand(
        "listing the processes of the sandbox",
        &["top", id],
        LOOK_LIMIT,
    )
}

/// Sandboxes of this profile and home that run and that nobody has used for so long.
pub fn idle(host: &DockerHost, longer_than: Duration) -> Result<Vec<SandboxRow>> {
    let now = Timestamp::now();
    let found = containers(host, &Scope::ThisProfile)?;
    let is_idle = |facts: &&ContainerFacts| {
        let used = last_use(host, facts).or_else(|| parse_time(facts.created_at.as_deref()?));
        facts.state() == State::Running
            && whose(host, facts) != HomeOf::Other
            && used.is_some_and(|used| since(used, now) > longer_than)
    };
    Ok(found
        .iter()
        .filter(is_idle)
        .map(|facts| row(host, facts))
        .collect())
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
