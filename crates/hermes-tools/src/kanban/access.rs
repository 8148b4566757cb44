//! The board as the tools of one process use it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_board::boards::{BoardHome, ServerSettings};
use hermes_board::completion::CheckBackend;
use hermes_board::dispatch::WorkerSetup;
use hermes_board::model::TaskId;
use hermes_board::{
    BoardOptions, Caller, CallerFacts, ChatAddress, ContextOptions, KanbanSettings,
    NewSubscription, StoredBoard, WorkerVariables,
};
use hermes_config::{Config, Environment, vars};
use hermes_home::Location;
use hermes_http::Downloads;

/// The board as one process uses it.
#[derive(Debug, Clone)]
pub struct BoardAccess {
    pub home: BoardHome,
    pub options: BoardOptions,
    /// What acceptance checks are run with.
    pub workers: WorkerSetup,
    pub check_timeout: Duration,
    /// Where acceptance checks run, and what confines them.
    pub check_backend: Option<Arc<dyn CheckBackend>>,
    /// How long a claim lasts without a heartbeat.
    pub claim_ttl_seconds: i64,
    /// Author of comments and cards.
    pub author: String,
    /// Who calls the tools, as far as variables tell.
    pub caller: CallerFacts,
    /// Where an agent without a card works on this machine; cards that it creates may be worked on
    /// in there.
    pub directory: Option<PathBuf>,
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

impl BoardAccess {
    /// Resolves variables and settings. `profile` is the one in use.
    pub fn resolve(
        env: &Environment,
        config: &Config,
        location: &Location,
        profile: Option<&str>,
        settings: &KanbanSettings,
        workers: WorkerSetup,
    ) -> Self {
        let servers = ServerSettings::resolve(config, env, location);
        let home = BoardHome::resolve(env, location).on_servers(servers);
        let text = |var: &vars::Var| env.text(var).map(str::to_owned);
        let follower = config
            .flag("kanban.auto_subscribe_on_create")
            .then(|| follower(env, profile))
            .flatten();
        Self {
            options: settings.board_options(env),
            check_timeout: settings.check_timeout,
            check_backend: None,
            claim_ttl_seconds: settings.limits.claim_ttl_seconds,
            author: text(&vars::HERMES_PROFILE)
                .or_else(|| profile.map(str::to_owned))
                .unwrap_or_else(|| "worker".to_owned()),
            caller: CallerFacts::of_tool(env),
            directory: None,
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
        let mut options = self.context.clone();
        if self.worker().is_none_or(|own| own.task != *id) {
            options.workspace = None;
            options.attachments = None;
        }
        options
    }

    /// The card this process works on, if it is a worker.
    pub(super) fn worker(&self) -> Option<&WorkerVariables> {
        self.caller.worker.as_ref()
    }

    /// Who calls a tool, as the board has it on record.
    pub(super) fn caller(&self, store: &StoredBoard) -> hermes_board::Result<Caller> {
        Caller::find(&self.caller, Some(store))
    }
}

/// Whether the profile's own list names the toolset. Lists of platforms do not count: those that
/// `hermes tools` writes name whatever was on before.
fn lists_kanban(config: &Config) -> bool {
    let mut names = config.texts("toolsets").into_iter();
    names.any(|name| name.trim() == "kanban")
}

/// The chat that a process answers, as variables name it: one on a platform, else the terminal.
fn follower(env: &Environment, profile: Option<&str>) -> Option<NewSubscription> {
    let text = |var: &vars::Var| env.text(var).map(str::to_owned);
    let chat = match (
        text(&vars::HERMES_SESSION_PLATFORM),
        text(&vars::HERMES_SESSION_CHAT_ID),
    ) {
        (Some(platform), Some(chat_id)) => ChatAddress {
            platform,
            chat_id,
            thread_id: text(&vars::HERMES_SESSION_THREAD_ID).unwrap_or_default(),
        },
        _ => ChatAddress {
            platform: "tui".to_owned(),
            chat_id: text(&vars::HERMES_SESSION_KEY)?,
            thread_id: String::new(),
        },
    };
    Some(NewSubscription {
        chat,
        user_id: text(&vars::HERMES_SESSION_USER_ID),
        notifier_profile: profile.map(str::to_owned),
    })
}
