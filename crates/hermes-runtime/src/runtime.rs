//! The one way to open a conversation.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_agent::prompt::{PromptParts, assemble};
use hermes_agent::{
    Agent, AgentSettings, AuxiliaryGoalJudge, ChildLimits, Parts, StopCheck, SubAgentRunner,
};
use hermes_board::completion::GoalJudge;
use hermes_config::vars;
use hermes_memory::MemoryService;
use hermes_providers::AuxiliaryModels;
use hermes_session::{Session, SessionId, SessionStore};
use hermes_skills::Skill;
use hermes_tools::{ToolConversation, ToolSearchSettings};

use crate::active_sessions::SessionSlot;
use crate::backend::{BackendKind, BackendRequest};
use crate::checkpoints::{Upkeep, conversation_checkpoints};
use crate::compaction_notice;
use crate::context::Context;
use crate::conversation::Conversation;
use crate::error::Result;
use crate::essentials::Essentials;
use crate::hooks::conversation_hooks;
use crate::memory_service::{self, conversation_memory};
use crate::opening::{chosen_session, context_in_directory, new_session, offered_tools};
use crate::person::{Clarifier, Person};
use crate::personality;
use crate::prefill;
use crate::request::ConversationRequest;
use crate::review::ReviewKeeper;
use crate::system_prompt::{self, Subject};
use crate::title::TitleKeeper;
use crate::tool_set::{Approval, ToolSet, ToolSetRequest};
use crate::worker::{ClaimWatch, Worker};
use crate::worktree::Worktree;

/// Seconds a question of the agent stays open unless configured.
const CLARIFY_SECONDS: u64 = 3_600;

/// Opens conversations of one profile.
#[derive(Debug, Clone)]
pub struct Runtime {
    context: Context,
}

impl Runtime {
    /// A runtime for the profile of this context.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Opens a conversation. Makes no request to a model, and starts no command but those in skills
    /// that `skills.inline_shell` allows.
    pub fn open_conversation(
        &self,
        request: &ConversationRequest,
        person: Arc<dyn Person>,
    ) -> Result<Conversation> {
        let told = Arc::clone(&person);
        self.open_with(request, person, move |context| {
            context.ensure_home()?;
            sync_skills(&context.location.home, &*told);
            Ok(SessionStore::open(&context.location.home)?)
        })
    }

    /// The same for a process of many conversations, which share a connection to the sessions.
    pub fn open_conversation_in(
        &self,
        store: SessionStore,
        request: &ConversationRequest,
        person: Arc<dyn Person>,
    ) -> Result<Conversation> {
        self.open_with(request, person, |_| Ok(store))
    }

