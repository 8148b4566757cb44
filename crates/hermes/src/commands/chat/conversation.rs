//! A conversation with everything it needs: provider, session, tools, and the way it ends.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::prompt::assemble;
use hermes_agent::{
    Agent, AgentSettings, ChildLimits, Children, Observer, Parts, TurnInput, TurnResult,
};
use hermes_proc::Wake;
use hermes_providers::{Provider, ToolSchema};
use hermes_session::{NewSession, Session, SessionId, SessionStore, SystemClock};
use hermes_tools::{CallContext, Conversation as OfTools, ToolSelection};

use super::asking::AskPerson;
use super::repository::Repository;
use super::system_prompt;
use super::wishes::{Talk, Wanted, Wishes};
use super::worker::Worker;
use super::worktree::Worktree;
use crate::backend::{Backend, PlaceRequest};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::toolbox::{Asking, Ending, Toolbox};

/// An open conversation.
pub(super) struct Conversation {
    context: Context,
    agent: Agent,
    toolbox: Toolbox,
    ending: Ending,
    /// The session it goes on with, if it is not a new one.
    pub(super) resumed: Option<Session>,
    /// The card it works on, if it is a worker's.
    pub(super) worker: Option<Worker>,
    worktree: Option<Worktree>,
}

impl Conversation {
    /// Opens what the wishes ask for. Makes no request.
    pub(super) fn open(wishes: &Wishes, context: &Context) -> Result<Self> {
        let provider = open_provider(wishes, context)?;
        context.ensure_home()?;
        let store = SessionStore::open(&context.location.home)?;
        let resumed = wanted_session(wishes, &store)?;
        let worktree = if wishes.worktree {
            Some(Worktree::make(context)?)
        } else {
            None
        };
        let context = context_in(context, wishes, resumed.as_ref(), worktree.as_ref());
        let id = match &resumed {
            Some(session) => session.id.clone(),
            None => SessionId::generate(&SystemClock),
        };
        let worker = Worker::of(&context)?;
        let place = PlaceRequest {
            backend: Backend::chosen(&context, None)?,
            task: None,
            session: id.as_str(),
        };
        let asking = match wishes.talk {
            Talk::Oneshot(_) => Asking::Nobody,
            Talk::Query(_) | Talk::QuietQuery(_) | Talk::Lines { .. } => Asking::WhoeverIsThere,
        };
        let toolbox = Toolbox::assemble(&context, place, asking)?;
        let mut call = toolbox.call_context(id.as_str());
        let settings = AgentSettings {
            directory_hints: !wishes.ignore_rules && toolbox.elsewhere().is_none(),
            ..AgentSettings::resolve(context.config(), wishes.max_turns)
        };
        let children = Children {
            provider: Arc::clone(&provider),
            home: context.location.home.clone(),
            parent: id.clone(),
            source: wishes.source.clone(),
            settings: settings.clone(),
            limits: ChildLimits::resolve(context.config()),
            places: toolbox.child_places(),
        };
        call.conversation = OfTools {
            session_id: Some(id.to_string()),
            todos: Arc::clone(&call.conversation.todos),
            answerer: AskPerson::present(wishes, &context, &toolbox),
            children: Some(Arc::new(children)),
        };
        let tools = offered(&mut call, wishes, &context)?;
        let ending = match &worker {
            Some(_) => toolbox.watch_for_end_within(Worker::time_to_end(&context))?,
            None => toolbox.watch_for_end()?,
        };
        toolbox.tidy_up();
        let parts = Parts {
            summariser: summariser(&context),
            stop_check: worker.as_ref().map(Worker::stop_check),
            settings,
            tools,
            context: call,
            provider,
            store,
        };
        let notes = worktree.iter().map(Worktree::note).collect();
        let prompt = system_prompt::of(&parts, &id, wishes, &toolbox, notes, &context);
        let mut agent = match &resumed {
            Some(_) => Agent::resume(parts, &id, || assemble(&prompt).text)?,
            None => {
                let assembled = assemble(&prompt);
                for notice in &assembled.notices {
                    context.printer.warn(notice, None)?;
                }
                let new = new_session(&parts, wishes, &toolbox, &context);
                Agent::begin(parts, id, new, &assembled.text)
            }
        };
        agent.make_prompt_with(system_prompt::again(prompt, &context));
        Ok(Self {
            context,
            agent,
            toolbox,
            ending,
            resumed,
            worker,
            worktree,
        })
    }

