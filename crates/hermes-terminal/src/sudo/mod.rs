//! Passwords for `sudo`: where they come from, how long they are remembered, when none is needed.
//!
//! A password goes to a command over its standard input and nowhere else: never into an environment,
//! a log or a file. How a person is asked belongs to the surfaces.

mod passwords;
mod probe;
mod remembered;

pub(crate) use passwords::password_was_rejected;
pub use passwords::{PasswordPrompt, SudoPasswords, configured_password};
pub use probe::{LocalProbe, Probe, SudoNeeds};
