//! Whether a directory is as it was when it was last looked at.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Times of files go by a clock that ticks every few milliseconds. What changed within this time
/// before the look may change once more and keep its time.
const SETTLED: Duration = Duration::from_millis(100);

/// What lay at a path, between two changes of it; also that nothing lay there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(Option<(u64, u64, i64, i64)>);

/// The version of what lies at a path; `None` if it cannot be told from later ones yet.
pub fn version(path: &Path) -> Option<Version> {
    match crate::metadata(path) {
        Err(_) => Some(Version(None)),
        Ok(found) if is_fresh(&found) => None,
        Ok(found) => Some(Version(Some((
            found.dev(),
            found.ino(),
            found.ctime(),
            found.ctime_nsec(),
        )))),
    }
}

fn is_fresh(found: &Metadata) -> bool {
    let seconds = u64::try_from(found.ctime()).unwrap_or_default();
    let nanoseconds = u32::try_from(found.ctime_nsec()).unwrap_or_default();
    let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
    // A change in the future, after the clock was set back, is fresh as well.
    SystemTime::now()
        .duration_since(changed)
        .map_or(true, |age| age < SETTLED)
}
