//! The full backup: one zip of a whole root.

use std::fs::{File, Metadata};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_fs::Directory;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::pending_output::PendingOutput;
use super::walk::{BackupEntry, BackupItem, BackupWalk};
use super::{BackupProgress, Error, Result, SkippedFile};
use crate::database::is_database;

/// Files from this size get the 64-bit header; below it they cannot outgrow the old one, because
/// no more is read than there was at the start.
const LARGE_FILE: u64 = 1 << 31;
/// Compression level: the point after which time doubles and size hardly falls.
const LEVEL: i64 = 6;

/// What to back up and where to.
#[derive(Debug, Clone, Copy)]
pub struct BackupRequest<'a> {
    /// The root: home of the default profile, with all profiles below it.
    pub root: &'a Path,
    /// The zip to write; an existing one is replaced.
    pub output: &'a Path,
    /// Larger files are left out and listed; `None` for no cap.
    pub max_file_bytes: Option<u64>,
}

/// A file that is over the cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OversizedFile {
    /// Path below the root.
    pub path: PathBuf,
    pub size: u64,
}

/// What a backup holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupReport {
    pub path: PathBuf,
    pub size: u64,
    pub files: u64,
    pub bytes: u64,
    /// Files over the cap, which the user chose to leave out.
    pub too_large: Vec<OversizedFile>,
    /// What should be in it and is not.
    pub failed: Vec<SkippedFile>,
}

impl BackupReport {
    /// Whether everything that should be in the zip is in it.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

/// Backs up a root. The caller looks at [`BackupReport::is_complete`].
pub fn create_full(
    request: &BackupRequest<'_>,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<BackupReport> {
    let (pending, file) = PendingOutput::begin(request.output)?;
    let output = pending.target().to_owned();
    let walk = BackupWalk {
        root: Directory::open(&hermes_fs::canonicalize(request.root)?)?,
        own: vec![output.clone(), pending.working_dir().to_owned()],
        max_file_bytes: request.max_file_bytes,
    };
    let mut totals = BackupProgress::default();
    walk.visit(&mut |found| {
        if let BackupEntry::File(item) = found {
            totals.files_total += 1;
            totals.bytes_total += item.meta.len();
        }
        Ok(())
    })?;

    let sink = OutputFile {
        file,
        has_failed: false,
    };
    let mut writer = BackupWriter {
        zip: ZipWriter::new(BufWriter::with_capacity(256 * 1024, sink)),
        root: &walk.root,
        working_dir: pending.working_dir(),
        buffer: vec![0; 64 * 1024],
        progress: totals,
        tell: progress,
        report: BackupReport {
            path: output,
            ..BackupReport::default()
        },
    };
    walk.visit(&mut |found| writer.add(found))?;
    let mut report = writer.finish()?;
    report.size = pending.publish()?;
    Ok(report)
}

/// The archive's file. Once a write has failed, and its error is on its way to the caller, later
/// ones go nowhere: the zip writer completes its file when dropped, and prints to standard error if
/// that fails.
struct OutputFile {
    file: File,
    has_failed: bool,
}

impl OutputFile {
    fn attempt<T>(
        &mut self,
        when_failed: T,
        action: impl FnOnce(&mut File) -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        if self.has_failed {
            return Ok(when_failed);
        }
        let result = action(&mut self.file);
        self.has_failed = match &result {
            Ok(_) => false,
            Err(error) => error.kind() != std::io::ErrorKind::Interrupted,
        };
        result
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.attempt(bytes.len(), |file| file.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.attempt((), File::flush)
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.attempt(0, |file| file.seek(to))
    }
}

struct BackupWriter<'a> {
    zip: ZipWriter<BufWriter<OutputFile>>,
    root: &'a Directory,
    working_dir: &'a Path,
    buffer: Vec<u8>,
    progress: BackupProgress,
    tell: &'a mut dyn FnMut(BackupProgress),
    report: BackupReport,
}

impl BackupWriter<'_> {
    fn add(&mut self, found: BackupEntry) -> Result<()> {
        match found {
            BackupEntry::File(item) if is_database(&item.relative) => self.database(&item),
            BackupEntry::File(item) => self.file(&item, self.root.open_file(&item.relative)),
            BackupEntry::EmptyDir(item) => {
                let options = options(&item, 0);
                self.zip
                    .add_directory(&item.name, options)
                    .map_err(Error::write(&self.report.path))
            }
            BackupEntry::TooLarge(item) => {
                self.report.too_large.push(OversizedFile {
                    size: item.meta.len(),
                    path: item.relative,
                });
                Ok(())
            }
            BackupEntry::SkippedFile(failed) => {
                self.report.failed.push(failed);
                Ok(())
            }
        }
    }

