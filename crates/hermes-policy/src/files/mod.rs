//! Which files the tools may show and change.

mod read;
mod write;

pub use read::{PrivateHomes, ReadGuard};
pub use write::{WriteContext, WriteRefusal, check_write, check_write_by_text, parse_safe_roots};
