//! Writing a profile to a gzip tar.
//!
//! The archive is built in a hidden directory beside the output and renamed at the end, so no
//! incomplete archive ever carries the output's name. Databases pass through SQLite's online
//! backup; `config.yaml` goes in with its literal secrets emptied, or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use hermes_fs::{Directory, Entry, Kind};
use tar::{EntryType, Header};

use super::exclude::is_excluded;
use super::links::{Links, objection};
use super::{Error, Result};
use crate::backup::SkippedFile;
use crate::backup::pending_output::PendingOutput;
use crate::database::is_database;

/// Largest `config.yaml` we look into.
const MAX_CONFIG: u64 = 16 * 1024 * 1024;

/// What to export and where to.
#[derive(Debug, Clone, Copy)]
pub struct ExportRequest<'a> {
    pub home: &'a Path,
    /// Name of the profile; becomes the top-level directory.
    pub name: &'a str,
    /// Whether this is the default profile, of which only a fixed list is exported.
    pub is_default: bool,
    /// The archive to write; an existing one is replaced.
    pub output: &'a Path,
}

/// What an export did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportReport {
    pub path: PathBuf,
    /// Files and links in it.
    pub files: u64,
    pub bytes: u64,
    /// Keys of `config.yaml` whose literal secrets were emptied.
    pub blanked: Vec<String>,
    /// Files that should be in the archive and are not.
    pub left_out: Vec<SkippedFile>,
}

/// Exports a profile.
pub fn export_profile(request: &ExportRequest<'_>) -> Result<ExportReport> {
    let home = hermes_fs::canonicalize(request.home)?;
    let (pending, file) = PendingOutput::begin(request.output)?;
    let output = pending.target();

    let mut plan = ExportPlan {
        is_default: request.is_default,
        own: [output.to_owned(), pending.working_dir().to_owned()],
        secrets: secret_files(&home),
        ..ExportPlan::default()
    };
    let root = Directory::open(&home)?;
    plan.walk(&root)?;

    let encoder = GzEncoder::new(BufWriter::new(file), flate2::Compression::default());
    let mut writer = ArchiveWriter {
        tar: tar::Builder::new(encoder),
        root: &root,
        top: PathBuf::from(request.name),
        output,
        working_dir: pending.working_dir(),
        report: ExportReport {
            path: output.to_owned(),
            left_out: plan.left_out,
            ..ExportReport::default()
        },
    };
    writer.directory(Path::new(""))?;
    for item in &plan.items {
        writer.add(item, &plan.links)?;
    }
    let report = writer.finish()?;
    pending.publish()?;
    Ok(report)
}

/// Where the secrets really are, should the well-known names be links into the home.
fn secret_files(home: &Path) -> Vec<PathBuf> {
    ["config.yaml", ".env", "auth.json"]
        .iter()
        .map(|name| home.join(name))
        .filter_map(|path| {
            let real = hermes_fs::canonicalize(&path).ok()?;
            (real != path).then_some(real)
        })
        .collect()
}

/// One thing to write.
struct ExportItem {
    relative: PathBuf,
    entry: Entry,
}

/// What will be written, in order.
#[derive(Default)]
struct ExportPlan {
    is_default: bool,
    /// The output and our working directory, which may lie inside the home.
    own: [PathBuf; 2],
    secrets: Vec<PathBuf>,
    items: Vec<ExportItem>,
    links: Links,
    left_out: Vec<SkippedFile>,
}

impl ExportPlan {
    fn walk(&mut self, home: &Directory) -> Result<()> {
        home.walk(&mut |relative, entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if relative.as_os_str().is_empty() => return Err(error.into()),
                Err(error) => {
                    let skipped = SkippedFile::new(relative, error.to_string());
                    self.left_out.push(skipped);
                    return Ok(false);
                }
            };
            if entry.kind == Kind::Special
                || is_excluded(relative, self.is_default)
                || self.own.contains(&entry.path)
                || self.secrets.contains(&entry.path)
            {
                return Ok(false);
            }
            if let Err(hermes_fs::UnsafePath(name)) = hermes_fs::confined_relative(relative) {
                let reason = format!("an import would refuse the name {name}");
                self.left_out.push(SkippedFile::new(relative, reason));
                return Ok(false);
            }
            if entry.kind == Kind::Symlink && relative != Path::new("config.yaml") {
                let target = home.read_link(relative)?;
                self.links.insert(relative.to_owned(), target);
            }
            self.items.push(ExportItem {
                relative: relative.to_owned(),
                entry: entry.clone(),
            });
            Ok(true)
        })
    }
}

struct ArchiveWriter<'a> {
    tar: tar::Builder<GzEncoder<BufWriter<File>>>,
    root: &'a Directory,
    top: PathBuf,
    output: &'a Path,
    working_dir: &'a Path,
    report: ExportReport,
}

