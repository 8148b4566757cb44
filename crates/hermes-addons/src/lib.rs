//! Optional backends that can only fail themselves: the catalog, the store and the installer.
//!
//! Asking never installs and never starts a program. An install gets only bytes whose hash the catalog
//! knows, and replaces nothing before the new environment is proven. Nothing in the store is read as
//! code of this program.

mod addons;
mod catalog;
mod closure;
mod details;
mod error;
mod first_use;
mod gate;
mod gc;
mod install;
mod interpreter;
mod launch;
mod marker;
mod node;
mod node_package;
mod overview;
mod plugin_environment;
mod plugin_packages;
mod removal;
mod settings;
mod spec;
mod store;
mod verification;
mod worker;

pub use addons::Addons;
pub use catalog::{FEATURES, Feature, PythonAddon, Support};
pub use details::Details;
pub use error::{AddonError, Code, Fault, InstallerReport, Result};
pub use first_use::{FirstUse, InstallConsent};
pub use gate::Gate;
pub use gc::{CollectRequest, Collected, Removed};
pub use install::{InstallObserver, InstallRequest, InstallStep, Installed};
pub use interpreter::Interpreter;
pub use launch::Launch;
pub use node_package::NodePackage;
pub use overview::{AddonRow, FailureRow, InterpreterRow, Overview, State, StoreRow};
pub use plugin_packages::PluginPackages;
pub use removal::Removal;
pub use settings::{AddonSettings, Places};
pub use verification::{Verified, VerifyMode};
pub use worker::{Invocation, Residents, WorkerHost, WorkerRow, WorkerState, Workers};
