//! The last process of the container: what the supervisor becomes when all services are down.

use std::path::Path;
use std::process::ExitCode;

use hermes_proc::stages::{bury_until, terminate_child};

use super::scandir::{EXIT_CODE, WATCHER};

/// Exit code if nobody knows that of the main program.
const UNKNOWN: u8 = 1;

/// Ends the main program if it still runs, and gives its code.
pub(super) fn finish() -> ExitCode {
    if number::<u8>(EXIT_CODE).is_none()
        && let Some(watcher) = number::<u32>(WATCHER)
    {
        terminate_child(watcher);
        bury_until(watcher);
    }
    ExitCode::from(number(EXIT_CODE).unwrap_or(UNKNOWN))
}

fn number<T: std::str::FromStr>(path: &str) -> Option<T> {
    let text = hermes_fs::read_text_capped(Path::new(path), 32).ok()?;
    text.trim().parse().ok()
}
