//! An open conversation: turns, changes between turns, and its end.

mod goal;
mod mcp;
mod standing_goal;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_agent::prompt::{PromptParts, assemble};
use hermes_agent::{Agent, ImageMode, SubAgentRunner, TurnInput, TurnObserver, TurnResult};
use hermes_board::completion::GoalJudge;
use hermes_checkpoints::Checkpoints;
use hermes_providers::{AuxiliaryModels, Effort, Image};
use hermes_session::{Session, SessionId};
use hermes_tools::carry_credentials;

use crate::active_sessions::SessionSlot;
use crate::checkpoints::Upkeep;
use crate::context::Context;
use crate::context_window;
use crate::error::Result;
use crate::essentials::model_choice;
use crate::image_input;
use crate::images;
use crate::memory_service;
use crate::opening::new_session;
use crate::person::Person;
use crate::personality;
use crate::pruning;
use crate::references::{self, Source, typed_part};
use crate::request::ConversationRequest;
use crate::review::ReviewKeeper;
use crate::skills;
use crate::snapshot;
use crate::system_prompt::{self, Subject};
use crate::title::TitleKeeper;
use crate::tool_set::ToolSet;
use crate::worker::{ClaimWatch, Worker};
use crate::worktree::Worktree;

pub use standing_goal::GoalNews;

/// An open conversation.
pub struct Conversation {
    pub(crate) context: Context,
    pub(crate) agent: Agent,
    pub(crate) tools: ToolSet,
    /// What sub-agents are made of, kept for changes between turns.
    pub(crate) children: SubAgentRunner,
    pub(crate) request: ConversationRequest,
    pub(crate) resumed: Option<Session>,
    pub(crate) worker: Option<Worker>,
    pub(crate) claim: Option<ClaimWatch>,
    pub(crate) worktree: Option<Worktree>,
    pub(crate) title: TitleKeeper,
    pub(crate) review: ReviewKeeper,
    /// The place among the open conversations, as long as this one is.
    pub(crate) _slot: Option<SessionSlot>,
    pub(crate) judge: Arc<dyn GoalJudge>,
    /// Images that go with the next message.
    pub(crate) attached: Vec<Image>,
    pub(crate) upkeep: Upkeep,
    pub(crate) person: Arc<dyn Person>,
}

impl Conversation {
    /// The snapshots of files that this conversation takes, if any.
    pub fn checkpoints(&self) -> Option<Arc<Checkpoints>> {
        self.agent.context().conversation.checkpoints.clone()
    }

    /// The directory that commands and relative paths start at.
    pub fn directory(&self) -> PathBuf {
        self.agent.context().session.cwd()
    }

    /// Runs one turn.
    pub fn turn(&mut self, input: TurnInput, observer: &mut dyn TurnObserver) -> TurnResult {
        self.follow_mcp_servers();
        let message = self.title.before_turn(&input, !self.agent.is_stored());
        let mut input = input;
        input.images.append(&mut self.attached);
        let input = self.with_visible_images(input);
        let result = self.agent.turn(input, observer);
        if let Some(message) = message {
            self.title.after_turn(message, &result);
        }
        snapshot::write(&self.agent, &self.context);
        self.review_if_due(&result);
        result
    }

    fn review_if_due(&mut self, result: &TurnResult) {
        let key = self.agent.session_id().as_str();
        let tools = || {
            let platform = &self.request.platform;
            let mut own = self.tools.review_context(key, platform, &self.context);
            own.conversation.session_id = Some(key.to_owned());
            let hooks = &self.agent.context().conversation.hooks;
            own.conversation.hooks.clone_from(hooks);
            own
        };
        let models = self.children.auxiliary.as_deref();
        self.review
            .after_turn(result, &self.agent, models, tools, &self.context);
    }

    /// The input as the model can see it.
    fn with_visible_images(&self, input: TurnInput) -> TurnInput {
        let model = self.agent.provider().route().model;
        let Some(models) = &self.children.auxiliary else {
            return input;
        };
        let mode = ImageMode::resolve(self.context.config());
        if input.images.is_empty() || !mode.wants_text(&model) {
            return input;
        }
        image_input::described(
            input,
            models,
            self.tools.interrupt(),
            self.agent.session_id(),
            &self.context,
            &*self.person,
        )
    }

    /// Takes more turns after the first one while the goal of the worker's card is not reached. Gives
    /// the result of the last turn; without a goal that is the first one.
    pub fn pursue_goal(
        &mut self,
        first: TurnResult,
        observer: &mut dyn TurnObserver,
    ) -> TurnResult {
        goal::pursue(self, first, observer)
    }

