//! A conversation in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_agent::{Agent, AgentSettings, Parts, TurnEvent, TurnInput, TurnResult, tool_schemas};
use hermes_proc::Wake;
use hermes_providers::replay::ReplayScript;
use hermes_providers::{
    FinishReason, ModelRequest, ModelResponse, Provider, ProviderError, Replay, RouteInfo,
    StreamEvent, ToolCall,
};
use hermes_secret::Redactor;
use hermes_session::{NewSession, SessionId, SessionStore};
use hermes_tools::{
    CallContext, CrossProfile, FileLedger, Filesystem, HostFiles, ReadFileTool, SessionState,
    ToolConversation, ToolRegistry, ToolSelection, WriteFileTool, WriteGuard,
};
use tempfile::TempDir;

/// A session that never changes.
struct FixedSession(PathBuf);

impl SessionState for FixedSession {
    fn cwd(&self) -> PathBuf {
        self.0.clone()
    }

    fn variable(&self, _: &str) -> Option<std::ffi::OsString> {
        None
    }
}

/// Lets everything through.
struct Anywhere;

impl WriteGuard for Anywhere {
    fn check(&self, path: &Path, _: CrossProfile) -> Result<PathBuf, String> {
        Ok(path.to_owned())
    }
}

/// What a [`Fake`] says to a request, by its number.
pub(crate) type Says =
    dyn Fn(&ModelRequest, usize) -> Result<ModelResponse, ProviderError> + Send + Sync;

/// Answers as a test wants it to.
pub(crate) struct Fake {
    pub(crate) window: u64,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) asked: AtomicUsize,
    /// Routes it can still go to.
    pub(crate) spare_routes: AtomicUsize,
    pub(crate) says: Box<Says>,
}

impl Fake {
    pub(crate) fn new(
        window: u64,
        says: impl Fn(&ModelRequest, usize) -> Result<ModelResponse, ProviderError>
        + Send
        + Sync
        + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            window,
            max_tokens: None,
            asked: AtomicUsize::new(0),
            spare_routes: AtomicUsize::new(0),
            says: Box::new(says),
        })
    }
}

impl Provider for Fake {
    fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn FnMut(StreamEvent),
        _: &Wake,
    ) -> Result<ModelResponse, ProviderError> {
        let answer = (self.says)(request, self.asked.fetch_add(1, Ordering::SeqCst));
        if let Ok(answer) = &answer {
            sink(StreamEvent::Text(answer.text.clone()));
        }
        answer
    }

    fn give_up_on_route(&self, why: &str, sink: &mut dyn FnMut(StreamEvent)) -> bool {
        let left = self.spare_routes.load(Ordering::SeqCst);
        if left > 0 {
            self.spare_routes.store(left - 1, Ordering::SeqCst);
            sink(StreamEvent::Switched(format!("fake {why}")));
        }
        left > 0
    }

    fn route(&self) -> RouteInfo {
        RouteInfo {
            provider: "fake".to_owned(),
            model: "m".to_owned(),
            base_url: String::new(),
            context_length: self.window,
            max_tokens: self.max_tokens,
            takes_images: true,
            ..RouteInfo::default()
        }
    }
}

/// An answer in words.
pub(crate) fn words(text: &str) -> ModelResponse {
    ModelResponse {
        text: text.to_owned(),
        ..ModelResponse::new(FinishReason::Stop)
    }
}

/// A call.
pub(crate) fn calling(id: usize, tool: &str, arguments: &serde_json::Value) -> ModelResponse {
    ModelResponse {
        tool_calls: vec![ToolCall::new(
            format!("call_{id}"),
            tool,
            arguments.to_string(),
        )],
        ..ModelResponse::new(FinishReason::ToolCalls)
    }
}

/// A directory that is home and working directory at once, and what answers there.
pub(crate) struct Scene {
    pub(crate) directory: TempDir,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) settings: AgentSettings,
    pub(crate) conversation: ToolConversation,
}

impl Scene {
    /// Plays these turns; files can be read and written, and these tools called.
    pub(crate) fn playing(script: &str, add: impl FnOnce(ToolRegistry) -> ToolRegistry) -> Self {
        let script = ReplayScript::parse(script, Path::new("script.yaml")).unwrap();
        let registry = ToolRegistry::default()
            .with(ReadFileTool::default())
            .with(WriteFileTool);
        Self {
            directory: tempfile::tempdir().unwrap(),
            provider: Arc::new(Replay::new(script, None)),
            registry: Arc::new(add(registry)),
            settings: AgentSettings::default(),
            conversation: ToolConversation::default(),
        }
    }

    /// As [`Self::playing`], with another provider.
    pub(crate) fn asking(
        provider: Arc<dyn Provider>,
        add: impl FnOnce(ToolRegistry) -> ToolRegistry,
    ) -> Self {
        Self {
            provider,
            ..Self::playing("turns:\n  - text: not used\n", add)
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
            session: Arc::new(FixedSession(cwd.clone())),
            conversation: self.conversation.clone(),
            child_home: cwd.clone(),
            filesystem: Filesystem::from(HostFiles {
                home: cwd,
                private_homes: hermes_policy::PrivateHomes::default(),
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
        Parts {
            provider: Arc::clone(&self.provider),
            auxiliary: None,
            store: SessionStore::open(self.directory.path()).unwrap(),
            tools: tool_schemas(offer.tools),
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
        let id = SessionId::generate();
        Agent::begin(self.parts(), id, new, "You are a test.")
    }

    /// The same conversation in another process, so to speak.
    pub(crate) fn resumed(&self, id: &SessionId) -> Agent {
        Agent::resume(self.parts(), id, String::new).unwrap()
    }
}

/// One turn that nobody watches.
pub(crate) fn say(agent: &mut Agent, text: &str) -> TurnResult {
    agent.turn(TurnInput::text(text), &mut |_: TurnEvent<'_>| {})
}
