//! The task board: cards, the links between them, the attempts at them and what happened.
//!
//! People and agents create cards, a dispatcher turns ready cards into worker processes. The truth is
//! in one SQLite file per board, shared with the reference program: names, columns and locks are
//! its own, everything added here is ignored there. Every change of a card is one transaction that
//! appends its event, and every change that another process could have made first is conditional and
//! reports a lost race.

pub mod boards;
mod caller;
mod claim_lock;
mod clock;
pub mod completion;
mod context;
pub mod diagnostics;
pub mod dispatch;
mod error;
pub mod files;
mod host_error;
mod host_identity;
mod id;
pub mod model;
mod move_error;
pub mod plan;
mod projects;
mod repository;
mod repository_address;
mod repository_error;
pub mod review;
mod review_error;
mod schema;
mod settings;
mod sqlite;
pub mod store;
mod transfer_error;
mod worker_variables;
mod workspace_refusal;
mod workspace_rules;

pub use caller::{Caller, CallerFacts, OwnCard};
pub use claim_lock::own_lock;
pub use clock::{Clock, IdSource, RandomIds, SystemClock};
pub use context::{ContextOptions, worker_context, worker_terminal_timeout};
pub use error::{Error, Result};
pub use hermes_board_pg::Retrying;
pub(crate) use hermes_text::shown;
pub use host_error::{HostError, SharedHostId};
pub use host_identity::{
    HostOrigin, HostSettings, ensure_host_id, host_id, own_host, renew_host_id,
};
pub use move_error::{BadValue, MoveError};
pub use projects::find_project;
pub use repository_address::RepositoryAddress;
pub use repository_error::RepositoryError;
pub use review_error::ReviewError;
pub use settings::{DispatchFlags, KanbanSettings};
pub use sqlite::{
    BoardEvent, BoardOptions, BoardOverview, BoardStats, CardDetail, ChatAddress, CheckDepth,
    Counts, Decomposition, EventQuery, HostEntry, HostUse, ListQuery, LogPart, LogState, MoveFiles,
    MoveReport, MoveRequest, MoveStep, NewReviewComment, NewSubscription, NewSwarm, PlannedChild,
    Progress, ResultEdit, RunFilter, SortOrder, Specification, StoredBoard, Swarm, SwarmRole,
    SwarmWorker, TableReport, Undecided, Unseen,
};
pub use transfer_error::TransferError;
pub use worker_variables::WorkerVariables;
pub use workspace_refusal::WorkspaceRefusal;
pub use workspace_rules::WorkspaceRules;
