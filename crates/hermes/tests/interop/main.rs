//! The reference and this program on one home: what either writes, the other reads.
//!
//! Needs Python and an index to install `hermes-agent` from. The two versions are installed once
//! below the target directory; if that fails, so do the tests, with the reason.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests look at files and run programs directly"
)]

/// Makes a test of each function for each version of the reference.
macro_rules! with_each_reference {
    ($($(#[$attribute:meta])* $name:ident),+ $(,)?) => {
        mod with_0_15_1 {
            $($(#[$attribute])* #[test] fn $name() { super::$name(crate::reference::V0_15_1); })+
        }
        mod with_0_19_0 {
            $($(#[$attribute])* #[test] fn $name() { super::$name(crate::reference::V0_19_0); })+
        }
    };
}

mod archives;
mod checkpoints;
mod cron;
mod defaults;
mod dotenv;
mod gateway;
mod incident;
mod kanban;
mod kanban_dispatch;
mod logins;
mod mcp;
mod memory;
mod migration;
mod reading;
mod reference;
mod sessions;
mod skills;
mod values;
mod world;
mod writing;
