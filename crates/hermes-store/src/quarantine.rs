//! Keeping the bytes of a damaged database before it is repaired.
//!
//! The name of a copy comes from its content, so the same damage found a hundred times leaves one
//! copy. The original is never changed.

use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::location::{DatabaseLocation, sidecars};
use crate::{Result, in_process};

/// Bytes read at a time.
const CHUNK: usize = 1024 * 1024;

/// Copies the file and its log to `<name>.corrupt.<digest>.bak`, unless that copy exists. `None` if
/// a connection of this process is open: a plain read would then drop its locks.
pub fn keep_damaged_copy(path: &Path) -> Result<Option<PathBuf>> {
    let location = DatabaseLocation::of(path)?;
    location.must_exist()?;
    let real = location.real;
    in_process::while_closed(&real, || {
        let copy = real.with_added_extension(format!("corrupt.{}.bak", digest(&real)?));
        let [log, index, _] = sidecars(&real);
        let [log_copy, index_copy, _] = sidecars(&copy);
        // The log first: once the copy has its name, it is complete.
        for (from, to) in [(&log, &log_copy), (&index, &index_copy), (&real, &copy)] {
            keep(from, to)?;
        }
        Ok(copy)
    })
}

fn keep(from: &Path, to: &Path) -> Result<()> {
    if hermes_fs::exists_no_follow(to) {
        return Ok(());
    }
    // Half a copy must never carry the name that means "these bytes are safe".
    let unfinished = to.with_added_extension(format!("tmp-{}", std::process::id()));
    hermes_fs::remove_file_if_present(&unfinished)?;
    match hermes_fs::copy_file(from, &unfinished, 0o600) {
        Ok(_) => {}
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    match hermes_fs::rename_exclusive(&unfinished, to) {
        Ok(()) => Ok(()),
        // Another process kept the same bytes just now.
        Err(hermes_fs::Error::AlreadyExists { .. }) => {
            hermes_fs::remove_file_if_present(&unfinished)?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn digest(path: &Path) -> Result<String> {
    let mut file = hermes_fs::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = file
            .read(&mut buffer)
            .map_err(hermes_fs::Error::io("read", path))?;
        match buffer.get(..read) {
            Some(bytes) if !bytes.is_empty() => hasher.update(bytes),
            _ => break,
        }
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let named = digest.first_chunk().copied().unwrap_or_default();
    Ok(format!("{:016x}", u64::from_be_bytes(named)))
}
