//! The tools with which agents use the task board: a worker its own card, an orchestrator all.
//!
//! Every tool opens the board for its call and closes it again. Texts that end on the board are
//! masked first; what went wrong is a sentence for the model.

mod access;
mod attach;
mod block;
mod comment;
mod complete;
mod create;
mod images;
mod list;
mod show;
mod table;
mod tool;

pub use access::BoardAccess;
pub use images::{ImageReference, has_image_ending, images_in};
pub use table::kanban_tools;