    fn open_with(
        &self,
        request: &ConversationRequest,
        person: Arc<dyn Person>,
        open_store: impl FnOnce(&Context) -> Result<SessionStore>,
    ) -> Result<Conversation> {
        let context = &self.requested_context(request);
        let Essentials {
            choice,
            provider,
            skills,
            backend,
        } = Essentials::open(&request.into(), context, &*person)?;
        let store = open_store(context)?;
        let resumed = chosen_session(request, &store)?;
        let worktree = asked_worktree(request, context)?;
        let context = context_in_directory(context, request, resumed.as_ref(), worktree.as_ref());
        let id = session_id(request, resumed.as_ref())?;
        let worker = Worker::from_context(&context)?;
        let slot = take_slot(worker.as_ref(), &context, &id)?;
        let mut tools = assemble_tools(&context, request, (backend, &skills), &id, &person)?;
        let memory = add_memory(&mut tools, &context, request, &person);
        let mut call = tools.call_context(id.as_str());
        let settings = agent_settings(&context, request, &tools, &*person);
        let side = Arc::new(AuxiliaryModels::new(context.config(), choice));
        let children = SubAgentRunner {
            provider: Arc::clone(&provider),
            auxiliary: Some(Arc::clone(&side)),
            home: context.location.home.clone(),
            parent: id.clone(),
            source: request.source.clone(),
            settings: settings.clone(),
            limits: ChildLimits::resolve(context.config()),
            child_context: tools.child_contexts(),
        };
        let home = context.location.home.clone();
        let judge = goal_judge(&side, &home, &id);
        tools
            .approval_model
            .serve(Arc::clone(&side), home, id.clone());
        call.conversation = ToolConversation {
            session_id: Some(id.to_string()),
            todos: Arc::clone(&call.conversation.todos),
            answerer: clarifier(&person, &context),
            children: Some(Arc::new(children.clone())),
            judge: Some(Arc::clone(&judge)),
            tool_search: ToolSearchSettings::resolve(context.config()),
            hooks: conversation_hooks(&context, request, &tools, &*person),
            checkpoints: conversation_checkpoints(&context, request.checkpoints, &tools, &person),
            memory: memory.clone(),
        };
        let window = provider.route().context_length;
        let offered = offered_tools(&mut call, request, &tools, window, &context, &*person)?;
        let (claim, stop_check) = watch_claim(worker.as_ref(), request, &context);
        tools.recover();
        let skills = tools.skills.told(&skills, id.as_str(), &request.interrupt);
        let parts = Parts {
            auxiliary: Some(Arc::clone(&side)),
            stop_check,
            settings: settings
                .with_prompt(request.more_prompt.clone())
                .with_prompt(skills),
            tools: offered,
            context: call,
            provider,
            store,
        };
        compaction_notice::tell(&parts, &context, &*person);
        tools.mcp.tell(&*person);
        tools.plugins.tell(&*person);
        let notes = prompt_notes(worktree.as_ref(), &tools, memory.as_deref());
        let subject = Subject::parts(&parts);
        let prompt = system_prompt::parts(subject, &id, request, &tools, notes, &context);
        let mut agent = match &resumed {
            Some(_) => Agent::resume(parts, &id, || assemble(&prompt).text)?,
            None => {
                let text = first_prompt(&prompt, &*person);
                let subject = Subject::parts(&parts);
                let new = new_session(&subject, &children, request, &tools, &context);
                Agent::begin(parts, id, new, &text)
            }
        };
        agent.set_prompt_source(system_prompt::reassembled(prompt, &context));
        let is_worker = worker.is_some();
        let has_title = request.generate_title && !is_worker;
        let title = TitleKeeper::new(has_title, side, Arc::clone(&person), &context);
        let review = review_keeper(request, is_worker, &agent, &person, &context);
        Ok(Conversation {
            review,
            agent,
            tools,
            children,
            request: request.clone(),
            resumed,
            worker,
            claim,
            worktree,
            title,
            _slot: slot,
            judge,
            attached: Vec::new(),
            upkeep: Upkeep::begin(&context),
            person,
            context,
        })
    }

    /// Records that a worker ended with this exit code without a conversation. Does nothing outside
    /// of workers.
    pub fn record_failed_worker(&self, exit_code: u8) {
        // What keeps a worker from knowing its card has been reported as the error.
        if let Ok(Some(worker)) = Worker::from_context(&self.context) {
            worker.finish(None, exit_code);
        }
    }

    fn requested_context(&self, request: &ConversationRequest) -> Context {
        let mut env = self.context.env.clone();
        if request.yolo {
            env = env.with(&vars::HERMES_YOLO_MODE, "1");
        }
        if request.safe_mode {
            env = env.with(&vars::HERMES_SAFE_MODE, "1");
        }
        if request.ignore_user_config {
            env = env.with(&vars::HERMES_IGNORE_USER_CONFIG, "1");
        }
        let context = if request.yolo || request.ignore_user_config || request.safe_mode {
            self.context.with_env(env)
        } else {
            self.context.clone()
        };
        match &request.directory {
            Some(directory) => context.in_directory(directory),
            None => context,
        }
    }
}

fn assemble_tools(
    context: &Context,
    request: &ConversationRequest,
    (kind, skills): (BackendKind, &[Skill]),
    id: &SessionId,
    person: &Arc<dyn Person>,
) -> Result<ToolSet> {
    let files = skills.iter().map(|skill| skill.head.credential_files());
    let credential_files: Vec<String> = files.flatten().collect();
    let backend = BackendRequest {
        kind,
        task: None,
        session: id.as_str(),
        credential_files: &credential_files,
    };
    let request = ToolSetRequest {
        sandbox: None,
        backend,
        approval: Approval::Needed,
        person: Arc::clone(person),
        interrupt: Arc::clone(&request.interrupt),
        has_conversation: true,
        is_scheduled: request.is_scheduled,
        is_served: request.is_served,
        platform: &request.platform,
    };
    ToolSet::assemble(context, request)
}

/// The worktree that the person asked for.
fn asked_worktree(request: &ConversationRequest, context: &Context) -> Result<Option<Worktree>> {
    let asked = request.worktree.then(|| Worktree::create(context));
    asked.transpose()
}

