//! Other processes: who they are, how they are signalled, how they are started.
//!
//! The only crate that spawns. It never trusts a pid alone, never hands the parent's environment
//! on unread, and never formats the value of a variable.

pub mod agent_shell;
mod child;
mod child_exits;
mod clone;
mod descriptors;
mod end_signals;
pub mod env;
mod error;
mod file_identity;
mod file_watch;
mod git;
pub mod home;
mod identity;
mod idle_memory;
mod kernel_mark;
mod linux;
mod listener;
mod lookup;
mod marks;
mod orphans;
mod output;
mod own_memory;
mod poll;
mod process_space;
mod pty;
mod replace;
pub mod sandbox;
mod service_signals;
mod signal;
mod spec;
pub mod stages;
mod streamed;
mod tailed;
mod tcp_peer;
mod tcp_socket;
mod terminal_signals;
mod tree;
mod wake;

pub use child::{Child, ExitStatus};
pub use child_exits::ChildExits;
pub use descriptors::write_to_descriptor;
pub use end_signals::{EndSignal, EndSignals};
pub use env::{EnvPlan, EnvPolicy, EnvRequest, SpawnClass};
pub use error::{Error, Result};
pub use file_identity::with_files_of;
pub use file_watch::{FileWatch, WaitEnd};
pub use git::{Git, GitError, GitLimits, GitOutput, GitPlace, GitStore, WorktreeBranch};
pub use identity::{
    ProcessIdentity, age_of, ancestors_of_self, identity_of, is_same_live_process, is_zombie,
    start_time_of,
};
pub use idle_memory::{give_back_freed_memory, give_back_idle_memory, share_memory_pool};
pub use kernel_mark::limit_mark;
pub use linux::{command_line, environment as environment_of, pids_of_user};
pub use listener::{listener_on, peer_user};
pub use lookup::find_on_path;
pub use marks::{MarkedProcess, hidden_processes_of, kill_marked, processes_marked};
pub use orphans::{adopt_orphans, reap_orphans};
pub use own_memory::hide_own_memory;
pub use poll::{PollSet, Watched, first_readable, read_once};
pub use process_space::ProcessSpace;
pub use pty::{Pty, resize_terminal};
pub use replace::replace_process;
pub use service_signals::{ServiceSignal, ServiceSignals};
pub use signal::{ProcessHandle, Stopped};
pub use spec::{ChildEnv, ChildSpec, Group, ResourceLimits, Streams};
pub use streamed::{Captured, StreamedChild};
pub use tailed::{TailLimits, Tailed};
pub use tcp_peer::{TcpPeer, tcp_peer};
pub use terminal_signals::TerminalSignals;
pub use tree::{KillOutcome, KillTiming, ProcessTree, kill_tree};
pub use wake::{Wake, wait_for_any};
