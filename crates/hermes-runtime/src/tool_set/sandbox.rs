//! Which commands of this machine run in the kernel's sandbox, and what that sandbox is.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_board::WorkerVariables;
use hermes_config::vars;
use hermes_policy::{SandboxFacts, SandboxMode, SandboxSettings};
use hermes_proc::sandbox::KernelSupport;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::LocalSandbox;

use crate::context::Context;
use crate::person::Person;

/// Which commands run in the sandbox.
#[derive(Clone)]
pub(crate) enum SandboxUse {
    /// None.
    Never,
    /// Those that would be refused because nobody can be asked.
    InsteadOfRefusal(Arc<LocalSandbox>),
    /// All.
    Always(Arc<LocalSandbox>),
}

impl SandboxUse {
    /// What the settings mean for commands of this process.
    pub(crate) fn choose(
        context: &Context,
        environment: &LiveEnvironment,
        workspace: PathBuf,
        mode: Option<SandboxMode>,
        person: &dyn Person,
    ) -> Self {
        let sandbox = Arc::new(local_sandbox(context, environment, workspace));
        for warning in &sandbox.settings().warnings {
            tracing::warn!("{warning}");
        }
        match mode.unwrap_or(sandbox.settings().mode) {
            SandboxMode::Off => Self::Never,
            SandboxMode::On => Self::Always(sandbox),
            // A worker that cannot be confined is refused what needs approval, as everywhere.
            SandboxMode::Auto if is_worker(context) => {
                if sandbox.is_possible() {
                    Self::Always(sandbox)
                } else {
                    Self::Never
                }
            }
            SandboxMode::Auto if person.approves_commands() => Self::Never,
            SandboxMode::Auto => Self::InsteadOfRefusal(sandbox),
        }
    }

    /// The sandbox, if commands may run in it.
    pub(crate) fn sandbox(&self) -> Option<&Arc<LocalSandbox>> {
        match self {
            Self::Never => None,
            Self::InsteadOfRefusal(sandbox) | Self::Always(sandbox) => Some(sandbox),
        }
    }
}

fn is_worker(context: &Context) -> bool {
    WorkerVariables::read(&context.env).is_some()
}

/// The sandbox of commands that work in this directory. Makes nothing.
pub fn local_sandbox(
    context: &Context,
    environment: &LiveEnvironment,
    workspace: PathBuf,
) -> LocalSandbox {
    let builder = environment.current();
    let home = &builder.policy().child_home;
    let homes = [Some(home.real_home()), home.effective()];
    let card = WorkerVariables::read(&context.env).and_then(|worker| worker.workspace);
    let facts = SandboxFacts {
        workspace: card.filter(|path| path.is_dir()).unwrap_or(workspace),
        temporary: None,
        account_homes: homes
            .into_iter()
            .flatten()
            .map(std::path::Path::to_owned)
            .collect(),
        hermes_homes: vec![context.location.home.clone(), context.location.root.clone()],
        ssh_agent: context.env.lookup("SSH_AUTH_SOCK").map(PathBuf::from),
        is_root: rustix::process::geteuid().is_root(),
    };
    LocalSandbox::new(
        SandboxSettings::from_config(context.config()),
        facts,
        kernel_support(context),
        context.temp_dir(),
    )
}

/// Debug builds can do without parts of the kernel, to be tested as on an older one.
fn kernel_support(context: &Context) -> KernelSupport {
    match context.env.text(&vars::HERMES_TEST_SANDBOX_WITHOUT) {
        Some(parts) if cfg!(debug_assertions) => KernelSupport::without(parts),
        _ => KernelSupport::ALL,
    }
}
