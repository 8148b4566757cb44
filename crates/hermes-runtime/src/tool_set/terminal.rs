//! The terminal under the settings of a profile: its backend, who approves its commands, and what
//! must be released at the end. All that `hermes exec` needs, and what a tool set is built on.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_agent::ApprovalModel;
use hermes_config::vars;
use hermes_policy::SandboxMode;
use hermes_proc::{Wake, agent_shell};
use hermes_providers::{AuxiliaryModels, ModelOverrides};
use hermes_secret::{Redactor, Sink};
use hermes_terminal::backend::{Backend, Confinement};
use hermes_terminal::environment::{LiveEnvironment, ShellEnvironment};
use hermes_terminal::local::{LocalBackend, LocalSandbox};
use hermes_terminal::shell::{Overlay, ShellFinder};
use hermes_terminal::sudo::{SudoPasswords, configured_password, local_sudo_needs};
use hermes_terminal::{CommandApprover, Terminal, TerminalSettings};

use super::approver::ToolApprover;
use super::sandbox::{SandboxUse, SandboxWish};
use crate::backend::{BackendRequest, IdleWatch, RemoteLease, Shutdown, live_environment};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::person::{AgentAtTerminal, Person, Reached};
use crate::worker::DenialLog;

/// How often a process removes what earlier ones left.
const CLEAN_UP_EVERY: Duration = Duration::from_mins(10);

/// Whether commands need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// By the person, or the settings where nobody can be asked.
    Needed,
    /// Not at all, because the user has written the command: only what nothing may run is refused.
    NotNeeded,
}

/// What a terminal or a tool set is assembled for.
pub struct ToolSetRequest<'a> {
    pub backend: BackendRequest<'a>,
    pub approval: Approval,
    pub person: Arc<dyn Person>,
    /// Ends every call when it is raised.
    pub interrupt: Arc<Wake>,
    /// Which commands run in the sandbox, instead of what the settings say.
    pub sandbox: Option<SandboxMode>,
    /// Whether there are turns in which background processes can be heard of.
    pub has_conversation: bool,
    /// Whether this is a run of a scheduled job.
    pub is_scheduled: bool,
    /// Whether a server runs the conversation, see [`crate::ConversationRequest::is_served`].
    pub is_served: bool,
    /// The platform of the conversation, by which skills may be off.
    pub platform: &'a str,
}

/// A terminal with its backend.
pub struct TerminalSetup {
    terminal: Arc<Terminal>,
    /// Where commands run if not on this machine.
    pub(super) remote: Option<Arc<RemoteLease>>,
    pub(super) environment: Arc<LiveEnvironment>,
    pub(super) redactor: Arc<Redactor>,
    pub(super) approver: Arc<ToolApprover>,
    /// Assesses flagged commands where `approvals.mode` is `smart`.
    pub(crate) approval_model: Arc<ApprovalModel>,
    pub(super) interrupt: Arc<Wake>,
}

impl TerminalSetup {
    /// The terminal under the settings of this profile. Starts nothing.
    pub fn assemble(context: &Context, request: ToolSetRequest<'_>) -> Result<Self> {
        let ToolSetRequest {
            mut person,
            interrupt,
            ..
        } = request;
        let environment = if request.has_conversation {
            if !request.is_served {
                // Before the first command, so that none of them can have come first.
                agent_shell::announce_agent();
            }
            context.agent_environment()
        } else {
            live_environment(context)
        };
        if person.approves_commands() && context.caller().is_agent() {
            person = Arc::new(AgentAtTerminal(person));
        }
        let redactor = Arc::new(context.redactor().for_sink(Sink::Output));
        let remote =
            RemoteLease::prepare(context, &environment, request.backend, &person)?.map(Arc::new);
        let mut approver = ToolApprover::new(context, &environment, &redactor, Arc::clone(&person));
        approver.is_scheduled = request.is_scheduled;
        approver.is_isolated = request.approval == Approval::NotNeeded
            || remote.as_ref().is_some_and(|remote| remote.is_isolated);
        if request.has_conversation {
            approver.denials = DenialLog::of_worker(context, &person);
        }
        let settings = settings(context)?;
        let sandbox = if remote.is_some() || request.approval == Approval::NotNeeded {
            SandboxUse::Never
        } else {
            let workspace = settings.start_directory.clone();
            let wish = SandboxWish {
                mode: request.sandbox,
                is_unattended: request.is_scheduled || request.is_served,
            };
            SandboxUse::choose(context, &environment, workspace, wish, &*person)
        };
        approver.sandbox = sandbox.clone();
        let password = configured_password(context.config());
        approver.sudo_password_set = password.is_some();
        let auxiliary = Arc::new(AuxiliaryModels::new(
            context.config(),
            ModelOverrides::default(),
        ));
        let approval_model = Arc::new(ApprovalModel::new(auxiliary, Arc::clone(&interrupt)));
        approver.policy.assessor = Some(approval_model.clone());
        let approver = Arc::new(approver);
        let mut sudo = SudoPasswords::new(password);
        if remote.is_none() {
            let environment = Arc::clone(&environment);
            sudo = sudo.with_probe(move || local_sudo_needs(&environment));
        }
        if person.approves_commands() {
            sudo = sudo.with_prompt(Arc::new(Reached(person)));
        }
        let backend: Arc<dyn Backend> = match &remote {
            Some(remote) => remote.backend.clone(),
            None => {
                let backend = local_backend(context, settings.clone(), environment.clone());
                let usual = match &sandbox {
                    SandboxUse::Always(_) => Confinement::Sandbox,
                    SandboxUse::Never | SandboxUse::InsteadOfRefusal(_) => Confinement::None,
                };
                Arc::new(match sandbox.sandbox() {
                    Some(sandbox) => backend.with_sandbox(Arc::clone(sandbox), usual),
                    None => backend,
                })
            }
        };
        let approving: Arc<dyn CommandApprover> = approver.clone();
        let terminal = Terminal::new(settings, backend, approving, Arc::clone(&redactor))
            .map_err(Error::NoDescriptor)?
            .with_sudo(Arc::new(sudo));
        Ok(Self {
            terminal: Arc::new(terminal),
            remote,
            environment,
            redactor,
            approver,
            approval_model,
            interrupt,
        })
    }

