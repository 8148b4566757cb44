//! What is on a board, as typed values.

mod assignee;
mod check;
mod follower;
mod host;
mod obstacle;
mod records;
pub(crate) mod repo_path;
mod review;
mod skills;
mod status;
mod task;
mod termination;
pub(crate) mod text_enum;

pub use crate::id::{RunId, TaskId};
pub use assignee::Assignee;
pub use check::{Check, CheckEvidence, CheckMark, CheckSession, CheckState, Checker, NewCheck};
pub use follower::Follower;
pub use host::{Host, HostRef, Placement, parse_host_name, parse_label};
pub use obstacle::Obstacle;
pub use records::{Attachment, Comment, Event, Object, Run, Subscription};
pub use repo_path::RepoPath;
pub use review::{
    Approval, DiffSide, LineRange, OnApprove, Review, ReviewComment, ReviewReply, WorkBase,
};
pub use skills::SkillList;
pub use status::{BlockKind, Outcome, Status, WorkspaceKind};
pub use task::{LinkedTask, Task, TaskState};
pub use termination::{Termination, WorkerExit, WorkerIdentity};

pub(crate) use records::object;
