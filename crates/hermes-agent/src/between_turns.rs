//! Operations between turns: compacting, starting over, changing the model.
//!
//! Each leaves either the old or the new state, in memory as in the store.

use std::sync::Arc;

use hermes_providers::{AuxiliaryModels, Effort, Message, ModelRequest, Provider, ToolSchema};
use hermes_session::{NewSession, Session, SessionEndReason, SessionId, SessionMessage};
use hermes_tools::{CallContext, ChildRunner, TodoList};
use serde_json::json;

use crate::Result;
use crate::agent::{Agent, CompactionState, entries};
use crate::compaction::{Compacted, Need};
use crate::message_conversion::to_wire;
use crate::observer::TurnObserver;
use crate::standing_goal::StandingGoal;

/// Where the Python runtime looks for the goal of a session, too.
fn goal_key(session: &SessionId) -> String {
    format!("goal:{session}")
}

/// Minimum number of messages for a summary.
const MIN_MESSAGES: usize = 4;

/// Context window usage of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUse {
    /// Estimated tokens of the next request without its new message.
    pub used: u64,
    pub window: u64,
}

impl Agent {
    /// Compacts the conversation on request; `focus` is what the summary must keep.
    pub fn compress(
        &mut self,
        focus: Option<&str>,
        observer: &mut dyn TurnObserver,
    ) -> Result<Compacted> {
        if self.history.len() < MIN_MESSAGES {
            return Ok(Compacted::TooShort);
        }
        self.store.set_compaction_pause(&self.session, None)?;
        self.compaction = CompactionState {
            focus: focus.map(str::to_owned),
            ..CompactionState::default()
        };
        let compacted = self.compact(Need::Forced, observer);
        self.compaction.focus = None;
        compacted
    }

    /// Ends the session and continues with an empty one: no history, no todos, a new prompt.
    pub fn start_over(
        &mut self,
        id: SessionId,
        new: NewSession,
        system_prompt: &str,
    ) -> Result<()> {
        if self.is_stored() {
            self.store
                .end_session(&self.session, SessionEndReason::NewSession)?;
            self.tell_final();
        }
        self.context.conversation.session_id = Some(id.to_string());
        self.context.conversation.todos = Arc::new(TodoList::default());
        self.history.clear();
        self.hinted.clear();
        self.prompt_source = None;
        self.context.files.forget_pages();
        self.compaction = CompactionState::default();
        self.system = Arc::from(system_prompt);
        self.begin_as(id, new, system_prompt);
        self.tell_reset();
        Ok(())
    }

    /// Ends the session and goes on in a copy of its first `keep` messages, whose parent it is. Gives
    /// nothing up: the old session can be resumed.
    pub fn branch(&mut self, id: SessionId, new: NewSession, keep: usize) -> Result<()> {
        self.ensure_session()?;
        let parent = self.session.clone();
        // By this mark lists tell a copy from the later part of a compacted conversation.
        let mut model_config = new.model_config.clone().unwrap_or_else(|| json!({}));
        model_config["_branched_from"] = json!(parent.to_string());
        self.store.create_session(&NewSession {
            model_config: Some(model_config),
            id: Some(id.clone()),
            system_prompt: Some(self.system.to_string()),
            parent: Some(parent.clone()),
            ..new
        })?;
        let messages: Vec<SessionMessage> = self.messages().take(keep).cloned().collect();
        self.store.append(&id, &messages)?;
        self.store
            .end_session(&parent, SessionEndReason::Branched)?;
        let copy = self.store.resume(&id)?;
        if keep < self.history.len() {
            // The list of the messages that stay, and files that have to be shown again.
            let items = copy.todos.unwrap_or_default();
            self.context.conversation.todos = Arc::new(TodoList::restored(&items));
            self.context.files.forget_pages();
        }
        self.history = entries(copy.history);
        self.context.conversation.session_id = Some(id.to_string());
        self.session = id;
        Ok(())
    }

