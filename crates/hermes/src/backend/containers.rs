//! The containers of this profile, and what people are shown of the work with them.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_board::boards::BoardHome;
use hermes_config::vars;
use hermes_docker::{DockerHost, HostFacts, Observer, PathMap};
use hermes_terminal::environment::LiveEnvironment;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Printer;

/// The profile's name in labels when the home is no profile of the installation.
const CUSTOM: &str = "custom";

/// What all sandboxes of this process share. Reads the settings and finds the engine; starts nothing.
pub(crate) fn docker_host(
    context: &Context,
    environment: &Arc<LiveEnvironment>,
) -> Result<Arc<DockerHost>> {
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
        start_directory: context.system.start_dir.clone(),
        is_container: hermes_home::is_container(&context.env, &context.system),
        file_system_root: context.system.file_system_root.clone(),
    };
    let observer = Arc::new(OnStandardError(context.printer.clone()));
    Ok(DockerHost::new(
        context.config(),
        Arc::clone(environment),
        facts,
        observer,
    )?)
}

/// Directories of the card this process works on, on this machine or in a container.
#[derive(Debug, Clone, Default)]
pub(crate) struct CardPlaces {
    /// What is done there is looked for there, by checks and by whoever comes next.
    pub(crate) workspace: Option<PathBuf>,
    /// Files that belong to the card, to be read.
    pub(crate) attachments: Option<PathBuf>,
}

impl CardPlaces {
    /// Those of the card in hand, as far as they exist.
    pub(super) fn of(context: &Context) -> Self {
        let exists = |path: &PathBuf| path.is_absolute() && path.is_dir();
        let workspace = context.env.os(&vars::HERMES_KANBAN_WORKSPACE);
        let home = BoardHome::resolve(&context.env, &context.location);
        let attachments = home.worker_task().and_then(|task| {
            // Whatever keeps a board from being found is told when it is used.
            let board = home.select(None).ok()?;
            board.attachments_of(task).ok()
        });
        Self {
            workspace: workspace.map(PathBuf::from).filter(exists),
            attachments: attachments.filter(exists),
        }
    }

    /// The same as commands in a container find them; what is not there has no name.
    pub(super) fn inside(&self, paths: &PathMap) -> Self {
        let inside = |path: &Option<PathBuf>| paths.to_container(path.as_deref()?);
        Self {
            workspace: inside(&self.workspace),
            attachments: inside(&self.attachments),
        }
    }
}

/// Words beside the data; progress only where somebody watches.
struct OnStandardError(Printer);

impl Observer for OnStandardError {
    fn progress(&self, line: &str) {
        if std::io::stderr().is_terminal() {
            // Whoever closed standard error does not want to know.
            drop(self.0.note(line));
        }
    }

    fn notice(&self, text: &str) {
        drop(self.0.warn(text, None));
    }
}
