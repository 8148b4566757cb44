//! Context windows of models: stated, remembered, or known by model family.

mod cache;
mod family;
mod metadata;

pub(crate) use cache::WindowCache;
pub(crate) use family::family_window;
pub use metadata::ServerRefusal;
pub(crate) use metadata::{ModelServer, StatedWindow};

/// The assumed window of an unknown model.
pub(crate) const UNKNOWN_WINDOW: u64 = 256_000;
