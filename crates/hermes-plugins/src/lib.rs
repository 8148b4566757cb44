//! Plugins: which there are, which are enabled, and how they get here and go.
//!
//! Everything in a plugin was written by somebody else: a manifest is bounded and checked, names never
//! become paths unchecked, and reading one never runs anything.

mod discovery;
mod error;
mod fetch;
mod install;
mod manifest;
mod name;
mod origin;
mod record;
mod settings;

pub use discovery::{Discovery, Plugin, Roots, Source, discover};
pub use error::{Error, Result};
pub use install::{Installed, PluginStore, Updated};
pub use manifest::{Kind, Manifest, RequiredVariable, Runtime};
pub use settings::{Entry, PluginSettings, Status};
