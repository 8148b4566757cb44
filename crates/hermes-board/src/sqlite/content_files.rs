//! Files on their way from one machine of a board to another.
//!
//! A file is stored before the row that names it. It arrives beside its place, is checked against size
//! and checksum, and then put there at once.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::boards::{Board, TransferSettings};
use crate::model::TaskId;
use crate::sqlite::StoredBoard;
use crate::sqlite::contents::{Content, ContentKind, ContentPlace, Written};
use crate::store::{NewAttachment, StoredContent};
use crate::transfer_error::TransferError;
use crate::{Error, Result};

/// Bytes of one piece.
const PIECE: usize = 256 * 1024;

/// Stores the file of an attachment that is about to be recorded where other machines find it.
pub(super) fn publish(store: &StoredBoard, task: &TaskId, new: &mut NewAttachment) -> Result<()> {
    if !store.is_on_server() || new.content.is_some() {
        return Ok(());
    }
    let root = hermes_fs::resolved(&store.board().attachments);
    let Ok(relative) = new.stored_path.strip_prefix(&root) else {
        return Err(Error::bad_attachment_name(&new.filename));
    };
    let relative = relative.to_owned();
    let (file, meta) = hermes_fs::open_regular(&new.stored_path)?;
    let what = format!("the file {}", crate::shown(&new.filename, 200));
    let content = send(
        store,
        task,
        ContentKind::Attachment,
        (file, meta.len()),
        &what,
    )?;
    new.stored_path = relative;
    new.content = Some(StoredContent {
        number: content.number,
        digest: content.digest,
    });
    Ok(())
}

/// Stores a file of so many bytes where other machines find it. `what` is what it is called in errors.
pub(crate) fn send(
    store: &StoredBoard,
    task: &TaskId,
    kind: ContentKind,
    (mut file, size): (File, u64),
    what: &str,
) -> Result<Content> {
    let settings = transfer_settings(store.board());
    let mut sent = Tally::new(what, settings.max_file_bytes);
    sent.allow(size)?;
    if store.content_bytes(task)?.saturating_add(size) > settings.max_bytes {
        return Err(TransferError::CardFull {
            what: what.to_owned(),
            id: task.clone(),
            limit: settings.max_bytes,
        }
        .into());
    }
    let Some(root) = shared_root(store)? else {
        return store.store_content(task, kind, ContentPlace::Database, |writer| {
            read_pieces(&mut file, |piece| {
                sent.note(piece)?;
                writer.append(piece)
            })?;
            Ok(sent.written())
        });
    };
    hermes_fs::create_dir_all(&root, 0o770)?;
    store.store_content(task, kind, ContentPlace::Directory, |writer| {
        let part = Part::beside(&root.join(writer.number.to_string()), 0o660)?;
        read_pieces(&mut file, |piece| {
            sent.note(piece)?;
            part.append(piece)
        })?;
        part.publish()?;
        Ok(sent.written())
    })
}

/// What of a content has passed.
struct Tally<'w> {
    what: &'w str,
    most: u64,
    size: u64,
    digest: Sha256,
}

impl<'w> Tally<'w> {
    fn new(what: &'w str, most: u64) -> Self {
        Self {
            what,
            most,
            size: 0,
            digest: Sha256::new(),
        }
    }

    fn allow(&self, size: u64) -> Result<()> {
        if size <= self.most {
            return Ok(());
        }
        Err(TransferError::TooLarge {
            what: self.what.to_owned(),
            limit: self.most,
        }
        .into())
    }

    fn note(&mut self, piece: &[u8]) -> Result<()> {
        self.digest.update(piece);
        self.size += piece.len() as u64;
        // A file may grow while it is read.
        self.allow(self.size)
    }

    fn written(self) -> Written {
        Written {
            size: self.size,
            digest: hermes_fs::hex(&self.digest.finalize()),
        }
    }
}

/// Brings a content to this machine, all of it or nothing.
pub(crate) fn fetch(
    store: &StoredBoard,
    content: &Content,
    target: &Path,
    what: &str,
) -> Result<()> {
    let part = Part::beside(target, 0o600)?;
    let mut arrived = Tally::new(what, u64::MAX);
    let mut take = |piece: &[u8]| {
        arrived.note(piece)?;
        part.append(piece)
    };
    match content.place {
        ContentPlace::Database => {
            for position in 0.. {
                let Some(piece) = store.content_piece(content.number, position)? else {
                    break;
                };
                take(&piece)?;
            }
        }
        ContentPlace::Directory => {
            let Some(root) = shared_root(store)? else {
                let what = what.to_owned();
                return Err(TransferError::NotShared { what }.into());
            };
            let path = root.join(content.number.to_string());
            let (mut file, _) =
                hermes_fs::open_regular(&path).map_err(|error| TransferError::NotInDirectory {
                    what: what.to_owned(),
                    problem: if error.is_not_found() {
                        "is missing".to_owned()
                    } else {
                        format!("cannot be read: {error}")
                    },
                    path: path.clone(),
                })?;
            read_pieces(&mut file, take)?;
        }
    }
    let arrived = arrived.written();
    let what = what.to_owned();
    if arrived.size != content.size {
        let problem = format!("{} of {} bytes are there", arrived.size, content.size);
        return Err(TransferError::Incomplete { what, problem }.into());
    }
    if arrived.digest != content.digest {
        return Err(TransferError::Altered { what }.into());
    }
    part.publish()
}

/// How files of this board travel.
pub(crate) fn transfer_settings(board: &Board) -> TransferSettings {
    let server = board.server.as_ref();
    server
        .map(|server| server.transfer.clone())
        .unwrap_or_default()
}

/// Where the contents of this board are in the directory that all machines see, if there is one.
pub(crate) fn shared_root(store: &StoredBoard) -> Result<Option<PathBuf>> {
    let Some(shared) = transfer_settings(store.board()).shared_files else {
        return Ok(None);
    };
    if !shared.is_absolute() {
        return Err(Error::RelativePath {
            what: "kanban.shared_files",
            path: shared,
        });
    }
    Ok(Some(shared.join(store.board_id()?)))
}

pub(crate) fn read_pieces(
    file: &mut File,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read(rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Error::BadRequest(format!(
                        "a file could not be read: {error}"
                    )));
                }
            }
        }
        if filled == 0 {
            return Ok(());
        }
        take(buffer.get(..filled).unwrap_or_default())?;
    }
}

/// A file that is not complete, beside where it goes. Removes itself unless it is published.
struct Part {
    file: File,
    path: PathBuf,
    target: PathBuf,
    is_published: bool,
}

impl Part {
    fn beside(target: &Path, mode: u32) -> Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        // A long name has no room for more.
        let name = hermes_text::cut(&name, 60);
        let path = target.with_file_name(format!(".{name}.{}.part", hermes_fs::random_hex(12)));
        Ok(Self {
            file: hermes_fs::create_new(&path, mode)?,
            path,
            target: target.to_owned(),
            is_published: false,
        })
    }

    fn append(&self, piece: &[u8]) -> Result<()> {
        let written = (&self.file).write_all(piece);
        Ok(written.map_err(hermes_fs::Error::io("write", &self.target))?)
    }

    fn publish(mut self) -> Result<()> {
        let synced = self.file.sync_all();
        synced.map_err(hermes_fs::Error::io("write", &self.target))?;
        hermes_fs::rename(&self.path, &self.target)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_published
            && let Err(error) = hermes_fs::remove_file_if_present(&self.path)
        {
            tracing::warn!(%error, "a file that arrived incomplete was not removed");
        }
    }
}
