//! Files that exist in memory only, for the script of a shell and for its report, and the
//! descriptors through which shells use them.
//!
//! A memory file has no name and is gone with the last descriptor that holds it.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, SeekFrom, fcntl_add_seals, ftruncate, memfd_create};

/// A file with this text, to be read from its beginning.
pub(crate) fn memory_file_of(text: &[u8]) -> io::Result<OwnedFd> {
    let file = memfd_create(c"hermes-script", MemfdFlags::CLOEXEC)?;
    fill(&file, text)?;
    Ok(file)
}

/// Writes a text to the beginning of a file that nobody has read yet.
pub(crate) fn fill(file: &OwnedFd, text: &[u8]) -> io::Result<()> {
    let mut offset = 0;
    while let Some(rest) = text.get(offset..).filter(|rest| !rest.is_empty()) {
        offset += rustix::io::pwrite(file, rest, offset as u64)?;
    }
    Ok(())
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

/// What was written to such a file, perhaps with some zeros behind it: everything up to where no
/// memory was needed.
pub(crate) fn written(file: &OwnedFd, size: usize) -> Vec<u8> {
    let hole = rustix::fs::seek(file, SeekFrom::Hole(0)).ok();
    let size = hole
        .and_then(|hole| usize::try_from(hole).ok())
        .map_or(size, |hole| hole.min(size));
    let mut bytes = vec![0; size];
    let mut end = 0;
    while let Some(room) = bytes.get_mut(end..).filter(|room| !room.is_empty()) {
        // A report that cannot be read is no report.
        match rustix::io::pread(file, room, end as u64) {
            Ok(0) | Err(_) => break,
            Ok(count) => end += count,
        }
    }
    bytes.truncate(end);
    bytes
}

/// A pipe that no child inherits by accident: the reading end, then the writing end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// The same descriptor under a number that no command uses by itself.
pub(crate) fn out_of_the_way(descriptor: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const FIRST: i32 = 100;
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, FIRST)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = 32 * 1024;

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
