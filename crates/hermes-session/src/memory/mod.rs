//! What the agent remembers between sessions: `memories/MEMORY.md` with its own notes and
//! `memories/USER.md` about the user.
//!
//! Both are lists of short entries with a line `§` between them. Every change is made under a lock
//! on the newest text, by an atomic write, as the reference does it: several processes of either
//! program may write at once.

mod change;
mod entries;
mod files;
mod prompt;

pub use change::{MemoryChange, MemoryRefusal};
pub use files::{MemoryFiles, MemoryTarget, StoredMemory};
