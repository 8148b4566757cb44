//! From settings to child environments: what the operator let through, which names are credentials,
//! which HOME children see.
//!
//! The rules themselves are `hermes_proc`'s. Nothing here reads the process environment or prints
//! a value; warnings name variables and settings.

mod builder;
mod links;
mod live;
mod secret_names;
mod shell_source;
mod warnings;

pub use builder::{EnvironmentBuilder, EnvironmentFacts};
pub use live::LiveEnvironment;
pub use secret_names::{config_secret_names, derived_secret_names};
pub use shell_source::{ShellEnvRequest, ShellEnvironment};
pub use warnings::tell_once;

#[cfg(test)]
mod tests;
