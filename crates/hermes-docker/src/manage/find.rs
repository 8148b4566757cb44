//! Which containers are meant, and whose they are.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::report::Scope;
use crate::error::{DockerError, Result};
use crate::host::DockerHost;
use crate::identity::{HomeOf, home_of};
use crate::inspect::ContainerFacts;
use crate::labels;
use crate::usage::last_used;

pub(super) fn containers(host: &DockerHost, scope: &Scope) -> Result<Vec<ContainerFacts>> {
    let profile = labels::sanitize(&host.facts.profile);
    let mut filters = vec![(labels::AGENT, "1")];
    if *scope == Scope::ThisProfile {
        filters.push((labels::PROFILE, profile.as_str()));
    }
    shown(host, &filters)
}

/// The containers that are sandboxes of a task of this profile and home.
pub(super) fn of_task(host: &DockerHost, task: &str) -> Result<Vec<ContainerFacts>> {
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

pub(super) fn whose(host: &DockerHost, facts: &ContainerFacts) -> HomeOf {
    let sandboxes = host.host_paths().translate(&host.sandboxes());
    let nowhere = PathBuf::from("/nonexistent");
    home_of(
        facts,
        &labels::home_key(&host.facts.hermes_home),
        &sandboxes.unwrap_or(nowhere),
    )
}

pub(super) fn is_ours(host: &DockerHost, facts: &ContainerFacts, scope: &Scope) -> bool {
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

pub(super) fn directory_of(host: &DockerHost, facts: &ContainerFacts) -> PathBuf {
    let task = facts.label(labels::TASK_ID).unwrap_or("unknown");
    host.settings.sandbox_of(&labels::sanitize(task))
}

pub(super) fn last_use(host: &DockerHost, facts: &ContainerFacts) -> Option<Timestamp> {
    (whose(host, facts) == HomeOf::This)
        .then(|| last_used(&directory_of(host, facts)))
        .flatten()
}

pub(super) fn since(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}
