//! Stopping and removing the sandboxes of one task.

use std::path::Path;
use std::time::Duration;

use super::find::of_task;
use super::report::{Changed, Removed};
use crate::error::{DockerError, Result};
use crate::host::DockerHost;
use crate::inspect::{ContainerFacts, State};
use crate::labels;
use crate::usage::is_held;

const STOP_LIMIT: Duration = Duration::from_secs(30);

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

fn changed(facts: &ContainerFacts) -> Changed {
    Changed {
        id: facts.id.clone(),
        name: facts.name.clone(),
    }
}

pub(super) fn remove_container(host: &DockerHost, id: &str) -> Result<()> {
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
    host.engine
        .demand("removing the files of the sandbox", &args, STOP_LIMIT)?;
    Ok(hermes_fs::remove_tree(directory)?)
}
