//! Selection of a board: root, flag, environment, the board switched to.
//!
//! Reads the environment and two small files; creates nothing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_config::Environment;
use hermes_config::vars::{self, Var};
use hermes_fs::{Directory, resolved};
use hermes_home::Location;

use crate::boards::server::{BoardServer, ServerSettings};
use crate::boards::{Board, BoardSlug, metadata};
use crate::model::TaskId;
use crate::{Error, Result, WorkerVariables};

/// A slug and a newline.
const POINTER_LIMIT: u64 = 4096;

/// The boards of one installation, as seen by one process.
#[derive(Debug, Clone)]
pub struct BoardHome {
    root: PathBuf,
    user_home: PathBuf,
    /// `HERMES_KANBAN_BOARD`.
    board_variable: Option<String>,
    /// Paths that variables pin for the current board.
    pinned_database: Option<PathBuf>,
    pinned_workspaces: Option<PathBuf>,
    pinned_attachments: Option<PathBuf>,
    worker_task: Option<TaskId>,
    servers: ServerSettings,
}

impl BoardHome {
    /// All profiles of an installation share its boards.
    pub fn resolve(env: &Environment, location: &Location) -> Self {
        let path = |var: &Var| {
            let raw = env.os(var)?;
            // Blanks around a path never belong to it; a blank value counts as unset.
            let value = match raw.to_str() {
                Some(_) => OsStr::new(env.text(var)?),
                None => raw,
            };
            Some(absolute(value, &location.user_home))
        };
        Self {
            root: path(&vars::HERMES_KANBAN_HOME).unwrap_or_else(|| location.root.clone()),
            user_home: location.user_home.clone(),
            board_variable: env.text(&vars::HERMES_KANBAN_BOARD).map(str::to_owned),
            pinned_database: path(&vars::HERMES_KANBAN_DB),
            pinned_workspaces: path(&vars::HERMES_KANBAN_WORKSPACES_ROOT),
            pinned_attachments: path(&vars::HERMES_KANBAN_ATTACHMENTS_ROOT),
            worker_task: WorkerVariables::read(env).map(|worker| worker.task),
            servers: ServerSettings::default(),
        }
    }

    /// The same boards, on the servers that are configured.
    #[must_use]
    pub fn on_servers(self, servers: ServerSettings) -> Self {
        Self { servers, ..self }
    }

    /// Root of all boards.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path as people write it: `~` is the user's home.
    pub fn expand(&self, path: &Path) -> PathBuf {
        expand_user(path, &self.user_home)
    }

    /// The card this process is a worker for.
    pub fn worker_task(&self) -> Option<&TaskId> {
        self.worker_task.as_ref()
    }

    /// Parent of the named boards.
    pub fn boards_dir(&self) -> PathBuf {
        self.root.join("kanban").join("boards")
    }

    /// Parent of boards that were archived.
    pub fn archive_dir(&self) -> PathBuf {
        self.boards_dir().join("_archived")
    }

    /// Held for life by the gateway that dispatches.
    pub fn dispatcher_lock(&self) -> PathBuf {
        self.root.join("kanban").join(".dispatcher.lock")
    }

    /// Held by the gateway that tells followers of cards.
    pub(crate) fn notifier_lock(&self) -> PathBuf {
        self.root.join("kanban").join(".notifier.lock")
    }

    /// Held while workers are started under a limit that counts over all boards.
    pub(crate) fn home_cap_lock(&self) -> PathBuf {
        self.root.join("kanban").join(".home-cap.lock")
    }

    /// Exists once the tip about scratch workspaces has been noted.
    pub fn scratch_tip_sentinel(&self) -> PathBuf {
        self.root.join(".scratch_tip_shown")
    }

    pub(super) fn pointer(&self) -> PathBuf {
        self.root.join("kanban").join("current")
    }

    /// The files of a board, whether it exists or not; no variable has a say.
    pub fn board(&self, slug: &BoardSlug) -> Board {
        let board = Board::below(&self.root, slug);
        let server = self
            .servers
            .of(slug, metadata::database_in(&board.metadata_file()));
        Board { server, ..board }
    }

    /// The server of a board whose file says this; `None` for a file.
    pub(crate) fn server_at(&self, slug: &BoardSlug, database: &str) -> Option<BoardServer> {
        self.servers.of(slug, Ok(Some(database.to_owned())))
    }

    /// Whether the board has metadata or a database. The default board always exists.
    pub fn exists(&self, slug: &BoardSlug) -> bool {
        let board = self.board(slug);
        slug.is_default() || board.metadata_file().exists() || board.has_database()
    }

    /// The board for commands that name none.
    pub fn active(&self) -> BoardSlug {
        // A malformed slug, or one of a board that is gone, is skipped.
        let existing = |text: &str| BoardSlug::parse(text).ok().filter(|slug| self.exists(slug));
        self.board_variable
            .as_deref()
            .and_then(existing)
            .or_else(|| existing(&self.switched_to()?))
            .unwrap_or_else(BoardSlug::default_board)
    }

