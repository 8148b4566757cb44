//! The parts a conversation is opened with: session, directory, tools, and what is recorded of a new
//! session.

use std::path::Path;
use std::sync::Arc;

use hermes_agent::{SubAgentRunner, tool_schemas};
use hermes_providers::ToolSchema;
use hermes_session::{NewSession, Session, SessionStore};
use hermes_tools::{CallContext, ToolSelection};

use crate::coding_context::CodingContext;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::person::Person;
use crate::repository::Repository;
use crate::request::{ConversationRequest, SessionChoice};
use crate::system_prompt::{self, Subject};
use crate::tool_set::ToolSet;
use crate::worktree::Worktree;

/// Toolsets that a scheduled job never has: nobody answers, its result is delivered for it, and jobs
/// that make jobs never end.
const NOT_SCHEDULED: [&str; 3] = ["clarify", "cronjob", "messaging"];

/// The session to continue; `None` for a new one.
pub(crate) fn chosen_session(
    request: &ConversationRequest,
    store: &SessionStore,
) -> Result<Option<Session>> {
    let id = match &request.session {
        SessionChoice::New => return Ok(None),
        SessionChoice::Named(text) => store.resolve(text)?,
        SessionChoice::Latest => store.most_recent(&request.source)?.ok_or_else(|| {
            let source = &request.source;
            let message = format!("no earlier session with source '{source}'");
            Error::user(
                message,
                Some("list the sessions with `hermes sessions list`"),
            )
        })?,
    };
    let session = store.session(&id)?;
    session
        .map(Some)
        .ok_or_else(|| Error::user(format!("no such session: '{id}'"), None))
}

/// The context in the directory that the conversation works in.
pub(crate) fn context_in_directory(
    context: &Context,
    request: &ConversationRequest,
    resumed: Option<&Session>,
    worktree: Option<&Worktree>,
) -> Context {
    let recorded = resumed
        .filter(|_| request.restore_directory)
        .and_then(|session| session.cwd.as_deref())
        .map(Path::new)
        .filter(|path| path.is_absolute() && path.is_dir());
    match worktree.map(Worktree::path).or(recorded) {
        Some(directory) => context.in_directory(directory),
        None => context.clone(),
    }
}

/// The tools that the model is offered; no others can be called. `window` is the model's context window.
pub(crate) fn offered_tools(
    call: &mut CallContext,
    request: &ConversationRequest,
    tools: &ToolSet,
    window: u64,
    context: &Context,
    person: &dyn Person,
) -> Result<Arc<[ToolSchema]>> {
    let cwd = call.session.cwd();
    let coding = CodingContext::detect(request, &cwd, tools.remote().is_some(), context);
    let focused = coding.filter(|coding| coding.is_focused && request.toolsets.is_none());
    let focused = focused.map(|_| coding_toolsets(call));
    let named = request.toolsets.as_deref().or(focused.as_deref());
    let selection =
        ToolSelection::resolve(context.config(), &context.env, &request.platform, named);
    let registry = Arc::clone(&call.registry);
    let mut offer = registry.offer(&selection, call);
    if request.is_scheduled {
        offer
            .tools
            .retain(|tool| !NOT_SCHEDULED.contains(&tool.toolset));
    }
    for name in &offer.unknown {
        person.notify(&format!("No such toolset: '{name}'; ignoring it."));
    }
    if named.is_some() && offer.unknown.len() >= selection.names.len() {
        return Err(Error::NoToolset);
    }
    offer.defer(&call.conversation.tool_search, window);
    call.enabled_tools = offer.names();
    Ok(tool_schemas(offer.tools))
}

/// The toolset for programming, and those of MCP servers and plugins, which the user has set up for the
/// work.
fn coding_toolsets(call: &CallContext) -> String {
    let others = call.registry.foreign_toolsets();
    let names: Vec<&str> = std::iter::once("coding").chain(others).collect();
    names.join(",")
}

/// The record of a new session.
pub(crate) fn new_session(
    subject: &Subject<'_>,
    children: &SubAgentRunner,
    request: &ConversationRequest,
    tools: &ToolSet,
    context: &Context,
) -> NewSession {
    let cwd = subject.call.session.cwd();
    // The repository around a directory of a remote backend cannot be read from here.
    let repository = match tools.remote() {
        None => Repository::around(&cwd),
        Some(_) => None,
    };
    NewSession {
        source: request.source.clone(),
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
