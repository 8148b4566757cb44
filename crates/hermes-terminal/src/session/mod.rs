//! What lasts from one command of a conversation to the next, in memory only: directory, exported
//! variables, functions and aliases.

mod key;
mod leftovers;
mod overlay;
mod sessions;
mod state;

pub use hermes_proc::env::Overlay;
pub use key::SessionKey;
pub use leftovers::remove_leftover_snapshots;
pub use overlay::VariableDelta;
pub(crate) use overlay::{difference, is_identifier};
pub use sessions::{Session, Sessions};
pub(crate) use state::changed_definitions;
pub use state::{Definitions, ShellState, StateDelta};
