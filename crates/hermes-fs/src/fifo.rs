//! Named pipes, by which supervisors are told what to do.

use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::{Error, Result, fault};

/// Creates a named pipe that must not exist yet, with exactly this mode.
pub fn create_fifo(path: &Path, mode: u32) -> Result<()> {
    fault::point();
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .map_err(|errno| Error::create("create the pipe", path)(errno.into()))?;
    crate::set_mode(path, mode)
}

/// Whether somebody reads from a named pipe. A pipe that is not there has no reader; neither has
/// anything else of that name, and no link is followed.
pub fn fifo_has_reader(path: &Path) -> Result<bool> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(descriptor) => {
            let meta = File::from(descriptor).metadata();
            let meta = meta.map_err(Error::io("look at", path))?;
            Ok(meta.file_type().is_fifo())
        }
        Err(Errno::NXIO | Errno::NOENT | Errno::LOOP | Errno::ISDIR) => Ok(false),
        Err(errno) => Err(Error::io("open", path)(errno.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_a_reader_while_one_holds_it_open() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("control");
        assert!(!fifo_has_reader(&pipe).unwrap());
        create_fifo(&pipe, 0o660).unwrap();
        assert!(!fifo_has_reader(&pipe).unwrap());
        let reader = crate::open(&pipe).unwrap();
        assert!(fifo_has_reader(&pipe).unwrap());
        drop(reader);
        assert!(!fifo_has_reader(&pipe).unwrap());
        let file = directory.path().join("file");
        crate::write_atomic(&file, b"x", 0o600).unwrap();
        assert!(!fifo_has_reader(&file).unwrap());
        assert!(create_fifo(&pipe, 0o600).is_err());
    }
}
