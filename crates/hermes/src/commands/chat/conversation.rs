//! A conversation with everything it needs: provider, session, tools, and the way it ends.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::prompt::assemble;
use hermes_agent::{
    Agent, AgentSettings, ChildLimits, Children, Observer, Parts, SideJudge, StopCheck, TurnInput,
    TurnResult,
};
use hermes_board::model::Task;
use hermes_proc::Wake;
use hermes_providers::{Provider, SideModels, ToolSchema};
use hermes_session::{NewSession, Session, SessionId, SessionStore, SystemClock};
use hermes_tools::{
    CallContext, Conversation as OfTools, GoalClaim, GoalJudge, GoalVerdict, ToolSelection,
};

use super::asking::AskPerson;
use super::claim_watch::ClaimWatch;
use super::pruning;
use super::repository::Repository;
use super::small_window;
use super::snapshot;
use super::system_prompt::{self, Subject};
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
    /// Whether the first Ctrl-C is for the turn and not for the program.
    spares_program: bool,
    /// What sub-agents are made of, for the day something of it changes.
    children: Children,
    wishes: Wishes,
    /// The session it goes on with, if it is not a new one.
    pub(super) resumed: Option<Session>,
    /// The card it works on, if it is a worker's.
    pub(super) worker: Option<Worker>,
    claim: Option<ClaimWatch>,
    worktree: Option<Worktree>,
    title: TitleKeeper,
    judge: Arc<dyn GoalJudge>,
}

impl Conversation {
    /// Opens what the wishes ask for. Makes no request.
    pub(super) fn open(wishes: &Wishes, context: &Context) -> Result<Self> {
        let wanted = wanted_model(wishes);
        let provider = open_provider(&wanted, context)?;
        small_window::check(&provider.route(), context)?;
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
        let judge = judge(&side, &id, &context);
        call.conversation = OfTools {
            session_id: Some(id.to_string()),
            todos: Arc::clone(&call.conversation.todos),
            answerer: AskPerson::present(wishes, &context, &toolbox),
            children: Some(Arc::new(children.clone())),
            judge: Some(Arc::clone(&judge)),
        };
        let tools = offered(&mut call, wishes, &context)?;
        let ending = match &worker {
            Some(_) => toolbox.watch_for_end_within(Worker::time_to_end(&context))?,
            None => toolbox.watch_for_end()?,
        };
        let (claim, stop_check) = keep_claim(worker.as_ref(), &toolbox, &context);
        toolbox.tidy_up();
        let parts = Parts {
            side: Some(Arc::clone(&side)),
            stop_check,
            settings,
            tools,
            context: call,
            provider,
            store,
        };
        let notes = worktree.iter().map(Worktree::note).collect();
        let subject = Subject::parts(&parts);
        let prompt = system_prompt::of(subject, &id, wishes, &toolbox, notes, &context);
        let mut agent = match &resumed {
            Some(_) => Agent::resume(parts, &id, || assemble(&prompt).text)?,
            None => {
                let assembled = assemble(&prompt);
                for notice in &assembled.notices {
                    context.printer.warn(notice, None)?;
                }
                let subject = Subject::parts(&parts);
                let new = new_session(&subject, &children, wishes, &toolbox, &context);
                Agent::begin(parts, id, new, &assembled.text)
            }
        };
        agent.make_prompt_with(system_prompt::again(prompt, &context));
        let title = TitleKeeper::of(wishes, side, &context);
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
            claim,
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
        snapshot::write(&self.agent, &self.context);
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
        let new = new_session(
            &subject,
            &self.children,
            &self.wishes,
            &self.toolbox,
            context,
        );
        let prompt = system_prompt::of(subject, &id, &self.wishes, &self.toolbox, notes, context);
        let text = assemble(&prompt).text;
        let again = system_prompt::again(prompt, context);
        self.agent.start_over(id.clone(), new, &text)?;
        self.agent.make_prompt_with(again);
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
        let side = Arc::new(SideModels::new(self.context.config(), wanted));
        self.agent
            .change_provider(Arc::clone(&opened), Arc::clone(&side))?;
        self.title.change_models(Arc::clone(&side));
        self.children.provider = opened;
        self.children.side = Some(side);
        self.renew_children();
        Ok(())
    }

    fn renew_children(&mut self) {
        let children = Arc::new(self.children.clone());
        self.agent.change_children(Some(children));
    }

    /// Ends the session and what it started. Gives the exit code: that of a signal, if one has come.
    pub(super) fn close(mut self, result: Option<&TurnResult>, code: u8) -> Result<ExitCode> {
        // Each step is taken, whatever became of the one before.
        self.title.close();
        let closed = self.agent.close();
        if !self.ending.has_come() {
            pruning::prune_if_due(self.agent.store(), &self.context);
        }
        let told = self.toolbox.end_conversations(&self.context);
        self.toolbox.leave();
        let left = match self.worktree.take() {
            Some(worktree) => worktree.leave(&self.context),
            None => Ok(()),
        };
        let mut code = self.ending.code(code);
        let warned = match self.claim.take().and_then(ClaimWatch::end) {
            Some(lost) => {
                code = code.max(1);
                self.context.printer.warn(lost, None)
            }
            None => Ok(()),
        };
        if let Some(worker) = &self.worker {
            worker.finish(result, code);
        }
        closed?;
        told?;
        left?;
        warned?;
        Ok(ExitCode::from(code))
    }
}

/// Keeps the claim of a worker from now on, and gives what keeps the worker from stopping too early.
fn keep_claim(
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

fn new_session(
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
