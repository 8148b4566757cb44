//! The tools with which agents use the task board: a worker its own card, an orchestrator all.
//!
//! Every tool opens the board for its call and closes it again. Words that end on the board are
//! masked first; what went wrong is a sentence for the model.

mod attach;
mod block;
mod comment;
mod complete;
mod create;
mod desk;
mod heartbeat;
mod images;
mod link;
mod list;
mod show;
mod verb;

pub use desk::KanbanDesk;
pub use images::{ImageReference, images_in};
pub use verb::{KanbanTool, kanban_tools};
