//! Unpacking a profile archive that may be hostile.
//!
//! Everything lands in a hidden directory beside the profiles and gets its real name by one rename
//! at the end. Links are made last, so that no member can be written through one; two members with
//! one path are refused, because which of them counts would depend on the reader.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::read::MultiGzDecoder;
use hermes_fs::{Staging, TarExtensions, TarKind, TarMember, fault};

use super::links::{Links, objection};
use super::{Error, Result};
use crate::ProfileName;
use crate::backup::pending_output::sweep;

/// Hidden directories of imports begin with this.
const STAGING: &str = "import";
/// What the tar format may add to the content of one member: headers, long names, padding.
const OVERHEAD_PER_MEMBER: u64 = 4 * 1024;

/// How much an archive may hold.
#[derive(Debug, Clone, Copy)]
pub struct ImportLimits {
    pub members: u64,
    /// Bytes of content, as unpacked.
    pub bytes: u64,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self {
            members: 200_000,
            bytes: 10 * 1024 * 1024 * 1024,
        }
    }
}

/// What to import and where to.
#[derive(Debug, Clone, Copy)]
pub struct ImportRequest<'a> {
    pub archive: &'a Path,
    pub profiles_dir: &'a Path,
    pub limits: ImportLimits,
}

/// An unpacked profile without a name yet. Dropped, it vanishes.
#[derive(Debug)]
pub struct Unpacked {
    staging: Staging,
    profiles_dir: PathBuf,
    /// The archive's top-level directory: the name the profile was exported under. It comes from
    /// the archive and has to be checked like any name.
    pub top: String,
    /// Files and links.
    pub files: u64,
    pub bytes: u64,
}

impl Unpacked {
    /// The unpacked home, for last changes before it is published.
    pub fn path(&self) -> &Path {
        self.staging.path()
    }

    /// Gives the profile its name and says where it is.
    pub fn publish(self, name: &ProfileName) -> Result<PathBuf> {
        let target = self.profiles_dir.join(name.as_str());
        match self.staging.publish(&target) {
            Ok(()) => Ok(target),
            Err(hermes_fs::Error::AlreadyExists { path }) => Err(Error::NameTaken { path }),
            Err(error) => Err(error.into()),
        }
    }
}

/// Checks and unpacks an archive, ready to be published. On an error nothing is left.
pub fn unpack_profile(request: &ImportRequest<'_>) -> Result<Unpacked> {
    let file = hermes_fs::open(request.archive)?;
    hermes_fs::create_dir_all(request.profiles_dir, 0o700)?;
    sweep(request.profiles_dir, STAGING);
    let staging = Staging::begin(request.profiles_dir, STAGING)?;

    let mut limits = request.limits;
    // Refused before the disk is full: others write there as well.
    let room = hermes_fs::room_in(staging.path()).filter(|room| *room < limits.bytes);
    limits.bytes = room.unwrap_or(limits.bytes);
    let too_large = || match room {
        Some(room) => Error::NoRoom {
            path: request.profiles_dir.to_owned(),
            room,
        },
        None => Error::TooLarge {
            limit: request.limits.bytes,
        },
    };
    let overhead = limits.members.saturating_mul(OVERHEAD_PER_MEMBER);
    // Counts what really comes out of the decoder: headers may lie, and a few kilobytes of gzip can
    // hold gigabytes of zeros.
    let mut content = MultiGzDecoder::new(BufReader::new(file))
        .take(limits.bytes.saturating_add(overhead).saturating_add(1));
    let mut unpacker = Unpacker {
        archive: request.archive,
        root: staging.path().to_owned(),
        limits,
        top: None,
        links: Links::new(),
        members: 0,
        files: 0,
        bytes: 0,
    };
    let unpacked = unpacker.unpack(&mut content);
    if content.limit() == 0 {
        return Err(too_large());
    }
    match unpacked {
        Err(Error::TooLarge { .. }) => return Err(too_large()),
        other => other?,
    }
    unpacker.make_links()?;
    let top = unpacker.top.ok_or_else(|| Error::NotAnArchive {
        path: request.archive.to_owned(),
        detail: "it is empty".to_owned(),
    })?;
    hermes_fs::sync_filesystem(staging.path())?;
    Ok(Unpacked {
        staging,
        profiles_dir: request.profiles_dir.to_owned(),
        top: top.to_string_lossy().into_owned(),
        files: unpacker.files,
        bytes: unpacker.bytes,
    })
}

struct Unpacker<'a> {
    archive: &'a Path,
    root: PathBuf,
    limits: ImportLimits,
    top: Option<OsString>,
    links: Links,
    members: u64,
    files: u64,
    bytes: u64,
}

