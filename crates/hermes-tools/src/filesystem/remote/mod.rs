//! Files of a remote host, by scripts of its shell: one for each operation, and as few operations as
//! a call can do with.
//!
//! Nothing here looks at a file of this machine.

mod files;
mod grep_output;
mod grep_syntax;
mod page;
mod rules;
mod search;

pub use files::RemoteFiles;
pub use rules::WriteRules;
