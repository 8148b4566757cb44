//! Removing sandboxes that nobody has used for long.

use std::time::Duration;

use jiff::Timestamp;

use super::find::{containers, directory_of, is_ours, last_use, since, whose};
use super::remove::remove_container;
use super::report::{Kept, PruneRequest, Pruned};
use crate::error::Result;
use crate::host::DockerHost;
use crate::identity::HomeOf;
use crate::inspect::{ContainerFacts, State};
use crate::reaper::{parse_time, threshold};
use crate::usage::is_held;

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
        return Some(format!("time {word} unknown"));
    };
    let age = since(time, now);
    (age < oldest).then(|| format!("{word} {} seconds ago", age.as_secs()))
}
