//! The tools under the settings of a profile, and the sessions that use them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_agent::ApprovalModel;
use hermes_config::vars;
use hermes_policy::{PrivateHomes, SessionApprovals};
use hermes_proc::Wake;
use hermes_providers::{AuxiliaryModels, ModelOverrides};
use hermes_secret::{Redactor, Sink};
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::{EnvSource, ShellFinder, Terminal, TerminalSettings};
use hermes_terminal::session::SessionKey;
use hermes_terminal::sudo::{LocalProbe, SudoPasswords, configured_password};
use hermes_tools::{
    CallContext, ClarifyTool, DelegateTool, ExecuteCodeTool, FileLedger, Filesystem, HostFiles,
    PatchTool, ProcessTool, SearchFilesTool, SessionSearchTool, SessionState, TerminalParts,
    TerminalSession, TerminalTool, TodoTool, ToolConversation, ToolRegistry, WriteFileTool,
    kanban_tools,
};

use super::approver::ToolApprover;
use super::board;
use super::configured::{code_settings, positive, read_file};
use super::file_writes::FileWrites;
use super::script_environment::ScriptEnvironment;
use crate::backend::{BackendRequest, IdleWatch, RemoteBackend, Shutdown, live_environment};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::person::{Person, Reached};

/// Whether risky commands need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// By the person, or the settings where nobody can be asked.
    Needed,
    /// Not at all, because the user has written the command: only what nothing may run is refused.
    NotNeeded,
}

/// What a tool set is assembled for.
pub struct ToolSetRequest<'a> {
    /// Where commands run.
    pub backend: BackendRequest<'a>,
    /// Whether risky commands need approval.
    pub approval: Approval,
    /// Who can be asked and shown things.
    pub person: Arc<dyn Person>,
    /// Ends every call when it is raised.
    pub interrupt: Arc<Wake>,
}

/// All tools, and the sessions that use them.
pub struct ToolSet {
    /// The tools by name.
    pub registry: Arc<ToolRegistry>,
    terminal: Arc<Terminal>,
    /// Where commands run if not on this machine.
    remote: Option<Arc<RemoteBackend>>,
    environment: Arc<LiveEnvironment>,
    writes: FileWrites,
    private_homes: PrivateHomes,
    redactor: Arc<Redactor>,
    /// Ends every call.
    interrupt: Arc<Wake>,
    /// Assesses flagged commands where `approvals.mode` is `smart`.
    approval_model: Arc<ApprovalModel>,
    /// What the person approved for this session.
    approvals: Arc<SessionApprovals>,
    /// Whether risky commands run without approval.
    yolo: Arc<AtomicBool>,
    sessions: Mutex<HashMap<String, RememberedSession>>,
}

/// What is kept of a session between its calls.
#[derive(Clone, Default)]
struct RememberedSession {
    files: Arc<FileLedger>,
    conversation: ToolConversation,
}

