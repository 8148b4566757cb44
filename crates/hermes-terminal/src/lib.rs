//! Running an agent's commands: guards, sessions, background processes, on the local machine.

pub mod background;
pub mod environment;
pub mod guard;
pub mod local;
pub mod output;
pub mod session;
