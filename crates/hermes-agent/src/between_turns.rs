//! What people do to a conversation between its turns: shorten it, begin anew, ask somebody else.
//!
//! Each leaves either the old state or the new one, in memory as in the store.

use std::sync::Arc;

use hermes_providers::{Message as Wire, Provider, Request, SideModels};
use hermes_session::{EndReason, Message, NewSession, Session, SessionId};
use hermes_tools::{CallContext, ChildRunner, TodoList};

use crate::agent::Agent;
use crate::compaction::{Compacted, CompactionState, Need};
use crate::error::Result;
use crate::observer::Observer;
use crate::wire::to_wire;

/// Shorter conversations are not worth a summary.
const LEAST_MESSAGES: usize = 4;

/// What came of a wish to shorten the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressed {
    /// It has too few messages for that.
    TooShort,
    /// It is shorter now.
    Done,
    /// It is as it was.
    Unchanged,
}

/// How much of the window a conversation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUse {
    /// Tokens of the next request without what will be said in it, as far as can be told.
    pub used: u64,
    /// Tokens of the window.
    pub window: u64,
}

impl Agent {
    /// Shortens the conversation because somebody asked for it; `focus` is what must be kept.
    pub fn compress(
        &mut self,
        focus: Option<&str>,
        observer: &mut dyn Observer,
    ) -> Result<Compressed> {
        if self.history.len() < LEAST_MESSAGES {
            return Ok(Compressed::TooShort);
        }
        self.store.set_compaction_pause(&self.session, None)?;
        self.compaction = CompactionState::focused_on(focus);
        let made = self.compact(Need::Forced, observer);
        self.compaction.focus = None;
        Ok(match made? {
            Compacted::Done => Compressed::Done,
            Compacted::Unchanged => Compressed::Unchanged,
        })
    }

    /// Ends the session and goes on with an empty one: no history, no tasks, another prompt.
    pub fn start_over(
        &mut self,
        id: SessionId,
        new: NewSession,
        system_prompt: &str,
    ) -> Result<()> {
        if self.is_stored() {
            self.store
                .end_session(&self.session, &EndReason::NewSession)?;
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
        Ok(())
    }

    /// From now on this one answers, and those do the side tasks. Sessions record who answered last.
    pub fn change_provider(
        &mut self,
        provider: Arc<dyn Provider>,
        side: Arc<SideModels>,
    ) -> Result<()> {
        let model = provider.route().model;
        match self.pending() {
            Some(new) => new.model = Some(model),
            None => self.store.set_model(&self.session, &model)?,
        }
        self.provider = provider;
        self.side = Some(side);
        Ok(())
    }

    /// From now on this one runs sub-agents.
    pub fn change_children(&mut self, children: Option<Arc<dyn ChildRunner>>) {
        self.context.conversation.children = children;
    }

    /// Who answers.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// What calls see.
    pub fn context(&self) -> &CallContext {
        &self.context
    }

    /// Names of the tools the model is told of.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// The conversation as it stands.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.history.iter().map(|entry| &entry.message)
    }

    /// The session as it is stored; `None` before the first turn.
    pub fn stored_session(&self) -> Result<Option<Session>> {
        if !self.is_stored() {
            return Ok(None);
        }
        Ok(self.store.session(&self.session)?)
    }

    /// The title of the session.
    pub fn title(&self) -> Result<Option<String>> {
        Ok(self.stored_session()?.and_then(|session| session.title))
    }

    /// Gives the session a title, before its first turn too. Gives back what it has become.
    pub fn set_title(&mut self, title: &str) -> Result<String> {
        self.ensure_session()?;
        Ok(self.store.set_title(&self.session, title)?)
    }

    /// How much of the window is used.
    pub fn window_use(&self) -> WindowUse {
        let messages: Vec<Wire> = self.messages().filter_map(to_wire).collect();
        let mut request = Request::new(Arc::clone(&self.system), messages);
        request.tools = Arc::clone(&self.tools);
        WindowUse {
            used: self.calibration.correct(request.estimated_tokens()),
            window: self.provider.route().context_length,
        }
    }
}
