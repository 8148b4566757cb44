//! Names in the store. Those with `@` can never be imported as Python modules.

/// Environments, a directory per feature and one per generation in it.
pub(crate) const ENVIRONMENTS: &str = "@envs";
/// Installs under way.
pub(crate) const STAGES: &str = "@stage";
/// What is being removed.
pub(crate) const TRASH: &str = "@trash";
/// Packages of npm, likewise.
pub(crate) const NODE: &str = "@node";
/// Closures that were resolved here, a directory per plugin. They outlive environments.
pub(crate) const LOCKS: &str = "@locks";
/// Programs that workers start with, a directory per build of Hermes.
pub(crate) const SHIMS: &str = "@shim";
/// What compiled code in the store is for.
pub(crate) const STAMP: &str = ".python-abi";
/// The code of an environment.
pub(crate) const SITE: &str = "site";
/// The list of all its files.
pub(crate) const RECORD: &str = "record.json";
/// Held by whoever runs code of the environment.
pub(crate) const LEASE: &str = ".lease";
/// The lock of everybody who changes the store.
pub(crate) const LOCK: &str = ".hermes-addons.lock";
/// Which generation of each feature is in service.
pub(crate) const INDEX: &str = ".hermes-addons.json";
