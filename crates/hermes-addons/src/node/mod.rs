//! Add-ons that are packages of npm, chosen by the user: one exact version, resolved once, and from
//! then on only the files whose hashes that gave.

mod account;
mod install;
mod launch;

/// Where Node's own programs are, and what is needed of them.
pub(crate) const OLDEST_NODE: u32 = 20;
