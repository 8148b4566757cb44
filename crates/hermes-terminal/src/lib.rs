//! Running an agent's commands: guards, sessions, background processes, here or elsewhere.

pub mod background;
pub mod carried_files;
pub mod docker;
pub mod environment;
pub mod local;
pub mod output;
pub mod remote;
pub mod session;
pub mod ssh;
pub mod sudo;
