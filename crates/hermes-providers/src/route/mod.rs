//! From settings and flags to a provider.

mod api_mode;
mod auxiliary;
mod choose;
mod custom;
mod fallback;
mod host;
mod keys;
mod model_vendor;
mod open;
mod overrides;
mod pools;
mod registry;
mod resolve;
mod settings;

pub(crate) use api_mode::ApiMode;
pub use auxiliary::AuxiliaryModels;
pub use fallback::{FallbackEntry, fallback_entries, fallback_problem};
pub(crate) use host::is_host;
pub use open::{OpenError, open};
pub use overrides::ModelOverrides;
pub use pools::{PoolName, keys_in_variables};
pub use registry::{BUILTINS, Builtin, builtin};
pub(crate) use settings::{EffortStyle, Route, Timeouts};
