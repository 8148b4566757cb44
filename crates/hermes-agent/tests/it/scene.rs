//! A conversation in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_agent::{Agent, AgentSettings, Parts, Silent, TurnInput, TurnResult};
use hermes_proc::Wake;
use hermes_providers::replay::Script;
use hermes_providers::{Provider, Replay, ToolSchema};
use hermes_secret::Redactor;
use hermes_session::{NewSession, SessionId, SessionStore, SystemClock};
use hermes_tools::{
    CallContext, Conversation, CrossProfile, FileLedger, Filesystem, FixedSession, HostFiles,
    ReadFileTool, Registry, ToolSelection, WriteFileTool, WriteGuard,
};
use tempfile::TempDir;

/// Lets everything through.
struct Anywhere;

impl WriteGuard for Anywhere {
    fn check(&self, path: &Path, _: CrossProfile) -> Result<PathBuf, String> {
        Ok(path.to_owned())
    }
}

/// A directory that is home and working directory at once, and what answers there.
pub(crate) struct Scene {
    pub(crate) directory: TempDir,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) settings: AgentSettings,
    pub(crate) conversation: Conversation,
}

impl Scene {
    /// Plays these turns; files can be read and written, and these tools called.
    pub(crate) fn playing(script: &str, add: impl FnOnce(Registry) -> Registry) -> Self {
        let script = Script::parse(script, Path::new("script.yaml")).unwrap();
        let registry = Registry::default()
            .with(ReadFileTool::default())
            .with(WriteFileTool);
        Self {
            directory: tempfile::tempdir().unwrap(),
            provider: Arc::new(Replay::new(script, None)),
            registry: Arc::new(add(registry)),
            settings: AgentSettings::default(),
            conversation: Conversation::default(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// What calls see.
    pub(crate) fn context(&self, key: &str) -> CallContext {
        let cwd = self.path();
        CallContext {
            session_key: key.to_owned(),
            session: Arc::new(FixedSession {
                cwd: cwd.clone(),
                variables: Vec::new(),
            }),
            conversation: self.conversation.clone(),
            child_home: cwd.clone(),
            filesystem: Filesystem::on_this_machine(HostFiles {
                home: cwd,
                hermes_homes: Vec::new(),
                write_guard: Arc::new(Anywhere),
            }),
            redactor: Arc::new(Redactor::default()),
            files: Arc::new(FileLedger::default()),
            enabled_tools: Vec::new(),
            interrupt: Arc::new(Wake::new().unwrap()),
            registry: Arc::clone(&self.registry),
        }
    }

    pub(crate) fn parts(&self) -> Parts {
        let context = self.context("test");
        let selection = ToolSelection {
            names: vec!["all".to_owned(), "test".to_owned()],
            ..ToolSelection::default()
        };
        let offer = context.registry.offer(&selection, &context);
        let tools: Vec<ToolSchema> = offer
            .tools
            .into_iter()
            .map(|tool| ToolSchema {
                name: tool.name.to_owned(),
                description: tool.description.to_owned(),
                parameters: tool.schema,
            })
            .collect();
        Parts {
            provider: Arc::clone(&self.provider),
            side: None,
            store: SessionStore::open(self.directory.path()).unwrap(),
            tools: tools.into(),
            settings: self.settings.clone(),
            stop_check: None,
            context,
        }
    }

    /// A new conversation.
    pub(crate) fn agent(&self) -> Agent {
        let new = NewSession {
            source: "cli".to_owned(),
            ..NewSession::default()
        };
        let id = SessionId::generate(&SystemClock);
        Agent::begin(self.parts(), id, new, "You are a test.")
    }

    /// The same conversation in another process, so to speak.
    pub(crate) fn resumed(&self, id: &SessionId) -> Agent {
        Agent::resume(self.parts(), id, "not used").unwrap()
    }
}

/// One turn that nobody watches.
pub(crate) fn say(agent: &mut Agent, text: &str) -> TurnResult {
    agent.turn(TurnInput::text(text), &mut Silent)
}
