//! A board in a directory of its own, and tools of a worker or an orchestrator at it.

use std::sync::Arc;

use hermes_board::boards::{BoardHome, BoardSlug};
use hermes_board::dispatch::{LogRotation, WORKER_TIMING, WorkerProfile, WorkerSetup};
use hermes_board::model::{RunId, Task, TaskId, Termination};
use hermes_board::store::{
    Applied, BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, NewTask,
};
use hermes_board::{
    BoardOptions, CallerFacts, ContextOptions, StoredBoard, WorkerVariables, WorkspaceRules,
};
use hermes_config::Environment;
use hermes_home::{Location, SystemFacts};
use hermes_proc::EnvPolicy;
use hermes_tools::{BoardAccess, ToolRegistry, kanban_tools};
use serde_json::Value;

use crate::stage::Stage;

/// The claim of all workers in these tests.
pub(crate) const CLAIM: &str = "elsewhere:1";

pub(crate) struct BoardStage {
    pub(crate) stage: Stage,
}

impl BoardStage {
    pub(crate) fn new() -> Self {
        Self {
            stage: Stage::with(ToolRegistry::default()),
        }
    }

    pub(crate) fn home(&self) -> BoardHome {
        let root = self.stage.root("hermes");
        let env = Environment::from_pairs([("HOME", &root), ("HERMES_HOME", &root)]);
        let location = Location::resolve(&env, &SystemFacts::of_process()).unwrap();
        BoardHome::resolve(&env, &location)
    }

    pub(crate) fn store(&self) -> StoredBoard {
        let board = self.home().board(&BoardSlug::default_board());
        StoredBoard::open(&board, &BoardOptions::default()).unwrap()
    }

    /// Files a card.
    pub(crate) fn card(&self, new: NewTask) -> TaskId {
        self.store().create(&new).unwrap().task.id
    }

    pub(crate) fn task(&self, id: &TaskId) -> Task {
        self.store().task(id).unwrap().unwrap()
    }

    /// Puts a card into the hands of a worker.
    pub(crate) fn claimed(&self, id: &TaskId) -> RunId {
        let outcome = self.store().claim(&ClaimRequest {
            task: id.clone(),
            lock: CLAIM.to_owned(),
            ttl_seconds: 900,
            from: ClaimFrom::Ready,
            dispatcher: None,
            host: None,
            caps: ClaimCaps::default(),
        });
        match outcome.unwrap() {
            ClaimOutcome::Claimed(claimed) => claimed.run,
            other => panic!("{id} could not be claimed: {other:?}"),
        }
    }

    /// Takes a card from its worker.
    pub(crate) fn take_back(&self, id: &TaskId) {
        let taken = self
            .store()
            .reclaim(id, Some(CLAIM), None, Termination::default());
        assert_eq!(taken.unwrap(), Applied::Yes);
    }

    pub(crate) fn access(&self) -> BoardAccess {
        let root = self.stage.root("hermes");
        let program = root.join("no-such-program");
        let path = std::env::var_os("PATH").unwrap();
        let env = Environment::from_pairs([("HOME", &root), ("HERMES_HOME", &root)]);
        let mut downloads = hermes_http::Downloads::default();
        downloads.reachable = hermes_http::Reachable::Anywhere;
        BoardAccess {
            check_backend: None,
            home: self.home(),
            options: BoardOptions::default(),
            workers: WorkerSetup {
                program: program.clone(),
                location: Location::resolve(&env, &SystemFacts::of_process()).unwrap(),
                base: vec![("PATH".into(), path)],
                policy: EnvPolicy {
                    hermes_home: root.clone(),
                    hermes_program: program,
                    ..EnvPolicy::default()
                },
                log: LogRotation::default(),
                timing: WORKER_TIMING,
                profile_of: Arc::new(|_| WorkerProfile::default()),
                workspaces: WorkspaceRules::default(),
                preflight: None,
                after_loss: Arc::new(|_| ()),
            },
            check_timeout: std::time::Duration::from_mins(1),
            claim_ttl_seconds: 900,
            author: "coder".to_owned(),
            caller: CallerFacts {
                worker: None,
                is_agent: true,
            },
            directory: Some("/srv".into()),
            tenant: None,
            profile_home: root,
            context: ContextOptions::default(),
            is_orchestrator: true,
            downloads,
            follower: None,
        }
    }

    /// Calls a tool with this access to the board.
    pub(crate) fn with(&self, access: BoardAccess, tool: &str, args: Value) -> Value {
        let registry = kanban_tools(access).fold(ToolRegistry::default(), ToolRegistry::with);
        registry.call(tool, &args, &self.stage.context)
    }

    /// Calls a tool as somebody who looks after all cards.
    pub(crate) fn orchestrator(&self, tool: &str, args: Value) -> Value {
        self.with(self.access(), tool, args)
    }

    /// Calls a tool as the worker of a card.
    pub(crate) fn worker(&self, id: &TaskId, run: RunId, tool: &str, args: Value) -> Value {
        let access = BoardAccess {
            caller: worker_facts(id, Some(run), Some(CLAIM)),
            is_orchestrator: false,
            ..self.access()
        };
        self.with(access, tool, args)
    }

    /// Kinds of the events of a card, in order.
    pub(crate) fn events(&self, id: &TaskId) -> Vec<String> {
        let card = self.store().show(id, None).unwrap();
        card.events.into_iter().map(|event| event.kind).collect()
    }
}

/// The message of a call that must fail.
#[track_caller]
pub(crate) fn refusal(result: &Value) -> &str {
    match result["error"].as_str() {
        Some(message) => message,
        None => panic!("not refused: {result}"),
    }
}

/// What a worker of this card reads from its variables.
fn worker_variables(
    task: &TaskId,
    run: Option<RunId>,
    claim_lock: Option<&str>,
) -> WorkerVariables {
    WorkerVariables {
        task: task.clone(),
        run,
        claim_lock: claim_lock.map(str::to_owned),
        workspace: None,
        goal_mode: false,
        goal_max_turns: None,
        reminders: true,
    }
}

/// What the environment of a worker says.
pub(crate) fn worker_facts(id: &TaskId, run: Option<RunId>, claim: Option<&str>) -> CallerFacts {
    CallerFacts {
        worker: Some(worker_variables(id, run, claim)),
        is_agent: true,
    }
}
