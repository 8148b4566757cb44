//! Starting a worker: its arguments, its variables, its log.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hermes_config::{Environment, vars};
use hermes_home::ProfileName;
use hermes_proc::{
    ChildSpec, EnvPlan, EnvPolicy, EnvRequest, Group, SpawnClass, Streams, find_on_path,
};

use crate::boards::{Board, BoardHome};
use crate::dispatch::local::attempts::exec_id;
use crate::dispatch::local::children::{Attempt, Children, OwnWorker};
use crate::dispatch::local::identity::ProcessSpace;
use crate::dispatch::local::log_file::open_log;
use crate::dispatch::local::{WorkerSetup, terminate};
use crate::dispatch::{SpawnedWorker, WorkerSpawnRequest};
use crate::model::Task;
use crate::worker_terminal_timeout;

/// The skill of a worker that reviews.
const REVIEW_SKILL: &str = "sdlc-review";

/// What a worker is asked for; the card follows.
pub(crate) const WORK_REQUEST: &str = "work kanban task ";

/// Why no worker was started.
#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    #[error(transparent)]
    Board(#[from] crate::Error),
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error(transparent)]
    Process(#[from] hermes_proc::Error),
    #[error("the card has no assignee")]
    NoAssignee,
    #[error("no such profile: '{}'", crate::shown(name, 64))]
    NoProfile { name: String },
    #[error("processes of an earlier attempt could not be terminated (pid {pids})")]
    EarlierAttempt { pids: String },
}

/// The program of workers: `HERMES_BIN`, or this one.
pub fn worker_program(env: &Environment, home: &BoardHome, own: &Path) -> PathBuf {
    let Some(named) = env.text(&vars::HERMES_BIN) else {
        return own.to_owned();
    };
    let is_path = named.starts_with('~') || named.contains('/');
    if is_path {
        let path = home.expand(Path::new(named));
        return std::path::absolute(&path).unwrap_or(path);
    }
    // A bare name that PATH does not know would fail every card; this program works.
    find_on_path(OsStr::new(named), env.os(&vars::PATH)).unwrap_or_else(|| own.to_owned())
}

/// Starts a worker for a card that has been claimed. Nothing of an earlier attempt runs beside it.
pub(super) fn launch(
    request: &WorkerSpawnRequest<'_>,
    board: &Board,
    setup: &WorkerSetup,
    children: &mut Children,
) -> Result<SpawnedWorker, LaunchError> {
    let WorkerSpawnRequest { task, run, .. } = *request;
    let profile = profile_of(task, setup)?;
    if !request.is_first_attempt {
        let mut survivors =
            terminate::terminate_earlier_attempts(board, &task.id, run, setup.timing);
        let timeout = setup.timing.timeout;
        survivors.extend(terminate::terminate_earlier_checks(
            board, &task.id, timeout,
        ));
        if !survivors.is_empty() {
            return Err(LaunchError::EarlierAttempt {
                pids: terminate::pids(&survivors),
            });
        }
    }
    let log = open_log(&board.log_of(&task.id)?, setup.log)?;
    let exit_record = board.exit_record_of(&task.id)?;
    let env = environment(request, board, setup, &profile);
    let workspace = Some(&request.workspace.path).filter(|path| path.is_dir());
    let spec = ChildSpec {
        cwd: Some(workspace.map_or_else(|| PathBuf::from("/"), Clone::clone)),
        streams: Streams::Given {
            input: None,
            output: Some(log.into()),
        },
        group: Group::Session,
        kill_on_drop: false,
        ..ChildSpec::new(&setup.program, arguments(request, setup, &profile), env)
    };
    let child = spec.spawn()?;
    let worker = SpawnedWorker {
        pid: child.pid(),
        // Not waited for yet, so its entry is there.
        identity: ProcessSpace::own().identity_of(child.pid()),
    };
    children.add(OwnWorker {
        attempt: Attempt {
            database: board.database.clone(),
            task: task.id.clone(),
            run,
        },
        profile,
        exit_record,
        child,
    });
    Ok(worker)
}

