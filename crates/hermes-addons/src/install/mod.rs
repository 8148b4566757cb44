//! Installing a feature: staged, locked, all or nothing.
//!
//! Nothing that anybody else sees changes before the index is replaced, which is the last step but
//! one. Dropping the stage on the way out removes whatever was done until then.

mod diagnosis;
mod environment;
mod inspection;
mod log;
mod run;
mod tool;

pub use run::{InstallObserver, InstallRequest, InstallStep, Installed};
