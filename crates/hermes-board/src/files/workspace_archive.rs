//! Scratch workspaces on their way to another machine, as one file: regular files and directories, no
//! links, no devices.

use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Kind, Staging, TarExtensions, TarKind};

use crate::boards::Board;
use crate::model::{RunId, TaskId};
use crate::sqlite::{Content, ContentKind, fetch, send, transfer_settings};
use crate::transfer_error::TransferError;
use crate::{Error, Result, StoredBoard};

/// Most files and directories.
const MOST_ENTRIES: usize = 50_000;
const WHAT: &str = "the scratch workspace";

/// Stores the scratch workspace that an attempt left, for the next one on another machine. `false` if
/// there is nothing in it.
pub(crate) fn send_workspace(store: &StoredBoard, task: &TaskId, run: RunId) -> Result<bool> {
    let board = store.board().clone();
    let path = board.workspace_of(task)?;
    let directory = match Directory::open(&path) {
        Ok(directory) => directory,
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if directory.entries()?.is_empty() {
        return Ok(false);
    }
    let staging = Staging::begin(&board.workspaces, "handover")?;
    let packed = staging.path().join("workspace.tar");
    pack(
        &directory,
        &packed,
        transfer_settings(&board).max_file_bytes,
    )?;
    let (file, meta) = hermes_fs::open_regular(&packed)?;
    let size = meta.len();
    send(store, task, ContentKind::Workspace(run), (file, size), WHAT)?;
    hermes_fs::touch(&mark_of(&board, task)?, 0o600)?;
    Ok(true)
}

/// A file that says that what is in the scratch workspace of a card on this machine is on the server.
fn mark_of(board: &Board, task: &TaskId) -> Result<PathBuf> {
    let path = board.workspace_of(task)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.handed-over")))
}

/// From now on the scratch workspace of a card changes.
pub(crate) fn note_change(board: &Board, task: &TaskId) -> Result<()> {
    hermes_fs::remove_file_if_present(&mark_of(board, task)?)?;
    Ok(())
}

/// Whether an entry of the directory of workspaces was left by the travels of a card.
pub(crate) fn is_left_by(name: &str, task: &TaskId) -> bool {
    let plain = name.strip_prefix('.').unwrap_or(name);
    let rest = plain.strip_prefix(task.as_str());
    rest.is_some_and(|rest| rest == ".handed-over" || rest.starts_with(".kept-"))
}

fn pack(directory: &Directory, packed: &Path, most: u64) -> Result<()> {
    let file = hermes_fs::create_new(packed, 0o600)?;
    let failed = |error: io::Error| Error::from(hermes_fs::Error::io("write", packed)(error));
    let too_large = || {
        Error::from(TransferError::TooLarge {
            what: WHAT.to_owned(),
            limit: most,
        })
    };
    let mut archive = tar::Builder::new(file);
    let (mut entries, mut bytes) = (0_usize, 0_u64);
    directory.walk::<Error>(&mut |relative, entry| {
        let entry = entry?;
        entries += 1;
        if entries > MOST_ENTRIES {
            return Err(too_large());
        }
        let mut header = tar::Header::new_gnu();
        match entry.kind {
            Kind::Dir => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_size(0);
                header.set_mode(0o700);
                let added = archive.append_data(&mut header, relative, io::empty());
                added.map_err(failed)?;
            }
            Kind::File => {
                let (source, meta) = directory.open_file(relative)?;
                bytes = bytes.saturating_add(meta.len());
                if bytes > most {
                    return Err(too_large());
                }
                header.set_entry_type(tar::EntryType::Regular);
                header.set_size(meta.len());
                header.set_mode(meta.permissions().mode() & 0o700);
                // A file that shrinks meanwhile is filled up: its size is written already.
                let content = source
                    .take(meta.len())
                    .chain(io::repeat(0))
                    .take(meta.len());
                let added = archive.append_data(&mut header, relative, content);
                added.map_err(failed)?;
            }
            // What a link leads to may be anywhere.
            Kind::Symlink | Kind::Special => {}
        }
        Ok(true)
    })?;
    let mut file = archive.into_inner().map_err(failed)?;
    file.flush().map_err(failed)
}

/// Puts a workspace that came from another machine into its place. What is there and was never handed
/// over is put aside; gives where it is then.
pub(crate) fn unpack_workspace(
    store: &StoredBoard,
    task: &TaskId,
    content: &Content,
) -> Result<Option<PathBuf>> {
    let board: &Board = store.board();
    let target = board.workspace_of(task)?;
    hermes_fs::create_dir_all(&board.workspaces, 0o700)?;
    let arriving = Staging::begin(&board.workspaces, "arrival")?;
    let packed = arriving.path().join("workspace.tar");
    fetch(store, content, &packed, WHAT)?;
    let staging = Staging::begin(&board.workspaces, "arrival")?;
    let root = Directory::open(staging.path())?;
    let failed = |error: io::Error| Error::from(hermes_fs::Error::io("unpack", &packed)(error));
    let mut archive = tar::Archive::new(hermes_fs::open(&packed)?);
    let mut extensions = TarExtensions::default();
    for entry in archive.entries().map_err(failed)?.raw(true) {
        let mut entry = entry.map_err(failed)?;
        if extensions.absorb(&mut entry).map_err(failed)? {
            continue;
        }
        let member = std::mem::take(&mut extensions).member(&entry);
        let member = member.map_err(failed)?;
        let relative = hermes_fs::confined_relative(&member.raw_name)
            .map_err(|error| failed(io::Error::other(error.to_string())))?;
        match member.kind {
            TarKind::Dir => drop(root.create_directories(&relative, 0o700)?),
            TarKind::File => {
                if let Some(parent) = relative.parent() {
                    root.create_directories(parent, 0o700)?;
                }
                let mut file = root.create_file(&relative, member.mode & 0o700)?;
                io::copy(&mut entry, &mut file).map_err(failed)?;
                file.flush().map_err(failed)?;
            }
            TarKind::Symlink(_) | TarKind::Unsupported(_) => {
                return Err(failed(io::Error::other("it holds more than files")));
            }
        }
    }
    let kept = make_room(board, task, &target)?;
    staging.publish(&target)?;
    Ok(kept)
}

/// Takes the workspace that is there away.
fn make_room(board: &Board, task: &TaskId, target: &Path) -> Result<Option<PathBuf>> {
    let Some(name) = target.file_name().filter(|_| target.exists()) else {
        return Ok(None);
    };
    let is_empty = hermes_fs::read_dir(target)?.is_empty();
    if is_empty || mark_of(board, task)?.exists() {
        Directory::open(&board.workspaces)?.remove_tree(Path::new(name))?;
        return Ok(None);
    }
    let aside = format!(
        "{}.kept-{}",
        name.to_string_lossy(),
        hermes_fs::random_hex(6)
    );
    let aside = target.with_file_name(aside);
    hermes_fs::rename(target, &aside)?;
    Ok(Some(aside))
}
