//! The tools as this program offers them: which there are, with which limits, and what each call of
//! a session gets.

mod ending;
mod guards;
mod kanban_desk;
mod questions;
mod sandbox_plan;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_agent::ApprovalModel;
use hermes_config::{Config, vars};
use hermes_policy::{PrivateHomes, SessionApprovals};
use hermes_proc::Wake;
use hermes_providers::{SideModels, Wanted};
use hermes_secret::{Redactor, Sink};
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::{EnvSource, ShellFinder, Terminal, TerminalSettings};
use hermes_terminal::session::SessionKey;
use hermes_terminal::sudo::{LocalProbe, SudoPasswords, configured_password};
use hermes_tools::{
    CallContext, ClarifyTool, CodeSettings, Conversation, DelegateTool, ExecuteCodeTool,
    FileLedger, Filesystem, HostFiles, Mode, PatchTool, ProcessTool, ReadFileTool, Registry,
    SearchFilesTool, Session, SessionSearchTool, TerminalParts, TerminalSession, TerminalTool,
    TodoTool, WriteFileTool, kanban_tools,
};

pub(crate) use self::ending::Ending;
use self::guards::{DoorGuard, FileWrites};
use self::questions::SudoQuestion;
use self::sandbox_plan::SandboxPlan;
use crate::backend::{Elsewhere, Haste, IdleWatch, PlaceRequest, live_environment};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::Person;

/// Whether somebody may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// Nobody: a program is at the other end, or nothing is run.
    Nobody,
    /// Somebody at the terminal, if there is one.
    WhoeverIsThere,
    /// Nobody, because the user has written the command: only what nothing may run is refused.
    NotNeeded,
}

/// All tools, and the sessions that use them.
pub(crate) struct Toolbox {
    pub(crate) registry: Arc<Registry>,
    terminal: Arc<Terminal>,
    /// Where commands run if not on this machine.
    elsewhere: Option<Arc<Elsewhere>>,
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
    /// Whether risky commands run unasked.
    yolo: Arc<AtomicBool>,
    sessions: RefCell<HashMap<String, Remembered>>,
}

/// What is remembered of a session between its calls.
#[derive(Clone, Default)]
struct Remembered {
    files: Arc<FileLedger>,
    conversation: Conversation,
}

