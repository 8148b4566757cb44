//! The files around a board: deliverables, attachments, scratch workspaces, what is left over.
//!
//! The database says what exists; files follow it. A file is written before the row that names it
//! and removed after the row is gone, so that a crash leaves at most a file nobody names, which
//! [`collect_garbage`] finds. Nothing outside the directories of a board is ever removed.

mod artifacts;
mod attach;
mod cleanup;
mod complete;
mod gc;
mod log;

pub use artifacts::files_mentioned;
pub use attach::{ATTACHMENT_LIMIT, NewFile, attach_bytes, attach_file, attachment_file, detach};
pub use cleanup::{Cleaned, discard_card_files, remove_finished_workspaces};
pub use complete::{complete_card, finish_card_checks};
pub use gc::{GarbageReport, Retention, collect_garbage};
pub use log::read_log;
