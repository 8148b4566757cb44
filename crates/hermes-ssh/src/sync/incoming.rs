//! The archive that comes back, taken apart by someone who does not trust it.
//!
//! The other machine runs what an agent asked for, so its `tar` may be anything. Only regular files
//! count; a name that leads out of its directory spoils the whole archive. Files that changed land under
//! numbers in a directory of ours and nowhere else.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use hermes_fs::{TarExtensions, TarKind, TarMember};

use super::archive_mark::skip_to_mark;
use super::error::SyncError;
use super::manifest::{Manifest, Stamp};
use super::scripts::{STAMP, name_in};
use crate::digest::{digest_of, digest_stream};

/// Files up to this size are compared before anything is written.
const COMPARE_FIRST: u64 = 1024 * 1024;
const MAX_MEMBERS: usize = 200_000;
/// A stamp is a line.
const MAX_STAMP: u64 = 256;
/// A hundred thousand names are less.
const MAX_LISTING: u64 = 64 * 1024 * 1024;

/// A file that is not as it was sent.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Where it is below `.hermes` there.
    pub(super) remote_path: String,
    /// Where its content lies here for the moment.
    pub(super) staged: PathBuf,
    pub(super) hash: String,
    pub(super) mode: u32,
}

/// What an archive held.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub(super) stamp: Option<Stamp>,
    pub(super) changed: Vec<Incoming>,
    /// Every path that holds a file, as far as the archive tells.
    pub(super) present: BTreeSet<String>,
    /// What was passed over, one sentence each.
    pub(super) ignored: Vec<String>,
}

/// What an archive is expected to be.
pub(super) struct Expected<'a> {
    /// What was sent.
    pub(super) known: &'a Manifest,
    /// Says of a path whether it has a destination here.
    pub(super) is_wanted: &'a dyn Fn(&str) -> bool,
    /// Name of the member that lists all files there, if it lists them.
    pub(super) listing: &'a str,
    pub(super) limit: u64,
}

/// Reads an archive to its end.
pub(super) fn receive(
    input: impl Read,
    into: &Path,
    expected: &Expected<'_>,
) -> Result<Received, SyncError> {
    let mut metered = BufReader::with_capacity(
        64 * 1024,
        Metered {
            input,
            left: expected.limit,
            is_over: false,
        },
    );
    let mut receiver = Receiver {
        into,
        expected,
        seen: BTreeSet::new(),
        received: Received::default(),
    };
    match receiver.run(&mut metered) {
        Err(_) if metered.get_ref().is_over => Err(SyncError::TooLarge),
        Err(error) => Err(error),
        Ok(()) => Ok(receiver.received),
    }
}

struct Receiver<'a> {
    into: &'a Path,
    expected: &'a Expected<'a>,
    /// Paths of files so far.
    seen: BTreeSet<String>,
    received: Received,
}