    fn database(&mut self, item: &BackupItem) -> Result<()> {
        let staged = self.working_dir.join("database.db");
        match hermes_store::backup_to(&item.path, &staged) {
            Ok(_) => {
                self.file(item, hermes_fs::open_regular(&staged))?;
                Ok(hermes_fs::remove_file(&staged)?)
            }
            Err(error) => {
                self.fail(item, error.to_string());
                Ok(())
            }
        }
    }

    /// Adds the content of a file under the name of `item`.
    fn file(
        &mut self,
        item: &BackupItem,
        opened: hermes_fs::Result<(File, Metadata)>,
    ) -> Result<()> {
        let (file, meta) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.fail(item, error.to_string());
                return Ok(());
            }
        };
        let write = |zip: &Path| Error::write::<zip::result::ZipError>(zip);
        self.zip
            .start_file(&item.name, options(item, meta.len()))
            .map_err(write(&self.report.path))?;
        match self.copy(file.take(meta.len()))? {
            Ok(bytes) => {
                self.report.files += 1;
                self.report.bytes += bytes;
            }
            Err(error) => {
                self.zip.abort_file().map_err(write(&self.report.path))?;
                let error = hermes_fs::Error::io("read", &item.path)(error);
                self.fail(item, error.to_string());
                return Ok(());
            }
        }
        self.progress.files_done += 1;
        (self.tell)(self.progress);
        Ok(())
    }

    /// Copies into the archive. The inner error is the source's, which costs one file; the outer
    /// one is the archive's, which ends the backup.
    fn copy(&mut self, mut source: impl Read) -> Result<std::io::Result<u64>> {
        let mut bytes = 0;
        loop {
            let read = match source.read(&mut self.buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            let Some(chunk) = self.buffer.get(..read).filter(|chunk| !chunk.is_empty()) else {
                return Ok(Ok(bytes));
            };
            self.zip
                .write_all(chunk)
                .map_err(Error::write(&self.report.path))?;
            bytes += read as u64;
            self.progress.bytes_done += read as u64;
            (self.tell)(self.progress);
        }
    }

    fn fail(&mut self, item: &BackupItem, reason: String) {
        self.report
            .failed
            .push(SkippedFile::new(&item.relative, reason));
        self.progress.files_done += 1;
    }

    fn finish(self) -> Result<BackupReport> {
        let path = &self.report.path;
        let buffered = self.zip.finish().map_err(Error::write(path))?;
        let sink = buffered
            .into_inner()
            .map_err(|error| Error::write(path)(error.into_error()))?;
        sink.file.sync_all().map_err(Error::write(path))?;
        Ok(self.report)
    }
}

fn options(item: &BackupItem, size: u64) -> SimpleFileOptions {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .large_file(size >= LARGE_FILE)
        .unix_permissions(item.meta.mode() & 0o777);
    match modified(item.meta.mtime()) {
        Some(time) => options.last_modified_time(time),
        None => options,
    }
}

/// Local time, as zip has it; `None` outside the years it can express.
fn modified(seconds: i64) -> Option<zip::DateTime> {
    let local = jiff::Timestamp::from_second(seconds)
        .ok()?
        .to_zoned(hermes_time::local());
    let part = |number: i8| u8::try_from(number).ok();
    zip::DateTime::from_date_and_time(
        u16::try_from(local.year()).ok()?,
        part(local.month())?,
        part(local.day())?,
        part(local.hour())?,
        part(local.minute())?,
        part(local.second())?,
    )
    .ok()
}
