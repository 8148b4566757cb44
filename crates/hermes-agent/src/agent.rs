//! One conversation: its store, provider and tools.
//!
//! The history is that of the store; nothing unstored survives a turn. Turns are in `turn`.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_providers::{AuxiliaryModels, Provider, ToolSchema};
use hermes_session::{
    ConversationHistory, MessageId, NewSession, SessionEndReason, SessionId, SessionMessage,
    SessionStore,
};
use hermes_tools::{CallContext, TodoList};

use crate::Result;
use crate::calibration::Calibration;
use crate::observer::StopCheck;
use crate::prompt::Assembled;
use crate::settings::AgentSettings;
use crate::steering::Steering;

/// The parts of a conversation.
pub struct Parts {
    pub provider: Arc<dyn Provider>,
    /// Models for auxiliary tasks; the main provider if `None`.
    pub auxiliary: Option<Arc<AuxiliaryModels>>,
    pub store: SessionStore,
    pub context: CallContext,
    pub tools: Arc<[ToolSchema]>,
    pub settings: AgentSettings,
    /// Check before a turn ends with an answer.
    pub stop_check: Option<Box<dyn StopCheck>>,
}

impl Parts {
    /// Names of the offered tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct HistoryEntry {
    pub(crate) id: MessageId,
    pub(crate) message: SessionMessage,
}

pub(crate) fn entries(history: ConversationHistory) -> Vec<HistoryEntry> {
    let stored = history.messages.into_iter();
    stored
        .map(|stored| HistoryEntry {
            id: stored.id,
            message: stored.message,
        })
        .collect()
}

#[derive(Debug, Default)]
pub(crate) struct CompactionState {
    /// Compactions in a row that saved too little.
    pub(crate) useless: u32,
    /// Whether the user was told that no summary could be made.
    pub(crate) warned: bool,
    /// Whether the user was told that an extract replaces the summary.
    pub(crate) extracts: bool,
    /// What the summary must keep, if requested.
    pub(crate) focus: Option<String>,
}

/// A conversation.
pub struct Agent {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) auxiliary: Option<Arc<AuxiliaryModels>>,
    pub(crate) store: SessionStore,
    pub(crate) context: CallContext,
    pub(crate) settings: AgentSettings,
    pub(crate) stop_check: Option<Box<dyn StopCheck>>,
    pub(crate) session: SessionId,
    /// The fields of the session row, until it is stored.
    new: Option<NewSession>,
    pub(crate) history: Vec<HistoryEntry>,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSchema]>,
    pub(crate) calibration: Calibration,
    pub(crate) compaction: CompactionState,
    pub(crate) steering: Arc<Steering>,
    /// Directories whose instructions were already added.
    pub(crate) hinted: Vec<PathBuf>,
    /// Rebuilds the system prompt when the conversation is compacted.
    pub(crate) prompt_source: Option<Box<PromptSource>>,
}

/// Builds the current system prompt.
pub type PromptSource = dyn Fn() -> Assembled + Send;

impl Agent {
    /// A new conversation under `new.id`. Nothing is stored before the first turn.
    pub fn begin(parts: Parts, id: SessionId, new: NewSession, system_prompt: &str) -> Self {
        let mut agent = Self::with(parts, id.clone(), Vec::new(), system_prompt);
        agent.begin_as(id, new, system_prompt);
        agent
    }

    /// Makes the next turn create this session.
    pub(crate) fn begin_as(&mut self, id: SessionId, new: NewSession, system_prompt: &str) {
        self.new = Some(NewSession {
            id: Some(id.clone()),
            system_prompt: Some(system_prompt.to_owned()),
            ..new
        });
        self.session = id;
    }

