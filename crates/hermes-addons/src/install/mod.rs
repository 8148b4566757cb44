//! Installing a feature: staged, locked, all or nothing.
//!
//! Nothing that anybody else sees changes before the index is replaced, which is the last step but
//! one. Dropping the stage on the way out removes whatever was done until then.

mod commit;
mod diagnosis;
mod environment;
mod inspection;
mod log;
mod resolution;
mod run;
mod tool;

pub(crate) use commit::{commit, fresh_generation, now, report};
pub(crate) use diagnosis::of_failure;
pub(crate) use inspection::make_read_only;
pub(crate) use tool::Runner;

pub use run::{InstallObserver, InstallRequest, InstallStep, Installed};
