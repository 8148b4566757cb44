//! From settings and flags to a provider that can be asked.

mod open;
mod wanted;

pub use open::{OpenError, open};
pub use wanted::Wanted;
