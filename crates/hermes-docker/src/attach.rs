//! Finding the sandbox that an earlier process made, and making it usable.
//!
//! Only containers that are provably the sandbox meant are touched. One with more rights than the
//! settings allow is replaced; any other difference is the user's to decide.

use std::path::Path;
use std::time::{Duration, Instant};

use super::drift::Drift;
use super::host::DockerHost;
use super::inspect::{ContainerFacts, State};
use super::labels;
use super::mounts::MountOrigin;
use super::plan::SandboxPlan;
use super::queries::Listed;
use super::settings::OnDrift;
use super::skill_mirror;

const START_LIMIT: Duration = Duration::from_secs(30);
const REMOVE_LIMIT: Duration = Duration::from_secs(30);
const RESTART_PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);
/// Says by its exit code whether a background process of ours is alive: 0 yes, 9 no.
const BACKGROUND_CHECK: &str = "for f in /tmp/hermes_bg_*.pid; do \
    [ -r \"$f\" ] && read -r p < \"$f\" && kill -0 \"$p\" 2>/dev/null && exit 0; done; exit 9";

/// The container in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub id: String,
    pub name: String,
    /// Whether this process made it.
    pub is_new: bool,
}

/// What the probe found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The sandbox, running.
    Attached(Container),
    /// No sandbox, or one that had to go.
    Nothing,
    /// A sandbox that cannot be used and still has its name.
    Unusable,
}

/// Looks for the sandbox of this plan.
pub(crate) fn probe(host: &DockerHost, plan: &SandboxPlan) -> Found {
    let identity = &plan.identity;
    let (task, profile) = (identity.task_label(), identity.profile_label());
    let filters = [
        (labels::AGENT, "1"),
        (labels::TASK_ID, task.as_str()),
        (labels::PROFILE, profile.as_str()),
    ];
    let mut listed = host.engine.list(&filters).unwrap_or_default();
    listed.retain(|one| !matches!(one.state, State::Leaving | State::Other));
    // Stable: among equals the engine's order counts.
    listed.sort_by_key(|one| one.state != State::Running);
    if listed.is_empty() {
        return Found::Nothing;
    }
    let ids: Vec<&str> = listed.iter().map(|one| one.id.as_str()).collect();
    let facts = host.engine.inspect(&ids).unwrap_or_default();
    for candidate in &listed {
        let known = facts
            .iter()
            .find(|facts| facts.id.starts_with(&candidate.id));
        let is_meant = match known {
            Some(facts) => is_meant(plan, facts),
            None => is_meant_by_labels(host, plan, &candidate.id),
        };
        if is_meant {
            return use_candidate(host, plan, candidate, known);
        }
    }
    Found::Nothing
}

pub(crate) fn is_meant(plan: &SandboxPlan, facts: &ContainerFacts) -> bool {
    // Where no path of ours is known to the engine, only labels can tell.
    let nowhere = Path::new("/nonexistent");
    let directory = plan.engine_sandbox_dir.as_deref().unwrap_or(nowhere);
    plan.identity.is_meant_by(facts, directory)
}

/// For an engine that lists and does not show: asked by the labels that tell homes and tasks apart.
fn is_meant_by_labels(host: &DockerHost, plan: &SandboxPlan, id: &str) -> bool {
    let key = labels::task_key(&plan.identity.task);
    let filters = [
        (labels::AGENT, "1"),
        (labels::HOME, plan.identity.home_key.as_str()),
        (labels::TASK_KEY, key.as_str()),
    ];
    let listed = host.engine.list(&filters).unwrap_or_default();
    // One list may have short ids and the other full ones.
    let is_it = |one: &Listed| one.id.starts_with(id) || id.starts_with(&one.id);
    let owned = host.engine.list(&[(labels::OWNER, "")]).unwrap_or_default();
    if owned.iter().any(is_it) {
        return false;
    }
    plan.identity.bound_directory.is_none() && listed.iter().any(is_it)
}

