//! The review of a card's work: what it changed, comments on lines, and the verdict.
//!
//! The command line and the dashboard call the same functions. [`ReviewedWork`] is the work in its
//! workspace, looked at with git; [`Diff`] is what it changed; [`comment`], [`request_changes`] and
//! [`approve`] are what a reviewer does. Reading never changes the workspace or its repository.

mod anchor;
mod approve;
mod commit;
mod diff;
mod history;
mod land;
mod parse;
mod place;
mod push;
mod verdict;
mod work;

pub use approve::{ApproveOutcome, ApproveRequest, Approved, approve, chosen_action};
pub use diff::{
    Change, Diff, DiffBase, DiffFile, DiffHunk, DiffLine, LineKind, OmittedFile, Origin,
};
pub use land::Landed;
pub use verdict::{CommentRequest, comment, locate, request_changes};
pub use work::{Patch, ReviewedWork};
