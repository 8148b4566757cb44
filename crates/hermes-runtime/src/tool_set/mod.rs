//! The tools of a conversation: which there are, with which limits, what decides about their
//! commands, and what each call of a session gets.

mod approver;
mod board;
mod check_backend;
mod configured;
mod file_writes;
mod remembering;
mod sandbox;
mod scanner;
mod script_environment;
mod terminal;
mod tools;

pub use self::check_backend::{AssigneeChecks, check_backend_of};
pub use self::sandbox::local_sandbox;
pub use self::terminal::{Approval, TerminalSetup, ToolSetRequest, login_overlay};
pub use self::tools::ToolSet;
