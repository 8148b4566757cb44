//! What a session has seen of files: so that a repeated reading of an unchanged file costs no
//! context, and a write over a file that changed meanwhile says so.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Entries after which everything is forgotten.
const MAX_ENTRIES: usize = 4096;

/// A state of a file. Equal stamps mean that nothing wrote to it in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStamp(String);

impl FileStamp {
    /// The stamp of a file on a remote host, as the system there prints it.
    pub(crate) fn reported(text: String) -> Self {
        Self(text)
    }

    /// The stamp of a file of this machine.
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self(format!(
            "{} {} {}.{}",
            meta.size(),
            meta.ino(),
            meta.mtime(),
            meta.mtime_nsec()
        ))
    }

    /// The state of a file of this machine now; `None` if it cannot be looked at.
    pub(crate) fn now(path: &Path) -> Option<Self> {
        hermes_fs::metadata(path).ok().map(|meta| Self::of(&meta))
    }
}

/// One page of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

/// What the session knows of a page that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageStatus {
    /// Not seen in this state.
    New,
    /// Already shown, once.
    Unchanged,
    /// Already shown, and the session was told so.
    RequestedAgain,
}

/// What one session has read and written.
#[derive(Debug, Default)]
pub struct FileLedger {
    seen: Mutex<Seen>,
    remembers_nothing: bool,
}

#[derive(Debug, Default)]
struct Seen {
    files: HashMap<PathBuf, FileStamp>,
    pages: HashMap<PageKey, (FileStamp, u32)>,
}

impl FileLedger {
    /// For a script, which has no memory of what it read and must get every page again.
    pub fn for_script() -> Self {
        Self {
            remembers_nothing: true,
            ..Self::default()
        }
    }

    /// Forgets which pages were shown: the conversation no longer holds them.
    pub fn forget_pages(&self) {
        self.lock().pages.clear();
    }

    /// Notes a reading and says what it is.
    pub(crate) fn note_read(&self, page: PageKey, stamp: FileStamp) -> PageStatus {
        let mut seen = self.lock();
        seen.files.insert(page.path.clone(), stamp.clone());
        if self.remembers_nothing {
            return PageStatus::New;
        }
        let entry = seen.pages.entry(page).or_insert_with(|| (stamp.clone(), 0));
        if entry.0 != stamp {
            *entry = (stamp, 0);
        }
        entry.1 += 1;
        match entry.1 {
            1 => PageStatus::New,
            2 => PageStatus::Unchanged,
            _ => PageStatus::RequestedAgain,
        }
    }

    /// Notes that the session itself brought the file into this state; `None` if it is gone.
    pub(crate) fn note_written(&self, path: &Path, stamp: Option<FileStamp>) {
        let mut seen = self.lock();
        seen.pages.retain(|page, _| page.path != path);
        match stamp {
            Some(stamp) => seen.files.insert(path.to_owned(), stamp),
            None => seen.files.remove(path),
        };
    }

    /// A warning if the file, now in this state, changed since the session last read or wrote it.
    pub(crate) fn staleness(&self, path: &Path, now: Option<&FileStamp>) -> Option<String> {
        let known = self.lock().files.get(path).cloned()?;
        (now != Some(&known)).then(|| {
            format!(
                "{} has been changed by something else since it was last read in this session; \
                 read it again to see the change.",
                path.display()
            )
        })
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        // A panic between two insertions leaves maps that are merely less complete.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.files.len() > MAX_ENTRIES || seen.pages.len() > MAX_ENTRIES {
            *seen = Seen::default();
        }
        seen
    }
}
