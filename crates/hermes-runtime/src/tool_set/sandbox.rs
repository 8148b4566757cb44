//! Which commands of this machine run in the kernel's sandbox, and what that sandbox is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_board::WorkerVariables;
use hermes_board::completion::ConfinedCheck;
use hermes_board::model::Task;
use hermes_config::vars;
use hermes_policy::{SandboxFacts, SandboxMode, SandboxSettings};
use hermes_proc::sandbox::KernelSupport;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::LocalSandbox;

use crate::backend::live_environment;
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

/// What is known about the sandbox before the settings are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SandboxWish {
    /// Instead of what the settings say.
    pub(crate) mode: Option<SandboxMode>,
    /// Whether nobody sees the commands, as with those of workers.
    pub(crate) is_unattended: bool,
}

impl SandboxUse {
    /// What the settings mean for commands of this process.
    pub(crate) fn choose(
        context: &Context,
        environment: &LiveEnvironment,
        workspace: PathBuf,
        wish: SandboxWish,
        person: &dyn Person,
    ) -> Self {
        let sandbox = Arc::new(local_sandbox(context, environment, workspace));
        for warning in &sandbox.settings().warnings {
            tracing::warn!("{warning}");
        }
        match wish.mode.unwrap_or(sandbox.settings().mode) {
            SandboxMode::Off => Self::Never,
            SandboxMode::On => Self::Always(sandbox),
            // Who cannot be confined is refused what needs approval, as everywhere.
            SandboxMode::Auto if wish.is_unattended || is_worker(context) => {
                if context.can_confine(|| sandbox.is_possible()) {
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
    template(context, environment, workspace).sandbox()
}

/// What every sandbox of a profile is made from.
struct SandboxTemplate {
    settings: SandboxSettings,
    facts: SandboxFacts,
    support: KernelSupport,
    temp_directory: PathBuf,
}

impl SandboxTemplate {
    fn sandbox(self) -> LocalSandbox {
        LocalSandbox::new(self.settings, self.facts, self.support, self.temp_directory)
    }
}

/// What confines the checks of a card under the settings of this profile.
pub(super) fn confine_check(
    context: &Context,
    task: &Task,
    workspace: &Path,
) -> Result<Option<ConfinedCheck>, String> {
    let template = template(context, &live_environment(context), workspace.to_owned());
    let mode = match task.sandbox.as_deref() {
        Some("on") => SandboxMode::On,
        Some("off") => SandboxMode::Off,
        _ => template.settings.mode,
    };
    let sandbox = template.sandbox();
    match mode {
        // What an agent wants to be run is confined wherever that is possible.
        SandboxMode::Off if task.is_filed_by_agent() && sandbox.is_possible() => {}
        SandboxMode::Off => return Ok(None),
        // As its worker's commands.
        SandboxMode::Auto if !sandbox.is_possible() => return Ok(None),
        SandboxMode::Auto | SandboxMode::On => {}
    }
    Ok(Some(ConfinedCheck {
        sandbox: sandbox.prepared()?,
        variables: sandbox.variables(),
        keep: Box::new(sandbox),
    }))
}

fn template(
    context: &Context,
    environment: &LiveEnvironment,
    workspace: PathBuf,
) -> SandboxTemplate {
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
    SandboxTemplate {
        settings: SandboxSettings::from_config(context.config()),
        facts,
        support: kernel_support(context),
        // Whatever a crash leaves there goes with the home, or with the next sandbox.
        temp_directory: context.location.root.join("cache/sandbox"),
    }
}

/// Debug builds can do without parts of the kernel, to be tested as on an older one.
fn kernel_support(context: &Context) -> KernelSupport {
    match context.env.text(&vars::HERMES_TEST_SANDBOX_WITHOUT) {
        Some(parts) if cfg!(debug_assertions) => KernelSupport::without(parts),
        _ => KernelSupport::ALL,
    }
}