fn profile_of(task: &Task, setup: &WorkerSetup) -> Result<ProfileName, LaunchError> {
    let name = task.assignee.as_deref().ok_or(LaunchError::NoAssignee)?;
    let no_profile = || LaunchError::NoProfile {
        name: name.to_owned(),
    };
    let profile = ProfileName::parse(name).map_err(|_| no_profile())?;
    let exists = profile.is_default() || setup.location.profile_home(&profile).is_dir();
    if exists {
        Ok(profile)
    } else {
        Err(no_profile())
    }
}

fn arguments(
    request: &WorkerSpawnRequest<'_>,
    setup: &WorkerSetup,
    profile: &ProfileName,
) -> Vec<OsString> {
    let task = request.task;
    let mut words: Vec<OsString> = vec!["-p".into(), profile.as_str().into()];
    words.extend(["--cli".into(), "--accept-hooks".into()]);
    let skills = task.skills.as_deref().unwrap_or_default();
    for skill in skills_of_worker(skills, request.review) {
        words.extend(["--skills".into(), skill.into()]);
    }
    if let Some(model) = filled(task.model_override.as_deref()) {
        words.extend(["-m".into(), model.into()]);
    }
    let mut toolsets = (setup.profile_of)(&setup.location.profile_home(profile)).toolsets;
    if !toolsets.is_empty() {
        toolsets.sort();
        words.extend(["--toolsets".into(), toolsets.join(",").into()]);
    }
    words.extend(["chat".into(), "-q".into()]);
    words.push(format!("{WORK_REQUEST}{}", task.id).into());
    if task.goal_mode {
        words.push("-Q".into());
    }
    words
}

/// All variables of a worker: those of this process as far as another Hermes may have them, and
/// what it needs to know about its card.
fn environment(
    request: &WorkerSpawnRequest<'_>,
    board: &Board,
    setup: &WorkerSetup,
    profile: &ProfileName,
) -> EnvPlan {
    let task = request.task;
    let workspace = &request.workspace.path;
    let branch = request.workspace.branch.as_deref();
    let branch = branch.or(filled(task.branch_name.as_deref()));
    let text = |text: &str| Some(OsString::from(text));
    let path = |path: &Path| Some(path.as_os_str().to_owned());
    let turns = task.goal_max_turns.filter(|_| task.goal_mode);
    let limit = |var: &vars::Var| {
        let runtime = task.max_runtime_seconds.filter(|runtime| *runtime > 0)?;
        let seconds = worker_terminal_timeout(runtime, inherited_number(setup, var.name));
        Some(seconds.to_string().into())
    };
    let mut variables = vec![
        (&vars::HERMES_PROFILE, text(profile.as_str())),
        (&vars::HERMES_KANBAN_TASK, text(task.id.as_str())),
        (&vars::HERMES_KANBAN_WORKSPACE, path(workspace)),
        (&vars::HERMES_KANBAN_RUN_ID, text(&request.run.to_string())),
        (&vars::HERMES_KANBAN_CLAIM_LOCK, text(request.lock)),
        (&vars::HERMES_KANBAN_DB, path(&board.database)),
        (
            &vars::HERMES_KANBAN_WORKSPACES_ROOT,
            path(&board.workspaces),
        ),
        (&vars::HERMES_KANBAN_BOARD, text(board.slug.as_str())),
        (&vars::TERMINAL_CWD, path(workspace)),
        (
            &vars::HERMES_TENANT,
            filled(task.tenant.as_deref()).and_then(text),
        ),
        (&vars::HERMES_KANBAN_BRANCH, branch.and_then(text)),
        (
            &vars::HERMES_KANBAN_GOAL_MODE,
            task.goal_mode.then(|| "1".into()),
        ),
        (
            &vars::HERMES_KANBAN_GOAL_MAX_TURNS,
            turns.and_then(|turns| text(&turns.to_string())),
        ),
    ];
    // Its profile may be configured for no server, or another one.
    if let Some(server) = &board.server {
        let address = server.address().map(OsString::from);
        variables.push((&vars::HERMES_KANBAN_DATABASE_URL, address));
        let password = server.password().map(|password| password.expose().into());
        variables.extend(password.map(|password| (&vars::PGPASSWORD, Some(password))));
    }
    // A card that says nothing leaves it to the settings of its worker.
    let sandbox = task.sandbox.as_deref().and_then(text);
    variables.extend(sandbox.map(|word| (&vars::HERMES_TERMINAL_SANDBOX, Some(word))));
    for var in [
        &vars::TERMINAL_TIMEOUT,
        &vars::TERMINAL_MAX_FOREGROUND_TIMEOUT,
    ] {
        // Without a time limit the worker inherits these.
        variables.extend(limit(var).map(|seconds| (var, Some(seconds))));
    }
    // Variables that this card does not set must not be inherited from another one.
    let mut base = setup.base.clone();
    base.retain(|(name, _)| !variables.iter().any(|(var, _)| name == var.name));
    let extra: Vec<(OsString, OsString)> = variables
        .into_iter()
        .filter_map(|(var, value)| Some((var.name.into(), value?)))
        .collect();
    let policy = policy_of(setup, profile);
    let mark = exec_id(&board.database, &task.id, request.run);
    let mut env = EnvRequest::new(SpawnClass::Hermes, &base, &policy);
    env.extra = &extra;
    env.exec_id = Some(&mark);
    EnvPlan::build(&env)
}

