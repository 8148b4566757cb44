//! What the flags mean: one struct, resolved before anything is touched.

use std::path::PathBuf;

use hermes_config::vars;

use super::args::{Args, Shared, TopLevel};
use crate::context::Context;
use crate::error::{CommandError, Result};

/// What is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Talk {
    /// One query, shown with what happens on the way.
    Query(String),
    /// One query, nothing but its answer.
    QuietQuery(String),
    /// One query of a script: nothing but its answer, and nobody to ask.
    Oneshot(String),
    /// Line by line until the input ends.
    Lines {
        /// Whether nothing but answers is printed.
        quiet: bool,
    },
}

/// Which session is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A new one.
    New,
    /// The one of this id, beginning of an id, or title.
    Named(String),
    /// The latest of this source.
    Latest,
}

/// Everything a conversation is asked to be.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub(super) struct Wishes {
    pub(super) talk: Talk,
    pub(super) session: Wanted,
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) toolsets: Option<String>,
    pub(super) skills: Vec<String>,
    pub(super) image: Option<PathBuf>,
    pub(super) verbose: bool,
    pub(super) max_turns: Option<u32>,
    pub(super) source: String,
    pub(super) usage_file: Option<PathBuf>,
    pub(super) restore_cwd: bool,
    pub(super) worktree: bool,
    pub(super) yolo: bool,
    pub(super) pass_session_id: bool,
    pub(super) ignore_user_config: bool,
    pub(super) ignore_rules: bool,
}

impl Wishes {
    /// What the command line means.
    pub(super) fn resolve(top: TopLevel, args: Option<Args>, context: &Context) -> Result<Self> {
        if args.is_some() && top.oneshot.is_some() {
            return Err(CommandError::usage("-z stands alone, without `chat`"));
        }
        let args = args.unwrap_or_default();
        let env = &context.env;
        let talk = match (top.oneshot, args.query, &args.image, args.quiet) {
            (Some(prompt), _, _, _) => Talk::Oneshot(prompt),
            (None, Some(query), _, true) => Talk::QuietQuery(query),
            (None, Some(query), _, false) => Talk::Query(query),
            (None, None, Some(_), true) => Talk::QuietQuery(String::new()),
            (None, None, Some(_), false) => Talk::Query(String::new()),
            (None, None, None, quiet) => Talk::Lines { quiet },
        };
        let shared: Shared = args.shared.over(top.shared);
        let is_script = matches!(talk, Talk::Oneshot(_));
        let model = match env.text(&vars::HERMES_INFERENCE_MODEL) {
            Some(model) if is_script => shared.model.or_else(|| Some(model.to_owned())),
            _ => shared.model,
        };
        if is_script && shared.provider.is_some() && model.is_none() {
            return Err(CommandError::usage(
                "-z with --provider needs a model: name one with -m",
            ));
        }
        if let Talk::Oneshot(text) | Talk::Query(text) | Talk::QuietQuery(text) = &talk
            && text.trim().is_empty()
            && args.image.is_none()
        {
            return Err(CommandError::usage("the query is empty"));
        }
        let session = match (shared.resume, shared.continued) {
            (Some(named), _) | (None, Some(Some(named))) => Wanted::Named(named),
            (None, Some(None)) => Wanted::Latest,
            (None, None) => Wanted::New,
        };
        let source = args
            .source
            .or_else(|| env.text(&vars::HERMES_SESSION_SOURCE).map(str::to_owned));
        Ok(Self {
            talk,
            session,
            model,
            provider: shared.provider,
            toolsets: shared.toolsets,
            skills: listed(&shared.skills),
            image: args.image,
            verbose: args.verbose,
            max_turns: args.max_turns,
            source: source.unwrap_or_else(|| "cli".to_owned()),
            usage_file: top.usage_file,
            restore_cwd: !shared.no_restore_cwd,
            worktree: shared.worktree,
            yolo: shared.yolo || is_script,
            pass_session_id: shared.pass_session_id,
            ignore_user_config: shared.ignore_user_config || shared.safe_mode,
            ignore_rules: shared.ignore_rules
                || shared.safe_mode
                || env.flag(&vars::HERMES_IGNORE_RULES),
        })
    }

    /// Whether standard output carries answers and nothing else.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(
            self.talk,
            Talk::QuietQuery(_) | Talk::Oneshot(_) | Talk::Lines { quiet: true }
        )
    }
}

fn listed(lists: &[String]) -> Vec<String> {
    let names = lists.iter().flat_map(|list| list.split(','));
    let names = names.map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}