    /// The message with the files, changes and pages that it refers to with an `@`.
    pub fn expand_references(&self, text: &str) -> String {
        let source = Source {
            root: self.agent.context().session.cwd(),
            is_remote: self.tools.remote().is_some(),
            private_homes: self.tools.private_homes.clone(),
            context: &self.context,
        };
        let window = self.agent.provider().route().context_length;
        references::expand(text, &source, window, &*self.person)
    }

    /// Images that the text of the worker's card refers to.
    pub fn card_images(&self) -> Vec<Image> {
        let Some(worker) = &self.worker else {
            return Vec::new();
        };
        images::load_references(&worker.images(&self.context.location.user_home))
    }

    /// The agent, for everything about messages, model and session.
    pub fn agent(&mut self) -> &mut Agent {
        &mut self.agent
    }

    /// The tools of the conversation.
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// The context the conversation runs in.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The session that was continued; `None` in a new one.
    pub fn resumed(&self) -> Option<&Session> {
        self.resumed.as_ref()
    }

    /// Whether the conversation works on a card of the board.
    pub fn is_worker(&self) -> bool {
        self.worker.is_some()
    }

    /// How long a worker that is asked to end may take; `None` for other conversations.
    pub fn end_limit(&self) -> Option<Duration> {
        let worker = self.worker.as_ref();
        worker.map(|_| Worker::end_limit(&self.context))
    }

    /// Ends the session and begins an empty one.
    pub fn start_over(&mut self) -> Result<SessionId> {
        let id = SessionId::generate();
        let new = new_session(
            &Subject::agent(&self.agent),
            &self.children,
            &self.request,
            &self.tools,
            &self.context,
        );
        let text = assemble(&self.prompt(&id)).text;
        self.tools
            .revoke_grants(self.agent.context().session_key.as_str());
        self.agent.start_over(id.clone(), new, &text)?;
        self.renew_prompt(&id);
        self.resumed = None;
        self.tools.forget_approvals();
        self.serve_approvals(&id);
        self.children.parent = id.clone();
        self.renew_children();
        Ok(id)
    }

    /// Goes on in a copy of the session, under a title of its own. Gives the id of the copy.
    pub fn branch(&mut self, title: Option<&str>) -> Result<SessionId> {
        let (all, _) = self.agent.message_counts();
        let id = self.branch_of(all)?;
        if let Some(title) = title {
            self.agent.set_title(title)?;
        }
        Ok(id)
    }

    /// The user's messages as they were typed, oldest first.
    pub fn typed_messages(&self) -> Vec<String> {
        let messages = self.agent.user_messages();
        messages
            .map(|(_, message)| typed_part(&message.text()).to_owned())
            .collect()
    }

    /// Goes on in a copy of what was said before a message of the user, the `index`-th, so that
    /// another can take its place. Gives the id of the copy and the message as it was typed; `None`
    /// if there is no such message.
    pub fn fork_before(&mut self, index: usize) -> Result<Option<(SessionId, String)>> {
        let found = self.agent.user_messages().nth(index);
        let Some((keep, message)) = found else {
            return Ok(None);
        };
        let text = message.text();
        let id = self.branch_of(keep)?;
        Ok(Some((id, typed_part(&text).to_owned())))
    }

    fn branch_of(&mut self, keep: usize) -> Result<SessionId> {
        let id = SessionId::generate();
        let new = new_session(
            &Subject::agent(&self.agent),
            &self.children,
            &self.request,
            &self.tools,
            &self.context,
        );
        self.agent.branch(id.clone(), new, keep)?;
        self.renew_prompt(&id);
        self.resumed = None;
        self.serve_approvals(&id);
        self.children.parent = id.clone();
        self.renew_children();
        Ok(id)
    }

    /// Sends an image with the next message.
    pub fn attach(&mut self, image: Image) {
        self.attached.push(image);
    }

    /// Reads the settings anew and opens the model again with them.
    pub fn reload_settings(&mut self) -> Result<()> {
        self.context = self.context.with_env(self.context.env.clone());
        let route = self.agent.provider().route();
        let provider = Some(route.provider.as_str());
        // An address of one's own has no name that could be chosen.
        let provider = provider.filter(|name| *name != "custom" && *name != "replay");
        self.change_model(&route.model, provider)
    }

