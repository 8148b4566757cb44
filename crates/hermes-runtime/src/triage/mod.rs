//! Triage in the name of a profile: who can be assigned, and splitting cards without being asked.

mod auto_decompose;
mod roster;

pub use auto_decompose::{AutoDecomposer, DecomposeBoards};
pub use roster::roster;
