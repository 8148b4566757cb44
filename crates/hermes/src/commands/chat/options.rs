//! The meaning of the flags of a conversation, resolved before anything is touched.

use std::path::PathBuf;

use hermes_config::vars;
use hermes_proc::EndSignal;
use hermes_runtime::{ConversationRequest, SessionChoice};

use super::args::{Args, Shared, TopLevel};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::tool_access;
use crate::ui::Asked;

/// Where messages come from, and what is shown of their turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputMode {
    /// One query; its tool calls are shown beside the answer.
    Query(String),
    /// One query, of which only the answer is shown.
    QuietQuery(String),
    /// One query, of which everything is told to a program.
    JsonQuery(String),
    /// One query of a script: only the answer is shown, and nobody is asked.
    Oneshot(String),
    /// Lines of standard input until it ends.
    Lines {
        /// Whether only answers are shown.
        quiet: bool,
    },
}

/// A conversation as the command line describes it.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub(super) struct ChatOptions {
    pub(super) mode: InputMode,
    pub(super) request: ConversationRequest,
    pub(super) image: Option<PathBuf>,
    pub(super) verbose: bool,
    /// Whether lines are wanted also where the interface could be shown.
    pub(super) plain: bool,
    /// Whether hooks that nobody has seen are accepted.
    pub(super) accept_hooks: bool,
    pub(super) usage_file: Option<PathBuf>,
    /// Whether the person chooses the session from a list first.
    pub(super) picks_session: bool,
}

impl ChatOptions {
    /// The options that these flags mean.
    pub(super) fn resolve(top: TopLevel, args: Option<Args>, context: &Context) -> Result<Self> {
        if args.is_some() && top.oneshot.is_some() {
            return Err(CommandError::usage("-z cannot be combined with `chat`"));
        }
        let args = args.unwrap_or_default();
        let env = &context.env;
        let mode = match (top.oneshot, args.query, &args.image, args.quiet) {
            (Some(prompt), _, _, _) => InputMode::Oneshot(prompt),
            (None, Some(query), _, _) if args.json => InputMode::JsonQuery(query),
            (None, Some(query), _, true) => InputMode::QuietQuery(query),
            (None, Some(query), _, false) => InputMode::Query(query),
            (None, None, Some(_), true) => InputMode::QuietQuery(String::new()),
            (None, None, Some(_), false) => InputMode::Query(String::new()),
            (None, None, None, quiet) => InputMode::Lines { quiet },
        };
        let shared: Shared = args.shared.over(top.shared);
        let is_script = matches!(mode, InputMode::Oneshot(_));
        let picks_session = matches!(shared.resume, Some(None));
        let model = match env.text(&vars::HERMES_INFERENCE_MODEL) {
            Some(model) if is_script => shared.model.or_else(|| Some(model.to_owned())),
            _ => shared.model,
        };
        if is_script && shared.provider.is_some() && model.is_none() {
            return Err(CommandError::usage(
                "-z with --provider needs a model: name one with -m",
            ));
        }
        if let InputMode::Oneshot(text)
        | InputMode::Query(text)
        | InputMode::QuietQuery(text)
        | InputMode::JsonQuery(text) = &mode
            && text.trim().is_empty()
            && args.image.is_none()
        {
            return Err(CommandError::usage("the query is empty"));
        }
        if shared.yolo || env.flag(&vars::HERMES_YOLO_MODE) {
            context.refuse_to_agents("running without approval (yolo)")?;
        }
        let source = args
            .source
            .or_else(|| env.text(&vars::HERMES_SESSION_SOURCE).map(str::to_owned))
            .unwrap_or_else(|| "cli".to_owned());
        let request = ConversationRequest {
            session: match (shared.resume, shared.continued) {
                (Some(Some(named)), _) | (None, Some(Some(named))) => SessionChoice::Named(named),
                (None, Some(None)) => SessionChoice::Latest,
                // Whoever is to choose does so before anything is opened.
                (Some(None), _) | (None, None) => SessionChoice::New,
            },
            model,
            provider: shared.provider,
            toolsets: shared.toolsets,
            skills: listed(&shared.skills),
            max_turns: args.max_turns,
            restore_directory: !shared.no_restore_cwd,
            worktree: shared.worktree,
            checkpoints: shared.checkpoints,
            yolo: shared.yolo || is_script,
            pass_session_id: shared.pass_session_id,
            ignore_user_config: shared.ignore_user_config || shared.safe_mode,
            safe_mode: shared.safe_mode,
            ignore_rules: shared.ignore_rules
                || shared.safe_mode
                || env.flag(&vars::HERMES_IGNORE_RULES),
            // A single query is over before a title would be of use.
            generate_title: matches!(mode, InputMode::Lines { .. }),
            // Nobody waits for what a single query leaves behind, and it costs.
            reviews: matches!(mode, InputMode::Lines { .. }),
            when_stuck: Some(|| EndSignal::Terminate.obey()),
            ..ConversationRequest::new(source, tool_access::interrupt()?)
        };
        Ok(Self {
            mode,
            request,
            image: args.image,
            verbose: args.verbose,
            plain: shared.plain,
            accept_hooks: shared.accept_hooks || is_script,
            picks_session,
            usage_file: top.usage_file,
        })
    }

    /// The options of a scheduled job.
    pub(super) fn scheduled(prompt: &str, request: ConversationRequest) -> Self {
        Self {
            mode: InputMode::JsonQuery(prompt.to_owned()),
            request,
            image: None,
            verbose: false,
            plain: false,
            accept_hooks: false,
            usage_file: None,
            picks_session: false,
        }
    }

    /// Whether standard output carries answers and nothing else.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(
            self.mode,
            InputMode::QuietQuery(_) | InputMode::Oneshot(_) | InputMode::Lines { quiet: true }
        )
    }

    /// What the person at the terminal is asked in this mode.
    pub(super) fn asked(&self) -> Asked {
        match self.mode {
            InputMode::Oneshot(_) => Asked::Nothing,
            InputMode::QuietQuery(_)
            | InputMode::JsonQuery(_)
            | InputMode::Lines { quiet: true } => Asked::Approval,
            InputMode::Query(_) | InputMode::Lines { quiet: false } => Asked::Everything,
        }
    }
}

fn listed(lists: &[String]) -> Vec<String> {
    let names = lists.iter().flat_map(|list| list.split(','));
    let names = names.map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}
