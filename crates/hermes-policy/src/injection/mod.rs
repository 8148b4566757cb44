//! Text that would steer a model: found in files before they reach a prompt, and in what is about to
//! be remembered.

mod scan;
mod strict;
mod unquoted;

pub use scan::{Blocked, scan};
pub use strict::{scan_strictly, threat_in};
pub use unquoted::is_fence;