/// The memory service of a conversation, whose tools are offered then.
fn add_memory(
    tools: &mut ToolSet,
    context: &Context,
    request: &ConversationRequest,
    person: &Arc<dyn Person>,
) -> Option<Arc<MemoryService>> {
    let redactor = Arc::clone(tools.redactor());
    let service = conversation_memory(context, request, &redactor, person)?;
    tools.add_memory_service(&service);
    Some(service)
}

/// What the model has to know of where it works and what it works with.
fn prompt_notes(
    worktree: Option<&Worktree>,
    tools: &ToolSet,
    memory: Option<&MemoryService>,
) -> Vec<String> {
    let notes = worktree.map(Worktree::note).into_iter();
    let notes = notes.chain(tools.mcp.note());
    notes.chain(memory.map(memory_service::note)).collect()
}

/// Copies the skills of the program into the home, once for each version.
fn sync_skills(home: &Path, person: &dyn Person) {
    if let Err(error) = hermes_skills::bundled::sync_if_needed(home) {
        person.warn(
            &format!("the bundled skills were not copied: {error}"),
            None,
        );
    }
}

/// The settings of turns.
fn agent_settings(
    context: &Context,
    request: &ConversationRequest,
    tools: &ToolSet,
    person: &dyn Person,
) -> AgentSettings {
    AgentSettings {
        directory_hints: !request.ignore_rules
            && tools.remote().is_none()
            && system_prompt::has_project(request),
        file_rules: tools.context_file_rules(),
        personality: personality::configured(context, person),
        prefill: prefill::load(context, person),
        ..AgentSettings::resolve(context.config(), request.max_turns)
    }
}

/// Judges goals with the side models of a conversation, on its account.
fn goal_judge(side: &Arc<AuxiliaryModels>, home: &Path, id: &SessionId) -> Arc<dyn GoalJudge> {
    Arc::new(AuxiliaryGoalJudge {
        auxiliary: Arc::clone(side),
        account: Some((home.to_owned(), id.clone())),
    })
}

/// Counts towards reviews of a conversation, which workers do not have.
fn review_keeper(
    request: &ConversationRequest,
    is_worker: bool,
    agent: &Agent,
    person: &Arc<dyn Person>,
    context: &Context,
) -> ReviewKeeper {
    let earlier = agent.message_counts().1;
    let is_wanted = request.reviews && !is_worker;
    ReviewKeeper::new(is_wanted, earlier, Arc::clone(person), context)
}

/// The prompt of a new session; the person is told what was left out of it.
fn first_prompt(prompt: &PromptParts, person: &dyn Person) -> String {
    let assembled = assemble(prompt);
    for notice in &assembled.notices {
        person.warn(notice, None);
    }
    assembled.text
}

fn clarifier(
    person: &Arc<dyn Person>,
    context: &Context,
) -> Option<Arc<dyn hermes_tools::Answerer>> {
    if !person.answers_questions() {
        return None;
    }
    let seconds = context.config().int("agent.clarify_timeout");
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Some(Arc::new(Clarifier {
        person: Arc::clone(person),
        timeout: Duration::from_secs(seconds.unwrap_or(CLARIFY_SECONDS)),
    }))
}

/// Renews the claim of a worker from now on, and reminds the worker before it stops too early.
fn watch_claim(
    worker: Option<&Worker>,
    request: &ConversationRequest,
    context: &Context,
) -> (Option<ClaimWatch>, Option<Box<dyn StopCheck>>) {
    let Some(worker) = worker else {
        return (None, None);
    };
    let check = worker.stop_check();
    let limit = Worker::end_limit(context);
    match worker.watch_claim(&request.interrupt, limit, request.when_stuck) {
        Some(claim) => {
            let check = claim.listening(check);
            (Some(claim), Some(check))
        }
        None => (None, Some(check)),
    }
}

/// The id of the session: that of the one to continue, the requested one, or a new one.
fn session_id(request: &ConversationRequest, resumed: Option<&Session>) -> Result<SessionId> {
    Ok(match (resumed, &request.session_id) {
        (Some(session), _) => session.id.clone(),
        (None, Some(id)) => SessionId::parse(id)?,
        (None, None) => SessionId::generate(),
    })
}

/// The place of a conversation among the open ones. Workers are limited by the board.
fn take_slot(
    worker: Option<&Worker>,
    context: &Context,
    id: &SessionId,
) -> Result<Option<SessionSlot>> {
    match worker {
        Some(_) => Ok(None),
        None => SessionSlot::take(context, id),
    }
}
