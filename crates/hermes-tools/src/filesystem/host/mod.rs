//! Files of this machine.

mod files;
mod kept;
mod walk;

pub use files::{HostFiles, real_path};
