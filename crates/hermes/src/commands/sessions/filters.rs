//! Options that choose sessions, shared by the verbs that act on many.

use hermes_session::SessionFilter;

use super::times::When;
use crate::context::Context;

/// What the chosen sessions have in common.
#[derive(Debug, clap::Args)]
pub(super) struct Filters {
    /// Ended longer ago than this: 90 (days), 5h, 2d, 1w, or before a given time
    #[arg(long, value_name = "AGE", value_parser = When::parse)]
    pub(super) older_than: Option<When>,
    /// Started within this age, or since a given time
    #[arg(long, value_name = "AGE", value_parser = When::parse)]
    newer_than: Option<When>,
    /// Started before a given time, or longer ago than this
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    before: Option<When>,
    /// Started at a given time or later
    #[arg(long, value_name = "TIME", value_parser = When::parse, conflicts_with = "newer_than")]
    after: Option<When>,
    /// From this source: cli, telegram, cron, …
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// With this text in the title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Ended for this reason
    #[arg(long, value_name = "REASON")]
    end_reason: Option<String>,
    /// Working in this directory or below
    #[arg(long, value_name = "PATH")]
    cwd: Option<String>,
    /// With at least this many messages
    #[arg(long, value_name = "N")]
    min_messages: Option<i64>,
    /// With at most this many messages
    #[arg(long, value_name = "N")]
    max_messages: Option<i64>,
    /// With this text in the model name
    #[arg(long, value_name = "TEXT")]
    model: Option<String>,
    /// Billed by this provider
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// From this user
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// From this chat
    #[arg(long, value_name = "ID")]
    chat_id: Option<String>,
    /// From this kind of chat
    #[arg(long, value_name = "TYPE")]
    chat_type: Option<String>,
    /// With this text in the branch name
    #[arg(long, value_name = "TEXT")]
    branch: Option<String>,
    /// With at least this many tokens sent and received
    #[arg(long, value_name = "N")]
    min_tokens: Option<i64>,
    /// With at most this many tokens
    #[arg(long, value_name = "N")]
    max_tokens: Option<i64>,
    /// That cost at least this many dollars
    #[arg(long, value_name = "USD")]
    min_cost: Option<f64>,
    /// That cost at most this many dollars
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// With at least this many tool calls
    #[arg(long, value_name = "N")]
    min_tool_calls: Option<i64>,
    /// With at most this many tool calls
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<i64>,
}

impl Filters {
    /// The filter they amount to.
    pub(super) fn resolve(&self, context: &Context, now: f64) -> SessionFilter {
        let seconds = |when: &Option<When>| when.as_ref().map(|when| when.seconds(context, now));
        SessionFilter {
            ended: false,
            ended_before: seconds(&self.older_than),
            started_before: seconds(&self.before),
            started_after: seconds(&self.newer_than).or_else(|| seconds(&self.after)),
            source: self.source.clone(),
            title: self.title.clone(),
            end_reason: self.end_reason.clone(),
            cwd: self.cwd.clone(),
            min_messages: self.min_messages,
            max_messages: self.max_messages,
            model: self.model.clone(),
            provider: self.provider.clone(),
            user: self.user.clone(),
            chat_id: self.chat_id.clone(),
            chat_type: self.chat_type.clone(),
            branch: self.branch.clone(),
            min_tokens: self.min_tokens,
            max_tokens: self.max_tokens,
            min_cost: self.min_cost,
            max_cost: self.max_cost,
            min_tool_calls: self.min_tool_calls,
            max_tool_calls: self.max_tool_calls,
            archived: None,
        }
    }
}
