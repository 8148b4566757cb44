//! How scheduled jobs are run, by the settings of their profile: what their processes may know, and
//! how results get onto the board.

use std::sync::Arc;

use hermes_board::model::TaskId;
use hermes_board::store::{BoardStore, Completion, NewTask, StartIn};
use hermes_board::{StoredBoard, WorkerVariables};
use hermes_cron::{BoardPost, CronHome, CronSettings, ModelSnapshot, RunSetup};
use hermes_home::ProfileName;
use hermes_home::profiles::existing;
use hermes_providers::ModelOverrides;
use hermes_secret::Sink;
use hermes_tools::CronAccess;

use crate::board_settings::kanban_settings;
use crate::context::Context;
use crate::skills;

/// What runs of this profile's jobs need. Starts nothing.
pub fn cron_setup(context: &Context) -> RunSetup {
    let policy = context.environment().policy().clone();
    let zone = context.zone().resolve();
    let (boards, settings) = (context.clone(), context.clone());
    let profiles = context.location.clone();
    RunSetup {
        home: CronHome::new(&context.location.home),
        settings: CronSettings::resolve(context.config(), &context.env, zone),
        program: policy.hermes_program.clone(),
        base: context
            .env
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        redactor: Arc::new(context.redactor().for_sink(Sink::Output)),
        policy,
        configured: Arc::new(move || configured_model(&settings)),
        post: Arc::new(move |post| post_on_board(&boards, post).map_err(|error| error.to_string())),
        home_of_profile: Arc::new(move |name| {
            let profile = ProfileName::parse(name).map_err(|error| error.to_string())?;
            existing(&profiles, &profile).map_err(|error| error.to_string())?;
            Ok(profiles.profile_home(&profile))
        }),
    }
}

/// The model that is configured, if it is known without asking a server.
pub fn configured_model(context: &Context) -> ModelSnapshot {
    let (model, _) = context.config().model();
    if model.is_none() {
        return ModelSnapshot::default();
    }
    // Without a key nothing is known of the provider; a run says so.
    let route = hermes_providers::open(context.config(), &ModelOverrides::default());
    route.map_or_else(
        |_| ModelSnapshot::default(),
        |provider| {
            let route = provider.route();
            ModelSnapshot {
                provider: Some(route.provider),
                model: Some(route.model),
            }
        },
    )
}

/// Scheduled jobs as the tools of a conversation use them.
pub(crate) fn cron_access(context: &Context, is_scheduled: bool) -> CronAccess {
    let is_worker = WorkerVariables::read(&context.env).is_some();
    let refusal = if is_scheduled {
        Some("a scheduled job cannot schedule jobs")
    } else if is_worker {
        Some("a worker of the board cannot schedule jobs")
    } else if context.caller().is_agent() {
        Some("an agent's shell cannot schedule jobs")
    } else {
        None
    };
    let context = context.clone();
    CronAccess {
        setup: Arc::new(move || cron_setup(&context)),
        refusal,
    }
}

/// The skills of these names that do not exist.
pub fn missing_skills<'n>(names: &'n [String], context: &Context) -> Vec<&'n str> {
    let names = names.iter().map(String::as_str);
    names
        .filter(|name| !skills::exists(name, context))
        .collect()
}

/// Puts a result on the board: a comment on a card, or a card of its own. That one is finished
/// already; after a failed run it waits for somebody.
fn post_on_board(context: &Context, post: &BoardPost) -> hermes_board::Result<()> {
    let home = crate::board_settings::board_home(context);
    let board = home.select(post.board.as_deref())?;
    let options = kanban_settings(context).board_options(&context.env);
    let mut store = StoredBoard::open(&board, &options)?;
    let author = format!("cron:{}", post.job);
    if let Some(card) = &post.card {
        let card = TaskId::new(card.as_str());
        store.add_comment(&card, &author, &post.text)?;
        return Ok(());
    }
    let card = NewTask {
        title: post.title.clone(),
        body: Some(post.text.clone()),
        created_by: Some(author),
        // Nobody is to work on it.
        start: StartIn::Blocked,
        ..NewTask::default()
    };
    let card = store.create(&card)?.task;
    if !post.failed {
        let completion = Completion {
            result: Some(post.text.clone()),
            ..Completion::default()
        };
        store.complete(&card.id, &completion)?;
    }
    Ok(())
}
