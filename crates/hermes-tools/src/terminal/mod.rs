//! The tools `terminal` and `process`: JSON in and out, argument checks and hints around the typed
//! calls of `hermes-terminal`.
//!
//! Every input is answered with an object, never with a panic or a trace. Texts of outcomes and
//! processes come redacted from [`hermes_terminal::Terminal`] and are not redacted again; the tools' own
//! sentences that quote an argument are redacted where they are made.

mod arguments;
mod command;
mod exit_code_meaning;
mod process;
mod start;
mod symptom_hint;
mod tool;

pub use command::{NotRunReport, command_result, failure_hint};
pub use start::NoticeSupport;
pub use tool::{ProcessTool, TerminalSession, TerminalTool};