/// The variables of a profile's workers, without those about a card.
pub(super) fn profile_environment(setup: &WorkerSetup, profile: &ProfileName) -> EnvPlan {
    let policy = policy_of(setup, profile);
    EnvPlan::build(&EnvRequest::new(SpawnClass::Hermes, &setup.base, &policy))
        .with("HERMES_PROFILE", profile.as_str())
}

/// The rules for a worker's variables: its own profile decides what its terminals may see, so its
/// process must get that.
fn policy_of(setup: &WorkerSetup, profile: &ProfileName) -> EnvPolicy {
    let home = setup.location.profile_home(profile);
    EnvPolicy {
        passthrough: (setup.profile_of)(&home).env_passthrough,
        hermes_home: home,
        ..setup.policy.clone()
    }
}

/// The skills of a worker: those of its card, or the one for reviews.
pub(super) fn skills_of_worker(skills: &[String], review: bool) -> Vec<&str> {
    if review {
        return vec![REVIEW_SKILL];
    }
    let given = skills.iter().map(|skill| skill.trim());
    given.filter(|skill| !skill.is_empty()).collect()
}

fn inherited_number(setup: &WorkerSetup, name: &str) -> Option<i64> {
    let mut base = setup.base.iter();
    let (_, value) = base.find(|(one, _)| one == name)?;
    value.to_str()?.trim().parse().ok()
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests access files directly")]
    fn the_program_is_the_named_one_if_there_is_one_and_else_ours() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let stub = dir.path().join("stub-hermes");
        std::fs::write(&stub, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o755)).unwrap();
        let own = Path::new("/opt/hermes");
        let program = |named: Option<&str>| {
            let directory = dir.path().to_str().unwrap();
            let mut pairs = vec![("PATH", directory), ("HOME", directory)];
            pairs.extend(named.map(|named| ("HERMES_BIN", named)));
            let env = Environment::from_pairs(pairs);
            let location =
                hermes_home::Location::resolve(&env, &hermes_home::SystemFacts::of_process());
            let home = BoardHome::resolve(&env, &location.unwrap());
            worker_program(&env, &home, own)
        };
        assert_eq!(program(None), own);
        assert_eq!(program(Some("  ")), own);
        assert_eq!(program(Some("stub-hermes")), stub);
        // Every card would fail with one that is not there.
        assert_eq!(program(Some("no-such-program")), own);
        assert_eq!(program(Some("/usr/bin/other")), Path::new("/usr/bin/other"));
        assert_eq!(program(Some("~/stub-hermes")), stub);
        let relative = program(Some("./here/hermes"));
        assert!(relative.is_absolute() && relative.ends_with("here/hermes"));
    }
}