fn use_candidate(
    host: &DockerHost,
    plan: &SandboxPlan,
    candidate: &Listed,
    facts: Option<&ContainerFacts>,
) -> Found {
    let Some(facts) = facts else {
        if !plan.network {
            let why = "its network cannot be determined";
            return replace(host, &candidate.id, why);
        }
        let name = plan.identity.shared_name();
        return woken(host, &candidate.id, name, candidate.state);
    };
    let drift = Drift::between(plan, facts);
    if !drift.tightened.is_empty() {
        let why = format!(
            "it has more rights than {} allows",
            drift.tightened.join(", ")
        );
        return replace(host, &facts.id, &why);
    }
    if !drift.keys.is_empty() && host.settings.on_drift == OnDrift::Recreate {
        if may_be_replaced(host, facts) {
            let why = format!("settings have changed: {}", drift.keys.join(", "));
            return replace(host, &facts.id, &why);
        }
        host.notice_once(
            "the sandbox was kept although its settings have changed: background processes are \
             running in it",
        );
    }
    let found = woken(host, &facts.id, facts.name.clone(), facts.state());
    if matches!(found, Found::Attached(_)) {
        settle(host, plan, facts, &drift);
    }
    found
}

/// What is done to a sandbox that is kept: limits are set, differences told, skills copied anew.
fn settle(host: &DockerHost, plan: &SandboxPlan, facts: &ContainerFacts, drift: &Drift) {
    if !drift.update.is_empty() && host.can_limit() {
        update_limits(host, &facts.id, &drift.update);
    }
    if !drift.keys.is_empty() && host.settings.on_drift == OnDrift::Warn {
        host.notice_once(&format!(
            "sandbox was created with different settings: {}; run 'hermes sandbox reset' to apply",
            drift.keys.join(", ")
        ));
    }
    let skills = plan
        .mounts
        .iter()
        .filter(|mount| mount.origin == MountOrigin::Skills);
    for mount in skills {
        let tree = Path::new(&mount.source);
        if let Err(error) = skill_mirror::refresh_if_copied(&host.facts.hermes_home, tree) {
            host.warn_once(&format!(
                "skills in the sandbox may be out of date: {error}"
            ));
        }
    }
}

fn update_limits(host: &DockerHost, id: &str, arguments: &[String]) {
    let mut args = vec!["update".to_owned()];
    args.extend_from_slice(arguments);
    args.push(id.to_owned());
    let what = "changing the limits of the sandbox";
    if let Err(error) = host.engine.demand(what, &args, START_LIMIT) {
        host.warn_once(&error.to_string());
    }
}

fn woken(host: &DockerHost, id: &str, name: String, state: State) -> Found {
    if !wake(host, id, state) {
        return Found::Unusable;
    }
    Found::Attached(Container {
        id: id.to_owned(),
        name,
        is_new: false,
    })
}

/// Brings a container to run, and says whether it does.
pub(crate) fn wake(host: &DockerHost, id: &str, state: State) -> bool {
    match state {
        State::Running => true,
        State::Created | State::Exited => succeeds(host, "start", id),
        State::Paused => succeeds(host, "unpause", id),
        State::Restarting => comes_up(host, id),
        State::Leaving | State::Other => false,
    }
}

fn succeeds(host: &DockerHost, verb: &str, id: &str) -> bool {
    let what = format!("{verb} of the sandbox");
    let done = host.engine.demand(&what, &[verb, id], START_LIMIT);
    if let Err(error) = &done {
        tracing::warn!(container = id, "{error}; creating a new container");
    }
    done.is_ok()
}

fn comes_up(host: &DockerHost, id: &str) -> bool {
    let deadline = Instant::now() + RESTART_PATIENCE;
    while Instant::now() < deadline {
        let facts = host.engine.inspect(&[id]).unwrap_or_default();
        match facts.first().map(ContainerFacts::state) {
            Some(State::Running) => return true,
            Some(State::Restarting) => std::thread::sleep(POLL),
            _ => return false,
        }
    }
    tracing::warn!(
        container = id,
        "it keeps restarting; creating a new container"
    );
    false
}

/// Removes a container that may not be used as it is.
fn replace(host: &DockerHost, id: &str, why: &str) -> Found {
    host.notice_once(&format!("the sandbox is replaced: {why}"));
    let (what, args) = ("removing the sandbox", ["rm", "-f", id]);
    match host.engine.demand(what, &args, REMOVE_LIMIT) {
        Ok(_) => Found::Nothing,
        Err(error) => {
            tracing::warn!(container = id, "{error}");
            Found::Unusable
        }
    }
}

/// Whether nothing of ours runs in it. What cannot be found out counts as running.
fn may_be_replaced(host: &DockerHost, facts: &ContainerFacts) -> bool {
    if facts.state() != State::Running {
        return true;
    }
    let args = ["exec", facts.id.as_str(), "sh", "-c", BACKGROUND_CHECK];
    let answer = host.engine.ask(&args, START_LIMIT);
    answer.is_ok_and(|answer| answer.code == Some(9))
}
