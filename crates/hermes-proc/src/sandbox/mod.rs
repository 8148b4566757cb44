//! The kernel's part of a sandbox for commands on this machine.
//!
//! A [`SandboxPlan`] says which paths a command may write, which it may not see, and which network it
//! has. [`Sandbox::prepare`] turns it into what the kernel understands, once; every child that is
//! started with it then gets the same confinement before it becomes the program:
//!
//! - a mount namespace in which everything is read-only but the writable paths, and hidden paths are
//!   covered (`namespaces.rs`), where the kernel allows one;
//! - a Landlock domain with the same rules, which also holds for what is mounted, replaced or passed
//!   on later (`landlock_rules.rs`);
//! - reduced capabilities, no new privileges, and system call filters (`filters.rs`).
//!
//! What the kernel lacks is listed by [`Enforcement`]. Nothing here knows settings or profiles.

mod apply;
mod enforcement;
mod filters;
mod landlock_rules;
mod listings;
mod loopback;
mod macos;
mod namespaces;
mod plan;
mod prepare;
mod readable;

pub use enforcement::{Enforcement, Gap, KernelSupport};
pub use macos::macos_profile;
pub use namespaces::{BUILDER_ARGUMENTS, build_namespaces};
pub use plan::{Network, SandboxPlan};
pub use prepare::{Sandbox, SandboxError};
