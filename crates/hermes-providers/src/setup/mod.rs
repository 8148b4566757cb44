//! From settings and flags to a provider.

mod auxiliary;
mod check;
mod choose;
mod custom;
mod delegation;
mod error;
mod fallback;
mod keys;
mod model_format;
mod model_vendor;
mod open;
mod openrouter;
mod overrides;
mod pools;
mod query_route;
mod registry;
mod resolve;

pub use auxiliary::AuxiliaryModels;
pub use check::{RouteCheck, usable_fallbacks};
pub use error::OpenError;
pub use fallback::{FallbackEntry, fallback_entries, fallback_problem};
pub use open::open;
pub use overrides::ModelOverrides;
pub use pools::{PoolName, keys_in_variables};
pub(crate) use query_route::QueryRoute;
pub use registry::{BUILTINS, Builtin, builtin};
pub(crate) use resolve::variable;