impl Receiver<'_> {
    fn run(&mut self, input: &mut BufReader<Metered<impl Read>>) -> Result<(), SyncError> {
        if !skip_to_mark(input)? {
            let nothing = io::Error::new(io::ErrorKind::UnexpectedEof, "there is none");
            return Err(nothing.into());
        }
        let mut archive = tar::Archive::new(&mut *input);
        let mut extensions = TarExtensions::default();
        let mut members = 0;
        for entry in archive.entries()?.raw(true) {
            let mut entry = entry?;
            if extensions.absorb(&mut entry)? {
                continue;
            }
            members += 1;
            if members > MAX_MEMBERS {
                return Err(SyncError::TooLarge);
            }
            let size = entry.size();
            let member = std::mem::take(&mut extensions).member(&entry)?;
            self.take(&member, size, &mut entry)?;
        }
        // What is left are blocks of padding; the other side may still be writing them.
        io::copy(input, &mut io::sink())?;
        Ok(())
    }

    fn take(
        &mut self,
        member: &TarMember,
        size: u64,
        content: &mut impl Read,
    ) -> Result<(), SyncError> {
        let name = &member.raw_name;
        let shown = || name.to_string_lossy().escape_debug().to_string();
        if leads_out(name) {
            return Err(SyncError::UnsafeName(shown()));
        }
        let clean = hermes_fs::confined_relative(name).ok();
        let clean = clean.as_deref().and_then(Path::to_str);
        let ignored = match (&member.kind, clean) {
            (TarKind::Dir, _) => return Ok(()),
            (TarKind::File, Some(_)) => None,
            (TarKind::File, None) => Some(format!("'{}' is not a valid name", shown())),
            (TarKind::Symlink(_), _) => Some(format!("'{}' is a link", shown())),
            (TarKind::Unsupported(kind), _) => Some(format!("'{}' is a {kind}", shown())),
        };
        self.received.ignored.extend(ignored);
        let Some(remote_path) = clean.filter(|_| member.kind == TarKind::File) else {
            return Ok(());
        };
        let remote_path = remote_path.to_owned();
        if remote_path == STAMP {
            let mut text = String::new();
            content.take(MAX_STAMP).read_to_string(&mut text)?;
            self.received.stamp = Stamp::find_in(&text);
            return Ok(());
        }
        if remote_path == self.expected.listing {
            return self.read_listing(content);
        }
        if !(self.expected.is_wanted)(&remote_path) {
            return Ok(());
        }
        self.received.present.insert(remote_path.clone());
        if !self.seen.insert(remote_path.clone()) {
            let twice = io::Error::other(format!("it contains '{}' twice", shown()));
            return Err(twice.into());
        }
        self.compare(remote_path, member.mode, size, content)
    }

    fn read_listing(&mut self, content: &mut impl Read) -> Result<(), SyncError> {
        let mut bytes = Vec::new();
        content.take(MAX_LISTING).read_to_end(&mut bytes)?;
        let names = bytes.split(|byte| *byte == b'\n').filter_map(name_in);
        for name in names {
            let clean = hermes_fs::confined_relative(OsStr::from_bytes(name));
            if let Some(remote_path) = clean.ok().as_deref().and_then(Path::to_str) {
                self.received.present.insert(remote_path.to_owned());
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        remote_path: String,
        mode: u32,
        size: u64,
        content: &mut impl Read,
    ) -> Result<(), SyncError> {
        let sent = self.expected.known.files.get(&remote_path);
        let is_as_sent = |hash: &str| sent.is_some_and(|sent| sent.hash == hash);
        let staged = self.into.join(self.seen.len().to_string());
        let hash = if size <= COMPARE_FIRST {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            let hash = digest_of(&bytes);
            if is_as_sent(&hash) {
                return Ok(());
            }
            stage(&staged, bytes.as_slice())?;
            hash
        } else {
            let hash = stage(&staged, content)?;
            if is_as_sent(&hash) {
                hermes_fs::remove_file(&staged)?;
                return Ok(());
            }
            hash
        };
        self.received.changed.push(Incoming {
            remote_path,
            staged,
            hash,
            mode,
        });
        Ok(())
    }
}

/// Writes content down and gives its hash.
fn stage(staged: &Path, content: impl Read) -> Result<String, SyncError> {
    let mut file = hermes_fs::create_new(staged, 0o600)?;
    digest_stream(content, |chunk| {
        let written = file.write_all(chunk);
        Ok(written.map_err(hermes_fs::Error::io("write", staged))?)
    })
}

/// Whether a name is absolute or goes up: no `tar` that was asked for directories below its own
/// makes
/// such a name.
fn leads_out(name: &OsStr) -> bool {
    let mut components = Path::new(name).components();
    components.any(|part| {
        matches!(
            part,
            Component::ParentDir | Component::RootDir | Component::Prefix(_)
        )
    })
}

/// Stops an archive that is larger than it should be, whatever its headers say.
struct Metered<R> {
    input: R,
    left: u64,
    is_over: bool,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None => {
                self.is_over = true;
                Err(io::Error::other("it is too large"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tar::{Builder, EntryType, Header};

    use super::*;
    use crate::sync::archive_mark::MARK;
    use crate::sync::manifest::SentFile;

    /// An archive of members whose names nobody has checked.
    fn archive(members: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, content) in members {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o640);
            if kind.is_symlink() || kind.is_hard_link() {
                header.set_link_name("/etc/passwd").unwrap();
            }
            let field = &mut header.as_gnu_mut().unwrap().name;
            for (to, from) in field.iter_mut().zip(name.bytes()) {
                *to = from;
            }
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        let mut bytes = format!("motd\n{MARK}\n").into_bytes();
        bytes.extend(builder.into_inner().unwrap());
        bytes
    }

    fn known(files: &[(&str, &[u8])]) -> Manifest {
        let files = files.iter().map(|(remote_path, content)| {
            let sent = SentFile {
                modified: 0,
                size: content.len() as u64,
                hash: digest_of(content),
                is_credential: false,
            };
            ((*remote_path).to_owned(), sent)
        });
        Manifest {
            files: files.collect(),
            ..Manifest::default()
        }
    }

    fn read(
        bytes: &[u8],
        known: &Manifest,
        limit: u64,
    ) -> (tempfile::TempDir, Result<Received, SyncError>) {
        let dir = tempfile::tempdir().unwrap();
        let expected = Expected {
            known,
            is_wanted: &|remote_path| remote_path.starts_with("skills/"),
            listing: ".sync-out-x/present",
            limit,
        };
        let received = receive(bytes, dir.path(), &expected);
        (dir, received)
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn only_what_changed_is_kept() {
        let large = vec![3; 2_000_000];
        let bytes = archive(&[
            (".sync-stamp", FILE, b"0123456789abcdef fedcba9876543210\n"),
            ("skills/./", EntryType::Directory, b""),
            ("skills/./same", FILE, b"same"),
            ("skills/./other", FILE, b"new"),
            ("skills/./large", FILE, &large),
            ("skills/./large2", FILE, &large),
            ("elsewhere/file", FILE, b"x"),
        ]);
        let known = known(&[
            ("skills/same", b"same"),
            ("skills/other", b"old"),
            ("skills/large", &large),
        ]);
        let (dir, received) = read(&bytes, &known, u64::MAX);
        let received = received.unwrap();
        let changed: Vec<_> = received
            .changed
            .iter()
            .map(|it| {
                (
                    it.remote_path.as_str(),
                    hermes_fs::read_capped(&it.staged, 9_999_999).unwrap(),
                )
            })
            .collect();
        assert_eq!(
            changed,
            [("skills/other", b"new".to_vec()), ("skills/large2", large)]
        );
        let present: Vec<&str> = received.present.iter().map(String::as_str).collect();
        assert_eq!(
            present,
            [
                "skills/large",
                "skills/large2",
                "skills/other",
                "skills/same"
            ]
        );
        assert_eq!(received.stamp.unwrap().home, "0123456789abcdef");
        assert_eq!(hermes_fs::read_dir(dir.path()).unwrap().len(), 2);
    }

    #[test]
    fn a_list_tells_what_else_is_there() {
        let hash = "0".repeat(64);
        let list = format!("{hash}  skills/./a b\n{hash}  ../../x\nshort\n{hash}  skills/./c\n");
        let bytes = archive(&[
            (".sync-out-x/present", FILE, list.as_bytes()),
            ("skills/./c", FILE, b"new"),
        ]);
        let (_place, received) = read(&bytes, &Manifest::default(), u64::MAX);
        let received = received.unwrap();
        let present: Vec<&str> = received.present.iter().map(String::as_str).collect();
        assert_eq!(present, ["skills/a b", "skills/c"]);
        assert_eq!(received.changed.len(), 1);
    }

    #[test]
    fn names_that_lead_out_spoil_everything() {
        for name in [
            "../../.ssh/authorized_keys",
            "/etc/cron.d/x",
            "skills/../../x",
            "..",
        ] {
            let bytes = archive(&[("skills/a", FILE, b"fine"), (name, FILE, b"evil")]);
            let (_place, received) = read(&bytes, &Manifest::default(), u64::MAX);
            assert!(matches!(received, Err(SyncError::UnsafeName(_))), "{name}");
        }
        let directory = archive(&[("../up/", EntryType::Directory, b"")]);
        let (_place, received) = read(&directory, &Manifest::default(), u64::MAX);
        assert!(matches!(received, Err(SyncError::UnsafeName(_))));
    }

    #[test]
    fn links_and_devices_are_passed_over() {
        let bytes = archive(&[
            ("skills/soft", EntryType::Symlink, b""),
            ("skills/hard", EntryType::Link, b""),
            ("skills/fifo", EntryType::Fifo, b""),
            ("skills/back\\slash", FILE, b"x"),
            ("skills/fine", FILE, b"x"),
        ]);
        let (_place, received) = read(&bytes, &Manifest::default(), u64::MAX);
        let received = received.unwrap();
        assert_eq!(received.ignored.len(), 4, "{:?}", received.ignored);
        assert_eq!(received.changed.len(), 1);
    }

    #[test]
    fn too_much_is_put_down_however_it_comes() {
        let bytes = archive(&[("skills/a", FILE, &vec![0; 100_000])]);
        let (_place, received) = read(&bytes, &Manifest::default(), 50_000);
        assert!(matches!(received, Err(SyncError::TooLarge)));
        // A name of gigabytes would otherwise be read into memory.
        let long = archive(&[("x", EntryType::GNULongName, &vec![b'n'; 1_000_000])]);
        let (_place, received) = read(&long, &Manifest::default(), u64::MAX);
        assert!(matches!(received, Err(SyncError::Broken(_))));
    }

    #[test]
    fn garbage_and_doubles_are_no_archive() {
        let marked = |text: &str| format!("{MARK}\n{text}").into_bytes();
        let double = archive(&[("skills/a", FILE, b"1"), ("skills/./a", FILE, b"2")]);
        let mut cut = archive(&[("skills/a", FILE, &vec![1; 5000])]);
        cut.truncate(2000);
        for bytes in [b"no mark\n".to_vec(), marked(&"x".repeat(600)), double, cut] {
            let (_place, received) = read(&bytes, &Manifest::default(), u64::MAX);
            assert!(
                matches!(received, Err(SyncError::Broken(_))),
                "{received:?}"
            );
        }
    }
}