    /// The board of this command. A named one outranks every variable, except that a worker stays on
    /// its board.
    pub fn select(&self, explicit: Option<&str>) -> Result<Board> {
        let Some(explicit) = explicit else {
            return Ok(self.pinned(&self.active()));
        };
        let slug = BoardSlug::parse(explicit)?;
        if self.worker_task.is_some() {
            let own = self.active();
            return if slug == own {
                Ok(self.pinned(&own))
            } else {
                Err(Error::ForeignBoard {
                    asked: slug.to_string(),
                    own: own.to_string(),
                })
            };
        }
        self.must_exist(&slug)?;
        Ok(self.board(&slug))
    }

    fn pinned(&self, slug: &BoardSlug) -> Board {
        let own = self.board(slug);
        // A worker has both variables: the path is what its processes are recognised by.
        let is_in_file = self.pinned_database.is_some() && !self.servers.is_by_variable();
        Board {
            server: own.server.filter(|_| !is_in_file),
            database: self.pinned_database.clone().unwrap_or(own.database),
            workspaces: self.pinned_workspaces.clone().unwrap_or(own.workspaces),
            attachments: self.pinned_attachments.clone().unwrap_or(own.attachments),
            ..own
        }
    }

    /// The root of scratch workspaces that a directory lies below, and where attachments of its
    /// cards go. `None` for every directory that is not ours to remove.
    pub(crate) fn managed_scratch(&self, path: &Path) -> Option<ManagedScratch> {
        let path = resolved(path);
        self.scratch_roots()
            .into_iter()
            .find_map(|(root, attachments)| {
                let root = resolved(&root);
                let relative = path.strip_prefix(&root).ok()?.to_owned();
                (!relative.as_os_str().is_empty()).then(|| ManagedScratch {
                    path: path.clone(),
                    root,
                    relative,
                    attachments,
                })
            })
    }

    /// Where scratch workspaces may lie, each with where attachments of its cards go.
    fn scratch_roots(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut roots = Vec::new();
        if let Some(pinned) = &self.pinned_workspaces {
            roots.push((pinned.clone(), self.pinned(&self.active()).attachments));
        }
        let default = self.board(&BoardSlug::default_board());
        roots.push((default.workspaces, default.attachments));
        // A home without named boards has no such directory.
        for entry in hermes_fs::read_dir(&self.boards_dir()).unwrap_or_default() {
            roots.push((
                entry.path.join("workspaces"),
                entry.path.join("attachments"),
            ));
        }
        roots
    }

    /// Directories that boards need for themselves.
    pub(crate) fn own_directories(&self) -> Vec<PathBuf> {
        let mut directories = vec![self.root.clone(), self.boards_dir()];
        for (workspaces, attachments) in self.scratch_roots() {
            directories.extend(workspaces.parent().map(Path::to_owned));
            directories.extend([workspaces, attachments]);
        }
        let database = self.pinned_database.as_deref().and_then(Path::parent);
        directories.extend(database.map(Path::to_owned));
        directories
    }

    /// The board that `switch` chose last, if it is a name at all.
    pub(super) fn active_by_switch(&self) -> Option<BoardSlug> {
        BoardSlug::parse(&self.switched_to()?).ok()
    }

    fn switched_to(&self) -> Option<String> {
        let bytes = hermes_fs::read_capped(&self.pointer(), POINTER_LIMIT).ok()?;
        String::from_utf8(bytes).ok()
    }
}

/// A scratch workspace that is ours.
#[derive(Debug, Clone)]
pub(crate) struct ManagedScratch {
    /// Without links.
    pub(crate) path: PathBuf,
    /// The directory of all of them, which no worker can change.
    root: PathBuf,
    /// Where it is below that.
    relative: PathBuf,
    pub(crate) attachments: PathBuf,
}

impl ManagedScratch {
    /// The workspace, reached from its root without a link: whoever works in it may put one anywhere
    /// below.
    pub(crate) fn open(&self) -> hermes_fs::Result<Directory> {
        Directory::open(&self.root)?.directory(&self.relative)
    }

    /// Removes the workspace with everything in it.
    pub(crate) fn remove(&self) -> hermes_fs::Result<()> {
        Directory::open(&self.root)?.remove_tree(&self.relative)
    }
}

/// The entries of a directory; none if it does not exist.
pub(crate) fn entries(directory: &Path) -> Result<Vec<hermes_fs::Entry>> {
    match hermes_fs::read_dir(directory) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        entries => Ok(entries?),
    }
}

/// A path from a variable: `~` is the user's home, the rest counts from where we are.
fn absolute(value: &OsStr, user_home: &Path) -> PathBuf {
    let path = expand_user(Path::new(value), user_home);
    std::path::absolute(&path).unwrap_or(path)
}

/// Replaces a leading `~`.
fn expand_user(path: &Path, user_home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) if rest.as_os_str().is_empty() => user_home.to_owned(),
        Ok(rest) => user_home.join(rest),
        Err(_) => path.to_owned(),
    }
}
