//! The tools under the settings of a profile, and the sessions that use them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_agent::ApprovalModel;
use hermes_policy::PrivateHomes;
use hermes_proc::Wake;
use hermes_terminal::environment::{LiveEnvironment, ShellEnvironment};
use hermes_terminal::{SessionKey, Terminal};
use hermes_tools::{
    CallContext, ClarifyTool, DelegateTool, ExecuteCodeTool, FileLedger, Filesystem, HostFiles,
    NoticeSupport, PatchTool, ProcessTool, SearchFilesTool, SessionSearchTool, SessionState as _,
    TerminalSession, TerminalTool, TodoTool, ToolConversation, ToolRegistry, WriteFileTool,
    kanban_tools,
};

use super::board;
use super::configured::{code_settings, positive, read_file};
use super::file_writes::FileWrites;
use super::script_environment::ScriptEnvironment;
use super::terminal::{TerminalSetup, ToolSetRequest};
use crate::backend::{IdleWatch, RemoteLease};
use crate::context::Context;
use crate::error::Result;
use crate::person::Person;

/// All tools, and the sessions that use them.
pub struct ToolSet {
    /// The tools by name.
    pub registry: Arc<ToolRegistry>,
    setup: TerminalSetup,
    writes: FileWrites,
    private_homes: PrivateHomes,
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
        let config = context.config();
        let notices = if request.has_conversation {
            NoticeSupport::DeliveredUnlessShown
        } else {
            NoticeSupport::Unsupported(
                "this call has no conversation that could hear of it later".to_owned(),
            )
        };
        let setup = TerminalSetup::assemble(context, request)?;
        let terminal = setup.terminal();
        let scripts = ExecuteCodeTool::new(
            code_settings(context, &setup.environment),
            Arc::new(ScriptEnvironment {
                terminal: Arc::clone(terminal),
                environment: Arc::clone(&setup.environment),
                zone: config.text("timezone").to_owned(),
            }),
            setup.approver.clone(),
        );
        let registry = ToolRegistry::default()
            .with(TerminalTool {
                terminal: Arc::clone(terminal),
                environment: setup.environment_rules().cloned(),
                notices: notices.clone(),
            })
            .with(ProcessTool {
                terminal: Arc::clone(terminal),
                notices,
            })
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
        let registry =
            kanban_tools(board::access(context, setup.remote())).fold(registry, ToolRegistry::with);
        Ok(Self {
            registry: Arc::new(registry),
            writes: FileWrites::new(context, &setup.environment),
            private_homes: private_homes(context, &setup.environment),
            setup,
            sessions: Mutex::default(),
        })
    }

    /// The terminal of the tools with its backend.
    pub fn setup(&self) -> &TerminalSetup {
        &self.setup
    }

    /// Cleans up after earlier processes and finds their background processes again. Called before
    /// something is run: a list or a check changes nothing.
    pub fn recover(&self) {
        self.setup.recover();
    }

    /// The terminal of the tools, for whoever must end its commands with the process.
    pub fn terminal(&self) -> &Arc<Terminal> {
        self.setup.terminal()
    }

    /// Ends the background processes that sessions of this tool set started, unless the settings keep
    /// them, and tells the person how many. Those of other processes keep running.
    pub fn stop_background(&self, context: &Context, person: &dyn Person) {
        if context.config().text("terminal.background_on_exit") == "keep" {
            return;
        }
        let terminal = self.terminal();
        let grace = terminal.settings().background_grace;
        match terminal.processes().kill_started("session_end", grace) {
            0 => {}
            1 => person.notify("Stopped 1 background process."),
            count => person.notify(&format!("Stopped {count} background processes.")),
        }
    }

    /// Forgets the approvals of a session that ends: they are void in the next one.
    pub(crate) fn forget_approvals(&self) {
        self.setup.approver.approvals.clear();
    }

    /// The model that assesses flagged commands.
    pub(crate) fn approval_model(&self) -> &ApprovalModel {
        &self.setup.approval_model
    }

    /// Homes whose private places are not shown.
    pub(crate) fn private_homes(&self) -> &PrivateHomes {
        &self.private_homes
    }

    /// Where commands run if not on this machine.
    pub fn remote(&self) -> Option<&RemoteLease> {
        self.setup.remote()
    }

    /// Releases the remote backend whenever it is idle, as long as the returned value lives.
    pub fn watch_idle(&self) -> Result<Option<IdleWatch>> {
        self.setup.watch_idle()
    }

    /// Releases the remote backend for good. A process that ends by signals calls this while it still
    /// handles them: what is not released stays behind.
    pub fn release(&self) {
        self.setup.release();
    }

    /// Ends every call when it is raised.
    pub fn interrupt(&self) -> &Arc<Wake> {
        self.setup.interrupt()
    }

    /// Whether risky commands run without approval.
    pub fn is_yolo(&self) -> bool {
        self.setup.is_yolo()
    }

    /// Switches approval of risky commands off or on for later calls; gives whether they now run
    /// without it.
    pub fn toggle_yolo(&self) -> bool {
        self.setup.toggle_yolo()
    }

    /// Gives sub-agents a terminal session of their own on the backend of their parent.
    pub(crate) fn child_contexts(&self) -> Arc<hermes_agent::ChildContextFactory> {
        let terminal = Arc::clone(self.terminal());
        Arc::new(move |parent: &CallContext, key: &str| CallContext {
            session_key: key.to_owned(),
            session: Arc::new(TerminalSession {
                terminal: Arc::clone(&terminal),
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
            terminal: Arc::clone(self.terminal()),
            key: SessionKey::new(session_key),
        };
        CallContext {
            session_key: session_key.to_owned(),
            conversation: state.conversation,
            filesystem: match self.remote() {
                Some(remote) => remote.filesystem.clone(),
                None => Filesystem::from(HostFiles {
                    home: self.setup.environment.child_home(),
                    private_homes: self.private_homes.clone(),
                    write_guard: Arc::new(self.writes.in_directory(session.cwd())),
                }),
            },
            session: Arc::new(session),
            child_home: self.setup.environment.child_home(),
            redactor: Arc::clone(&self.setup.redactor),
            files: state.files,
            enabled_tools: Vec::new(),
            interrupt: Arc::clone(self.interrupt()),
            registry: Arc::clone(&self.registry),
        }
    }
}

fn private_homes(context: &Context, environment: &LiveEnvironment) -> PrivateHomes {
    let builder = environment.current();
    let home = &builder.policy().child_home;
    let accounts = [Some(home.real_home()), home.effective()];
    PrivateHomes {
        accounts: accounts.into_iter().flatten().map(Path::to_owned).collect(),
        hermes: vec![context.location.home.clone(), context.location.root.clone()],
    }
}
