//! Every setting of `config.yaml`: name, type, default, variable that overrides it, and what it is
//! for. Defaults, type checks, suggestions, origins and the reference page all come from here.

mod areas;
mod key;
mod lookup;
mod reference;
mod security;

pub use areas::sections;
pub use key::{Fallback, Key, Kind, Section};
pub use lookup::{Known, classify, find, keys};
pub(crate) use lookup::{defaults, defaults_of};
pub use reference::reference_defaults;
pub(crate) use security::is_security;

/// The schema version we write as `_config_version`.
pub const CONFIG_VERSION: i64 = 33;
