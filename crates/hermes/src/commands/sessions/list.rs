//! `hermes sessions list`.

use hermes_session::{ListRequest, ListedConversation};
use serde_json::{Value, json};

use super::times::ago;
use super::to_read;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, cut, visible};

/// Sessions of other programs, which nobody wants to see unless they ask.
const HIDDEN: &str = "tool";
/// Columns of a title and of a preview.
const TITLE: usize = 30;
const PREVIEW: usize = 40;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only sessions from this source: cli, telegram, cron, …
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Maximum number of sessions to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only sessions whose repository or directory path contains this text
    #[arg(long, value_name = "TEXT")]
    workspace: Option<String>,
    /// Include archived sessions
    #[arg(long)]
    archived: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let request = ListRequest {
        source: args.source.clone(),
        excluded_sources: match args.source {
            Some(_) => Vec::new(),
            None => vec![HIDDEN.to_owned()],
        },
        workspace: args.workspace.clone(),
        archived: args.archived,
        limit: Some(args.limit),
    };
    let store = to_read(context)?;
    let listed = match &store {
        Some(store) => store.list(&request)?,
        None => Vec::new(),
    };
    if args.json {
        let entries: Vec<Value> = listed.iter().map(entry).collect();
        context.json(&Value::Array(entries))?;
    } else if listed.is_empty() {
        context.line("No sessions found.")?;
    } else {
        context.out(&table(&listed, hermes_session::now()))?;
    }
    Ok(())
}

fn table(listed: &[ListedConversation], now: f64) -> String {
    let has_titles = listed.iter().any(|entry| entry.session.title.is_some());
    let mut header = vec!["Preview", "Last Active", "Src", "ID"];
    if has_titles {
        header.insert(0, "Title");
    }
    let mut table = Table::new(&header);
    for entry in listed {
        let mut row = vec![
            cut(&visible(&entry.preview), PREVIEW),
            ago(now, entry.last_active),
            visible(&entry.session.source),
            visible(entry.session.id.as_str()),
        ];
        if has_titles {
            let title = entry.session.title.as_deref().unwrap_or("—");
            row.insert(0, cut(&visible(title), TITLE));
        }
        table.row(row);
    }
    table.render()
}

fn entry(listed: &ListedConversation) -> Value {
    let session = &listed.session;
    json!({
        "id": session.id,
        "root_id": listed.root,
        "parent_session_id": session.parent,
        "title": session.title,
        "preview": listed.preview,
        "source": session.source,
        "model": session.model,
        "started_at": session.started_at,
        "last_active": listed.last_active,
        "ended_at": session.ended_at,
        "end_reason": session.end_reason,
        "message_count": session.counters.message_count,
        "tool_call_count": session.counters.tool_call_count,
        "input_tokens": session.counters.input_tokens,
        "output_tokens": session.counters.output_tokens,
        "workspace": listed.workspace(),
        "archived": session.archived,
    })
}
