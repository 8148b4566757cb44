//! The start of a container: who everything runs as, whose the volume is, what is in it before the
//! first service runs, and what the container was asked to run.
//!
//! Decisions are functions of texts and arguments; effects go through descriptors below the volume.
//! Nothing here starts a process or prints: the program's container roles do.

mod accounts;
mod boot;
mod command_line;
mod ids;
mod known_tree;
mod ownership;
mod seed;

pub use accounts::RuntimeUser;
pub use boot::{BootError, Machine};
pub use command_line::{MainProgram, without_entry_points, without_tini_flags};

/// Gets each line that people should see.
pub type Log<'a> = dyn FnMut(&str) + 'a;
