//! Placeholder.

pub mod archive;
