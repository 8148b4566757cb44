//! Comments and attachments.

use std::path::PathBuf;

use serde_json::json;

use crate::model::{Attachment, Comment, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::content_files::publish;
use crate::sqlite::rows;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::store::NewAttachment;
use crate::{Error, Result};

impl StoredBoard {
    /// Adds a comment; returns its id.
    pub fn add_comment(&mut self, id: &TaskId, author: &str, body: &str) -> Result<i64> {
        for (what, text) in [("a comment", body), ("the author of a comment", author)] {
            if text.trim().is_empty() {
                return Err(Error::Blank { what });
            }
        }
        self.write(|tx| {
            tx.must_exist(id)?;
            tx.comment(id, author.trim(), body.trim())
        })
    }

    /// The comments of a card, oldest first.
    pub fn comments(&self, id: &TaskId) -> Result<Vec<Comment>> {
        self.read(|tx| tx.comments(id))
    }

    /// Records a file that is in the attachments directory of a card; returns its id.
    pub fn record_attachment(&mut self, id: &TaskId, new: &NewAttachment) -> Result<i64> {
        let mut new = new.clone();
        if self.is_on_server() {
            self.look(|tx| tx.must_exist(id))?;
            publish(self, id, &mut new)?;
        }
        self.write(|tx| {
            tx.must_exist(id)?;
            tx.insert_attachment(id, &new)
        })
    }

    /// The attachments of a card, oldest first.
    pub fn attachments(&self, id: &TaskId) -> Result<Vec<Attachment>> {
        let attachments = self.read(|tx| tx.attachments(id))?;
        Ok(attachments.into_iter().map(|one| self.here(one)).collect())
    }

    /// One attachment.
    pub fn attachment(&self, number: i64) -> Result<Option<Attachment>> {
        let attachment = self.read(|tx| tx.attachment(number))?;
        Ok(attachment.map(|one| self.here(one)))
    }

    /// Removes an attachment from its card; the caller removes its file.
    pub fn forget_attachment(&mut self, number: i64) -> Result<Attachment> {
        let forgotten = self.write(|tx| {
            let attachment = tx
                .attachment(number)?
                .ok_or_else(|| Error::unknown_attachment(number))?;
            tx.execute("DELETE FROM task_attachments WHERE id = ?1", [number])?;
            tx.append(
                &attachment.task_id,
                None,
                "attachment_removed",
                json!({"filename": attachment.filename}),
            )?;
            Ok(attachment)
        })?;
        Ok(self.here(forgotten))
    }

    /// An attachment with the path that it has on this machine. Machines that share a board keep paths
    /// below the directory of attachments, which each has somewhere else.
    pub(super) fn here(&self, attachment: Attachment) -> Attachment {
        Attachment {
            stored_path: self.path_here(attachment.stored_path),
            ..attachment
        }
    }

    pub(super) fn path_here(&self, stored: PathBuf) -> PathBuf {
        // Also in a file, if the board was on a server before.
        if stored.is_absolute() {
            return stored;
        }
        match hermes_fs::confined_relative(&stored) {
            Ok(below) => hermes_fs::resolved(&self.board.attachments).join(below),
            Err(_) => stored,
        }
    }
}

impl Transaction<'_> {
    pub(super) fn comment(&self, id: &TaskId, author: &str, body: &str) -> Result<i64> {
        let number = self.insert_comment(id, author, body)?;
        let characters = body.chars().count();
        self.append(
            id,
            None,
            "commented",
            json!({"author": author, "len": characters}),
        )?;
        Ok(number)
    }

    /// A comment without an event, where another event mentions it.
    pub(super) fn insert_comment(&self, id: &TaskId, author: &str, body: &str) -> Result<i64> {
        self.insert(
            "INSERT INTO task_comments (task_id, author, body, created_at) VALUES (?1, ?2, ?3, ?4)",
            params![id.as_str(), author, body, self.now],
        )
    }

    pub(super) fn comments(&self, id: &TaskId) -> Result<Vec<Comment>> {
        self.all(
            "SELECT id, task_id, author, body, created_at FROM task_comments
             WHERE task_id = ?1 ORDER BY created_at, id",
            [id.as_str()],
            rows::comment,
        )
    }

    pub(super) fn insert_attachment(&self, id: &TaskId, new: &NewAttachment) -> Result<i64> {
        let size = i64::try_from(new.size).unwrap_or(i64::MAX);
        let stored_path = self.free_path(id, new)?;
        let number = self.insert(
            "INSERT INTO task_attachments (task_id, filename, stored_path, content_type, size,
                 uploaded_by, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                id.as_str(),
                new.filename,
                stored_path,
                new.content_type,
                size,
                new.uploaded_by,
                self.now
            ],
        )?;
        if let Some(content) = &new.content {
            self.execute(
                "UPDATE hermes_files SET attachment_id = ?2 WHERE id = ?1",
                params![content.number, number],
            )?;
        }
        self.append(
            id,
            None,
            "attached",
            json!({"filename": new.filename, "size": new.size, "by": new.uploaded_by.as_deref()}),
        )?;
        Ok(number)
    }

    /// Where the file of a new attachment is. Two machines may have chosen the same name: the content
    /// tells them apart then, and each has the other's brought to it.
    fn free_path(&self, id: &TaskId, new: &NewAttachment) -> Result<String> {
        let path = new.stored_path.to_string_lossy().into_owned();
        let Some(content) = &new.content else {
            return Ok(path);
        };
        let is_taken = self.holds(
            "SELECT EXISTS (SELECT 1 FROM task_attachments WHERE task_id = ?1 AND stored_path = ?2)",
            params![id.as_str(), path],
        )?;
        if !is_taken {
            return Ok(path);
        }
        let name = format!(
            "{}-{}-{}",
            content.number,
            hermes_text::cut(&content.digest, 8),
            new.filename
        );
        let other = new.stored_path.with_file_name(name);
        Ok(other.to_string_lossy().into_owned())
    }

    pub(super) fn attachments(&self, id: &TaskId) -> Result<Vec<Attachment>> {
        self.all(
            "SELECT id, task_id, filename, stored_path, content_type, size, uploaded_by, created_at
             FROM task_attachments WHERE task_id = ?1 ORDER BY created_at, id",
            [id.as_str()],
            rows::attachment,
        )
    }

    fn attachment(&self, number: i64) -> Result<Option<Attachment>> {
        self.one(
            "SELECT id, task_id, filename, stored_path, content_type, size, uploaded_by, created_at
             FROM task_attachments WHERE id = ?1",
            [number],
            rows::attachment,
        )
    }
}
