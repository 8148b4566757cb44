//! Background processes: they run on while the conversation goes on, and outlive Hermes if need be.
//!
//! [`Processes`] tracks them for all conversations. How a process is heard of differs: by its
//! supervisor on this machine, by its mere end, or by asking its host. Which backend started it is
//! not known here.

mod crash_guard;
mod files;
mod frame;
mod host;
mod kill;
mod link;
mod monitor;
mod notice;
mod poll;
mod process;
mod record;
mod recover;
mod registry;
mod ring;
mod sandbox_request;
mod start;
mod supervisor;
mod tail;
mod typed;
mod view;
mod watch;

pub use crash_guard::{CrashGuard, Guarded, LongGuarded};
pub(crate) use frame::StartSpec;
pub(crate) use host::{PolledProcess, ProcessHost, ProcessHostError, StatusAnswer, StatusQuestion};
pub use kill::Killed;
pub use notice::{EndReason, Ending, Notice, NoticeKind};
pub use registry::Processes;
pub(crate) use sandbox_request::{SandboxRequest, temporary_variables};
pub use start::{PtyState, StartError, Started, StartedProcess};
pub(crate) use start::{StartedBy, start_supervised};
pub use supervisor::supervise;
pub(crate) use view::Input;
pub use view::{LogPage, ProcessView, SessionProcesses, WaitEnd, WriteError};
