//! The container engine of a profile, and the directories of a worker's card in its containers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_board::boards::Board;
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;
use hermes_board::{StoredBoard, WorkerVariables};
use hermes_docker::{DockerHost, DockerSettings, HostFacts, PathMap};
use hermes_terminal::environment::LiveEnvironment;

use crate::board_settings::{kanban_settings, workspace_rules};
use crate::context::Context;
use crate::error::Result;
use crate::person::{Person, Reached};

/// The profile's name in labels when the home is no profile of the installation.
const CUSTOM: &str = "custom";

/// The engine under the settings of the profile, shared by its sandboxes. Starts nothing.
pub fn docker_host(
    context: &Context,
    environment: &Arc<LiveEnvironment>,
    person: &Arc<dyn Person>,
) -> Result<Arc<DockerHost>> {
    host_with(context, environment, person, &[])
}

/// The same, with more credential files to go along.
pub(super) fn host_with(
    context: &Context,
    environment: &Arc<LiveEnvironment>,
    person: &Arc<dyn Person>,
    credential_files: &[String],
) -> Result<Arc<DockerHost>> {
    let mut settings = DockerSettings::from_config(context.config())?;
    add_credentials(&mut settings.credential_files, credential_files);
    let facts = HostFacts {
        hermes_home: context.location.home.clone(),
        profile: context
            .current
            .as_ref()
            .map_or_else(|| CUSTOM.to_owned(), ToString::to_string),
        user_home: environment
            .current()
            .policy()
            .child_home
            .real_home()
            .to_owned(),
        protected: workspace_rules(context).homes().clone(),
        start_directory: context.system.start_dir.clone(),
        is_container: hermes_home::is_container(&context.env, &context.system),
        file_system_root: context.system.file_system_root.clone(),
    };
    Ok(DockerHost::new(
        settings,
        Arc::clone(environment),
        facts,
        Arc::new(Reached(Arc::clone(person))),
    )?)
}

/// Adds files to those of the settings.
pub(super) fn add_credentials(files: &mut Vec<String>, more: &[String]) {
    for file in more {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
}

/// Directories of the worker's card, on this machine or in a container.
#[derive(Debug, Clone, Default)]
pub(crate) struct CardDirectories {
    /// Where the work is done; checks and later workers look for it there.
    pub(crate) workspace: Option<PathBuf>,
    /// Files that belong to the card, to be read.
    pub(crate) attachments: Option<PathBuf>,
}

impl CardDirectories {
    /// The existing directories of the card in hand, if it may be worked on there. The workspace is
    /// without links, so that it can be told from what somebody puts in its place.
    pub(super) fn on_host(context: &Context) -> Result<Self> {
        let exists = |path: &PathBuf| path.is_absolute() && path.is_dir();
        let Some(card) = WorkerVariables::read(&context.env) else {
            return Ok(Self::default());
        };
        let home = crate::board_settings::board_home(context);
        // An error that keeps a board from being found is reported when the board is used.
        let board = home.select(None).ok();
        let attachments = board.as_ref();
        let attachments = attachments.and_then(|board| board.attachments_of(&card.task).ok());
        let workspace = match card.workspace.filter(exists) {
            Some(path) => Some(checked(context, board.as_ref(), &card.task, &path)?),
            None => None,
        };
        Ok(Self {
            workspace,
            attachments: attachments.filter(exists),
        })
    }

    /// The same directories as commands in a container see them; `None` for one that is not mounted.
    pub(super) fn inside(&self, paths: &PathMap) -> Self {
        let inside = |path: &Option<PathBuf>| paths.to_container(path.as_deref()?);
        Self {
            workspace: inside(&self.workspace),
            attachments: inside(&self.attachments),
        }
    }
}

/// A workspace without links, unless the card may not be worked on there.
fn checked(
    context: &Context,
    board: Option<&Board>,
    task: &TaskId,
    workspace: &Path,
) -> Result<PathBuf> {
    let options = kanban_settings(context).board_options(&context.env);
    let card = match board {
        Some(board) => StoredBoard::open(board, &options)?.task(task)?,
        None => None,
    };
    let rules = workspace_rules(context);
    let allowed = match &card {
        Some(card) => rules.check_for(card, workspace),
        None => rules.check(workspace),
    };
    let allowed = allowed.map_err(hermes_board::Error::from)?;
    Ok(hermes_fs::resolved(&allowed))
}
