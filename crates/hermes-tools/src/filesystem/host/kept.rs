//! Where long results are kept on this machine: below the temporary directory, in a directory nobody
//! else can look into. What is old is removed when a conversation keeps its first.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::filesystem::operations::{ResultToSave, SessionState};

/// The directory of all conversations.
const TOP: &str = "hermes-results";
/// Results of conversations that kept nothing for this long are removed.
const KEPT_FOR: Duration = Duration::from_hours(24 * 7);
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Writes a result and says where.
pub(super) fn save(
    result: &ResultToSave<'_>,
    session: &dyn SessionState,
) -> Result<PathBuf, String> {
    let set = session.variable("TMPDIR").map(PathBuf::from);
    let temporary = set.filter(|path| path.is_absolute());
    let temporary = temporary.unwrap_or_else(|| PathBuf::from("/tmp"));
    let top = top_in(&temporary)?;
    let directory = top.join(&result.directory);
    if !hermes_fs::exists_no_follow(&directory) {
        sweep(&top);
    }
    if !make_own(&directory)? {
        return Err(format!("{} belongs to another user.", directory.display()));
    }
    let path = directory.join(&result.file);
    hermes_fs::write_atomic_exact(&path, result.text.as_bytes(), FILE_MODE)
        .map_err(|error| error.to_string())?;
    Ok(path)
}

/// Ours: the first user of a machine may have the plain name.
fn top_in(temporary: &Path) -> Result<PathBuf, String> {
    let plain = temporary.join(TOP);
    if make_own(&plain)? {
        return Ok(plain);
    }
    let user = rustix::process::geteuid().as_raw();
    let own = temporary.join(format!("{TOP}-{user}"));
    if make_own(&own)? {
        return Ok(own);
    }
    Err(format!(
        "{} and {} belong to another user.",
        plain.display(),
        own.display()
    ))
}

/// Makes a directory that is ours alone; `false` if somebody else has something there.
fn make_own(path: &Path) -> Result<bool, String> {
    let said = |error: hermes_fs::Error| error.to_string();
    match hermes_fs::create_dir(path, DIRECTORY_MODE) {
        Ok(()) | Err(hermes_fs::Error::AlreadyExists { .. }) => {}
        Err(error) => return Err(said(error)),
    }
    // Not followed: a link could lead into somebody else's directory.
    let meta = hermes_fs::symlink_metadata(path).map_err(said)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Ok(false);
    }
    if meta.mode() & 0o7777 != DIRECTORY_MODE {
        hermes_fs::set_mode(path, DIRECTORY_MODE).map_err(said)?;
    }
    Ok(true)
}

fn sweep(top: &Path) {
    let Ok(top) = hermes_fs::Directory::open_own(top) else {
        return;
    };
    let is_old = |name: &Path| {
        let modified = top.metadata(name).ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(modified).ok()?;
        Some(age > KEPT_FOR)
    };
    for entry in top.entries().unwrap_or_default() {
        let name = Path::new(&entry.name);
        if is_old(name) == Some(true)
            && let Err(error) = top.remove_tree(name)
        {
            tracing::debug!("could not remove old results: {error}");
        }
    }
}
