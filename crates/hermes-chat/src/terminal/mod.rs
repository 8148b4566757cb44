//! The terminal: its keys, its mode, its size, and who else may use it meanwhile. Nothing is ever
//! asked of it: some terminals do not answer.

mod keys;
mod mode;

pub(crate) use keys::{Decoder, Input, Key, Mods};
pub(crate) use mode::{Pausing, RawMode, Size, size, write_all};
pub use mode::{UsualTerminal, has_terminal, restore_terminal, usual_terminal};
