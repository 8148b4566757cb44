//! A conversation with everything it needs: provider, session, tools, and the way it ends.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::prompt::{PromptParts, assemble};
use hermes_agent::{
    Agent, AgentSettings, ChildLimits, Children, Observer, Parts, TurnInput, TurnResult,
};
use hermes_board::model::Task;
use hermes_proc::Wake;
use hermes_providers::SideModels;
use hermes_session::{Session, SessionId, SessionStore, SystemClock};
use hermes_tools::{Conversation as OfTools, GoalClaim, GoalJudge, GoalVerdict};

use super::asking::AskPerson;
use super::claim_watch::ClaimWatch;
use super::opening::{
    asking, context_in, judge, keep_claim, new_session, offered, open_provider, wanted_model,
    wanted_session,
};
use super::pruning;
use super::small_window;
use super::snapshot;
use super::system_prompt::{self, Subject};
use super::title::TitleKeeper;
use super::wishes::{Talk, Wishes};
use super::worker::Worker;
use super::worktree::Worktree;
use crate::backend::{Backend, PlaceRequest};
use crate::context::Context;
use crate::error::Result;
use crate::toolbox::{Ending, Toolbox};

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
        let home = context.location.home.clone();
        toolbox
            .approval_model()
            .serve(Arc::clone(&side), home, id.clone());
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
        let new = new_session(
            &Subject::agent(&self.agent),
            &self.children,
            &self.wishes,
            &self.toolbox,
            &self.context,
        );
        let text = assemble(&self.prompt(&id)).text;
        self.agent.start_over(id.clone(), new, &text)?;
        self.renew_prompt(&id);
        self.resumed = None;
        self.toolbox.forget_approvals();
        self.serve_approvals(&id);
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
        let id = self.agent.session_id().clone();
        self.renew_prompt(&id);
        self.children.provider = opened;
        self.children.side = Some(side);
        self.serve_approvals(&id);
        self.renew_children();
        Ok(())
    }

    /// Flagged commands are assessed by the side models of this conversation, on its account.
    fn serve_approvals(&self, id: &SessionId) {
        if let Some(side) = &self.children.side {
            let home = self.context.location.home.clone();
            let model = self.toolbox.approval_model();
            model.serve(Arc::clone(side), home, id.clone());
        }
    }

    fn prompt(&self, id: &SessionId) -> PromptParts {
        let notes = self.worktree.iter().map(Worktree::note).collect();
        let subject = Subject::agent(&self.agent);
        system_prompt::of(
            subject,
            id,
            &self.wishes,
            &self.toolbox,
            notes,
            &self.context,
        )
    }

    /// What the next summary puts in the place of the prompt.
    fn renew_prompt(&mut self, id: &SessionId) {
        let again = system_prompt::again(self.prompt(id), &self.context);
        self.agent.make_prompt_with(again);
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
