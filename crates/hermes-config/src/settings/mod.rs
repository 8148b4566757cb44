//! Settings in effect: files, variables and defaults laid over each other, with where each value
//! came from and what is wrong with the files.

mod config;
mod expand;
mod file;
mod merged;
mod migrate;
mod normalise;
mod origin;
mod overlay;
mod problem;
mod reporter;
mod stamps;
mod value_text;
mod whole_file;
mod write;
mod wrong_value;

pub use config::{Config, Sources};
pub use file::{BrokenFile, FileState, SettingsFile};
pub use migrate::{MigrationReport, migrate, version_of};
pub use origin::{Candidate, Layer};
pub use problem::Problem;
pub use reporter::ProblemReporter;
pub use value_text::{is_secret_path, masked, plain_text};
pub use whole_file::{WholeFileError, change_values, masked_text, replace_file};
pub use write::{
    ConfigError, SetOutcome, SetRequest, Target, append_to_list, append_value, changes_security,
    edit_text_file, remove_root_key, remove_value, set, set_variable, unset,
};
pub use wrong_value::WrongValue;
