//! Contents of files on the server of a board, in pieces: how they get from one machine to another.
//!
//! They are written beside the cards, in transactions that nobody waits for. A content belongs to its
//! card from the beginning and goes with it; one that an attachment does not name yet is collected as
//! garbage.

use hermes_board_pg::{Durability, ServerBoard};
use hermes_store::Commit;

use crate::model::{Attachment, RunId, TaskId};
use crate::sqlite::rows;
use crate::sqlite::server::ServerStatements;
use crate::sqlite::statements::{NONE, params};
use crate::sqlite::transaction::Transaction;
use crate::sqlite::{Engine, StoredBoard, server_time};
use crate::{Error, Result};

/// A content that no attachment names after this long is garbage.
const UNNAMED_SECONDS: i64 = 86_400;

/// What a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Attachment,
    /// The scratch workspace that an attempt left.
    Workspace(RunId),
}

/// Where a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentPlace {
    Database,
    /// In the directory that all machines see, in a file that has the number of the content as its name.
    Directory,
}

/// A content that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) number: i64,
    pub(crate) place: ContentPlace,
    pub(crate) size: u64,
    /// SHA-256, in hexadecimal.
    pub(crate) digest: String,
    /// The attempt whose workspace it is.
    pub(crate) run: Option<RunId>,
}

/// Size and checksum of what was written.
pub(crate) struct Written {
    pub(crate) size: u64,
    pub(crate) digest: String,
}

/// Takes a content, piece by piece.
pub(crate) struct ContentWriter<'t> {
    transaction: &'t Transaction<'t>,
    pub(crate) number: i64,
    next: i64,
}

impl ContentWriter<'_> {
    pub(crate) fn append(&mut self, piece: &[u8]) -> Result<()> {
        self.transaction.execute(
            "INSERT INTO hermes_file_chunks (file_id, position, content) VALUES (?1, ?2, ?3)",
            params![self.number, self.next, piece],
        )?;
        self.next += 1;
        Ok(())
    }
}

impl StoredBoard {
    /// Whether other machines share the board.
    pub fn is_on_server(&self) -> bool {
        matches!(self.engine, Engine::Server(_))
    }

    /// Writes beside the cards. Only for a board on a server.
    pub(super) fn write_aside<T>(
        &self,
        commit: Commit,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let durability = match commit {
            Commit::Forced => Durability::Forced,
            Commit::Logged => Durability::Logged,
        };
        let server = self.server_engine()?;
        server.write_aside(durability, |connection| {
            let now = server_time(server, &self.options);
            let statements = ServerStatements(connection);
            work(&Transaction::new(&statements, now, &self.options))
        })
    }

    fn server_engine(&self) -> Result<&ServerBoard> {
        match &self.engine {
            Engine::Server(server) => Ok(server),
            Engine::File(_) => Err(Error::BadRequest(
                "the board is in a file, which no other machine sees".to_owned(),
            )),
        }
    }

