//! What lasts from one command of a conversation to the next, in memory only: directory, exported
//! variables, functions and aliases.

mod key;
mod leftovers;
mod overlay;
mod sessions;
mod state;

pub use key::SessionKey;
pub use leftovers::remove_leftover_snapshots;
pub(crate) use overlay::difference;
pub use overlay::{Overlay, VariableDelta};
pub use sessions::{Session, Sessions};
pub(crate) use state::changed_definitions;
pub use state::{Definitions, ShellState, StateDelta};
