//! One member of a tar file, put together from its header and the extension headers before it.
//!
//! The tar crate would do that by itself, but reads long names into memory without a bound: a
//! small gzip file could make it allocate gigabytes. So its raw entries are read here, with caps.
//! Never judges a name and never writes a file.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use tar::{Entry, EntryType, PaxExtensions};

/// Longest extension header: many times the longest path a kernel takes.
const MAX_EXTENSION: u64 = 256 * 1024;

/// What a member is.
#[derive(Debug, PartialEq, Eq)]
pub enum TarKind {
    File,
    Dir,
    /// A symbolic link to this, unchecked.
    Symlink(PathBuf),
    /// Anything else, in words.
    Unsupported(&'static str),
}

/// A member, apart from its content.
#[derive(Debug)]
pub struct TarMember {
    /// The name as the archive has it, unchecked.
    pub raw_name: OsString,
    pub kind: TarKind,
    pub mode: u32,
    /// Seconds since 1970.
    pub mtime: u64,
}

/// What extension headers said about the member that follows them: for archives whose entries are
/// read raw.
#[derive(Debug, Default)]
pub struct TarExtensions {
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    pax_path: Option<Vec<u8>>,
    pax_link: Option<Vec<u8>>,
    pax_size: Option<Vec<u8>>,
    sparse: bool,
}

impl TarExtensions {
    /// Takes in an entry if it is an extension header; says whether it was.
    pub fn absorb<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> io::Result<bool> {
        match entry.header().entry_type() {
            EntryType::GNULongName => self.long_name = Some(read_text(entry)?),
            EntryType::GNULongLink => self.long_link = Some(read_text(entry)?),
            EntryType::XHeader => {
                let records = read_capped(entry)?;
                for record in PaxExtensions::new(&records) {
                    let record = record?;
                    let value = || Some(record.value_bytes().to_vec());
                    match record.key_bytes() {
                        b"path" => self.pax_path = value(),
                        b"linkpath" => self.pax_link = value(),
                        b"size" => self.pax_size = value(),
                        key => self.sparse |= key.starts_with(b"GNU.sparse."),
                    }
                }
            }
            // Says something about the archive as a whole (a commit id, for one), never a name.
            EntryType::XGlobalHeader => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The member that `entry` begins, with everything said before it.
    pub fn member<R: Read>(self, entry: &Entry<'_, R>) -> io::Result<TarMember> {
        let header = entry.header();
        if let Some(size) = &self.pax_size
            && *size != header.entry_size()?.to_string().into_bytes()
        {
            // Only files beyond 8 GiB need this record; two sizes for one file is also how
            // archives are made to look different to different readers.
            return Err(io::Error::other("a member has two sizes"));
        }
        let name = self
            .long_name
            .or(self.pax_path)
            .unwrap_or_else(|| header.path_bytes().into_owned());
        let kind = match header.entry_type() {
            EntryType::Regular | EntryType::Continuous if self.sparse => {
                TarKind::Unsupported("sparse file")
            }
            // Archives older than the directory type mark directories by a slash.
            EntryType::Regular if name.ends_with(b"/") && header.entry_size()? == 0 => TarKind::Dir,
            EntryType::Regular | EntryType::Continuous => TarKind::File,
            EntryType::Directory => TarKind::Dir,
            EntryType::Symlink => {
                let target = self
                    .long_link
                    .or(self.pax_link)
                    .or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned))
                    .unwrap_or_default();
                TarKind::Symlink(PathBuf::from(OsString::from_vec(target)))
            }
            EntryType::Link => TarKind::Unsupported("hard link"),
            EntryType::Char | EntryType::Block => TarKind::Unsupported("device"),
            EntryType::Fifo => TarKind::Unsupported("FIFO"),
            EntryType::GNUSparse => TarKind::Unsupported("sparse file"),
            _ => TarKind::Unsupported("unknown type"),
        };
        Ok(TarMember {
            raw_name: OsString::from_vec(name),
            kind,
            mode: header.mode()?,
            mtime: header.mtime()?,
        })
    }
}

/// An extension's text; GNU tar ends it with a NUL.
fn read_text<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<Vec<u8>> {
    let mut text = read_capped(entry)?;
    if text.last() == Some(&0) {
        text.pop();
    }
    Ok(text)
}

fn read_capped<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<Vec<u8>> {
    if entry.size() > MAX_EXTENSION {
        return Err(io::Error::other("a member's name is too long"));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    Ok(bytes)
}
