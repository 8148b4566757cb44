//! One conversation: where it is stored, who answers, what may be called.
//!
//! Holds the history as the store has it, and nothing that is not stored survives a turn. Everything
//! that happens within a turn is in `turn`.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_providers::{Provider, SideModels, ToolSchema};
use hermes_session::{
    EndReason, Message, MessageId, NewSession, SessionId, SessionStore, StoredMessage,
};
use hermes_tools::{CallContext, TodoList};

use crate::calibration::Calibration;
use crate::compaction::CompactionState;
use crate::error::Result;
use crate::observer::Observer;
use crate::prompt::Assembled;
use crate::settings::AgentSettings;
use crate::steering::Steering;
use crate::turn::{StopCheck, TurnInput, TurnResult};

/// What a conversation is made of.
pub struct Parts {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// Who does side tasks; the one that answers if `None`.
    pub side: Option<Arc<SideModels>>,
    /// Where it is stored.
    pub store: SessionStore,
    /// What its calls see.
    pub context: CallContext,
    /// The tools the model is told of.
    pub tools: Arc<[ToolSchema]>,
    /// Settings.
    pub settings: AgentSettings,
    /// Asked before a turn ends with an answer.
    pub stop_check: Option<Box<dyn StopCheck>>,
}

impl Parts {
    /// Names of the tools the model will be told of.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }
}

/// A message of the history.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its row.
    pub(crate) id: MessageId,
    /// The message.
    pub(crate) message: Message,
}

impl From<StoredMessage> for Entry {
    fn from(stored: StoredMessage) -> Self {
        Self {
            id: stored.id,
            message: stored.message,
        }
    }
}

/// A conversation.
pub struct Agent {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) side: Option<Arc<SideModels>>,
    pub(crate) store: SessionStore,
    pub(crate) context: CallContext,
    pub(crate) settings: AgentSettings,
    pub(crate) stop_check: Option<Box<dyn StopCheck>>,
    pub(crate) session: SessionId,
    /// What the session row is made of, until there is one.
    new: Option<NewSession>,
    pub(crate) history: Vec<Entry>,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSchema]>,
    pub(crate) calibration: Calibration,
    pub(crate) compaction: CompactionState,
    pub(crate) steering: Arc<Steering>,
    /// Directories whose own instructions have been given.
    pub(crate) hinted: Vec<PathBuf>,
    /// What the system prompt is made of anew when the conversation is shortened.
    pub(crate) prompt_source: Option<Box<PromptSource>>,
}

/// Puts the system prompt together as it would be now.
pub type PromptSource = dyn Fn() -> Assembled + Send;

impl Agent {
    /// A new conversation under `new.id`. Nothing is stored before the first turn.
    pub fn begin(parts: Parts, id: SessionId, new: NewSession, system_prompt: &str) -> Self {
        let mut agent = Self::with(parts, id.clone(), None, Vec::new(), system_prompt);
        agent.begin_as(id, new, system_prompt);
        agent
    }

    /// The next turn begins this session.
    pub(crate) fn begin_as(&mut self, id: SessionId, new: NewSession, system_prompt: &str) {
        self.new = Some(NewSession {
            id: Some(id.clone()),
            system_prompt: Some(system_prompt.to_owned()),
            ..new
        });
        self.session = id;
    }

    /// Goes on with a stored conversation, with the system prompt and the list of things to do that
    /// it had. `system_prompt` is asked where another program stored a session without one.
    pub fn resume(
        mut parts: Parts,
        id: &SessionId,
        system_prompt: impl FnOnce() -> String,
    ) -> Result<Self> {
        let resumed = parts.store.resume(id)?;
        let stored = resumed.session.system_prompt;
        let prompt = match stored.filter(|prompt| !prompt.is_empty()) {
            Some(prompt) => prompt,
            None => {
                let prompt = system_prompt();
                parts.store.set_system_prompt(id, &prompt)?;
                prompt
            }
        };
        if let Some(items) = &resumed.todos {
            parts.context.conversation.todos = Arc::new(TodoList::restored(items));
        }
        let history = resumed.history.messages;
        let history = history.into_iter().map(Entry::from).collect();
        Ok(Self::with(parts, id.clone(), None, history, &prompt))
    }

    fn with(
        parts: Parts,
        session: SessionId,
        new: Option<NewSession>,
        history: Vec<Entry>,
        system: &str,
    ) -> Self {
        Self {
            provider: parts.provider,
            side: parts.side,
            store: parts.store,
            context: parts.context,
            settings: parts.settings,
            stop_check: parts.stop_check,
            session,
            new,
            history,
            system: Arc::from(system),
            tools: parts.tools,
            calibration: Calibration::default(),
            compaction: CompactionState::default(),
            steering: Arc::default(),
            hinted: Vec::new(),
            prompt_source: None,
        }
    }

    /// From now on the system prompt is made anew when the conversation is shortened: then, and only
    /// then, nobody has to read the whole of it again for a new one.
    pub fn make_prompt_with(&mut self, source: Box<PromptSource>) {
        self.prompt_source = Some(source);
    }

    /// The id of the conversation.
    pub fn session_id(&self) -> &SessionId {
        &self.session
    }

    /// Messages of the conversation as it stands, and how many of them are the person's.
    pub fn message_counts(&self) -> (usize, usize) {
        let person = |entry: &&Entry| {
            entry.message.role == hermes_session::Role::User && !entry.message.is_summary()
        };
        (
            self.history.len(),
            self.history.iter().filter(person).count(),
        )
    }

    /// The way to speak to a turn while it runs.
    pub fn steering(&self) -> Arc<Steering> {
        Arc::clone(&self.steering)
    }

    /// The stored conversation, for commands that look at it or take something back.
    pub fn store(&mut self) -> &mut SessionStore {
        &mut self.store
    }

    /// Runs one turn: from what the person says to the answer.
    pub fn turn(&mut self, input: TurnInput, observer: &mut dyn Observer) -> TurnResult {
        crate::turn::run(self, input, observer)
    }

    /// Takes the last `count` messages of the person back, with all that followed. Gives the text of
    /// the first of them.
    pub fn undo(&mut self, count: usize) -> Result<Option<String>> {
        if self.new.is_some() {
            return Ok(None);
        }
        let taken = self.store.take_back(&self.session, count)?;
        self.reload()?;
        // What was read after that message is not in the conversation any more.
        self.context.files.forget_pages();
        Ok(taken.map(|taken| taken.message.message.text()))
    }

    /// Takes the conversation from the store again.
    pub(crate) fn reload(&mut self) -> Result<()> {
        let history = self.store.load_history(&self.session)?;
        self.history = history.messages.into_iter().map(Entry::from).collect();
        Ok(())
    }

    /// Ends the session, if anything was stored of it.
    pub fn close(&mut self) -> Result<()> {
        if self.new.is_none() {
            self.store
                .end_session(&self.session, &EndReason::AgentClose)?;
        }
        Ok(())
    }

    /// Makes the session row, if there is none yet.
    pub(crate) fn ensure_session(&mut self) -> Result<()> {
        if let Some(new) = &self.new {
            self.store.create_session(new)?;
            self.new = None;
        }
        Ok(())
    }

    /// What the session row will be made of, while there is none.
    pub(crate) fn pending(&mut self) -> Option<&mut NewSession> {
        self.new.as_mut()
    }

    /// Whether anything was stored.
    pub fn is_stored(&self) -> bool {
        self.new.is_none()
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("session", &self.session)
            .field("messages", &self.history.len())
            .finish_non_exhaustive()
    }
}