    /// Resumes a stored conversation with its system prompt and todo list. `system_prompt` is called
    /// for sessions that another program stored without one.
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
        let history = entries(resumed.history);
        Ok(Self::with(parts, id.clone(), history, &prompt))
    }

    fn with(parts: Parts, session: SessionId, history: Vec<HistoryEntry>, system: &str) -> Self {
        Self {
            provider: parts.provider,
            auxiliary: parts.auxiliary,
            store: parts.store,
            context: parts.context,
            settings: parts.settings,
            stop_check: parts.stop_check,
            session,
            new: None,
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

    /// Sets the source that rebuilds the system prompt on compaction, when the provider's cache is
    /// lost anyway.
    pub fn set_prompt_source(&mut self, source: Box<PromptSource>) {
        self.prompt_source = Some(source);
    }

    /// The system prompt as it is sent, with what is never stored.
    pub(crate) fn sent_system(&self) -> Arc<str> {
        let more = [&self.settings.ephemeral_prompt, &self.settings.personality];
        let more: Vec<&str> = more.into_iter().flatten().map(String::as_str).collect();
        if more.is_empty() {
            return Arc::clone(&self.system);
        }
        Arc::from(format!("{}\n\n{}", self.system, more.join("\n\n")))
    }

    /// The id of the conversation.
    pub fn session_id(&self) -> &SessionId {
        &self.session
    }

    /// Number of messages, and how many of them are the user's.
    pub fn message_counts(&self) -> (usize, usize) {
        (self.history.len(), self.user_messages().count())
    }

    /// The user's messages, oldest first, each with its number among all messages.
    pub fn user_messages(&self) -> impl Iterator<Item = (usize, &SessionMessage)> {
        self.messages().enumerate().filter(|(_, message)| {
            message.role == hermes_session::MessageRole::User && !message.is_summary()
        })
    }

    /// Bytes of text in the messages.
    pub fn transcript_bytes(&self) -> usize {
        let texts = self.history.iter().map(|entry| {
            let calls = entry.message.tool_calls.as_ref();
            let calls = calls.map_or(0, |calls| calls.to_string().len());
            entry.message.text().len() + calls
        });
        texts.sum()
    }

    /// The handle to send messages to a running turn.
    pub fn steering(&self) -> Arc<Steering> {
        Arc::clone(&self.steering)
    }

    /// The session store, for commands on the conversation.
    pub fn store(&mut self) -> &mut SessionStore {
        &mut self.store
    }

    /// Undoes the last `count` messages of the user and everything after them. Returns the text of the
    /// first undone message.
    pub fn undo(&mut self, count: usize) -> Result<Option<String>> {
        if self.new.is_some() {
            return Ok(None);
        }
        let undone = self.store.undo_turns(&self.session, count)?;
        self.reload()?;
        // Files read in undone turns have to be shown again.
        self.context.files.forget_pages();
        Ok(undone.map(|undone| undone.message.message.text()))
    }

    pub(crate) fn reload(&mut self) -> Result<()> {
        self.history = entries(self.store.load_history(&self.session)?);
        Ok(())
    }

    /// Ends the session, if it was stored.
    pub fn close(&mut self) -> Result<()> {
        if self.new.is_none() {
            self.store
                .end_session(&self.session, SessionEndReason::AgentClose)?;
            self.tell_final();
        }
        Ok(())
    }

    /// What was heard of the background processes of this conversation and not told the model yet.
    pub(crate) fn take_notices(&self) -> Option<String> {
        let notices = self.context.session.take_notices();
        (!notices.is_empty()).then(|| notices.join("\n\n"))
    }

    /// Stores the session row, if there is none yet; whether there was none.
    pub(crate) fn ensure_session(&mut self) -> Result<bool> {
        let Some(new) = &self.new else {
            return Ok(false);
        };
        self.store.create_session(new)?;
        self.new = None;
        Ok(true)
    }

    /// The fields of the session row, while it is not stored.
    pub(crate) fn pending(&mut self) -> Option<&mut NewSession> {
        self.new.as_mut()
    }

    /// Whether the session was stored.
    pub fn is_stored(&self) -> bool {
        self.new.is_none()
    }
}
