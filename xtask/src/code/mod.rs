//! The sources of the workspace as the compiler sees them outside tests: crates, their module trees
//! and the items in them. The checks of this program work on this model, and their own tests build
//! small ones from text.

mod load;
mod names;
mod tokens;

pub(crate) use load::{Crate, Module, is_dev_crate, load};
pub(crate) use names::{ModuleId, Names, Target, defined_name, imports};
pub(crate) use tokens::{Token, TokenKind, flatten};
