//! From settings and flags to a provider that can be asked.

mod api_mode;
mod auxiliary;
mod choose;
mod custom;
mod fallback;
mod host;
mod keys;
mod open;
mod pools;
mod registry;
mod resolve;
mod serving;
mod settings;
mod wanted;

pub(crate) use api_mode::ApiMode;
pub use auxiliary::SideModels;
pub use fallback::{FallbackEntry, fallback_entries, fallback_problem};
pub(crate) use host::is_host;
pub use open::{OpenError, open};
pub use pools::{PoolName, keys_in_variables};
pub use registry::{BUILTINS, Builtin, builtin};
pub(crate) use settings::{EffortStyle, Route, Timeouts};
pub use wanted::Wanted;
