//! Context windows of models: stated, remembered, or known by model family.

mod cache;
mod family;
mod listed_model;
mod metadata;

pub(crate) use cache::WindowCache;
pub(crate) use family::family_window;
pub use listed_model::{ListedModel, TokenPrice};
pub use metadata::ServerRefusal;
pub(crate) use metadata::{ModelServer, StatedWindow, listed_models};

/// The assumed window of an unknown model.
pub(crate) const UNKNOWN_WINDOW: u64 = 256_000;
