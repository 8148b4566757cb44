//! Waits for files to change, beside descriptors.
//!
//! The kernel reports changes where it can (inotify). Elsewhere, and where its watches are used up,
//! the files are compared once a second.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::first_readable;

/// Pause between two comparisons without the kernel's help.
const COMPARE_EVERY: Duration = Duration::from_secs(1);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    /// The descriptor at this position can be read.
    Readable(usize),
    /// A watched file has new content.
    Changed,
    /// The time is up.
    TimedOut,
}

/// A set of files whose changes end a wait.
#[derive(Debug, Default)]
pub struct FileWatch {
    files: BTreeSet<PathBuf>,
    directories: BTreeSet<PathBuf>,
    #[cfg(target_os = "linux")]
    kernel: Option<linux::Inotify>,
    stamps: BTreeMap<PathBuf, Option<(SystemTime, u64)>>,
}

impl FileWatch {
    /// Watches these files, which need not exist, for being written to or replaced, and these
    /// directories for new entries. What was watched before and is not named is not watched any more.
    pub fn watch(&mut self, files: BTreeSet<PathBuf>, directories: BTreeSet<PathBuf>) {
        #[cfg(target_os = "linux")]
        {
            let kernel = self.kernel.take().or_else(|| linux::Inotify::new().ok());
            self.kernel = kernel.and_then(|kernel| kernel.watching(&files, &directories));
        }
        self.files = files;
        self.directories = directories;
        self.stamps = self.current_stamps();
    }

