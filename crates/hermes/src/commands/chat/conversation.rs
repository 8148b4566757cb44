//! A conversation with everything it needs: provider, session, tools, and the way it ends.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::{
    Agent, AgentSettings, ChildLimits, Children, Observer, Parts, TurnInput, TurnResult,
};
use hermes_proc::Wake;
use hermes_providers::{Provider, ToolSchema};
use hermes_session::{NewSession, Session, SessionId, SessionStore, SystemClock, latest_todos};
use hermes_tools::{CallContext, Conversation as OfTools, TodoList, ToolSelection};

use super::asking::AskPerson;
use super::pruning;
use super::small_window;
use super::snapshot;
use super::system_prompt::{self, Subject};
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
    /// Whether the first Ctrl-C is for the turn and not for the program.
    spares_program: bool,
    /// What sub-agents are made of, for the day something of it changes.
    children: Children,
    wishes: Wishes,
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
        small_window::check(&provider.route(), context)?;
        context.ensure_home()?;
        let mut store = SessionStore::open(&context.location.home)?;
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
        let history = match &resumed {
            Some(session) => {
                store.reopen_session(&session.id)?;
                store.load_history(&session.id)?.messages
            }
            None => Vec::new(),
        };
        call.conversation = OfTools {
            session_id: Some(id.to_string()),
            todos: match latest_todos(&history) {
                Some(items) => Arc::new(TodoList::restored(&items)),
                None => Arc::clone(&call.conversation.todos),
            },
            answerer: AskPerson::present(wishes, &context, &toolbox),
            children: Some(Arc::new(children.clone())),
        };
        drop(history);
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
        let subject = Subject::parts(&parts);
        let prompt = system_prompt::of(subject, &id, wishes, &toolbox, notes, &context);
        let agent = match &resumed {
            Some(_) => Agent::resume(parts, &id, &prompt.text)?,
            None => {
                for notice in &prompt.notices {
                    context.printer.warn(notice, None)?;
                }
                let new = new_session(&Subject::parts(&parts), &children, wishes, &context);
                Agent::begin(parts, id, new, &prompt.text)
            }
        };
        let is_talk = matches!(wishes.talk, Talk::Lines { .. });
        Ok(Self {
            context,
            agent,
            toolbox,
            ending,
            spares_program: is_talk && std::io::stdin().is_terminal(),
            children,
            wishes: wishes.clone(),
            resumed,
            worker,
            worktree,
        })
    }

    /// Runs one turn.
    pub(super) fn turn(&mut self, input: TurnInput, observer: &mut dyn Observer) -> TurnResult {
        let result = self.agent.turn(input, observer);
        snapshot::write(&self.agent, &self.context);
        result
    }

    pub(super) fn agent(&mut self) -> &mut Agent {
        &mut self.agent
    }

    /// The tools of this program, for commands about them.
    pub(super) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// The surroundings it runs in.
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// The flag that ends a turn, and is raised too when the program is to end.
    pub(super) fn interrupt(&self) -> Arc<Wake> {
        Arc::clone(self.toolbox.interrupt())
    }

    /// Somebody who talks with the agent has said something: the next Ctrl-C is for the turn.
    pub(super) fn expect_interruption(&self) {
        if self.spares_program {
            self.ending.spare_program();
        }
    }

    /// Takes the flag down after a turn that was interrupted, or a Ctrl-C between turns. Says whether
    /// the conversation goes on.
    pub(super) fn goes_on(&self) -> bool {
        // In this order: whoever ends the program notes that before the flag goes up.
        self.toolbox.interrupt().clear();
        !self.ending.has_come()
    }

    /// Ends the session and begins an empty one.
    pub(super) fn start_over(&mut self) -> Result<SessionId> {
        let id = SessionId::generate(&SystemClock);
        let context = &self.context;
        let notes = self.worktree.iter().map(Worktree::note).collect();
        let subject = Subject::agent(&self.agent);
        let new = new_session(&subject, &self.children, &self.wishes, context);
        let prompt = system_prompt::of(subject, &id, &self.wishes, &self.toolbox, notes, context);
        self.agent.start_over(id.clone(), new, &prompt.text)?;
        self.resumed = None;
        self.children.parent = id.clone();
        self.renew_children();
        Ok(id)
    }

    /// Lets another model answer from now on. What cannot be opened changes nothing.
    pub(super) fn change_model(&mut self, model: &str, provider: Option<&str>) -> Result<()> {
        let wanted = hermes_providers::Wanted {
            provider: provider.map(str::to_owned),
            model: Some(model.to_owned()),
            ..hermes_providers::Wanted::default()
        };
        let opened = hermes_providers::open(self.context.config(), &wanted)?;
        small_window::check(&opened.route(), &self.context)?;
        self.agent.change_provider(Arc::clone(&opened))?;
        self.children.provider = opened;
        self.renew_children();
        Ok(())
    }

    fn renew_children(&mut self) {
        let children = Arc::new(self.children.clone());
        self.agent.change_children(Some(children));
    }

    /// Ends the session and what it started. Gives the exit code: that of a signal, if one has come.
    pub(super) fn close(mut self, result: Option<&TurnResult>, code: u8) -> Result<ExitCode> {
        let closed = self.agent.close();
        if !self.ending.has_come() {
            pruning::prune_if_due(self.agent.store(), &self.context);
        }
        self.toolbox.end_conversations(&self.context)?;
        self.toolbox.leave();
        if let Some(worktree) = self.worktree.take() {
            worktree.leave(&self.context)?;
        }
        let code = self.ending.code(code);
        if let Some(worker) = &self.worker {
            worker.finish(result, code);
        }
        closed?;
        Ok(ExitCode::from(code))
    }
}

fn open_provider(wishes: &Wishes, context: &Context) -> Result<Arc<dyn Provider>> {
    let wanted = hermes_providers::Wanted {
        provider: wishes.provider.clone(),
        model: wishes.model.clone(),
        ..hermes_providers::Wanted::default()
    };
    Ok(hermes_providers::open(context.config(), &wanted)?)
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

fn new_session(
    subject: &Subject<'_>,
    children: &Children,
    wishes: &Wishes,
    context: &Context,
) -> NewSession {
    NewSession {
        source: wishes.source.clone(),
        model: Some(subject.provider.route().model),
        model_config: Some(system_prompt::model_config(&children.settings)),
        cwd: Some(subject.call.session.cwd().display().to_string()),
        profile_name: context.current.as_ref().map(ToString::to_string),
        ..NewSession::default()
    }
}
