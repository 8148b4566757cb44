//! The tools of a conversation: which there are, with which limits, what decides about their
//! commands, and what each call of a session gets.

mod approver;
mod board;
mod configured;
mod file_writes;
mod sandbox;
mod script_environment;
mod terminal;
mod tools;

pub use self::sandbox::{check_sandbox, local_sandbox};
pub use self::terminal::{Approval, TerminalSetup, ToolSetRequest, login_overlay};
pub use self::tools::ToolSet;
