//! A conversation with everything it needs: provider, session, tools, and the way it ends.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::{
    Agent, AgentSettings, ChildLimits, Children, Observer, Parts, SideJudge, TurnInput, TurnResult,
};
use hermes_board::model::Task;
use hermes_proc::Wake;
use hermes_providers::{Provider, SideModels, ToolSchema};
use hermes_session::{NewSession, Session, SessionId, SessionStore, SystemClock, latest_todos};
use hermes_tools::{
    CallContext, Conversation as OfTools, GoalClaim, GoalJudge, GoalVerdict, TodoList,
    ToolSelection,
};

use super::asking::AskPerson;
use super::system_prompt;
use super::title::TitleKeeper;
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
    title: TitleKeeper,
    judge: Arc<dyn GoalJudge>,
}

impl Conversation {
    /// Opens what the wishes ask for. Makes no request.
    pub(super) fn open(wishes: &Wishes, context: &Context) -> Result<Self> {
        let wanted = wanted_model(wishes);
        let provider = open_provider(&wanted, context)?;
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
        let toolbox = Toolbox::assemble(&context, place, asking(wishes))?;
        let mut call = toolbox.call_context(id.as_str());
        let settings = AgentSettings {
            directory_hints: !wishes.ignore_rules && toolbox.elsewhere().is_none(),
            ..AgentSettings::resolve(context.config(), wishes.max_turns)
        };
        let side = Arc::new(SideModels::new(context.config(), wanted));
        let children = Children {
            provider: Arc::clone(&provider),
            side: Some(Arc::clone(&side)),
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
        let judge = judge(&side, &id, &context);
        call.conversation = OfTools {
            session_id: Some(id.to_string()),
            todos: match latest_todos(&history) {
                Some(items) => Arc::new(TodoList::restored(&items)),
                None => Arc::clone(&call.conversation.todos),
            },
            answerer: AskPerson::present(wishes, &context, &toolbox),
            children: Some(Arc::new(children)),
            judge: Some(Arc::clone(&judge)),
        };
        drop(history);
        let tools = offered(&mut call, wishes, &context)?;
        let ending = match &worker {
            Some(_) => toolbox.watch_for_end_within(Worker::time_to_end(&context))?,
            None => toolbox.watch_for_end()?,
        };
        toolbox.tidy_up();
        let parts = Parts {
            side: Some(Arc::clone(&side)),
            stop_check: worker.as_ref().map(Worker::stop_check),
            settings,
            tools,
            context: call,
            provider,
            store,
        };
        let notes = worktree.iter().map(Worktree::note).collect();
        let prompt = system_prompt::of(&parts, &id, wishes, &toolbox, notes, &context);
        let agent = match &resumed {
            Some(_) => Agent::resume(parts, &id, &prompt.text)?,
            None => {
                for notice in &prompt.notices {
                    context.printer.warn(notice, None)?;
                }
                let new = new_session(&parts, wishes, &context);
                Agent::begin(parts, id, new, &prompt.text)
            }
        };
        let title = TitleKeeper::of(wishes, side, &context);
        Ok(Self {
            context,
            agent,
            toolbox,
            ending,
            resumed,
            worker,
            worktree,
            title,
            judge,
        })
    }

    /// Runs one turn.
    pub(super) fn turn(&mut self, input: TurnInput, observer: &mut dyn Observer) -> TurnResult {
        let said = self.title.wants(&input, !self.agent.is_stored());
        let result = self.agent.turn(input, observer);
        if let Some(said) = said {
            self.title.after(said, &result);
        }
        result
    }

    pub(super) fn agent(&mut self) -> &mut Agent {
        &mut self.agent
    }

    /// Whether the goal of the worker's card is reached.
    pub(super) fn judge(&self, claim: &GoalClaim<'_>) -> GoalVerdict {
        self.judge.judge(claim, self.toolbox.interrupt())
    }

    /// The card of the worker, as long as it is open and this attempt's.
    pub(super) fn open_card(&self) -> Option<Task> {
        self.worker.as_ref().and_then(Worker::open_card)
    }

    /// Blocks the card of the worker, for a person to look at.
    pub(super) fn block_card(&self, reason: String) {
        if let Some(worker) = &self.worker {
            worker.block(reason);
        }
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
        self.title.close();
        let closed = self.agent.close();
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

fn asking(wishes: &Wishes) -> Asking {
    match wishes.talk {
        Talk::Oneshot(_) => Asking::Nobody,
        Talk::Query(_) | Talk::QuietQuery(_) | Talk::Lines { .. } => Asking::WhoeverIsThere,
    }
}

/// Who judges whether the goal of a card is reached, on the account of this conversation.
fn judge(side: &Arc<SideModels>, session: &SessionId, context: &Context) -> Arc<dyn GoalJudge> {
    Arc::new(SideJudge {
        side: Arc::clone(side),
        account: Some((context.location.home.clone(), session.clone())),
    })
}

fn wanted_model(wishes: &Wishes) -> hermes_providers::Wanted {
    hermes_providers::Wanted {
        provider: wishes.provider.clone(),
        model: wishes.model.clone(),
        ..hermes_providers::Wanted::default()
    }
}

fn open_provider(
    wanted: &hermes_providers::Wanted,
    context: &Context,
) -> Result<Arc<dyn Provider>> {
    hermes_providers::open(context.config(), wanted)
        .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))
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

fn new_session(parts: &Parts, wishes: &Wishes, context: &Context) -> NewSession {
    NewSession {
        source: wishes.source.clone(),
        model: Some(parts.provider.route().model),
        model_config: Some(system_prompt::model_config(parts)),
        cwd: Some(parts.context.session.cwd().display().to_string()),
        profile_name: context.current.as_ref().map(ToString::to_string),
        ..NewSession::default()
    }
}
