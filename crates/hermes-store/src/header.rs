//! The first bytes of a database file, read without SQLite, to find out what a file is that is not a
//! database.

use std::io::Read;
use std::path::Path;

use crate::{Result, in_process};

/// What every SQLite file starts with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How much of a foreign file is looked at.
const HEADER_BYTES: u64 = 64;
/// Content types of TLS records.
const TLS_TYPES: std::ops::RangeInclusive<u8> = 0x14..=0x17;
/// Longest TLS record.
const MAX_TLS_RECORD: u16 = 18_432;

/// What the beginning of a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Header {
    /// No file, or an empty one: SQLite would make a new database of it.
    Fresh,
    /// A database, as far as its first bytes tell.
    Sqlite,
    Foreign {
        /// Up to 64 bytes of it.
        first: Vec<u8>,
    },
    /// A connection of this process is open, so the file is not touched.
    InUse,
}

impl Header {
    /// Whether a TLS record stands in a foreign file: a sign that a socket was written to the
    /// descriptor of the database, over its first bytes or behind five of them.
    pub fn has_tls_record(&self) -> bool {
        let Self::Foreign { first } = self else {
            return false;
        };
        is_tls_record(first) || first.strip_prefix(b"SQLit").is_some_and(is_tls_record)
    }
}

/// Looks at the beginning of the file.
pub fn read_header(path: &Path) -> Result<Header> {
    match hermes_fs::metadata(path) {
        Ok(meta) if meta.len() == 0 => return Ok(Header::Fresh),
        Ok(_) => {}
        Err(error) if error.is_not_found() => return Ok(Header::Fresh),
        Err(error) => return Err(error.into()),
    }
    let first = in_process::while_closed(path, || {
        let mut first = Vec::new();
        hermes_fs::open(path)?
            .take(HEADER_BYTES)
            .read_to_end(&mut first)
            .map_err(hermes_fs::Error::io("read", path))?;
        Ok(first)
    })?;
    Ok(match first {
        None => Header::InUse,
        Some(first) if first.starts_with(MAGIC) => Header::Sqlite,
        Some(first) if first.is_empty() => Header::Fresh,
        Some(first) => Header::Foreign { first },
    })
}

fn is_tls_record(bytes: &[u8]) -> bool {
    let [kind, major, minor, high, low, ..] = bytes else {
        return false;
    };
    let length = u16::from_be_bytes([*high, *low]);
    TLS_TYPES.contains(kind) && *major == 3 && *minor <= 4 && (1..=MAX_TLS_RECORD).contains(&length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(first: &[u8]) -> Header {
        Header::Foreign {
            first: first.to_owned(),
        }
    }

    #[test]
    fn tls_records_are_recognised_at_both_offsets() {
        assert!(foreign(b"\x17\x03\x03\x00\x20rest").has_tls_record());
        assert!(foreign(b"SQLit\x15\x03\x01\x00\x02xx").has_tls_record());
        for other in [
            b"\x18\x03\x03\x00\x20".as_slice(),
            b"\x17\x02\x03\x00\x20",
            b"\x17\x03\x05\x00\x20",
            b"\x17\x03\x03\x00\x00",
            b"\x17\x03\x03\xff\xff",
            b"\x17\x03\x03",
            b"plain text",
        ] {
            assert!(!foreign(other).has_tls_record(), "{other:?}");
        }
        assert!(!Header::Sqlite.has_tls_record());
    }
}