    /// Runs one turn.
    pub(super) fn turn(&mut self, input: TurnInput, observer: &mut dyn Observer) -> TurnResult {
        self.agent.turn(input, observer)
    }

    pub(super) fn agent(&mut self) -> &mut Agent {
        &mut self.agent
    }

    /// Whether the program is to end.
    pub(super) fn is_ending(&self) -> bool {
        self.toolbox.interrupt().is_raised()
    }

    /// The flag that ends the program.
    pub(super) fn interrupt(&self) -> Arc<Wake> {
        Arc::clone(self.toolbox.interrupt())
    }

    /// Ends the session and what it started. Gives the exit code: that of a signal, if one has come.
    pub(super) fn close(mut self, result: Option<&TurnResult>, code: u8) -> Result<ExitCode> {
        // Each step is taken, whatever became of the one before.
        let closed = self.agent.close();
        let told = self.toolbox.end_conversations(&self.context);
        self.toolbox.leave();
        let left = match self.worktree.take() {
            Some(worktree) => worktree.leave(&self.context),
            None => Ok(()),
        };
        let code = self.ending.code(code);
        if let Some(worker) = &self.worker {
            worker.finish(result, code);
        }
        closed?;
        told?;
        left?;
        Ok(ExitCode::from(code))
    }
}

fn open_provider(wishes: &Wishes, context: &Context) -> Result<Arc<dyn Provider>> {
    let wanted = hermes_providers::Wanted {
        provider: wishes.provider.clone(),
        model: wishes.model.clone(),
        ..hermes_providers::Wanted::default()
    };
    hermes_providers::open(context.config(), &wanted)
        .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))
}

/// The model for summaries, where the settings name one of its own.
fn summariser(context: &Context) -> Option<Arc<dyn Provider>> {
    let config = context.config();
    let text = |key: &str| match config.text(key).trim() {
        "" | "auto" => None,
        text => Some(text.to_owned()),
    };
    let wanted = hermes_providers::Wanted {
        provider: text("auxiliary.compression.provider"),
        model: text("auxiliary.compression.model"),
        ..hermes_providers::Wanted::default()
    };
    if wanted.provider.is_none() && wanted.model.is_none() {
        return None;
    }
    match hermes_providers::open(config, &wanted) {
        Ok(provider) => Some(provider),
        Err(error) => {
            tracing::warn!(%error, "the model for summaries cannot be used");
            None
        }
    }
}

fn wanted_session(wishes: &Wishes, store: &SessionStore) -> Result<Option<Session>> {
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
fn context_in(
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

fn offered(
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

fn new_session(parts: &Parts, wishes: &Wishes, toolbox: &Toolbox, context: &Context) -> NewSession {
    let cwd = parts.context.session.cwd();
    // What a directory in a container is part of cannot be seen from here.
    let repository = match toolbox.elsewhere() {
        None => Repository::around(&cwd),
        Some(_) => None,
    };
    NewSession {
        source: wishes.source.clone(),
        model: Some(parts.provider.route().model),
        model_config: Some(system_prompt::model_config(parts, context)),
        cwd: Some(cwd.display().to_string()),
        git_repo_root: repository
            .as_ref()
            .map(|repository| repository.root.display().to_string()),
        git_branch: repository.and_then(|repository| repository.branch),
        profile_name: context.current.as_ref().map(ToString::to_string),
        ..NewSession::default()
    }
}
