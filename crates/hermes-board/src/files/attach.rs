//! Attaching files to cards.

use std::path::{Path, PathBuf};

use crate::boards::Board;
use crate::model::{Attachment, TaskId};
use crate::store::NewAttachment;
use crate::{Error, Result, StoredBoard};
use hermes_fs::resolved;

/// Largest file that can be attached.
pub const ATTACHMENT_LIMIT: u64 = 25 * 1024 * 1024;

/// Longest name of an attachment, in characters.
const NAME_LENGTH: usize = 200;

/// A file to be attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile<'a> {
    /// Name for people; directories in it are dropped.
    pub name: &'a str,
    pub content_type: Option<&'a str>,
    pub uploaded_by: Option<&'a str>,
}

/// Attaches these bytes to a card.
pub fn attach_bytes(
    store: &mut StoredBoard,
    task: &TaskId,
    file: &NewFile<'_>,
    bytes: &[u8],
) -> Result<Attachment> {
    let size = bytes.len() as u64;
    if size > ATTACHMENT_LIMIT {
        return Err(Error::AttachmentTooLarge {
            name: crate::shown(file.name, NAME_LENGTH),
            limit: ATTACHMENT_LIMIT,
        });
    }
    let name = safe_name(file.name)?;
    let directory = store.board().attachments_of(task)?;
    hermes_fs::create_dir_all(&directory, 0o700)?;
    let target = free_name(&directory, &name, bytes)?;
    let new = NewAttachment {
        filename: target
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or(name),
        stored_path: resolved(&target),
        content_type: file.content_type.map(str::to_owned),
        size,
        uploaded_by: file.uploaded_by.map(str::to_owned),
        content: None,
    };
    let recorded = store.record_attachment(task, &new).and_then(|number| {
        store
            .attachment(number)?
            .ok_or_else(|| Error::unknown_attachment(number))
    });
    if recorded.is_err() {
        // Most likely there is no such card; the bytes must not stay without one.
        hermes_fs::remove_file_if_present(&target)?;
    }
    recorded
}

/// Attaches a file of the user's to a card.
pub fn attach_file(
    store: &mut StoredBoard,
    task: &TaskId,
    path: &Path,
    file: &NewFile<'_>,
) -> Result<Attachment> {
    let bytes = match hermes_fs::read_capped(path, ATTACHMENT_LIMIT) {
        Ok(bytes) => bytes,
        Err(hermes_fs::Error::TooLarge { .. }) => {
            return Err(Error::AttachmentTooLarge {
                name: crate::shown(file.name, NAME_LENGTH),
                limit: ATTACHMENT_LIMIT,
            });
        }
        Err(error) => return Err(error.into()),
    };
    attach_bytes(store, task, file, &bytes)
}

/// Takes an attachment off its card and removes its file, if that lies where attachments lie.
pub fn detach(store: &mut StoredBoard, number: i64) -> Result<Attachment> {
    let attachment = store.forget_attachment(number)?;
    match attachment_file(store.board(), &attachment) {
        Some(path) => {
            hermes_fs::remove_file_if_present(&path)?;
        }
        None => tracing::warn!(
            path = %attachment.stored_path.display(),
            "the file of an attachment is outside the board and was kept"
        ),
    }
    Ok(attachment)
}

/// The file of an attachment, if it lies below the attachments of the board: a row that says
/// otherwise must not make us hand out or remove anything else.
pub fn attachment_file(board: &Board, attachment: &Attachment) -> Option<PathBuf> {
    let path = resolved(&attachment.stored_path);
    let root = resolved(&board.attachments);
    (path != root && path.starts_with(&root)).then_some(path)
}

/// Reduces a name from outside to one that is harmless as a file name.
pub(crate) fn safe_name(raw: &str) -> Result<String> {
    let leaf = raw.rsplit(['/', '\\']).next().unwrap_or_default();
    let printable: String = leaf
        .chars()
        .filter(|char| !char.is_control() && !steers(*char))
        .collect();
    let name = printable.trim().trim_start_matches('.').trim();
    if name.is_empty() {
        return Err(Error::bad_attachment_name(raw));
    }
    Ok(hermes_text::cut(name, NAME_LENGTH).trim_end().to_owned())
}

/// Characters that change how the rest of a line reads.
fn steers(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Writes the bytes under the first name that is free: `a.pdf`, `a (1).pdf`, …
fn free_name(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    use std::io::Write;
    let (stem, extension) = match name.split_once('.') {
        Some((stem, extension)) => (stem, format!(".{extension}")),
        None => (name, String::new()),
    };
    for number in 0_u32.. {
        let path = directory.join(match number {
            0 => name.to_owned(),
            number => format!("{stem} ({number}){extension}"),
        });
        match hermes_fs::create_new(&path, 0o600) {
            Ok(mut file) => {
                let written = file.write_all(bytes).and_then(|()| file.sync_all());
                if let Err(source) = written {
                    hermes_fs::remove_file_if_present(&path)?;
                    return Err(hermes_fs::Error::io("write", &path)(source).into());
                }
                return Ok(path);
            }
            Err(hermes_fs::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::bad_attachment_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_from_outside_become_harmless() {
        for (raw, name) in [
            ("a.pdf", "a.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\y.txt", "y.txt"),
            (" ..hidden ", "hidden"),
            ("a\nb\0c\u{202e}d", "abcd"),
        ] {
            assert_eq!(safe_name(raw).unwrap(), name);
        }
        assert_eq!(safe_name(&"ä".repeat(300)).unwrap().chars().count(), 200);
        for bad in ["", "/", "...", " \n"] {
            assert!(safe_name(bad).is_err(), "{bad:?}");
        }
    }
}
