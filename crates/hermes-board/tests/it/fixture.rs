//! Boards, cards and workers for the tests and the other process.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_board::boards::{Board, BoardHome, ServerSettings};
use hermes_board::completion::CompletionSetup;
use hermes_board::dispatch::{LogRotation, WorkerProfile, WorkerSetup};
use hermes_board::model::{Assignee, RunId, TaskId};
use hermes_board::store::{
    BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, Claimant, Claimed,
    CompleteOutcome, Completed, Completion, FailurePolicy, NewTask,
};
use hermes_board::{StoredBoard, WorkspaceRules};
use hermes_config::settings::{Config, Sources};
use hermes_config::{Environment, vars};
use hermes_home::{Location, SystemFacts};
use hermes_proc::{EnvPolicy, KillTiming, Wake};

/// Where a home says that its boards are on a server: the address and the password.
pub(crate) const SERVER_FILE: &str = ".test-server";

/// The boards of an installation at `root`.
pub(crate) fn home_at(root: &Path) -> BoardHome {
    let mut env = Environment::from_pairs([("HOME", root), ("HERMES_HOME", root)]);
    if let Ok(server) = std::fs::read_to_string(root.join(SERVER_FILE)) {
        let (address, password) = server.split_once('\n').unwrap();
        env = env
            .with(&vars::HERMES_KANBAN_DATABASE_URL, address)
            .with(&vars::PGPASSWORD, password);
    }
    let location = Location::resolve(&env, &SystemFacts::of_process()).unwrap();
    let config = Config::load_read_only(&Sources::new(&env, root));
    let servers = ServerSettings::resolve(&config, &env, &location);
    BoardHome::resolve(&env, &location).on_servers(servers)
}

pub(crate) fn assignee(name: &str) -> Assignee {
    Assignee::parse(name).unwrap()
}

/// A card with a title, given to `coder`.
pub(crate) fn card(title: &str) -> NewTask {
    NewTask {
        assignee: Some(assignee("coder")),
        ..NewTask::titled(title)
    }
}

pub(crate) fn file(board: &mut StoredBoard, new: &NewTask) -> TaskId {
    board.create(new).unwrap().task.id
}

pub(crate) fn below(parents: &[&TaskId]) -> NewTask {
    NewTask {
        parents: parents.iter().map(|id| (*id).clone()).collect(),
        ..card("child")
    }
}

pub(crate) fn try_claim(board: &mut StoredBoard, id: &TaskId) -> ClaimOutcome {
    board
        .claim(&ClaimRequest {
            task: id.clone(),
            lock: "host:1".to_owned(),
            ttl_seconds: 900,
            from: ClaimFrom::Ready,
            dispatcher: None,
            host: None,
            caps: ClaimCaps::default(),
        })
        .unwrap()
}

/// Whoever claimed a card with [`try_claim`].
pub(crate) fn claimant(run: RunId) -> Claimant<'static> {
    Claimant {
        run,
        lock: "host:1",
        host: None,
    }
}

pub(crate) fn claim(board: &mut StoredBoard, id: &TaskId) -> RunId {
    match try_claim(board, id) {
        ClaimOutcome::Claimed(claimed) => {
            let Claimed { run, .. } = *claimed;
            run
        }
        other => panic!("{id} was not claimed: {other:?}"),
    }
}

pub(crate) fn complete(board: &mut StoredBoard, id: &TaskId) -> Completed {
    match board.complete(id, &Completion::default()).unwrap() {
        CompleteOutcome::Done(done) => *done,
        other @ CompleteOutcome::NeedsChecks(_) => panic!("{other:?}"),
    }
}

/// Workers of a home in a directory.
pub(crate) fn worker_setup(root: &Path) -> WorkerSetup {
    let program = root.join("worker");
    let base: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("STUB_DIR".into(), root.join("stubs").into()),
        ("OPENAI_API_KEY".into(), "sk-of-the-dispatcher".into()),
        ("HERMES_KANBAN_BRANCH".into(), "of-another-card".into()),
        ("HERMES_TUI".into(), "1".into()),
    ];
    let env = Environment::from_pairs([("HOME", root), ("HERMES_HOME", root)]);
    let location = Location::resolve(&env, &SystemFacts::of_process()).unwrap();
    WorkerSetup {
        policy: EnvPolicy {
            hermes_home: root.to_owned(),
            hermes_program: program.clone(),
            ..EnvPolicy::default()
        },
        program,
        location,
        base,
        log: LogRotation::default(),
        timing: KillTiming {
            grace: Duration::from_millis(300),
            timeout: Duration::from_secs(10),
            force: true,
        },
        profile_of: Arc::new(|_| WorkerProfile::default()),
        workspaces: WorkspaceRules::default(),
        preflight: None,
        after_loss: Arc::new(|_| ()),
    }
}

/// How a card is completed: with these workers, and checks that take no longer.
pub(crate) fn completion_setup<'s>(
    home: &'s BoardHome,
    workers: &'s WorkerSetup,
    board: &'s Board,
    check_timeout: Duration,
    interrupt: &'s Wake,
) -> CompletionSetup<'s> {
    CompletionSetup {
        check_backend: None,
        board,
        home,
        workers,
        check_timeout,
        policy: FailurePolicy::with_limit(2),
        redact: &|text| text.replace("hunter2", "[secret]"),
        judge: None,
        interrupt,
        workspace_seen: None,
        on_checks: &|_| {},
        before_done: None,
    }
}
