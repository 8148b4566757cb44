//! The plugins of a profile: which are in use, and what they bring to a conversation.

mod listener;
mod offer;
mod packages;
mod profile;
mod server;

pub(crate) use offer::PluginOffer;
pub use profile::ProfilePlugins;
pub use server::forget_plugin;
