//! How much a file system still takes.

use std::path::Path;

/// What unpacking leaves free for everybody else, at most.
const RESERVE: u64 = 256 << 20;

/// Bytes that may be unpacked into a directory before its file system is as good as full: a part of
/// it, at most 256 MiB, stays free. `None` where the file system does not tell.
pub fn room_in(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    let total = disk.f_blocks.saturating_mul(disk.f_frsize);
    let available = disk.f_bavail.saturating_mul(disk.f_frsize);
    // Some file systems have no size at all.
    (total > 0).then(|| available.saturating_sub(RESERVE.min(total / 16)))
}

/// The size of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    pub total: u64,
    /// What an ordinary user may still write.
    pub free: u64,
}

/// The file system that a directory lies in. `None` where it does not tell.
pub fn disk_space(directory: &Path) -> Option<DiskSpace> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    let total = disk.f_blocks.saturating_mul(disk.f_frsize);
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    (total > 0).then_some(DiskSpace { total, free })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_less_than_what_is_free() {
        let disk = rustix::fs::statvfs("/tmp").unwrap();
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        assert!(room_in(Path::new("/tmp")).unwrap() <= free);
        assert_eq!(room_in(Path::new("/nowhere/at/all")), None);
    }
}
