//! The conversation a call belongs to, as far as tools care: its stored session, what it wants to
//! do, who can be asked, and who can be given work.
//!
//! A call made by hand has none of these; the tools then say so or do without.

use hermes_board::completion::GoalJudge;
use std::sync::Arc;

use crate::child_runner::ChildRunner;
use crate::clarify::Answerer;
use crate::todo::TodoList;

/// A conversation. Clones mean the same one.
#[derive(Clone, Default)]
pub struct Conversation {
    /// Its session in the store of sessions.
    pub session_id: Option<String>,
    /// What it wants to do.
    pub todos: Arc<TodoList>,
    /// Who answers questions.
    pub answerer: Option<Arc<dyn Answerer>>,
    /// Runs agents for parts of the work; `None` where no further depth is allowed.
    pub children: Option<Arc<dyn ChildRunner>>,
    /// Judges whether a card with a goal is done.
    pub judge: Option<Arc<dyn GoalJudge>>,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}
