//! The files of a board: attachments, scratch workspaces, garbage.
//!
//! The database decides what exists; files follow it. A file is written before the row that names it
//! and removed after the row is gone, so that a crash leaves at most a file nobody names, which
//! [`collect_garbage`] finds. Nothing outside the directories of a board is ever removed.

mod attach;
mod cleanup;
mod gc;
mod transfer;
mod worker_log;
mod workspace_archive;

pub use attach::{ATTACHMENT_LIMIT, NewFile, attach_bytes, attach_file, attachment_file, detach};
pub use cleanup::discard_card_files;
pub use gc::{GarbageReport, Retention, collect_garbage};
pub use transfer::{BroughtAttachment, MOVE_FILES, bring_attachments, publish_attachments};
pub use worker_log::{WorkerLog, log_tail, tell_log, worker_log};

pub(crate) use attach::safe_name;
pub(crate) use cleanup::remove_finished_workspaces;
pub(crate) use worker_log::log_size;
pub(crate) use workspace_archive::{note_change, send_workspace, unpack_workspace};
