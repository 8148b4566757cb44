//! The board as the tools of one process use it.

use std::path::PathBuf;
use std::time::Duration;

use hermes_board::boards::{Board, BoardHome};
use hermes_board::dispatch::WorkerSetup;
use hermes_board::model::{RunId, Task, TaskId};
use hermes_board::store::BoardStore;
use hermes_board::{
    BoardOptions, ContextOptions, KanbanSettings, NewSubscription, SqliteBoard, WorkerVariables,
};
use hermes_config::{Config, Environment, vars};
use hermes_home::Location;
use hermes_http::Downloads;
use serde_json::Value;

use super::verb::Refusal;

/// Author where no profile is known.
const NAMELESS: &str = "worker";

/// The board as one process uses it.
#[derive(Debug, Clone)]
pub struct KanbanDesk {
    /// Where boards are.
    pub home: BoardHome,
    /// How they are opened.
    pub options: BoardOptions,
    /// What acceptance checks are run with.
    pub workers: WorkerSetup,
    /// How long one check may take.
    pub check_timeout: Duration,
    /// How long a claim lasts without a heartbeat.
    pub claim_ttl_seconds: i64,
    /// Author of comments and cards.
    pub author: String,
    /// The card this process works on, if it is a worker.
    pub worker: Option<WorkerVariables>,
    /// Tenant of cards that name none.
    pub tenant: Option<String>,
    /// Home of the profile, where its projects are.
    pub profile_home: PathBuf,
    /// What the text for workers depends on.
    pub context: ContextOptions,
    /// Whether the profile has these tools although it is no worker.
    pub is_orchestrator: bool,
    /// How files to be attached are fetched.
    pub downloads: Downloads,
    /// The chat that follows cards created here.
    pub follower: Option<NewSubscription>,
}

impl KanbanDesk {
    /// Resolves variables and settings. `profile` is the one in use.
    pub fn resolve(
        env: &Environment,
        config: &Config,
        location: &Location,
        profile: Option<&str>,
        settings: &KanbanSettings,
        workers: WorkerSetup,
    ) -> Self {
        let home = BoardHome::resolve(env, location);
        let text = |var: &vars::Var| env.text(var).map(str::to_owned);
        let follower = config
            .flag("kanban.auto_subscribe_on_create")
            .then(|| super::create::follower(env, profile))
            .flatten();
        Self {
            options: settings.board_options(env),
            check_timeout: settings.check_timeout,
            claim_ttl_seconds: settings.limits.claim_ttl_seconds,
            author: text(&vars::HERMES_PROFILE)
                .or_else(|| profile.map(str::to_owned))
                .unwrap_or_else(|| NAMELESS.to_owned()),
            worker: WorkerVariables::read(env),
            tenant: text(&vars::HERMES_TENANT),
            profile_home: location.home.clone(),
            context: ContextOptions {
                terminal_timeout: config.int("terminal.timeout"),
                ..ContextOptions::default()
            },
            is_orchestrator: lists_kanban(config),
            downloads: Downloads::resolve(config),
            follower,
            home,
            workers,
        }
    }

    /// Options of the text about a card; only the paths of a worker's own card differ.
    pub(super) fn context_of(&self, id: &TaskId) -> ContextOptions {
        let is_own = self.worker.as_ref().is_some_and(|own| own.task == *id);
        let mut options = self.context.clone();
        if !is_own {
            options.workspace = None;
            options.attachments = None;
        }
        options
    }

    /// The board a call is about.
    pub(super) fn open(&self, args: &Value) -> Result<SqliteBoard, Refusal> {
        let board: Board = self.home.select(args["board"].as_str())?;
        Ok(SqliteBoard::open(&board, &self.options)?)
    }

    /// The card that a call reads: any, the worker's own if none is named.
    pub(super) fn any_task(&self, args: &Value) -> Result<TaskId, Refusal> {
        let own = self.worker.as_ref().map(|worker| worker.task.clone());
        named_task(args, "task_id").or(own).ok_or_else(|| {
            Refusal::from("task_id is required: this conversation has no card of its own.")
        })
    }

    /// The card that a call changes: a worker may change no other than its own.
    pub(super) fn own_task(&self, args: &Value, what: &str) -> Result<TaskId, Refusal> {
        let task = self.any_task(args)?;
        match &self.worker {
            Some(worker) if worker.task != task => Err(Refusal::from(format!(
                "This worker belongs to card {} and cannot {what} card {task}. Use kanban_comment on \
                 {task} for what matters there, or kanban_create for new work.",
                worker.task
            ))),
            _ => Ok(task),
        }
    }

    /// The attempt of this process at a card.
    pub(super) fn run_of(&self, task: &TaskId) -> Option<RunId> {
        self.worker.as_ref()?.run_of(task)
    }
}

/// A card named in an argument.
pub(super) fn named_task(args: &Value, name: &str) -> Option<TaskId> {
    let id = args[name].as_str().map(str::trim)?;
    (!id.is_empty()).then(|| TaskId::from(id))
}

/// The cards named in a list.
pub(super) fn named_tasks(args: &Value, name: &str) -> Vec<TaskId> {
    texts(args, name).into_iter().map(TaskId::new).collect()
}

/// The texts of a list, without blank ones.
pub(super) fn texts(args: &Value, name: &str) -> Vec<String> {
    let items = args[name].as_array().map(Vec::as_slice);
    items
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect()
}

/// A card that must exist.
pub(super) fn known(store: &SqliteBoard, id: &TaskId) -> Result<Task, Refusal> {
    let found = store.task(id)?;
    found.ok_or_else(|| Refusal::from(format!("there is no card '{id}'")))
}

/// Whether the settings of the profile name the toolset.
fn lists_kanban(config: &Config) -> bool {
    let in_platforms = config.get("platform_toolsets").and_then(Value::as_object);
    let platforms = in_platforms
        .into_iter()
        .flat_map(|platforms| platforms.values())
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(Value::as_str);
    config
        .texts("toolsets")
        .into_iter()
        .chain(platforms)
        .any(|name| matches!(name.trim(), "kanban" | "all" | "*"))
}