impl ToolSet {
    /// The tools under the settings of this profile. Starts nothing.
    pub fn assemble(context: &Context, request: ToolSetRequest<'_>) -> Result<Self> {
        let ToolSetRequest {
            backend,
            approval,
            person,
            interrupt,
        } = request;
        let config = context.config();
        let environment = live_environment(context);
        let redactor = Arc::new(context.redactor().for_sink(Sink::Output));
        let remote = RemoteBackend::prepare(context, &environment, backend, &person)?.map(Arc::new);
        let terminal = Arc::new(terminal(context, &redactor, remote.as_deref())?);
        let mut approver = ToolApprover::new(context, &environment, &redactor, Arc::clone(&person));
        approver.is_isolated = approval == Approval::NotNeeded
            || remote.as_ref().is_some_and(|remote| remote.is_isolated);
        let password = configured_password(config);
        approver.sudo_password_set = password.is_some();
        let side = Arc::new(AuxiliaryModels::new(config, ModelOverrides::default()));
        let approval_model = Arc::new(ApprovalModel::new(side, Arc::clone(&interrupt)));
        approver.consult(approval_model.clone());
        let yolo = Arc::clone(&approver.yolo);
        let approvals = Arc::clone(&approver.approvals);
        let approver = Arc::new(approver);
        let mut sudo = SudoPasswords::new(password);
        if remote.is_none() {
            sudo = sudo.with_probe(LocalProbe::new(Arc::clone(&environment)));
        }
        if person.approves_commands() {
            sudo = sudo.with_prompt(Arc::new(Reached(person)));
        }
        let scripts = ExecuteCodeTool::new(
            code_settings(context, &environment),
            Arc::new(ScriptEnvironment {
                terminal: Arc::clone(&terminal),
                environment: Arc::clone(&environment),
                zone: config.text("timezone").to_owned(),
            }),
            approver.clone(),
        );
        let parts = TerminalParts {
            terminal: Arc::clone(&terminal),
            environment: Arc::clone(&environment),
            guard: approver,
            sudo: Some(Arc::new(sudo)),
        };
        let registry = ToolRegistry::default()
            .with(TerminalTool(parts.clone()))
            .with(ProcessTool(parts))
            .with(read_file(config))
            .with(WriteFileTool)
            .with(PatchTool)
            .with(SearchFilesTool)
            .with(scripts)
            .with(TodoTool)
            .with(ClarifyTool)
            .with(SessionSearchTool {
                home: context.location.home.clone(),
            })
            .with(DelegateTool {
                max_children: positive(config, "delegation.max_concurrent_children")
                    .unwrap_or(DelegateTool::default().max_children),
            });
        let registry = kanban_tools(board::desk(context, remote.as_deref()))
            .into_iter()
            .fold(registry, ToolRegistry::with);
        let builder = environment.current();
        let home = &builder.policy().child_home;
        let accounts = [Some(home.real_home()), home.effective()];
        let private_homes = PrivateHomes {
            accounts: accounts.into_iter().flatten().map(Path::to_owned).collect(),
            hermes: vec![context.location.home.clone(), context.location.root.clone()],
        };
        Ok(Self {
            registry: Arc::new(registry),
            terminal,
            remote,
            writes: FileWrites::new(context, &environment),
            environment,
            private_homes,
            redactor,
            interrupt,
            approval_model,
            approvals,
            yolo,
            sessions: Mutex::default(),
        })
    }

    /// Cleans up after earlier processes and finds their background processes again. Called before
    /// something is run: a list or a check changes nothing.
    pub fn recover(&self) {
        self.terminal.clean_up();
        if self
            .terminal
            .settings()
            .home
            .join("processes.json")
            .is_file()
        {
            hermes_telemetry::best_effort("find background processes again", || {
                self.terminal.background().recover()
            });
        }
    }

    /// The terminal of the tools, for whoever must end its commands with the process.
    pub fn terminal(&self) -> &Arc<Terminal> {
        &self.terminal
    }

    /// Ends the background processes that sessions of this tool set started, unless the settings keep
    /// them, and tells the person how many. Those of other processes keep running.
    pub fn stop_background(&self, context: &Context, person: &dyn Person) {
        if context.config().text("terminal.background_on_exit") == "keep" {
            return;
        }
        let grace = self.terminal.settings().background_grace;
        let background = self.terminal.background();
        match background.kill_started("session_end", grace) {
            0 => {}
            1 => person.notify("Stopped 1 background process."),
            count => person.notify(&format!("Stopped {count} background processes.")),
        }
    }

    /// Forgets the approvals of a session that ends: they are void in the next one.
    pub(crate) fn forget_approvals(&self) {
        self.approvals.clear();
    }

    /// The model that assesses flagged commands.
    pub(crate) fn approval_model(&self) -> &ApprovalModel {
        &self.approval_model
    }

    /// Homes whose private places are not shown.
    pub(crate) fn private_homes(&self) -> &PrivateHomes {
        &self.private_homes
    }

    /// Where commands run if not on this machine.
    pub fn remote(&self) -> Option<&RemoteBackend> {
        self.remote.as_deref()
    }

