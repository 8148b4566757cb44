//! What a conversation is opened with: which model, which session, where it works, which tools it
//! has, and what is recorded of it.

use std::path::Path;
use std::sync::Arc;

use hermes_agent::{Children, SideJudge, StopCheck};
use hermes_providers::{Provider, SideModels, ToolSchema};
use hermes_session::{NewSession, Session, SessionId, SessionStore};
use hermes_tools::{CallContext, GoalJudge, ToolSelection};

use super::claim_watch::ClaimWatch;
use super::repository::Repository;
use super::system_prompt::{self, Subject};
use super::wishes::{Talk, Wanted, Wishes};
use super::worker::Worker;
use super::worktree::Worktree;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::toolbox::{Asking, Toolbox};

/// Keeps the claim of a worker from now on, and gives what keeps the worker from stopping too early.
pub(super) fn keep_claim(
    worker: Option<&Worker>,
    toolbox: &Toolbox,
    context: &Context,
) -> (Option<ClaimWatch>, Option<Box<dyn StopCheck>>) {
    let Some(worker) = worker else {
        return (None, None);
    };
    let check = worker.stop_check();
    let limit = Worker::time_to_end(context);
    match worker.watch(toolbox.interrupt(), limit) {
        Some(claim) => {
            let check = claim.listening(check);
            (Some(claim), Some(check))
        }
        None => (None, Some(check)),
    }
}

/// Who may be asked.
pub(super) fn asking(wishes: &Wishes) -> Asking {
    match wishes.talk {
        Talk::Oneshot(_) => Asking::Nobody,
        Talk::Query(_) | Talk::QuietQuery(_) | Talk::Lines { .. } => Asking::WhoeverIsThere,
    }
}

/// Who judges whether the goal of a card is reached, on the account of this conversation.
pub(super) fn judge(
    side: &Arc<SideModels>,
    session: &SessionId,
    context: &Context,
) -> Arc<dyn GoalJudge> {
    Arc::new(SideJudge {
        side: Arc::clone(side),
        account: Some((context.location.home.clone(), session.clone())),
    })
}

/// The model that flags ask for.
pub(super) fn wanted_model(wishes: &Wishes) -> hermes_providers::Wanted {
    hermes_providers::Wanted {
        provider: wishes.provider.clone(),
        model: wishes.model.clone(),
        ..hermes_providers::Wanted::default()
    }
}

/// Opens the way to a model.
pub(super) fn open_provider(
    wanted: &hermes_providers::Wanted,
    context: &Context,
) -> Result<Arc<dyn Provider>> {
    hermes_providers::open(context.config(), wanted)
        .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))
}

/// The session to go on with; nothing for a new one.
pub(super) fn wanted_session(wishes: &Wishes, store: &SessionStore) -> Result<Option<Session>> {
    let id = match &wishes.session {
        Wanted::New => return Ok(None),
        Wanted::Named(text) => store.resolve(text)?,
        Wanted::Latest => match store.most_recent(&wishes.source)? {
            Some(id) => id,
            None => {
                return Err(CommandError::user(format!(
                    "there is no earlier session of the source '{}'",
                    wishes.source
                ))
                .hint("`hermes sessions list` shows what there is"));
            }
        },
    };
    let session = store.session(&id)?;
    session
        .map(Some)
        .ok_or_else(|| CommandError::user(format!("there is no session '{id}'")))
}

/// The surroundings, in the directory the conversation is about.
pub(super) fn context_in(
    context: &Context,
    wishes: &Wishes,
    resumed: Option<&Session>,
    worktree: Option<&Worktree>,
) -> Context {
    let recorded = resumed
        .filter(|_| wishes.restore_cwd)
        .and_then(|session| session.cwd.as_deref())
        .map(Path::new)
        .filter(|path| path.is_absolute() && path.is_dir());
    match worktree.map(Worktree::path).or(recorded) {
        Some(directory) => context.in_directory(directory),
        None => context.anew(),
    }
}

/// The tools that the model is offered; they are those that may be called.
pub(super) fn offered(
    call: &mut CallContext,
    wishes: &Wishes,
    context: &Context,
) -> Result<Arc<[ToolSchema]>> {
    let flag = wishes.toolsets.as_deref();
    let selection = ToolSelection::resolve(context.config(), &context.env, "cli", flag);
    let offer = call.registry.offer(&selection, call);
    for name in &offer.unknown {
        context
            .printer
            .note(format!("There is no toolset '{name}'; it is left out."))?;
    }
    if flag.is_some() && offer.unknown.len() >= selection.names.len() {
        return Err(CommandError::usage(
            "--toolsets names no toolset that exists",
        ));
    }
    call.enabled_tools = offer.names();
    let tools = offer.tools.into_iter().map(|tool| ToolSchema {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        parameters: tool.schema,
    });
    Ok(tools.collect())
}

/// What is recorded of a new session.
pub(super) fn new_session(
    subject: &Subject<'_>,
    children: &Children,
    wishes: &Wishes,
    toolbox: &Toolbox,
    context: &Context,
) -> NewSession {
    let cwd = subject.call.session.cwd();
    // What a directory in a container is part of cannot be seen from here.
    let repository = match toolbox.elsewhere() {
        None => Repository::around(&cwd),
        Some(_) => None,
    };
    NewSession {
        source: wishes.source.clone(),
        model: Some(subject.provider.route().model),
        model_config: Some(system_prompt::model_config(&children.settings, context)),
        cwd: Some(cwd.display().to_string()),
        git_repo_root: repository
            .as_ref()
            .map(|repository| repository.root.display().to_string()),
        git_branch: repository.and_then(|repository| repository.branch),
        profile_name: context.current.as_ref().map(ToString::to_string),
        ..NewSession::default()
    }
}
