//! `.env`: secrets of a profile, read without ever touching the process environment.

mod edit;
mod names;
mod parse;
mod resolve;

pub use edit::{SetVariableError, repair, set_variable, unset_variable};
pub use names::{
    KnownName, belongs_in_dotenv, is_denied_name, is_known_name, is_valid_name, known_names,
};
pub use parse::{DotEnv, DotEnvError};
pub use resolve::{DotEnvNote, DotEnvNoteKind};
