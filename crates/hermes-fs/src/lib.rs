//! Files, the careful way: atomic writes, locks with a timeout, staged directories, confined
//! paths and size caps.
//!
//! Everything in the product that changes a file goes through this crate, for three reasons:
//! every error names the path and what was attempted, every write is either whole or absent after
//! a crash, and every write point carries the [`fault`] hook with which tests prove the second.
//! It knows nothing of what the files mean.

mod atomic;
mod confine;
mod copy;
mod directory;
mod entry;
mod error;
pub mod fault;
mod fifo;
mod lock;
mod mutate;
mod random;
mod read;
mod remove;
mod room;
mod staging;
mod tar_member;
mod version;
mod walk;

pub use atomic::{create_new, write_atomic, write_atomic_exact, write_atomic_in_place};
pub use confine::{UnsafePath, confined_relative, join_without_symlinks, resolved, without_dots};
pub use copy::{copy_between, copy_file, copy_file_with_time, copy_opened, copy_tree};
pub use directory::Directory;
pub use entry::{Entry, Kind};
pub use error::{Error, Result, describe};
pub use fifo::{create_fifo, fifo_has_reader};
pub use lock::{FileLock, LockOptions, SharedLock};
pub use mutate::{
    chown, create_dir, create_dir_all, exchange, remove_file, remove_file_if_present, rename,
    rename_exclusive, rename_unsynced, replace_symlink, set_mode, symlink, sync_dir, sync_file,
    sync_filesystem, touch,
};
pub use random::{hex, random_hex};
pub use read::{
    canonicalize, exists_no_follow, metadata, open, open_append, open_regular, read_capped,
    read_link, read_optional, read_text_capped, symlink_metadata,
};
pub use remove::remove_tree;
pub use room::{DiskSpace, disk_space, room_in};
pub use staging::Staging;
pub use tar_member::{TarExtensions, TarKind, TarMember};
pub use version::{Version, version};
pub use walk::{read_dir, read_dir_named, walk};