    /// Waits until a descriptor can be read, a file changes, or the limit has passed. Several changes
    /// at once end one wait.
    pub fn wait(
        &mut self,
        descriptors: &[BorrowedFd<'_>],
        limit: Option<Duration>,
    ) -> io::Result<WaitEnd> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            #[cfg(target_os = "linux")]
            if let Some(kernel) = &mut self.kernel {
                let mut all = descriptors.to_vec();
                all.push(kernel.descriptor());
                match first_readable(&all, left)? {
                    None => return Ok(WaitEnd::TimedOut),
                    Some(position) if position < descriptors.len() => {
                        return Ok(WaitEnd::Readable(position));
                    }
                    Some(_) if kernel.read(&self.files, &self.directories)? => {
                        return Ok(WaitEnd::Changed);
                    }
                    Some(_) => continue,
                }
            }
            let pause = left.map_or(COMPARE_EVERY, |left| left.min(COMPARE_EVERY));
            if let Some(position) = first_readable(descriptors, Some(pause))? {
                return Ok(WaitEnd::Readable(position));
            }
            let stamps = self.current_stamps();
            if stamps != self.stamps {
                self.stamps = stamps;
                return Ok(WaitEnd::Changed);
            }
            if left.is_some_and(|left| left <= COMPARE_EVERY) {
                return Ok(WaitEnd::TimedOut);
            }
        }
    }

    fn current_stamps(&self) -> BTreeMap<PathBuf, Option<(SystemTime, u64)>> {
        let stamp = |path: &PathBuf| {
            let meta = hermes_fs::metadata(path).ok()?;
            Some((meta.modified().ok()?, meta.len()))
        };
        let all = self.files.iter().chain(&self.directories);
        all.map(|path| (path.clone(), stamp(path))).collect()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};
    use std::ffi::OsStr;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::inotify::{
        CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch,
    };
    use rustix::io::Errno;

    /// What a watch is on. Content is watched at each file: a directory would report every write to
    /// every file in it, and a home has databases that are written all the time.
    #[derive(Debug, PartialEq, Eq)]
    enum Watched {
        /// For entries that appear.
        Directory(PathBuf),
        /// For content.
        File(PathBuf),
    }

    /// The kernel allows no more watches.
    struct NoneLeft;

    #[derive(Debug)]
    pub(super) struct Inotify {
        descriptor: OwnedFd,
        watches: BTreeMap<i32, Watched>,
    }

    impl Inotify {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self {
                descriptor: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
                watches: BTreeMap::new(),
            })
        }

        /// Watches exactly these files and directories; `None` if the kernel allows no more watches.
        /// What does not exist is left out, but for the directory that a file would be in.
        pub(super) fn watching(
            mut self,
            files: &BTreeSet<PathBuf>,
            directories: &BTreeSet<PathBuf>,
        ) -> Option<Self> {
            let parents = files.iter().filter_map(|file| file.parent());
            let all: BTreeSet<&Path> = parents
                .chain(directories.iter().map(PathBuf::as_path))
                .collect();
            let watches = std::mem::take(&mut self.watches);
            let (kept, dropped): (BTreeMap<_, _>, BTreeMap<_, _>) =
                watches.into_iter().partition(|(_, watched)| match watched {
                    Watched::Directory(path) => all.contains(path.as_path()),
                    Watched::File(path) => files.contains(path),
                });
            for watch in dropped.into_keys() {
                self.forget(watch);
            }
            self.watches = kept;
            for path in all {
                self.add(Watched::Directory(path.to_owned())).ok()?;
            }
            for path in files {
                self.add(Watched::File(path.clone())).ok()?;
            }
            Some(self)
        }

        /// Watches something again even if it was: another may have its name now.
        fn add(&mut self, watched: Watched) -> Result<(), NoneLeft> {
            let (path, flags) = match &watched {
                Watched::Directory(path) => {
                    let flags = WatchFlags::MOVED_TO | WatchFlags::CREATE;
                    (path, flags | WatchFlags::ONLYDIR)
                }
                Watched::File(path) => (path, WatchFlags::MODIFY),
            };
            let watch = match add_watch(&self.descriptor, path, flags) {
                Ok(watch) => watch,
                Err(Errno::NOSPC | Errno::NOMEM) => return Err(NoneLeft),
                Err(_) => return Ok(()),
            };
            let earlier = self
                .watches
                .iter()
                .find(|(number, known)| **number != watch && **known == watched)
                .map(|(number, _)| *number);
            if let Some(earlier) = earlier {
                self.watches.remove(&earlier);
                self.forget(earlier);
            }
            self.watches.insert(watch, watched);
            Ok(())
        }

        fn forget(&self, watch: i32) {
            // Fails only if what was watched is gone, and the watch with it.
            let _gone: Result<(), Errno> = remove_watch(&self.descriptor, watch);
        }

        pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
            self.descriptor.as_fd()
        }

        /// Reads all reports; whether one is about these files or directories.
        pub(super) fn read(
            &mut self,
            files: &BTreeSet<PathBuf>,
            directories: &BTreeSet<PathBuf>,
        ) -> io::Result<bool> {
            let mut buffer = [const { MaybeUninit::<u8>::uninit() }; 4096];
            let mut reader = Reader::new(self.descriptor.as_fd(), &mut buffer);
            let mut is_relevant = false;
            let mut appeared = BTreeSet::new();
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => continue,
                    Err(errno) => return Err(errno.into()),
                };
                let flags = event.events();
                // Reports were lost: anything may have changed.
                is_relevant |= flags.contains(ReadFlags::QUEUE_OVERFLOW);
                match (self.watches.get(&event.wd()), event.file_name()) {
                    (Some(Watched::File(_)), _) => {
                        is_relevant |= flags.contains(ReadFlags::MODIFY);
                    }
                    (Some(Watched::Directory(directory)), Some(name)) => {
                        let path = directory.join(OsStr::from_bytes(name.to_bytes()));
                        is_relevant |= directories.contains(directory);
                        if files.contains(&path) {
                            is_relevant |= flags.contains(ReadFlags::MOVED_TO);
                            appeared.insert(path);
                        }
                    }
                    (Some(Watched::Directory(_)) | None, _) => {}
                }
            }
            for path in appeared {
                // Watched before it is looked at: what is written in between is reported. Without a
                // watch it counts as changed.
                is_relevant |= self.add(Watched::File(path.clone())).is_err();
                // SQLite creates and removes its log whenever a database is opened and closed; one
                // without content tells nothing.
                is_relevant |= hermes_fs::metadata(&path).is_ok_and(|meta| meta.len() > 0);
            }
            Ok(is_relevant)
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_secs(30));
    const SHORT: Option<Duration> = Some(Duration::from_millis(20));

    fn watch(files: &[&Path], directories: &[&Path]) -> FileWatch {
        let mut watch = FileWatch::default();
        let set = |paths: &[&Path]| paths.iter().map(|path| (*path).to_owned()).collect();
        watch.watch(set(files), set(directories));
        watch
    }

    #[test]
    fn a_watched_file_that_is_written_or_replaced_ends_the_wait() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kanban.db-wal");
        let mut watch = watch(&[&file], &[]);
        std::fs::write(&file, "1").unwrap();
        assert_eq!(watch.wait(&[], LONG).unwrap(), WaitEnd::Changed);
        assert_eq!(watch.wait(&[], SHORT).unwrap(), WaitEnd::TimedOut);
        let other = directory.path().join("new");
        std::fs::write(&other, "2").unwrap();
        assert_eq!(watch.wait(&[], SHORT).unwrap(), WaitEnd::TimedOut);
        std::fs::rename(&other, &file).unwrap();
        assert_eq!(watch.wait(&[], LONG).unwrap(), WaitEnd::Changed);
        std::fs::remove_file(&file).unwrap();
        std::fs::File::create(&file).unwrap();
        assert_eq!(watch.wait(&[], SHORT).unwrap(), WaitEnd::TimedOut);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn writes_to_other_files_beside_it_wake_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.yaml");
        let busy = directory.path().join("state.db-wal");
        for path in [&file, &busy] {
            std::fs::write(path, "1").unwrap();
        }
        let mut watch = watch(&[&file], &[]);
        std::fs::write(&busy, "22").unwrap();
        let descriptor = watch.kernel.as_ref().unwrap().descriptor();
        let woken = first_readable(&[descriptor], Some(Duration::ZERO)).unwrap();
        assert_eq!(woken, None);
        std::fs::write(&file, "22").unwrap();
        assert_eq!(watch.wait(&[], LONG).unwrap(), WaitEnd::Changed);
    }

    #[test]
    fn a_new_entry_of_a_watched_directory_ends_the_wait() {
        let directory = tempfile::tempdir().unwrap();
        let mut watch = watch(&[], &[directory.path()]);
        std::fs::create_dir(directory.path().join("site")).unwrap();
        assert_eq!(watch.wait(&[], LONG).unwrap(), WaitEnd::Changed);
    }

    #[test]
    fn a_readable_descriptor_ends_the_wait_and_says_which() {
        let directory = tempfile::tempdir().unwrap();
        let mut watch = watch(&[&directory.path().join("x")], &[]);
        let (silent, _keep) = UnixStream::pair().unwrap();
        let (ready, _) = UnixStream::pair().unwrap();
        let descriptors = [silent.as_fd(), ready.as_fd()];
        assert_eq!(
            watch.wait(&descriptors, LONG).unwrap(),
            WaitEnd::Readable(1)
        );
    }

    #[test]
    fn files_are_compared_where_the_kernel_reports_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.yaml");
        let mut watch = watch(&[&file], &[]);
        #[cfg(target_os = "linux")]
        {
            watch.kernel = None;
        }
        std::fs::write(&file, "1").unwrap();
        assert_eq!(watch.wait(&[], LONG).unwrap(), WaitEnd::Changed);
        assert_eq!(watch.wait(&[], SHORT).unwrap(), WaitEnd::TimedOut);
    }
}
