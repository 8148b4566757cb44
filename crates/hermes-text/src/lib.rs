//! Text of others on its way to people: unable to steer a terminal, and cut by characters.

mod closest;
mod named_enum;
mod number;
mod safe;
mod terminal;

pub use closest::closest;
pub use number::with_separators;
pub use safe::{cut, first_line, one_line, shown, steady, visible};
pub use terminal::{TerminalWriter, for_terminal, json_for_terminal};
