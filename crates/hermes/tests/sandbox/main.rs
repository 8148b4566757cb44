//! The kernel's sandbox around commands: ways out that must fail, work that must go on, and what
//! happens where the kernel or the settings do not allow it. The real binary, as root and as an
//! ordinary user.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at files and processes from outside"
)]

mod attempts;
mod escapes;
mod inside;
mod own_memory;
mod policy;
mod work;
mod world;