    /// What a skill says, as a message with the person's own words behind it; `None` if there is no
    /// skill of this name.
    pub fn skill_message(&self, name: &str, words: &str) -> Result<Option<String>> {
        if !skills::exists(name, &self.context) {
            return Ok(None);
        }
        let found = skills::load(&[name.to_owned()], &self.context)?;
        let id = self.agent.session_id();
        self.tools.skills.ask_for_missing(&found, id.as_str());
        for skill in &found {
            let call = self.agent.context();
            for problem in carry_credentials(skill, &*self.tools.skills, call) {
                self.person.warn(&problem, None);
            }
        }
        let told = self
            .tools
            .skills
            .told(&found, id.as_str(), self.tools.interrupt());
        let text = told.unwrap_or_default();
        Ok(Some(format!("{text}\n\n{words}").trim_end().to_owned()))
    }

    /// Names and texts of the personalities of the settings.
    pub fn personalities(&self) -> Vec<(String, String)> {
        personality::all(&self.context)
    }

    /// How much the model thinks from now on, in this session and its sub-agents.
    pub fn set_effort(&mut self, effort: Option<Effort>) {
        self.agent.set_effort(effort);
        self.children.settings.effort = effort;
        self.renew_children();
    }

    /// Names of the skills that can be loaded.
    pub fn skill_names(&self) -> Vec<String> {
        skills::names(&self.context)
    }

    /// Lets another model answer from now on. A model that cannot be opened changes nothing.
    pub fn change_model(&mut self, model: &str, provider: Option<&str>) -> Result<()> {
        let choice = model_choice(Some(model), provider);
        let opened = hermes_providers::open(self.context.config(), &choice)?;
        context_window::check(&opened.route(), &self.context, &*self.person)?;
        let side = Arc::new(AuxiliaryModels::new(self.context.config(), choice));
        self.agent
            .change_provider(Arc::clone(&opened), Arc::clone(&side))?;
        self.title.change_models(Arc::clone(&side));
        let id = self.agent.session_id().clone();
        self.renew_prompt(&id);
        self.children.provider = opened;
        self.children.auxiliary = Some(side);
        self.serve_approvals(&id);
        self.renew_children();
        Ok(())
    }

    /// Ends the session and everything it started. `exit_code` is asked at the very end, so that it
    /// knows of a signal that has come meanwhile; the answer is recorded for a worker. Gives that
    /// code, or a failure code for a worker that has lost its card.
    pub fn close(
        mut self,
        result: Option<&TurnResult>,
        exit_code: impl FnOnce() -> u8,
    ) -> Result<u8> {
        // Each step is taken, whatever became of the one before.
        self.title.close();
        self.review.close();
        let closed = self.agent.close();
        if let Some(memory) = &self.agent.context().conversation.memory {
            memory.close(self.tools.interrupt());
        }
        if !self.tools.interrupt().is_raised() {
            pruning::prune_if_due(self.agent.store(), &self.context);
        }
        self.tools.stop_background(&self.context, &*self.person);
        self.tools.release();
        self.upkeep.finish();
        if let Some(worktree) = self.worktree.take() {
            worktree.finish(&*self.person);
        }
        let mut code = exit_code();
        if let Some(lost) = self.claim.take().and_then(ClaimWatch::end) {
            code = code.max(1);
            self.person.warn(&lost, None);
        }
        if let Some(worker) = &self.worker {
            worker.finish(result, code);
        }
        closed?;
        Ok(code)
    }

    /// Lets the side models of this conversation assess flagged commands, on its account.
    fn serve_approvals(&self, id: &SessionId) {
        if let Some(side) = &self.children.auxiliary {
            let home = self.context.location.home.clone();
            let model = &self.tools.approval_model;
            model.serve(Arc::clone(side), home, id.clone());
        }
    }

    fn prompt(&self, id: &SessionId) -> PromptParts {
        let memory = self.agent.context().conversation.memory.as_deref();
        let notes = self.worktree.iter().map(Worktree::note);
        let notes = notes.chain(memory.map(memory_service::note)).collect();
        let subject = Subject::agent(&self.agent);
        system_prompt::parts(
            subject,
            id,
            &self.request,
            &self.tools,
            notes,
            &self.context,
        )
    }

    /// Replaces the prompt that the next summary is followed by.
    fn renew_prompt(&mut self, id: &SessionId) {
        let prompt = system_prompt::reassembled(self.prompt(id), &self.context);
        self.agent.set_prompt_source(prompt);
    }

    fn renew_children(&mut self) {
        let children = Arc::new(self.children.clone());
        self.agent.change_children(Some(children));
    }
}
