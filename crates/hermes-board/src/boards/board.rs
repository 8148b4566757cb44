//! The files of one board. Path arithmetic; creates nothing.

use std::path::{Path, PathBuf};

use crate::boards::BoardSlug;
use crate::boards::server::BoardServer;
use crate::claim_lock::own_host;
use crate::model::TaskId;
use crate::{Error, Result};

/// Where everything of one board lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    pub slug: BoardSlug,
    /// The database. That of a board on a server is not there; locks of this machine lie beside it, and
    /// processes are recognised by its path.
    pub database: PathBuf,
    /// The server that the board is on; `None` for a board in a file.
    pub server: Option<BoardServer>,
    /// Directory of `board.json`.
    pub directory: PathBuf,
    /// Parent of scratch workspaces.
    pub workspaces: PathBuf,
    /// Parent of the directories with attachments.
    pub attachments: PathBuf,
    /// Workers' logs and exit records.
    pub logs: PathBuf,
}

impl Board {
    /// The files of a board below the root of all boards.
    pub fn below(root: &Path, slug: &BoardSlug) -> Self {
        let kanban = root.join("kanban");
        let directory = kanban.join("boards").join(slug.as_str());
        // The default board is older than boards: its files stayed where they were.
        let (database, files) = if slug.is_default() {
            (root.join("kanban.db"), kanban.as_path())
        } else {
            (directory.join("kanban.db"), directory.as_path())
        };
        Self {
            slug: slug.clone(),
            database,
            server: None,
            workspaces: files.join("workspaces"),
            attachments: files.join("attachments"),
            logs: files.join("logs"),
            directory,
        }
    }

    /// Whether there is a database, so that opening it creates none.
    pub fn has_database(&self) -> bool {
        self.server.is_some() || self.database.exists()
    }

    /// Where the cards are, for people.
    pub fn shown_database(&self) -> String {
        let server = self.server.as_ref();
        let address = server.map(|server| server.address().unwrap_or_default());
        address.unwrap_or_else(|| self.database.display().to_string())
    }

    /// Written to when a board on a server changes, for those who watch files.
    pub(crate) fn bell(&self) -> PathBuf {
        self.database.with_added_extension("changed")
    }

    /// Name, colours and the like.
    pub fn metadata_file(&self) -> PathBuf {
        self.directory.join("board.json")
    }

    /// Held while the database is created, checked or migrated; its time says when the database was
    /// last found sound.
    pub fn init_lock(&self) -> PathBuf {
        self.database.with_added_extension("init.lock")
    }

    /// Held during one tick of a dispatcher on this board.
    pub fn dispatch_lock(&self) -> PathBuf {
        self.database.with_added_extension("dispatch.lock")
    }

    /// Scratch workspace of a card.
    pub fn workspace_of(&self, task: &TaskId) -> Result<PathBuf> {
        Ok(self.workspaces.join(file_name(task)?))
    }

    /// This installation, to others that share the board: a machine may have several.
    pub(crate) fn installation(&self) -> String {
        format!("{}:{}", own_host(), self.workspaces.display())
    }

    /// Parent of the copies of repositories that cards are worked on by address.
    pub(crate) fn repositories(&self) -> PathBuf {
        self.workspaces.with_file_name("repositories")
    }

    /// Directory of a card's attachments.
    pub fn attachments_of(&self, task: &TaskId) -> Result<PathBuf> {
        Ok(self.attachments.join(file_name(task)?))
    }

    /// Output of a card's worker.
    pub fn log_of(&self, task: &TaskId) -> Result<PathBuf> {
        Ok(self.logs.join(format!("{}.log", file_name(task)?)))
    }

    /// How a card's worker ended.
    pub fn exit_record_of(&self, task: &TaskId) -> Result<PathBuf> {
        Ok(self.logs.join(format!("{}.exit", file_name(task)?)))
    }
}

fn file_name(task: &TaskId) -> Result<&str> {
    task.as_file_name()
        .ok_or_else(|| Error::unsafe_task_id(task))
}
