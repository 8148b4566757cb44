//! The containers of this profile, and what people are shown of the work with them.

use std::io::IsTerminal;
use std::sync::Arc;

use hermes_config::vars;
use hermes_terminal::docker::{DockerHost, HostFacts, Observer};
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
    // What the worker of a card does is looked for in its workspace, by checks and by whoever comes
    // next, so its container has that directory whatever the profile does otherwise.
    let is_worker = context.env.is_set(&vars::HERMES_KANBAN_WORKSPACE);
    let with_workspace = is_worker.then(|| {
        let mount = &vars::TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE;
        context.with_env(context.env.with(mount, "true"))
    });
    let context = with_workspace.as_ref().unwrap_or(context);
    Ok(DockerHost::new(
        context.config(),
        Arc::clone(environment),
        facts,
        observer,
    )?)
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
