//! What a shell line would run: simple commands with their words, redirections and positions in
//! pipelines, those inside substitutions, functions and payloads included.
//!
//! Reading only: nothing here runs anything, touches a file or says what is dangerous.

mod analysis;
mod effects;
mod escapes;
mod expand;
pub mod glob;
mod heredoc;
mod kind;
mod known_shell;
mod last_program;
mod lexical;
mod model;
mod normalise;
mod parameter;
mod parse;
mod plain;
pub mod programs;
mod scope;
pub mod sed;
mod stages;
mod substitution;
mod tool_text;
mod typed;
mod variables;
mod walk;
mod word;
mod wrapper;

pub use analysis::{Analysis, MAX_COMMAND_CHARS};
pub use known_shell::{KnownShell, UnknownShell};
pub use last_program::last_program;
pub use model::{
    Command, Function, Inner, InnerForm, PipePosition, Reach, Redirect, Script, StdinText, Via,
    Word, basename, file_operands, is_long, is_one_of, operands,
};
pub use tool_text::escape_of_client;
pub use typed::{is_unfinished, runs_typed_text};
pub use variables::lists_variables;
pub use wrapper::{SUDO_VALUES, behind_options};
