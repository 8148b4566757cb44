//! What a conversation is opened with.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_proc::Wake;
use hermes_secret::SecretString;

/// Which session a conversation continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// None: a new session.
    New,
    /// The session with this id, beginning of an id, or title.
    Named(String),
    /// The latest session of the same source.
    Latest,
}

/// What a conversation is opened with.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent choice of the caller"
)]
pub struct ConversationRequest {
    pub session: SessionChoice,
    /// What the session is filed under, and what the agent is told it talks through.
    pub source: String,
    /// The id of a new session, instead of a generated one.
    pub session_id: Option<String>,
    /// Whether this is a run of a scheduled job: nobody is there, commands are confined as those of
    /// workers are, no job can be scheduled, and context files count only in a directory of its own.
    pub is_scheduled: bool,
    /// Whether a server runs the conversation for somebody elsewhere: commands are confined as those of
    /// workers are, and only the shells of the conversation count as an agent's, not the whole process.
    pub is_served: bool,
    /// Text added to the system prompt of every request and never stored.
    pub more_prompt: Option<String>,
    /// Platform whose toolsets apply.
    pub platform: String,
    /// Model instead of the configured one.
    pub model: Option<String>,
    /// Provider instead of the configured one.
    pub provider: Option<String>,
    /// Address of the provider instead of the configured one.
    pub base_url: Option<String>,
    /// Key for that address.
    pub api_key: Option<SecretString>,
    /// Toolsets instead of the configured ones, separated by commas.
    pub toolsets: Option<String>,
    /// Skills to begin with.
    pub skills: Vec<String>,
    /// Most requests of one turn.
    pub max_turns: Option<u32>,
    /// Directory to work in, instead of that of the session or the context.
    pub directory: Option<PathBuf>,
    /// Whether a continued session goes back to its directory.
    pub restore_directory: bool,
    /// Whether to work in a git worktree of its own.
    pub worktree: bool,
    /// Whether directories are snapshotted before their files are changed, whatever the settings say.
    pub checkpoints: bool,
    /// Whether risky commands run without approval.
    pub yolo: bool,
    /// Whether the model is told the id of the session.
    pub pass_session_id: bool,
    /// Whether built-in defaults count instead of `config.yaml`.
    pub ignore_user_config: bool,
    /// No plugin is used.
    pub safe_mode: bool,
    /// Whether SOUL.md, context files, memory and skills are left out.
    pub ignore_rules: bool,
    /// Whether a new session gets a title after its first exchange.
    pub generate_title: bool,
    /// Whether the conversation is reviewed in the background every now and then, as configured.
    pub reviews: bool,
    /// Ends turns and everything they wait for when it is raised.
    pub interrupt: Arc<Wake>,
    /// Called when a worker has lost its card and has not ended in time. A program that holds
    /// nothing but the worker ends itself here.
    pub when_stuck: Option<fn()>,
}

impl ConversationRequest {
    /// A new session filed under `source`, with everything else as configured.
    pub fn new(source: impl Into<String>, interrupt: Arc<Wake>) -> Self {
        Self {
            session: SessionChoice::New,
            source: source.into(),
            session_id: None,
            is_scheduled: false,
            is_served: false,
            more_prompt: None,
            platform: "cli".to_owned(),
            model: None,
            provider: None,
            base_url: None,
            api_key: None,
            toolsets: None,
            skills: Vec::new(),
            max_turns: None,
            directory: None,
            restore_directory: true,
            worktree: false,
            checkpoints: false,
            yolo: false,
            pass_session_id: false,
            ignore_user_config: false,
            safe_mode: false,
            ignore_rules: false,
            generate_title: false,
            reviews: false,
            interrupt,
            when_stuck: None,
        }
    }
}
