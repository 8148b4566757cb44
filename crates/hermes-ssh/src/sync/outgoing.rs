//! The archive that goes to the other machine, written as it is sent.

use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::manifest::{SentFile, Stamp};
use super::plan::PushPlan;
use super::scripts::{COMPLETE, EMPTIED, FILES, REMOVED};
use crate::digest::digits;
use hermes_terminal::carried_files::{CarriedFile, CarriedKind};

/// Files up to this size are read whole first, so that none of them can change on the way.
const READ_WHOLE: u64 = 1024 * 1024;

/// What was put into the archive.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) files: Vec<(String, SentFile)>,
    /// Files that could not be read, or changed while they were: they are tried again next time.
    pub(super) left_out: Vec<String>,
}

/// Writes all of the plan. What cannot be read is left out; only writing can fail.
pub(super) fn write_archive(
    output: impl Write,
    plan: &PushPlan,
    stamp: &Stamp,
) -> io::Result<Sent> {
    let mut archive = Builder::new(BufWriter::with_capacity(64 * 1024, output));
    let mut sent = Sent::default();
    for (remote_path, file) in &plan.send {
        match Content::open(file) {
            Ok(mut content) => {
                let mut header = header(content.size, 0o600 | (file.mode & 0o700));
                header.set_mtime(u64::try_from(content.modified / 1_000_000_000).unwrap_or(0));
                let name = PathBuf::from(FILES).join(remote_path);
                archive.append_data(&mut header, name, &mut content)?;
                match content.finish(file.kind) {
                    Some(record) => sent.files.push((remote_path.clone(), record)),
                    None => sent
                        .left_out
                        .push(format!("{remote_path} changed meanwhile")),
                }
            }
            Err(error) => sent.left_out.push(error),
        }
    }
    for (name, paths) in [(REMOVED, &plan.remove), (EMPTIED, &plan.emptied)] {
        // With a dot in front no name looks like an option.
        let words = paths
            .iter()
            .flat_map(|remote_path| ["./", remote_path.as_str(), "\0"]);
        append_text(&mut archive, name, &words.collect::<String>())?;
    }
    append_text(&mut archive, COMPLETE, &stamp.to_string())?;
    archive.into_inner()?.flush()?;
    Ok(sent)
}

fn append_text(archive: &mut Builder<impl Write>, name: &str, text: &str) -> io::Result<()> {
    let mut header = header(text.len() as u64, 0o600);
    archive.append_data(&mut header, name, text.as_bytes())
}

/// Only the owner there gets to see what only the owner here should.
fn header(size: u64, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(mode);
    header
}

/// The bytes of a file: exactly as many as its header says, whatever happens to the file.
struct Content {
    source: Box<dyn Read>,
    size: u64,
    modified: i64,
    left: u64,
    hasher: Sha256,
    is_short: bool,
}

impl Content {
    /// Opened without following a link: the file was listed as one that is none.
    fn open(file: &CarriedFile) -> Result<Self, String> {
        let (mut opened, meta) = file.open().map_err(|error| error.to_string())?;
        let seconds = meta.mtime().saturating_mul(1_000_000_000);
        let (source, size): (Box<dyn Read>, u64) = if meta.len() <= READ_WHOLE {
            let mut bytes = Vec::new();
            (&mut opened)
                .take(READ_WHOLE)
                .read_to_end(&mut bytes)
                .map_err(|error| format!("could not read {}: {error}", file.source.display()))?;
            let size = bytes.len() as u64;
            (Box::new(io::Cursor::new(bytes)), size)
        } else {
            (Box::new(opened), meta.len())
        };
        Ok(Self {
            source,
            size,
            modified: seconds.saturating_add(meta.mtime_nsec()),
            left: size,
            hasher: Sha256::new(),
            is_short: size != meta.len(),
        })
    }

    /// What to remember of it; nothing if what was sent is not what was there.
    fn finish(self, kind: CarriedKind) -> Option<SentFile> {
        (!self.is_short).then(|| SentFile {
            modified: self.modified,
            size: self.size,
            hash: digits(self.hasher),
            is_credential: kind == CarriedKind::Credential,
        })
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        let Some(wanted) = buffer.get_mut(..most).filter(|wanted| !wanted.is_empty()) else {
            return Ok(0);
        };
        let count = match self.source.read(wanted) {
            Ok(count) if count > 0 => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            // It became shorter or unreadable: the archive still needs its bytes.
            Ok(_) | Err(_) => {
                self.is_short = true;
                wanted.fill(0);
                wanted.len()
            }
        };
        self.hasher.update(wanted.get(..count).unwrap_or_default());
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn file(source: PathBuf, mode: u32) -> CarriedFile {
        CarriedFile {
            kind: CarriedKind::Skill,
            root: source.clone(),
            source,
            size: 0,
            modified: 0,
            mode,
        }
    }

    fn unpack(bytes: &[u8]) -> Vec<(String, u32, usize)> {
        let mut archive = tar::Archive::new(bytes);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (name, entry.header().mode().unwrap(), content.len())
        });
        entries.collect()
    }

    #[test]
    fn files_lists_and_the_stamp_last() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("skills/{}/run.sh", "d".repeat(150));
        let (small, large) = (dir.path().join("small"), dir.path().join("large"));
        hermes_fs::write_atomic(&small, b"hello", 0o755).unwrap();
        hermes_fs::write_atomic(&large, &vec![7; 3_000_000], 0o640).unwrap();
        let plan = PushPlan {
            send: vec![
                (long.clone(), file(small, 0o755)),
                ("cache/web/large".to_owned(), file(large, 0o640)),
                (
                    "skills/gone".to_owned(),
                    file(dir.path().join("gone"), 0o600),
                ),
            ],
            remove: vec!["skills/old".to_owned()],
            ..PushPlan::default()
        };
        let mut bytes = Vec::new();
        let sent = write_archive(&mut bytes, &plan, &Stamp::next(None)).unwrap();

        assert_eq!(
            unpack(&bytes),
            [
                (format!("files/{long}"), 0o700, 5),
                ("files/cache/web/large".to_owned(), 0o600, 3_000_000),
                ("removed".to_owned(), 0o600, "./skills/old\0".len()),
                ("emptied".to_owned(), 0o600, 0),
                ("stamp".to_owned(), 0o600, 34),
            ]
        );
        assert_eq!(sent.left_out.len(), 1, "{:?}", sent.left_out);
        let hashes: Vec<&str> = sent
            .files
            .iter()
            .map(|(_, sent)| sent.hash.as_str())
            .collect();
        assert_eq!(
            hashes[0],
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        );
    }

    #[test]
    fn a_file_that_shrinks_on_the_way_is_not_taken_for_sent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        hermes_fs::write_atomic(&path, &vec![7; 2_000_000], 0o600).unwrap();
        let mut content = Content::open(&file(path.clone(), 0o600)).unwrap();
        let appending = hermes_fs::open_append(&path, 0o600).unwrap();
        rustix::fs::ftruncate(appending, 10).unwrap();
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 2_000_000);
        assert_eq!(content.finish(CarriedKind::Cache), None);
    }
}
