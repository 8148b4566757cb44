//! Creating, switching, archiving and deleting boards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_fs::{FileLock, LockOptions};

use crate::boards::bell;
use crate::boards::metadata::{self, BoardInfo, MetadataChange};
use crate::boards::{BoardHome, BoardSlug, entries};
use crate::{Error, Result};

/// How long a change of metadata waits for another.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Which boards a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// Those that are not marked as archived.
    Active,
    All,
}

/// Outcome of [`BoardHome::create`].
#[derive(Debug, Clone, PartialEq)]
pub struct CreatedBoard {
    pub info: BoardInfo,
    pub existed: bool,
}

impl BoardHome {
    /// What is known of one board, existing or not.
    pub fn info(&self, slug: &BoardSlug) -> BoardInfo {
        metadata::load(&self.board(slug))
    }

    /// The default board first, then the others by name.
    pub fn list(&self, listed: Listed) -> Result<Vec<BoardInfo>> {
        let entries = entries(&self.boards_dir())?;
        let mut boards = vec![self.info(&BoardSlug::default_board())];
        for entry in entries {
            let Some(slug) = BoardSlug::from_directory(&entry.name) else {
                continue;
            };
            if slug.is_default() || !entry.path.is_dir() || !self.exists(&slug) {
                continue;
            }
            let info = self.info(&slug);
            if listed == Listed::All || !info.archived {
                boards.push(info);
            }
        }
        Ok(boards)
    }

    /// Files whose changes mean that something happened on the boards, or on this one, and directories
    /// in which boards appear: the first named board makes the directory of all.
    pub fn watched_files(
        &self,
        only: Option<&BoardSlug>,
    ) -> Result<(BTreeSet<PathBuf>, BTreeSet<PathBuf>)> {
        let mut files = BTreeSet::new();
        for info in self.list(Listed::Active)? {
            if only.is_none_or(|only| *only == info.slug) {
                let board = self.board(&info.slug);
                // It says where the board is, which may change.
                files.insert(board.metadata_file());
                if let Some(server) = &board.server {
                    bell::hang(server, &board);
                    files.insert(board.bell());
                    continue;
                }
                let database = board.database;
                let mut log = database.clone().into_os_string();
                log.push("-wal");
                files.extend([database, log.into()]);
            }
        }
        let boards = self.boards_dir();
        let above = boards.parent().map(Path::to_owned);
        Ok((files, above.into_iter().chain([boards]).collect()))
    }

    /// Writes the metadata of a new or existing board. The database is created by the first opening.
    pub fn create(
        &self,
        slug: &BoardSlug,
        description: &MetadataChange,
        now: i64,
    ) -> Result<CreatedBoard> {
        let existed = self.exists(slug);
        let info = self.write_metadata(slug, description, now)?;
        Ok(CreatedBoard { info, existed })
    }

    /// Changes the metadata of an existing board.
    pub fn change(&self, slug: &BoardSlug, change: &MetadataChange, now: i64) -> Result<BoardInfo> {
        self.must_exist(slug)?;
        self.write_metadata(slug, change, now)
    }

    /// Selects the board for commands that name none.
    pub fn switch(&self, slug: &BoardSlug) -> Result<()> {
        self.must_exist(slug)?;
        hermes_fs::create_dir_all(&self.root().join("kanban"), 0o700)?;
        hermes_fs::write_atomic(&self.pointer(), format!("{slug}\n").as_bytes(), 0o600)?;
        Ok(())
    }

    /// Moves a board below [`Self::archive_dir`]; returns its new path.
    pub fn archive(&self, slug: &BoardSlug, now: i64) -> Result<PathBuf> {
        self.detach(slug, &format!("{slug}-{now}"))
    }

    /// Removes a board with everything in it.
    pub fn delete(&self, slug: &BoardSlug, now: i64) -> Result<()> {
        // Moved away in one step first: an interrupted removal must not leave half a board behind.
        let doomed = self.detach(slug, &format!(".deleting-{slug}-{now}"))?;
        hermes_fs::remove_tree(&doomed)?;
        Ok(())
    }

    fn detach(&self, slug: &BoardSlug, name: &str) -> Result<PathBuf> {
        if slug.is_default() {
            return Err(Error::DefaultBoard);
        }
        self.must_exist(slug)?;
        if self.active_by_switch().as_ref() == Some(slug) {
            hermes_fs::remove_file_if_present(&self.pointer())?;
        }
        hermes_fs::create_dir_all(&self.archive_dir(), 0o700)?;
        let directory = self.board(slug).directory;
        for number in 0_u32.. {
            let target = self.archive_dir().join(match number {
                0 => name.to_owned(),
                number => format!("{name}-{number}"),
            });
            match hermes_fs::rename_exclusive(&directory, &target) {
                Ok(()) => return Ok(target),
                Err(hermes_fs::Error::AlreadyExists { .. }) => {}
                // Another process was faster.
                Err(error) if error.is_not_found() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::unknown_board(slug.as_str()))
    }

    pub(super) fn must_exist(&self, slug: &BoardSlug) -> Result<()> {
        if self.exists(slug) {
            Ok(())
        } else {
            Err(Error::unknown_board(slug.as_str()))
        }
    }

    fn write_metadata(
        &self,
        slug: &BoardSlug,
        change: &MetadataChange,
        now: i64,
    ) -> Result<BoardInfo> {
        if let Some(Some(path)) = &change.default_workdir
            && !std::path::Path::new(path).is_absolute()
        {
            return Err(Error::RelativePath {
                what: "the default directory of a board",
                path: path.into(),
            });
        }
        let board = self.board(slug);
        hermes_fs::create_dir_all(&board.directory, 0o700)?;
        let what = format!("board {slug}");
        let _lock = FileLock::acquire(
            &board.directory.join(".board.json.lock"),
            &LockOptions {
                timeout: LOCK_TIMEOUT,
                ..LockOptions::new(&what)
            },
        )?;
        metadata::save(&board, change, now)
    }
}