impl Toolbox {
    /// The tools under the settings of this profile, for commands in this place. Starts nothing.
    pub(crate) fn assemble(
        context: &Context,
        place: PlaceRequest<'_>,
        asking: Asking,
    ) -> Result<Self> {
        let config = context.config();
        let environment = live_environment(context);
        let redactor = Arc::new(context.redactor().for_sink(Sink::Output));
        let elsewhere = Elsewhere::prepare(context, &environment, place)?.map(Arc::new);
        let terminal = Arc::new(terminal(context, &redactor, elsewhere.as_deref())?);
        let interrupt = Arc::new(Wake::new().map_err(|error| no_descriptor(&error))?);
        let person = match asking {
            Asking::Nobody | Asking::NotNeeded => None,
            Asking::WhoeverIsThere => Person::present(&context.printer, &interrupt).map(Arc::new),
        };
        let mut guard = DoorGuard::of(context, &environment, &redactor);
        guard.person.clone_from(&person);
        guard.is_isolated = asking == Asking::NotNeeded
            || elsewhere.as_ref().is_some_and(|place| place.is_isolated);
        let password = configured_password(config);
        guard.sudo_password_set = password.is_some();
        let side = Arc::new(SideModels::new(config, Wanted::default()));
        let approval_model = Arc::new(ApprovalModel::new(side, Arc::clone(&interrupt)));
        guard.consult(approval_model.clone());
        let yolo = Arc::clone(&guard.yolo);
        let approvals = Arc::clone(&guard.approvals);
        let guard = Arc::new(guard);
        let mut sudo = SudoPasswords::new(password);
        if elsewhere.is_none() {
            sudo = sudo.with_probe(LocalProbe::new(Arc::clone(&environment)));
        }
        if let Some(person) = person {
            sudo = sudo.with_prompt(Arc::new(SudoQuestion(person)));
        }
        let sandbox = SandboxPlan {
            terminal: Arc::clone(&terminal),
            environment: Arc::clone(&environment),
            zone: config.text("timezone").to_owned(),
        };
        let scripts = ExecuteCodeTool::new(
            code_settings(context, &environment),
            Arc::new(sandbox),
            guard.clone(),
        );
        let parts = TerminalParts {
            terminal: Arc::clone(&terminal),
            environment: Arc::clone(&environment),
            guard,
            sudo: Some(Arc::new(sudo)),
        };
        let registry = Registry::default()
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
                most: positive(config, "delegation.max_concurrent_children")
                    .unwrap_or(DelegateTool::default().most),
            });
        let registry = kanban_tools(kanban_desk::desk(context, elsewhere.as_deref()))
            .into_iter()
            .fold(registry, Registry::with);
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
            elsewhere,
            writes: FileWrites::of(context, &environment),
            environment,
            private_homes,
            redactor,
            interrupt,
            approval_model,
            approvals,
            yolo,
            sessions: RefCell::default(),
        })
    }

    /// Puts in order what earlier processes left. For those who are about to run something: a list or
    /// a check changes nothing.
    pub(crate) fn tidy_up(&self) {
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

    /// Listens for signals from now on: they end the calls, and with them the program.
    pub(crate) fn watch_for_end(&self) -> Result<Ending> {
        self.watch_for_end_within(ending::LIMIT)
    }

    /// The same, with so much time from the signal to the end.
    pub(crate) fn watch_for_end_within(&self, limit: Duration) -> Result<Ending> {
        Ending::watch(&self.terminal, &self.interrupt, limit).map_err(|error| no_descriptor(&error))
    }

    /// Ends what the conversations of this program started in the background, unless the settings say
    /// otherwise. What other programs started goes on.
    pub(crate) fn end_conversations(&self, context: &Context) -> std::io::Result<()> {
        if context.config().text("terminal.background_on_exit") == "keep" {
            return Ok(());
        }
        let grace = self.terminal.settings().background_grace;
        let background = self.terminal.background();
        match background.kill_started("session_end", grace) {
            0 => Ok(()),
            1 => context.printer.note("Stopped 1 background process."),
            count => context
                .printer
                .note(format!("Stopped {count} background processes.")),
        }
    }

    /// Approvals for the session that ends are void in the next one.
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

    /// The place where commands run if not on this machine.
    pub(crate) fn elsewhere(&self) -> Option<&Elsewhere> {
        self.elsewhere.as_deref()
    }

    /// Lets go of the place whenever it is idle, as long as the answer lives.
    pub(crate) fn watch_idle(&self) -> Result<Option<IdleWatch>> {
        match &self.elsewhere {
            Some(place) => IdleWatch::over(place).map_err(|error| no_descriptor(&error)),
            None => Ok(None),
        }
    }

    /// Gives up the place where commands ran. Called while signals are still heard: what is left
    /// undone would stay behind.
    pub(crate) fn leave(&self) {
        let haste = if self.interrupt.is_raised() {
            Haste::Asked
        } else {
            Haste::None
        };
        if let Some(place) = &self.elsewhere {
            place.leave(haste);
        }
    }

    /// Raised when the program is to end.
    pub(crate) fn interrupt(&self) -> &Arc<Wake> {
        &self.interrupt
    }

    /// Whether risky commands run unasked.
    pub(crate) fn is_yolo(&self) -> bool {
        self.yolo.load(Ordering::Relaxed)
    }

    /// Turns that on or off for the calls to come, and says which.
    pub(crate) fn toggle_yolo(&self) -> bool {
        !self.yolo.fetch_xor(true, Ordering::Relaxed)
    }

    /// Gives sub-agents a terminal of their own in the place of their parent.
    pub(crate) fn child_places(&self) -> Arc<hermes_agent::ChildPlaces> {
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
    pub(crate) fn call_context(&self, session_key: &str) -> CallContext {
        let mut sessions = self.sessions.borrow_mut();
        let remembered = sessions.entry(session_key.to_owned()).or_default();
        let session = TerminalSession {
            terminal: Arc::clone(&self.terminal),
            environment: Arc::clone(&self.environment),
            key: SessionKey::new(session_key),
        };
        CallContext {
            session_key: session_key.to_owned(),
            conversation: remembered.conversation.clone(),
            filesystem: match &self.elsewhere {
                Some(place) => place.filesystem.clone(),
                None => Filesystem::on_this_machine(HostFiles {
                    home: self.environment.child_home(),
                    private_homes: self.private_homes.clone(),
                    write_guard: Arc::new(self.writes.in_directory(session.cwd())),
                }),
            },
            session: Arc::new(session),
            child_home: self.environment.child_home(),
            redactor: Arc::clone(&self.redactor),
            files: Arc::clone(&remembered.files),
            enabled_tools: Vec::new(),
            interrupt: Arc::clone(&self.interrupt),
            registry: Arc::clone(&self.registry),
        }
    }
}

fn terminal(
    context: &Context,
    redactor: &Arc<Redactor>,
    elsewhere: Option<&Elsewhere>,
) -> Result<Terminal> {
    let mut settings =
        TerminalSettings::new(context.location.home.clone(), working_directory(context)?)
            .configured(context.config());
    if let Ok(program) = std::env::current_exe() {
        let words = crate::commands::internal::PROCESS_SUPERVISOR.map(OsString::from);
        settings.supervisor = std::iter::once(program.into_os_string())
            .chain(words)
            .collect();
    }
    let user_shell = context.env.os(&vars::SHELL).map(Path::new);
    let shells = ShellFinder::new(context.env.os(&vars::PATH), user_shell);
    let terminal = Terminal::new(settings, shells, Arc::clone(redactor))
        .map_err(|error| no_descriptor(&error))?;
    Ok(match elsewhere {
        Some(place) => terminal.with_remote(Arc::clone(&place.terminal)),
        None => terminal,
    })
}

fn no_descriptor(error: &std::io::Error) -> CommandError {
    CommandError::environment(format!("no file descriptor is left: {error}"))
}

fn working_directory(context: &Context) -> Result<PathBuf> {
    let start = context.system.start_dir.clone();
    // Gone, but its name is known: then what is left of the way there is used, and told.
    let named = || {
        let named = context.env.lookup("PWD").map(PathBuf::from);
        named.filter(|path| path.is_absolute())
    };
    start.or_else(named).ok_or_else(|| {
        CommandError::user("the current directory does not exist any more")
            .hint("change to one that does")
    })
}

fn positive(config: &Config, key: &str) -> Option<usize> {
    let number = config.int(key).filter(|number| *number > 0)?;
    usize::try_from(number).ok()
}

fn read_file(config: &Config) -> ReadFileTool {
    let usual = ReadFileTool::default();
    let lines = positive(config, "tool_output.max_lines").and_then(|n| u64::try_from(n).ok());
    let line = positive(config, "tool_output.max_line_length");
    ReadFileTool {
        max_chars: positive(config, "file_read_max_chars").unwrap_or(usual.max_chars),
        max_lines: lines.unwrap_or(usual.max_lines),
        max_line_chars: line.unwrap_or(usual.max_line_chars),
    }
}

fn code_settings(context: &Context, environment: &LiveEnvironment) -> CodeSettings {
    let config = context.config();
    let fallback = CodeSettings::default();
    let seconds = positive(config, "code_execution.timeout")
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map(Duration::from_secs);
    let python = config.text("code_execution.python");
    CodeSettings {
        mode: Mode::parse(config.text("code_execution.mode")),
        python: (!python.is_empty()).then(|| PathBuf::from(python)),
        timeout: seconds.unwrap_or(fallback.timeout),
        max_tool_calls: positive(config, "code_execution.max_tool_calls")
            .unwrap_or(fallback.max_tool_calls),
        temp_dir: context
            .env
            .os(&vars::TMPDIR)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute() && dir.is_dir())
            .unwrap_or(fallback.temp_dir),
        own_install_roots: environment.current().policy().own_install.roots().to_vec(),
        ..fallback
    }
}
