//! The flags of a conversation, as they are typed: those of `chat`, and those that may also stand
//! before it or without it.

/// Flags that are accepted at the top level as well.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Shared {
    /// Model for this run
    #[arg(short, long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Provider for this run: an id, an alias, custom:<name> or a key of `providers`
    #[arg(long, value_name = "NAME")]
    pub(super) provider: Option<String>,
    /// Toolsets for this run instead of the configured ones, separated by commas
    #[arg(short, long, value_name = "LIST")]
    pub(super) toolsets: Option<String>,
    /// Skills to load before the conversation begins, separated by commas
    #[arg(short, long, value_name = "LIST")]
    pub(super) skills: Vec<String>,
    /// Resume this session: an id, an id prefix, or a title; without one, choose from a list
    #[arg(short, long, value_name = "ID", conflicts_with = "continued", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "the parser's way to tell no flag from a flag without a value"
    )]
    pub(super) resume: Option<Option<String>>,
    /// Continue the latest session, or the one with this title
    #[arg(short = 'c', long = "continue", value_name = "NAME", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "the parser's way to tell no flag from a flag without a value"
    )]
    pub(super) continued: Option<Option<String>>,
    /// Stay in the current directory instead of that of the session
    #[arg(long)]
    pub(super) no_restore_cwd: bool,
    /// Work in a separate git worktree
    #[arg(short, long)]
    pub(super) worktree: bool,
    /// Snapshot directories before their files are changed; /rollback goes back
    #[arg(long)]
    pub(super) checkpoints: bool,
    /// Accept hooks of config.yaml that nobody has seen
    #[arg(long)]
    pub(super) accept_hooks: bool,
    /// Run risky commands without approval
    #[arg(long)]
    pub(super) yolo: bool,
    /// Tell the model the id of the session
    #[arg(long)]
    pub(super) pass_session_id: bool,
    /// Use built-in defaults instead of config.yaml
    #[arg(long)]
    pub(super) ignore_user_config: bool,
    /// Leave out SOUL.md, context files, memory and preloaded skills
    #[arg(long)]
    pub(super) ignore_rules: bool,
    /// Both of the above, and no plugins or MCP servers
    #[arg(long)]
    pub(super) safe_mode: bool,
    /// Plain lines instead of the interface, for screen readers and recordings
    #[arg(long)]
    pub(super) plain: bool,
    /// Accepted for compatibility with the Python runtime, which has two interfaces; has no effect
    // Those who start workers name it.
    #[arg(long, hide = true)]
    pub(super) cli: bool,
}

impl Shared {
    /// These flags over those that stood further left.
    #[must_use]
    pub(super) fn over(self, left: Self) -> Self {
        let mut skills = left.skills;
        skills.extend(self.skills);
        Self {
            model: self.model.or(left.model),
            provider: self.provider.or(left.provider),
            toolsets: self.toolsets.or(left.toolsets),
            skills,
            resume: self.resume.or(left.resume),
            continued: self.continued.or(left.continued),
            no_restore_cwd: self.no_restore_cwd || left.no_restore_cwd,
            worktree: self.worktree || left.worktree,
            checkpoints: self.checkpoints || left.checkpoints,
            accept_hooks: self.accept_hooks || left.accept_hooks,
            yolo: self.yolo || left.yolo,
            pass_session_id: self.pass_session_id || left.pass_session_id,
            ignore_user_config: self.ignore_user_config || left.ignore_user_config,
            ignore_rules: self.ignore_rules || left.ignore_rules,
            safe_mode: self.safe_mode || left.safe_mode,
            plain: self.plain || left.plain,
            cli: self.cli || left.cli,
        }
    }
}

/// Flags of the top level alone.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(crate) struct TopLevel {
    /// Answer this and print only the answer, without asking for approval; what is piped in follows
    /// the prompt
    #[arg(short = 'z', long, value_name = "PROMPT")]
    pub(super) oneshot: Option<String>,
    /// With -z: write usage and cost to this file, as JSON
    #[arg(long, value_name = "FILE", requires = "oneshot")]
    pub(super) usage_file: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(super) shared: Shared,
}

impl TopLevel {
    /// A conversation that goes on with this session.
    pub(super) fn resuming(id: &str) -> Self {
        Self {
            shared: Shared {
                resume: Some(Some(id.to_owned())),
                ..Shared::default()
            },
            ..Self::default()
        }
    }

    /// Whether any of these flags was given, and so a conversation is meant.
    pub(crate) fn is_given(&self) -> bool {
        *self != Self::default()
    }
}

/// Flags of `chat`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Args {
    /// Answer this and exit
    #[arg(short, long, value_name = "TEXT")]
    pub(super) query: Option<String>,
    /// Image to send with the query
    #[arg(long, value_name = "FILE")]
    pub(super) image: Option<std::path::PathBuf>,
    /// Show tool arguments and results in full
    #[arg(short, long)]
    pub(super) verbose: bool,
    /// Print only the answer, and no tool calls on standard error
    #[arg(short = 'Q', long)]
    pub(super) quiet: bool,
    /// With -q: print what happens as JSON, one event per line
    #[arg(long, requires = "query")]
    pub(super) json: bool,
    /// Maximum number of requests per turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_turns: Option<u32>,
    /// Source to record for the session
    #[arg(long, value_name = "TAG")]
    pub(super) source: Option<String>,
    #[command(flatten)]
    pub(super) shared: Shared,
}
