//! Which files are scripts of jobs: those below `scripts` of the profile, links followed.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::home::CronHome;

/// Largest script that is looked through.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The file of a script, which must not be outside of the directory of scripts. It need not exist.
pub(crate) fn contained_script(home: &CronHome, script: &str) -> Result<PathBuf> {
    let scripts = home.scripts();
    let outside = || {
        Error::refused(
            format!(
                "the script '{}' is not below {}",
                hermes_text::shown(script, 100),
                scripts.display()
            ),
            "put the script there and name it relative to that directory",
        )
    };
    if script.contains('\0') || script.starts_with('~') {
        return Err(outside());
    }
    // An absolute path stays as it is.
    let path = hermes_fs::resolved(&scripts.join(script));
    if !path.starts_with(hermes_fs::resolved(&scripts)) {
        return Err(outside());
    }
    Ok(path)
}

/// What is in the script, as far as it can be read.
pub(crate) fn read_for_check(home: &CronHome, script: &str) -> String {
    let path = contained_script(home, script).ok();
    // One that is not there yet, or is no text, is looked at when it runs.
    let bytes = path.and_then(|path| hermes_fs::read_capped(&path, LARGEST).ok());
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}
