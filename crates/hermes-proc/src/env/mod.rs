//! The one builder of child environments.
//!
//! A plan starts from nothing: each name of the parent passes the rules of the child's class
//! before it is copied, then HOME, PATH and the session's own state are added. Every plan comes
//! with a receipt that says, for each name, what became of it and by which rule. Nothing here
//! prints a value, reads the process environment or changes a file, [`ensure_hermes_link`] apart.

mod allow_list;
mod build;
mod class;
mod hermes_link;
mod names;
mod overlay;
mod own_install;
mod passthrough;
mod path_value;
mod plan;
mod policy;
mod receipt;
mod rule;
mod search_path;
mod tier;

pub use class::{SpawnClass, UnknownClass};
pub use hermes_link::ensure_hermes_link;
pub use names::{ACTIVATION_MARKERS, SESSION_NAMES, is_activation_marker};
pub use overlay::{Overlay, VariableChanges};
pub use own_install::{OwnInstall, OwnInstallFacts, holds_reference_distribution};
pub use passthrough::{Refusal, RefusalReason};
pub use plan::{EnvPlan, EnvRequest};
pub use policy::EnvPolicy;
pub use receipt::{Fate, Receipt, ReceiptRow};
pub use rule::Rule;
pub use search_path::{PathOrigin, STANDARD_DIRECTORIES, SearchPath};
pub use tier::is_managed_secret;

#[cfg(test)]
#[path = "plan_tests.rs"]
mod plan_tests;
#[cfg(test)]
#[path = "property_tests.rs"]
mod property_tests;