    /// How much the model thinks from now on; `None` for the setting.
    pub fn set_effort(&mut self, effort: Option<Effort>) {
        self.settings.effort = effort;
    }

    /// The manner in which the model answers from now on.
    pub fn set_personality(&mut self, text: Option<String>) {
        self.settings.personality = text;
    }

    /// How much the model thinks in this session, if that was changed.
    pub fn effort(&self) -> Option<Effort> {
        self.settings.effort
    }

    /// Changes the provider and the models for auxiliary tasks. The session records the new model.
    pub fn change_provider(
        &mut self,
        provider: Arc<dyn Provider>,
        auxiliary: Arc<AuxiliaryModels>,
    ) -> Result<()> {
        let model = provider.route().model;
        match self.pending() {
            Some(new) => new.model = Some(model),
            None => self.store.set_model(&self.session, &model)?,
        }
        self.provider = provider;
        self.auxiliary = Some(auxiliary);
        Ok(())
    }

    /// Changes the runner of sub-agents.
    pub fn change_children(&mut self, children: Option<Arc<dyn ChildRunner>>) {
        self.context.conversation.children = children;
    }

    /// Changes the tools that are offered and can be called.
    pub fn change_tools(&mut self, context: CallContext, tools: Arc<[ToolSchema]>) {
        self.context = context;
        self.tools = tools;
    }

    /// The provider of answers.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// The context of tool calls.
    pub fn context(&self) -> &CallContext {
        &self.context
    }

    /// Names of the offered tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Names of the tools that can be called: the offered ones, and those that stand behind a search.
    pub(crate) fn callable_names(&self) -> Vec<String> {
        let mut names = self.tool_names();
        let registry = &self.context.registry;
        let is_deferred = |name: &&String| {
            let tool = registry.get(name);
            tool.is_some_and(|tool| tool.spec().is_deferrable) && !names.contains(name)
        };
        let enabled = self.context.enabled_tools.iter();
        let deferred: Vec<String> = enabled.filter(is_deferred).cloned().collect();
        names.extend(deferred);
        names
    }

    /// The messages of the conversation.
    pub fn messages(&self) -> impl Iterator<Item = &SessionMessage> {
        self.history.iter().map(|entry| &entry.message)
    }

    /// The stored session; `None` before the first turn.
    pub fn stored_session(&self) -> Result<Option<Session>> {
        if !self.is_stored() {
            return Ok(None);
        }
        self.store.session(&self.session)
    }

    /// The title of the session.
    pub fn title(&self) -> Result<Option<String>> {
        Ok(self.stored_session()?.and_then(|session| session.title))
    }

    /// Sets the title of the session, also before its first turn, and returns it as stored.
    pub fn set_title(&mut self, title: &str) -> Result<String> {
        self.ensure_session()?;
        self.store.set_title(&self.session, title)
    }

    /// The standing goal of the session.
    pub fn goal(&mut self) -> Result<Option<StandingGoal>> {
        if !self.is_stored() {
            return Ok(None);
        }
        let stored = self.store.meta(&goal_key(&self.session))?;
        Ok(stored.and_then(|text| StandingGoal::from_json(&text)))
    }

    /// Stores the standing goal of the session, also before its first turn.
    pub fn set_goal(&mut self, goal: &StandingGoal) -> Result<()> {
        self.ensure_session()?;
        let key = goal_key(&self.session);
        self.store.set_meta(&key, &goal.to_json())
    }

    /// The current context window usage.
    pub fn window_use(&self) -> WindowUse {
        let messages: Vec<Message> = self.messages().filter_map(to_wire).collect();
        let mut request = ModelRequest::new(Arc::clone(&self.system), messages);
        request.tools = Arc::clone(&self.tools);
        WindowUse {
            used: self.calibration.correct(request.estimated_tokens()),
            window: self.provider.route().context_length,
        }
    }
}