    /// Cleans up after earlier processes and finds their background processes again. Called before
    /// something is run: a list or a check changes nothing.
    pub fn recover(&self) {
        if is_clean_up_due(&self.terminal.settings().home) {
            self.terminal.clean_up();
        }
        let processes = self.terminal.settings().home.join("processes.json");
        if processes.is_file() {
            hermes_telemetry::best_effort("find background processes again", || {
                self.terminal.processes().recover()
            });
        }
    }

    /// The terminal itself.
    pub fn terminal(&self) -> &Arc<Terminal> {
        &self.terminal
    }

    /// Where commands run if not on this machine.
    pub fn remote(&self) -> Option<&RemoteLease> {
        self.remote.as_deref()
    }

    /// The rules about the environment of commands, where commands run under these rules: those of
    /// this machine explain nothing about a remote host.
    pub fn environment_rules(&self) -> Option<&Arc<LiveEnvironment>> {
        self.remote.is_none().then_some(&self.environment)
    }

    /// What confines hooks: nothing, unless it confines every command.
    pub(crate) fn hook_sandbox(&self) -> Option<Arc<LocalSandbox>> {
        match &self.approver.sandbox {
            SandboxUse::Always(sandbox) => Some(Arc::clone(sandbox)),
            SandboxUse::Never | SandboxUse::InsteadOfRefusal(_) => None,
        }
    }

    /// Masks secrets in what tools say.
    pub(crate) fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Ends every call when it is raised.
    pub fn interrupt(&self) -> &Arc<Wake> {
        &self.interrupt
    }

    /// Releases the remote backend whenever it is idle, as long as the returned value lives.
    pub fn watch_idle(&self) -> Result<Option<IdleWatch>> {
        match &self.remote {
            Some(remote) => IdleWatch::start(remote).map_err(Error::NoDescriptor),
            None => Ok(None),
        }
    }

    /// Releases the remote backend for good, and the files of the sandbox. A process that ends by signals calls this while it
    /// still
    /// handles them: what is not released stays behind.
    pub fn release(&self) {
        let shutdown = if self.interrupt.is_raised() {
            Shutdown::Urgent
        } else {
            Shutdown::Orderly
        };
        if let Some(remote) = &self.remote {
            remote.release(shutdown);
        }
        if let Some(sandbox) = self.approver.sandbox.sandbox() {
            sandbox.release();
        }
    }

    /// Forgets the approvals of a session that ends, `/yolo` among them: they are void in the next
    /// one.
    pub(crate) fn forget_approvals(&self) {
        self.approver.forget_session();
    }

    /// Whether risky commands run without approval.
    pub fn is_yolo(&self) -> bool {
        self.approver.yolo.load(Ordering::Relaxed)
    }

    /// Switches approval of risky commands off or on for later calls; gives whether they now run
    /// without it. In an agent's shell it stays on.
    pub fn toggle_yolo(&self) -> bool {
        if self.approver.is_called_by_agent() {
            return false;
        }
        !self.approver.yolo.fetch_xor(true, Ordering::Relaxed)
    }
}

/// What the login shell of a new session on this machine would change. Makes nothing ready on disk.
pub fn login_overlay(context: &Context) -> Result<Overlay> {
    let environment = context.environment();
    let backend = local_backend(context, settings(context)?, environment);
    let never = Wake::new().map_err(Error::NoDescriptor)?;
    Ok(backend.login_overlay(&never))
}

/// Whether what earlier processes left is due to be removed. A server opens many conversations a second.
fn is_clean_up_due(home: &Path) -> bool {
    static LAST: Mutex<Option<(PathBuf, Instant)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, at)) = &*last
        && known == home
        && at.elapsed() < CLEAN_UP_EVERY
    {
        return false;
    }
    *last = Some((home.to_owned(), Instant::now()));
    true
}

fn local_backend(
    context: &Context,
    settings: TerminalSettings,
    environment: Arc<dyn ShellEnvironment>,
) -> LocalBackend {
    let user_shell = context.env.os(&vars::SHELL).map(Path::new);
    let shells = ShellFinder::new(context.env.os(&vars::PATH), user_shell);
    LocalBackend::new(settings, shells, environment)
}

fn settings(context: &Context) -> Result<TerminalSettings> {
    let mut settings =
        TerminalSettings::new(context.location.home.clone(), working_directory(context)?)
            .configured(context.config());
    settings.supervisor.clone_from(&context.program.supervisor);
    Ok(settings)
}

fn working_directory(context: &Context) -> Result<PathBuf> {
    let start = context.system.start_dir.clone();
    // A directory that is gone still has a name; the terminal uses its nearest parent and says so.
    let named = || {
        let named = context.env.lookup("PWD").map(PathBuf::from);
        named.filter(|path| path.is_absolute())
    };
    start.or_else(named).ok_or_else(|| {
        let message = "the current directory no longer exists";
        Error::user(message, Some("change to one that does"))
    })
}