    /// Stores a content: `fill` writes it. A workspace replaces the one before.
    pub(crate) fn store_content(
        &self,
        task: &TaskId,
        kind: ContentKind,
        place: ContentPlace,
        fill: impl FnOnce(&mut ContentWriter<'_>) -> Result<Written>,
    ) -> Result<Content> {
        let (word, run) = match kind {
            ContentKind::Attachment => ("attachment", None),
            ContentKind::Workspace(run) => ("workspace", Some(run)),
        };
        self.write_aside(Commit::Forced, |tx| {
            tx.must_exist(task)?;
            if run.is_some() {
                tx.execute(
                    "DELETE FROM hermes_files WHERE task_id = ?1 AND kind = 'workspace'",
                    [task.as_str()],
                )?;
            }
            let number = tx.insert(
                "INSERT INTO hermes_files (task_id, kind, run_id, place, size, digest, created_at)
                 VALUES (?1, ?2, ?3, ?4, 0, '', ?5)",
                params![
                    task.as_str(),
                    word,
                    run.map(|run| run.0),
                    match place {
                        ContentPlace::Database => "database",
                        ContentPlace::Directory => "directory",
                    },
                    tx.now
                ],
            )?;
            let mut writer = ContentWriter {
                transaction: tx,
                number,
                next: 0,
            };
            let Written { size, digest } = fill(&mut writer)?;
            tx.execute(
                "UPDATE hermes_files SET size = ?2, digest = ?3 WHERE id = ?1",
                params![number, i64::try_from(size).unwrap_or(i64::MAX), digest],
            )?;
            Ok(Content {
                number,
                place,
                size,
                digest,
                run,
            })
        })
    }

    /// Bytes of the attachments of a card.
    pub(crate) fn content_bytes(&self, task: &TaskId) -> Result<u64> {
        self.look(|tx| {
            let bytes = tx.one(
                "SELECT CAST(COALESCE(sum(size), 0) AS bigint) FROM hermes_files
                 WHERE task_id = ?1 AND kind = 'attachment'",
                [task.as_str()],
                |row| row.get::<i64>(0),
            )?;
            Ok(u64::try_from(bytes.unwrap_or(0)).unwrap_or(0))
        })
    }

    /// The contents of a card's attachments, by the numbers of the attachments.
    pub(crate) fn attachment_contents(&self, task: &TaskId) -> Result<Vec<(i64, Content)>> {
        self.look(|tx| {
            tx.all(
                "SELECT id, place, size, digest, run_id, attachment_id FROM hermes_files
                 WHERE task_id = ?1 AND attachment_id IS NOT NULL",
                [task.as_str()],
                |row| Ok((row.get(5)?, content(row)?)),
            )
        })
    }

    /// Attachments whose content is not on the server.
    pub(crate) fn attachments_without_content(&self) -> Result<Vec<Attachment>> {
        let found = self.look(|tx| {
            tx.all(
                "SELECT a.id, a.task_id, a.filename, a.stored_path, a.content_type, a.size,
                     a.uploaded_by, a.created_at FROM task_attachments a
                 WHERE NOT EXISTS (SELECT 1 FROM hermes_files f WHERE f.attachment_id = a.id)",
                NONE,
                rows::attachment,
            )
        })?;
        Ok(found.into_iter().map(|one| self.here(one)).collect())
    }

    /// Notes the content of an attachment, and the path that all machines keep it at.
    pub(crate) fn name_content(
        &mut self,
        attachment: i64,
        content: i64,
        stored_path: &str,
    ) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE hermes_files SET attachment_id = ?2 WHERE id = ?1",
                params![content, attachment],
            )?;
            tx.execute(
                "UPDATE task_attachments SET stored_path = ?2 WHERE id = ?1",
                params![attachment, stored_path],
            )?;
            Ok(())
        })
    }

    /// Writes the paths of attachments as a board in a file has them, for programs that know no others.
    pub(crate) fn write_whole_paths(&mut self) -> Result<()> {
        let root = hermes_fs::resolved(&self.board.attachments);
        let root = root.to_string_lossy().into_owned();
        self.write(|tx| {
            tx.execute(
                "UPDATE task_attachments SET stored_path = ?1 || '/' || stored_path
                 WHERE stored_path NOT LIKE '/%'",
                [root.as_str()],
            )?;
            Ok(())
        })
    }

    /// Cards with attachments.
    pub(crate) fn cards_with_attachments(&self) -> Result<Vec<TaskId>> {
        self.look(|tx| tx.ids("SELECT DISTINCT task_id FROM task_attachments", NONE))
    }

    /// The workspace that an earlier attempt at a card left.
    pub(crate) fn workspace_content(&self, task: &TaskId) -> Result<Option<Content>> {
        self.look(|tx| {
            tx.one(
                "SELECT id, place, size, digest, run_id FROM hermes_files
                 WHERE task_id = ?1 AND kind = 'workspace' ORDER BY id DESC",
                [task.as_str()],
                content,
            )
        })
    }

    /// One piece of a content; `None` behind the last.
    pub(crate) fn content_piece(&self, number: i64, position: i64) -> Result<Option<Vec<u8>>> {
        self.look(|tx| {
            tx.one(
                "SELECT content FROM hermes_file_chunks WHERE file_id = ?1 AND position = ?2",
                params![number, position],
                |row| row.get(0),
            )
        })
    }

    /// What tells this board from every other, on whatever server.
    pub(crate) fn board_id(&self) -> Result<String> {
        let id =
            self.look(|tx| tx.one("SELECT board_id FROM hermes_board", NONE, |row| row.get(0)))?;
        id.ok_or_else(|| Error::BadRequest("the board has no number of its own".to_owned()))
    }

    /// Deletes contents that nobody needs: of attachments that were never recorded, and workspaces of
    /// finished cards.
    pub(crate) fn forget_contents(&mut self) -> Result<usize> {
        self.write_aside(Commit::Logged, |tx| {
            tx.execute(
                "DELETE FROM hermes_files WHERE (kind = 'attachment' AND attachment_id IS NULL
                     AND created_at < ?1)
                 OR (kind = 'workspace' AND task_id IN
                     (SELECT id FROM tasks WHERE status IN ('done', 'archived')))",
                params![tx.now - UNNAMED_SECONDS],
            )
        })
    }

    /// The numbers of all contents in the shared directory.
    pub(crate) fn shared_contents(&self) -> Result<Vec<i64>> {
        self.look(|tx| {
            tx.all(
                "SELECT id FROM hermes_files WHERE place = 'directory'",
                NONE,
                |row| row.get(0),
            )
        })
    }
}

fn content(row: &dyn crate::sqlite::statements::Row) -> Result<Content> {
    let place: String = row.get(1)?;
    let size: i64 = row.get(2)?;
    let run: Option<i64> = row.get(4)?;
    Ok(Content {
        number: row.get(0)?,
        place: if place == "directory" {
            ContentPlace::Directory
        } else {
            ContentPlace::Database
        },
        size: u64::try_from(size).unwrap_or(0),
        digest: row.get(3)?,
        run: run.map(RunId),
    })
}
