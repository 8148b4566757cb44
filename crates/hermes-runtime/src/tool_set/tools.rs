//! The tools under the settings of a profile, and the sessions that use them.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_agent::prompt::ContextFileRules;
use hermes_memory::MemoryService;
use hermes_policy::PrivateHomes;
use hermes_terminal::SessionKey;
use hermes_terminal::environment::{LiveEnvironment, ShellEnvironment};
use hermes_tools::{
    CallContext, ClarifyTool, CronjobTool, DelegateTool, ExecuteCodeTool, FileLedger, Filesystem,
    HostFiles, MemoryServiceTool, NoticeSupport, PatchTool, ProcessTool, SearchFilesTool,
    SessionSearchTool, SessionState as _, SkillViewTool, SkillsListTool, TerminalSession,
    TerminalTool, TodoTool, ToolConversation, ToolRegistry, WriteFileTool, kanban_tools,
    with_tool_search,
};

use super::board;
use super::configured::{code_settings, positive, read_file};
use super::file_writes::FileWrites;
use super::remembering::{memory_tool, review_tools, skill_access, skill_manage_tool};
use super::script_environment::ScriptEnvironment;
use super::terminal::{TerminalSetup, ToolSetRequest};
use crate::addons::text_to_speech;
use crate::context::Context;
use crate::cron_setup::cron_access;
use crate::error::Result;
use crate::mcp::McpOffer;
use crate::person::{Nobody, Person};
use crate::plugins::PluginOffer;
use crate::skills::SkillHost;

/// All tools, and the sessions that use them.
pub struct ToolSet {
    pub registry: Arc<ToolRegistry>,
    setup: TerminalSetup,
    writes: FileWrites,
    /// Homes whose private places are not shown.
    pub(crate) private_homes: PrivateHomes,
    sessions: Mutex<HashMap<String, RememberedSession>>,
    /// What the conversation does for skills.
    pub(crate) skills: Arc<SkillHost>,
    pub(crate) mcp: McpOffer,
    pub(crate) plugins: PluginOffer,
}

/// What is kept of a session between its calls.
#[derive(Clone, Default)]
struct RememberedSession {
    files: Arc<FileLedger>,
    conversation: ToolConversation,
}

impl Deref for ToolSet {
    type Target = TerminalSetup;

    fn deref(&self) -> &TerminalSetup {
        &self.setup
    }
}

impl ToolSet {
    /// The tools under the settings of this profile. Starts nothing.
    pub fn assemble(context: &Context, request: ToolSetRequest<'_>) -> Result<Self> {
        let config = context.config();
        let notices = if request.has_conversation {
            NoticeSupport::DeliveredUnlessShown
        } else {
            NoticeSupport::Unsupported(
                "this call belongs to no conversation that could be notified later".to_owned(),
            )
        };
        let is_scheduled = request.is_scheduled;
        let platform = request.platform;
        let setup = TerminalSetup::assemble(context, request)?;
        let terminal = setup.terminal();
        let scripts = ExecuteCodeTool::new(
            code_settings(context, &setup.environment),
            Arc::new(ScriptEnvironment {
                terminal: Arc::clone(terminal),
                environment: Arc::clone(&setup.environment),
                sandbox: setup.approver.sandbox.sandbox().cloned(),
                zone: config.text("timezone").to_owned(),
            }),
            setup.approver.clone(),
        );
        let skills = Arc::new(SkillHost::new(
            context,
            terminal,
            &setup.environment,
            setup.remote.is_some(),
            &setup.approver.person,
        ));
        let access = skill_access(context, platform, &skills);
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
            .with(memory_tool(context, is_scheduled, &setup.approver.person))
            .with(SkillsListTool(access.clone()))
            .with(SkillViewTool(access.clone()))
            .with(skill_manage_tool(context, access))
            .with(text_to_speech(
                context,
                &setup.redactor,
                &setup.approver.person,
            ))
            .with(CronjobTool {
                access: cron_access(context, is_scheduled),
            })
            .with(DelegateTool {
                max_children: positive(config, "delegation.max_concurrent_children")
                    .unwrap_or(DelegateTool::default().max_children),
                max_report: positive(config, "delegation.max_summary_chars"),
            });
        let mut registry = kanban_tools(board::access(context, setup.remote.as_ref()))
            .fold(with_tool_search(registry), ToolRegistry::with);
        let mcp = McpOffer::assemble(context, &setup.redactor);
        mcp.add_to(&mut registry, context);
        let plugins = PluginOffer::assemble(context, &setup.redactor);
        plugins.add_to(&mut registry, context);
        Ok(Self {
            registry: Arc::new(registry),
            writes: FileWrites::new(context, &setup.environment, &setup.approver.sandbox),
            private_homes: private_homes(context, &setup.environment),
            setup,
            sessions: Mutex::default(),
            skills,
            mcp,
            plugins,
        })
    }

    /// Ends the background processes that sessions of this tool set started, unless the settings
    /// keep
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

    /// Adds the tools of a memory service. Before the first call context is made.
    pub(crate) fn add_memory_service(&mut self, service: &Arc<MemoryService>) {
        let Some(registry) = Arc::get_mut(&mut self.registry) else {
            tracing::error!("the tools of the memory service come too late");
            return;
        };
        for refused in registry.add_foreign(MemoryServiceTool::of(service)) {
            let tool = refused.spec().name.to_owned();
            tracing::warn!(
                tool,
                "a tool of the memory service is not offered: the name is taken"
            );
        }
    }

    /// Gives sub-agents a terminal session of their own on the backend of their parent.
    pub(crate) fn child_contexts(&self) -> Arc<hermes_agent::ChildContextFactory> {
        let terminal = Arc::clone(self.terminal());
        let approver = Arc::clone(&self.setup.approver);
        Arc::new(move |parent: &CallContext, key: &str| {
            let session = SessionKey::new(key);
            approver.add_sub_agent(&session);
            CallContext {
                session_key: key.to_owned(),
                session: Arc::new(TerminalSession {
                    terminal: Arc::clone(&terminal),
                    key: session,
                }),
                files: Arc::default(),
                ..parent.clone()
            }
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

    /// What the calls of a review of this session get: tools for memory and skills, and nobody to ask.
    pub(crate) fn review_context(
        &self,
        session_key: &str,
        platform: &str,
        context: &Context,
    ) -> CallContext {
        let nobody: Arc<dyn Person> = Arc::new(Nobody);
        let host = Arc::new(SkillHost::new(
            context,
            self.terminal(),
            &self.setup.environment,
            self.setup.remote.is_some(),
            &nobody,
        ));
        let access = skill_access(context, platform, &host);
        CallContext {
            registry: Arc::new(review_tools(context, access, &nobody)),
            ..self.call_context(session_key)
        }
    }

    /// Takes back the variables that skills of a session were given.
    pub(crate) fn revoke_grants(&self, session_key: &str) {
        self.setup.environment.revoke(session_key);
    }

    /// What of a context file may reach a model.
    pub(crate) fn context_file_rules(&self) -> ContextFileRules {
        ContextFileRules {
            private_homes: self.private_homes.clone(),
            redactor: Arc::clone(&self.setup.redactor),
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
