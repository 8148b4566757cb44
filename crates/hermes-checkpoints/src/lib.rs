//! Snapshots of project directories, taken before an agent changes files, and the way back to them.
//!
//! The store is the Python runtime's: one git repository for all projects of a home, a reference,
//! an index and a record for each of them. Either program lists and restores what the other saved.

mod destructive;
mod error;
mod exclude;
mod history;
mod limits;
mod maintenance;
mod placement;
mod project;
mod restore;
mod session;
mod snapshot;
mod status;
mod store;
mod tree_scan;

pub use destructive::is_destructive;
pub use error::Error;
pub use history::{Snapshot, SnapshotDiff};
pub use limits::{Limits, Retention};
pub use maintenance::{Pruned, is_prune_due};
pub use project::{Boundaries, Project};
pub use restore::Restored;
pub use session::{Checkpoints, Notify};
pub use status::{LegacyArchive, ProjectStatus, Status};
pub use store::Store;

pub(crate) type Result<T> = std::result::Result<T, Error>;