impl Unpacker<'_> {
    fn unpack<R: Read>(&mut self, source: R) -> Result<()> {
        let mut archive = tar::Archive::new(source);
        let mut extensions = TarExtensions::default();
        for entry in archive.entries().map_err(self.broken())?.raw(true) {
            let mut entry = entry.map_err(self.broken())?;
            if extensions.absorb(&mut entry).map_err(self.broken())? {
                continue;
            }
            let member = std::mem::take(&mut extensions)
                .member(&entry)
                .map_err(self.broken())?;
            self.place(&member, &mut entry)?;
        }
        // To the last byte: only then has the checksum been compared.
        let mut rest = archive.into_inner();
        io::copy(&mut rest, &mut io::sink())
            .map(drop)
            .map_err(self.broken())
    }

    fn broken(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.archive.to_owned();
        move |source| Error::NotAnArchive {
            path,
            detail: source.to_string(),
        }
    }

    /// Checks a member and puts it where it belongs; links only into the list.
    fn place(&mut self, member: &TarMember, content: &mut impl Read) -> Result<()> {
        self.members += 1;
        if self.members > self.limits.members {
            return Err(Error::TooManyMembers {
                limit: self.limits.members,
            });
        }
        let shown = || shown(&member.raw_name);
        if let TarKind::Unsupported(kind) = member.kind {
            return Err(Error::UnsupportedType {
                member: shown(),
                kind: kind.to_owned(),
            });
        }
        // `tar -c ./profile` may put its starting point in first.
        if member.kind == TarKind::Dir && matches!(member.raw_name.to_str(), Some("." | "./")) {
            return Ok(());
        }
        let clean = hermes_fs::confined_relative(&member.raw_name)
            .map_err(|hermes_fs::UnsafePath(member)| Error::UnsafePath { member })?;
        let below = self.below_top(&clean, member)?;
        if below.as_os_str().is_empty() {
            return Ok(());
        }
        let target = self.root.join(&below);
        let duplicate = || Error::Duplicate { member: shown() };
        match &member.kind {
            TarKind::Dir => make_dirs(&target, duplicate),
            TarKind::Symlink(to) => {
                if self.links.insert(below, to.clone()).is_none() {
                    Ok(())
                } else {
                    Err(duplicate())
                }
            }
            TarKind::File => {
                if let Some(parent) = target.parent() {
                    make_dirs(parent, duplicate)?;
                }
                self.write(member, &target, content)
            }
            TarKind::Unsupported(_) => Ok(()),
        }
    }

    /// The path below the one top-level directory; empty for that directory itself.
    fn below_top(&mut self, clean: &Path, member: &TarMember) -> Result<PathBuf> {
        let mut components = clean.components();
        let first = components
            .next()
            .map_or(OsStr::new(""), Component::as_os_str);
        let below = components.as_path().to_owned();
        let top = self.top.get_or_insert_with(|| first.to_owned());
        if top != first {
            return Err(Error::NotOneRoot {
                found: format!("{} and {}", shown(top), shown(first)),
            });
        }
        if below.as_os_str().is_empty() && member.kind != TarKind::Dir {
            return Err(Error::NotOneRoot {
                found: format!("{}, which is not a directory", shown(first)),
            });
        }
        Ok(below)
    }

    fn write(&mut self, member: &TarMember, target: &Path, content: &mut impl Read) -> Result<()> {
        let mut file = match hermes_fs::create_new(target, 0o600) {
            Ok(file) => file,
            Err(hermes_fs::Error::AlreadyExists { .. }) => {
                return Err(Error::Duplicate {
                    member: shown(&member.raw_name),
                });
            }
            Err(error) => return Err(error.into()),
        };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = content.read(&mut buffer).map_err(self.broken())?;
            let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else {
                break;
            };
            self.bytes += read as u64;
            if self.bytes > self.limits.bytes {
                return Err(Error::TooLarge {
                    limit: self.limits.bytes,
                });
            }
            file.write_all(chunk)
                .map_err(hermes_fs::Error::io("write", target))?;
        }
        fault::point();
        let modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(member.mtime));
        if let Some(modified) = modified {
            file.set_modified(modified)
                .map_err(hermes_fs::Error::io("write", target))?;
        }
        // A file its owner may not even read is no use to anybody.
        let mode = match member.mode & 0o700 {
            0 => 0o600,
            mode => mode,
        };
        hermes_fs::set_mode(target, mode)?;
        self.files += 1;
        Ok(())
    }

    fn make_links(&mut self) -> Result<()> {
        for (link, target) in &self.links {
            let shown = || shown(link.as_os_str());
            if let Some(objection) = objection(&self.links, link) {
                return Err(Error::UnsupportedType {
                    member: shown(),
                    kind: objection.to_owned(),
                });
            }
            let parent = link.parent().unwrap_or(Path::new(""));
            // A link below a link: made through it, it would land somewhere else.
            let parent = match hermes_fs::join_without_symlinks(&self.root, parent) {
                Ok(parent) => parent,
                Err(hermes_fs::Error::SymlinkInPath { .. }) => {
                    return Err(Error::UnsafePath { member: shown() });
                }
                Err(_) => return Err(Error::Duplicate { member: shown() }),
            };
            make_dirs(&parent, || Error::Duplicate { member: shown() })?;
            let path = self.root.join(link);
            if hermes_fs::exists_no_follow(&path) {
                return Err(Error::Duplicate { member: shown() });
            }
            hermes_fs::symlink(target, &path)?;
            self.files += 1;
        }
        Ok(())
    }
}

/// Makes a directory and its parents; `conflict` if a file is in the way.
fn make_dirs(path: &Path, conflict: impl FnOnce() -> Error) -> Result<()> {
    match hermes_fs::create_dir_all(path, 0o700) {
        Err(error) if error.io_kind() == Some(io::ErrorKind::NotADirectory) => Err(conflict()),
        other => Ok(other?),
    }
}

/// A name from the archive, fit for a terminal.
fn shown(name: &OsStr) -> String {
    name.to_string_lossy().escape_debug().to_string()
}
