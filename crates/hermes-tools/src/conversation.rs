//! The conversation a call belongs to, as tools see it: its stored session, its todo list, how to ask
//! the user, and how to run sub-agents.
//!
//! A call made by hand (`hermes tools call`) has none of these.

use hermes_board::completion::GoalJudge;
use std::sync::Arc;

use crate::child_runner::ChildRunner;
use crate::clarify::Answerer;
use crate::todo::TodoList;

/// A conversation. Clones mean the same one.
#[derive(Clone, Default)]
pub struct ToolConversation {
    /// Its session in the store of sessions.
    pub session_id: Option<String>,
    /// Its todo list.
    pub todos: Arc<TodoList>,
    /// Asks the user.
    pub answerer: Option<Arc<dyn Answerer>>,
    /// Runs agents for parts of the work; `None` where no further depth is allowed.
    pub children: Option<Arc<dyn ChildRunner>>,
    /// Judges whether a card with a goal is done.
    pub judge: Option<Arc<dyn GoalJudge>>,
}

impl std::fmt::Debug for ToolConversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolConversation")
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}
