//! Files that exist in memory only: what a shell is told, and what it tells.
//!
//! They have no name, belong to the descriptors that hold them, and are gone with the last of these.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

const CHUNK: usize = 32 * 1024;

/// A file with this text, to be read from its beginning.
pub(crate) fn memory_file_of(text: &[u8]) -> io::Result<OwnedFd> {
    let file = memfd_create(c"hermes-script", MemfdFlags::CLOEXEC)?;
    let mut offset = 0;
    while let Some(rest) = text.get(offset..).filter(|rest| !rest.is_empty()) {
        offset += rustix::io::pwrite(&file, rest, offset as u64)?;
    }
    Ok(file)
}

/// A file that can take `size` bytes and not one more.
pub(crate) fn empty_memory_file(size: usize) -> io::Result<OwnedFd> {
    let file = memfd_create(
        c"hermes-report",
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
    )?;
    ftruncate(&file, size as u64)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(file)
}

/// What was written to such a file: everything up to a stretch of zeros.
pub(crate) fn written(file: &OwnedFd, size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < size {
        let start = bytes.len();
        bytes.resize(start + CHUNK, 0);
        let room = bytes.get_mut(start..).unwrap_or_default();
        // A report that cannot be read is no report.
        let count = rustix::io::pread(file, &mut *room, start as u64).unwrap_or(0);
        if count == 0 || room.iter().all(|byte| *byte == 0) {
            bytes.truncate(start);
            break;
        }
        bytes.truncate(start + count);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_bound_holds() {
        let file = empty_memory_file(3 * CHUNK).unwrap();
        assert!(written(&file, 3 * CHUNK).is_empty());
        let text = vec![b'x'; 2 * CHUNK];
        assert_eq!(rustix::io::write(&file, &text).unwrap(), text.len());
        assert_eq!(written(&file, 3 * CHUNK), text);
        assert_eq!(rustix::io::write(&file, &text).unwrap(), CHUNK);
        assert!(rustix::io::write(&file, b"more").is_err());
        assert_eq!(written(&file, 3 * CHUNK).len(), 3 * CHUNK);
    }
}
