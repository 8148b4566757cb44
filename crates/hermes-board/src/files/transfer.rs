//! Files of a board on a server that other machines have: brought when they are first needed here. On a
//! board in a file nothing of this happens.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::boards::Board;
use crate::files::attachment_file;
use crate::model::{Attachment, TaskId};
use crate::sqlite::{Content, ContentKind, fetch, read_pieces, send};
use crate::transfer_error::TransferError;
use crate::{BoardOptions, Error, MoveFiles, Result, StoredBoard};

/// An attachment, and why it is not on this machine if it is not.
#[derive(Debug)]
pub struct BroughtAttachment {
    pub attachment: Attachment,
    pub problem: Option<Error>,
}

/// The attachments of a card, with their files on this machine.
pub fn bring_attachments(store: &StoredBoard, task: &TaskId) -> Result<Vec<BroughtAttachment>> {
    let attachments = store.attachments(task)?;
    let contents = if store.is_on_server() && !attachments.is_empty() {
        store.attachment_contents(task)?
    } else {
        Vec::new()
    };
    let bring = |attachment: Attachment| {
        let content = contents.iter().find(|(number, _)| *number == attachment.id);
        let problem = if store.is_on_server() {
            bring(store, &attachment, content.map(|(_, content)| content)).err()
        } else {
            None
        };
        BroughtAttachment {
            attachment,
            problem,
        }
    };
    Ok(attachments.into_iter().map(bring).collect())
}

fn bring(store: &StoredBoard, attachment: &Attachment, content: Option<&Content>) -> Result<()> {
    let what = format!("attachment {} ({})", attachment.id, attachment.filename);
    let path = &attachment.stored_path;
    let Some(content) = content else {
        // A file of that name somewhere else on this machine is another one.
        let own = attachment_file(store.board(), attachment);
        return if own.is_some_and(|own| own.is_file()) {
            Ok(())
        } else {
            let path = path.clone();
            Err(TransferError::Elsewhere { what, path }.into())
        };
    };
    let Some(target) = attachment_file(store.board(), attachment) else {
        return Err(Error::bad_attachment_name(&attachment.filename));
    };
    if is_here(&target, content) {
        return Ok(());
    }
    if let Some(directory) = target.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    fetch(store, content, &target, &what)
}

/// Whether a file has this content.
fn is_here(path: &Path, content: &Content) -> bool {
    let Ok((mut file, meta)) = hermes_fs::open_regular(path) else {
        return false;
    };
    let mut digest = Sha256::new();
    meta.len() == content.size
        && read_pieces(&mut file, |piece| {
            digest.update(piece);
            Ok(())
        })
        .is_ok_and(|()| hermes_fs::hex(&digest.finalize()) == content.digest)
}

/// Stores the files of all attachments that other machines cannot have yet, as after a board was moved to
/// a server. Gives those that stay on one machine, and why.
pub fn publish_attachments(store: &mut StoredBoard) -> Result<Vec<BroughtAttachment>> {
    let mut staying = Vec::new();
    if !store.is_on_server() {
        return Ok(staying);
    }
    for attachment in store.attachments_without_content()? {
        if let Err(error) = publish_stored(store, &attachment) {
            if error.is_missing_part() {
                return Err(error);
            }
            let problem = Some(error);
            staying.push(BroughtAttachment {
                attachment,
                problem,
            });
        }
    }
    Ok(staying)
}

fn publish_stored(store: &mut StoredBoard, attachment: &Attachment) -> Result<()> {
    let root = hermes_fs::resolved(&store.board().attachments);
    let path = hermes_fs::resolved(&attachment.stored_path);
    let Ok(relative) = path.strip_prefix(&root) else {
        return Err(Error::bad_attachment_name(&attachment.filename));
    };
    let (file, meta) = hermes_fs::open_regular(&path)?;
    let what = format!("the file {}", crate::shown(&attachment.filename, 200));
    let kind = ContentKind::Attachment;
    let content = send(store, &attachment.task_id, kind, (file, meta.len()), &what)?;
    let relative = relative.to_string_lossy();
    store.name_content(attachment.id, content.number, &relative)
}

/// The files of attachments, when a board moves.
pub const MOVE_FILES: MoveFiles = MoveFiles {
    bring: bring_all_attachments,
    settle: settle_attachments,
};

/// What cannot be had is named by [`settle_attachments`], with the new board.
fn bring_all_attachments(source: &StoredBoard) -> Result<()> {
    if !source.is_on_server() {
        return Ok(());
    }
    for task in source.cards_with_attachments()? {
        bring_attachments(source, &task)?;
    }
    Ok(())
}

fn settle_attachments(target: &Board, options: &BoardOptions) -> Vec<String> {
    let settled = StoredBoard::open(target, options).and_then(|mut target| {
        if target.is_on_server() {
            return publish_attachments(&mut target);
        }
        target.write_whole_paths()?;
        missing_attachments(&target)
    });
    match settled {
        Ok(staying) => staying.iter().map(BroughtAttachment::sentence).collect(),
        Err(error) => vec![format!("files of attachments: {error}")],
    }
}

fn missing_attachments(store: &StoredBoard) -> Result<Vec<BroughtAttachment>> {
    let mut missing = Vec::new();
    for task in store.cards_with_attachments()? {
        for attachment in store.attachments(&task)? {
            let problem = hermes_fs::open_regular(&attachment.stored_path).err();
            let problem = problem.map(Error::from);
            if problem.is_some() {
                missing.push(BroughtAttachment {
                    attachment,
                    problem,
                });
            }
        }
    }
    Ok(missing)
}

impl BroughtAttachment {
    fn sentence(&self) -> String {
        let Attachment { id, task_id, .. } = &self.attachment;
        let problem = self.problem.as_ref().map(ToString::to_string);
        let problem = problem.unwrap_or_default();
        format!("the file of attachment {id} of {task_id}: {problem}")
    }
}
