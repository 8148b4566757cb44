//! How large a model's window is: stated, remembered, or known by the family of its name.

mod cache;
mod family;
mod metadata;

pub(crate) use cache::WindowCache;
pub(crate) use family::family_window;
pub(crate) use metadata::{Stated, fetch_only_model, fetch_window};

/// The window of a model nobody knows.
pub(crate) const UNKNOWN_WINDOW: u64 = 256_000;