impl ArchiveWriter<'_> {
    fn add(&mut self, item: &ExportItem, links: &Links) -> Result<()> {
        let ExportItem { relative, entry } = item;
        if relative == Path::new("config.yaml") && entry.kind != Kind::Dir {
            return self.config(relative, &entry.path);
        }
        match entry.kind {
            Kind::Dir => self.directory(relative),
            Kind::Symlink => self.link(relative, links),
            Kind::File if is_database(relative) => self.database(relative, &entry.path),
            Kind::File => match self.root.open_file(relative) {
                Ok((file, meta)) => {
                    self.content(relative, file, meta.len(), meta.mode(), meta.mtime())
                }
                Err(error) => self.leave_out(relative, error.to_string()),
            },
            Kind::Special => Ok(()),
        }
    }

    fn directory(&mut self, relative: &Path) -> Result<()> {
        let mtime = self.root.metadata(relative)?.mtime();
        let mut header = header(EntryType::Directory, 0o700, mtime);
        let name = self.top.join(relative);
        self.tar
            .append_data(&mut header, name, io::empty())
            .map_err(Error::write(self.output))
    }

    fn link(&mut self, relative: &Path, links: &Links) -> Result<()> {
        // An archive that holds such a link could not be imported again.
        if let Some(objection) = objection(links, relative) {
            return self.leave_out(relative, format!("it is {objection}"));
        }
        let mtime = self.root.metadata(relative)?.mtime();
        let mut header = header(EntryType::Symlink, 0o700, mtime);
        let target = self.root.read_link(relative)?;
        self.tar
            .append_link(&mut header, self.top.join(relative), target)
            .map_err(Error::write(self.output))?;
        self.report.files += 1;
        Ok(())
    }

    fn database(&mut self, relative: &Path, path: &Path) -> Result<()> {
        let staged = self.working_dir.join("database.db");
        if let Err(error) = hermes_store::backup_to(path, &staged) {
            return self.leave_out(relative, error.to_string());
        }
        let mtime = hermes_fs::symlink_metadata(path)?.mtime();
        let (file, meta) = hermes_fs::open_regular(&staged)?;
        self.content(relative, file, meta.len(), 0o600, mtime)?;
        Ok(hermes_fs::remove_file(&staged)?)
    }

    /// The configuration with its literal secrets emptied. A file we cannot read as YAML is not
    /// exported: nobody knows what is in it.
    fn config(&mut self, relative: &Path, path: &Path) -> Result<()> {
        let text = match hermes_fs::read_text_capped(path, MAX_CONFIG) {
            Ok(text) => text,
            Err(error) => return self.leave_out(relative, error.to_string()),
        };
        match hermes_config::blank_secrets(&text) {
            Ok((text, keys)) => {
                self.report.blanked = keys;
                let mtime = hermes_fs::metadata(path)?.mtime();
                let size = text.len() as u64;
                self.content(relative, text.as_bytes(), size, 0o600, mtime)
            }
            Err(error) => self.leave_out(
                relative,
                format!("it cannot be parsed and may contain secrets: {error}"),
            ),
        }
    }

    fn content(
        &mut self,
        relative: &Path,
        source: impl Read,
        size: u64,
        mode: u32,
        mtime: i64,
    ) -> Result<()> {
        let mut header = header(EntryType::Regular, mode & 0o700, mtime);
        header.set_size(size);
        // Exactly the announced number of bytes: tar writes the size first, and a log may have grown
        // or been rotated since.
        let mut source = source.take(size);
        let exact = source.by_ref().chain(io::repeat(0)).take(size);
        self.tar
            .append_data(&mut header, self.top.join(relative), exact)
            .map_err(Error::write(self.output))?;
        self.report.files += 1;
        self.report.bytes += size;
        if source.limit() > 0 {
            return self.leave_out(
                relative,
                "it shrank while being read; its copy is padded with zeros".to_owned(),
            );
        }
        Ok(())
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "the arms that end here return a result"
    )]
    fn leave_out(&mut self, relative: &Path, reason: String) -> Result<()> {
        self.report
            .left_out
            .push(SkippedFile::new(relative, reason));
        Ok(())
    }

    fn finish(self) -> Result<ExportReport> {
        let write = |source| Error::write(self.output)(source);
        let encoder = self.tar.into_inner().map_err(write)?;
        let buffered = encoder.finish().map_err(write)?;
        let file = buffered
            .into_inner()
            .map_err(|error| write(error.into_error()))?;
        file.sync_all().map_err(write)?;
        Ok(self.report)
    }
}

/// A header without owner, so that the archive does not tell who packed it.
fn header(kind: EntryType, mode: u32, mtime: i64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header.set_mtime(u64::try_from(mtime).unwrap_or(0));
    header
}