    /// Releases the remote backend whenever it is idle, as long as the returned value lives.
    pub fn watch_idle(&self) -> Result<Option<IdleWatch>> {
        match &self.remote {
            Some(remote) => IdleWatch::start(remote).map_err(Error::NoDescriptor),
            None => Ok(None),
        }
    }

    /// Releases the remote backend for good. A process that ends by signals calls this while it still
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
    }

    /// Ends every call when it is raised.
    pub fn interrupt(&self) -> &Arc<Wake> {
        &self.interrupt
    }

    /// Whether risky commands run without approval.
    pub fn is_yolo(&self) -> bool {
        self.yolo.load(Ordering::Relaxed)
    }

    /// Switches approval of risky commands off or on for later calls; gives whether they now run
    /// without it.
    pub fn toggle_yolo(&self) -> bool {
        !self.yolo.fetch_xor(true, Ordering::Relaxed)
    }

    /// Gives sub-agents a terminal session of their own on the backend of their parent.
    pub(crate) fn child_contexts(&self) -> Arc<hermes_agent::ChildContextFactory> {
        let terminal = Arc::clone(&self.terminal);
        let environment = Arc::clone(&self.environment);
        Arc::new(move |parent: &CallContext, key: &str| CallContext {
            session_key: key.to_owned(),
            session: Arc::new(TerminalSession {
                terminal: Arc::clone(&terminal),
                environment: Arc::clone(&environment),
                key: SessionKey::new(key),
            }),
            files: Arc::default(),
            ..parent.clone()
        })
    }

    /// What a call of this session gets.
    pub fn call_context(&self, session_key: &str) -> CallContext {
        let state = {
            let sessions = self.sessions.lock();
            let mut sessions = sessions.unwrap_or_else(PoisonError::into_inner);
            sessions.entry(session_key.to_owned()).or_default().clone()
        };
        let session = TerminalSession {
            terminal: Arc::clone(&self.terminal),
            environment: Arc::clone(&self.environment),
            key: SessionKey::new(session_key),
        };
        CallContext {
            session_key: session_key.to_owned(),
            conversation: state.conversation,
            filesystem: match &self.remote {
                Some(remote) => remote.filesystem.clone(),
                None => Filesystem::on_this_machine(HostFiles {
                    home: self.environment.child_home(),
                    private_homes: self.private_homes.clone(),
                    write_guard: Arc::new(self.writes.in_directory(session.cwd())),
                }),
            },
            session: Arc::new(session),
            child_home: self.environment.child_home(),
            redactor: Arc::clone(&self.redactor),
            files: state.files,
            enabled_tools: Vec::new(),
            interrupt: Arc::clone(&self.interrupt),
            registry: Arc::clone(&self.registry),
        }
    }
}

fn terminal(
    context: &Context,
    redactor: &Arc<Redactor>,
    remote: Option<&RemoteBackend>,
) -> Result<Terminal> {
    let mut settings =
        TerminalSettings::new(context.location.home.clone(), working_directory(context)?)
            .configured(context.config());
    settings.supervisor.clone_from(&context.program.supervisor);
    let user_shell = context.env.os(&vars::SHELL).map(Path::new);
    let shells = ShellFinder::new(context.env.os(&vars::PATH), user_shell);
    let terminal =
        Terminal::new(settings, shells, Arc::clone(redactor)).map_err(Error::NoDescriptor)?;
    Ok(match remote {
        Some(remote) => terminal.with_remote(Arc::clone(&remote.terminal)),
        None => terminal,
    })
}

fn working_directory(context: &Context) -> Result<PathBuf> {
    let start = context.system.start_dir.clone();
    // A directory that is gone still has a name; the terminal uses its nearest parent and says so.
    let named = || {
        let named = context.env.lookup("PWD").map(PathBuf::from);
        named.filter(|path| path.is_absolute())
    };
    start.or_else(named).ok_or(Error::NoDirectory)
}
