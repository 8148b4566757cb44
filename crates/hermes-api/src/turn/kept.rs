//! Conversations that stay open between two turns, so that a shell's directory and background
//! processes last. Bounded in bytes, number and time; what is let go of is read from `state.db` again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::Wake;
use hermes_runtime::{Context, Conversation};
use hermes_session::MessageRole;

use super::person::ServedPerson;
use crate::settings::ModelRoute;

/// Conversations at most: each has a thread, a shell and a dozen descriptors.
const MOST: usize = 32;
/// Let go of after so much idleness.
const IDLE: Duration = Duration::from_hours(1);
/// What a conversation without a word takes.
const BASE_BYTES: usize = 1 << 20;

/// What must be equal for a conversation to be used again.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) context: Arc<Context>,
    pub(super) route: Option<ModelRoute>,
    pub(super) more_prompt: Option<String>,
    pub(super) has_approvals: bool,
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
            && self.route == other.route
            && self.more_prompt == other.more_prompt
            && self.has_approvals == other.has_approvals
    }
}

/// An open conversation.
pub(super) struct KeptConversation {
    pub(super) conversation: Conversation,
    pub(super) person: Arc<ServedPerson>,
    pub(super) interrupt: Arc<Wake>,
    pub(super) terms: Terms,
    pub(super) transcript_bytes: usize,
}

impl KeptConversation {
    fn bytes(&self) -> usize {
        BASE_BYTES + self.transcript_bytes
    }

    /// Whether there is anything but the transcript: without a tool nothing was started, and what was
    /// said is read again sooner than it is worth its memory.
    fn has_used_tools(&mut self) -> bool {
        let mut messages = self.conversation.agent().messages();
        messages.any(|message| message.role == MessageRole::Tool)
    }

    /// Ends it, with everything it started.
    pub(super) fn close(self) {
        if let Err(error) = self.conversation.close(None, || 0) {
            tracing::warn!(%error, "a conversation did not end well");
        }
    }
}

/// Those that are idle.
pub(super) struct KeptConversations {
    most_bytes: usize,
    idle: Mutex<HashMap<String, (Instant, KeptConversation)>>,
}

impl KeptConversations {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            idle: Mutex::default(),
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, KeptConversation)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the conversation of a session out.
    pub(super) fn take(&self, session: &str) -> Option<KeptConversation> {
        Some(self.locked().remove(session)?.1)
    }

    /// Keeps a conversation, if that is of use, and gives those that are to be ended.
    pub(super) fn put(&self, session: String, mut kept: KeptConversation) -> Vec<KeptConversation> {
        if !kept.has_used_tools() {
            return vec![kept];
        }
        let mut idle = self.locked();
        let earlier = idle.insert(session, (Instant::now(), kept));
        let mut gone: Vec<KeptConversation> = earlier.into_iter().map(|(_, kept)| kept).collect();
        loop {
            let bytes: usize = idle.values().map(|(_, kept)| kept.bytes()).sum();
            if idle.len() <= MOST && bytes <= self.most_bytes {
                break;
            }
            let oldest = idle.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(session, _)| session.clone()) else {
                break;
            };
            gone.extend(idle.remove(&oldest).map(|(_, kept)| kept));
        }
        gone
    }

    /// Takes out what has been idle for too long.
    pub(super) fn take_stale(&self) -> Vec<KeptConversation> {
        let now = Instant::now();
        let mut idle = self.locked();
        let stale: Vec<String> = idle
            .iter()
            .filter(|(_, (used, _))| now.duration_since(*used) >= IDLE)
            .map(|(session, _)| session.clone())
            .collect();
        let taken = stale.iter().filter_map(|session| idle.remove(session));
        taken.map(|(_, kept)| kept).collect()
    }

    pub(super) fn take_all(&self) -> Vec<KeptConversation> {
        self.locked().drain().map(|(_, (_, kept))| kept).collect()
    }

    /// How many there are, and their size.
    pub(super) fn size(&self) -> (usize, usize) {
        let idle = self.locked();
        let bytes = idle.values().map(|(_, kept)| kept.bytes()).sum();
        (idle.len(), bytes)
    }
}
