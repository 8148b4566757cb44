//! Placeholder.

pub mod archive;
pub mod backup;
