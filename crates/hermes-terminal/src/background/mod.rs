//! Processes that run on while the conversation goes on, and outlive Hermes if need be.

mod attach;
mod elsewhere;
mod frame;
mod guard_process;
mod kill;
mod launch;
mod link;
mod list;
mod monitor;
mod notice;
mod process;
mod record;
mod registry;
mod ring;
mod second_self;
mod start;
mod supervisor;
mod tail;
mod tool;
mod watch;

pub(crate) use guard_process::Guard;
pub use guard_process::Guarded;
pub use kill::Killed;
pub(crate) use launch::{StartRequest, start_from_tool};
pub use notice::{EndReason, Ending, Notice, NoticeKind};
pub use registry::Registry;
pub use start::StartError;
pub use supervisor::supervise;
pub use tool::process;
