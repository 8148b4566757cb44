//! `hermes sessions prune`.

use hermes_session::{Session, SessionFilter, SessionId};
use serde_json::json;

use super::filters::Filters;
use super::times::minute;
use super::{SHOWN_TITLE, to_change, to_read};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, counted, must_confirm, one_line};

/// Days after which sessions go if nothing else is said.
const DEFAULT_DAYS: f64 = 90.0;
/// Sessions that are shown of many.
const SHOWN: usize = 100;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Only finished sessions are deleted: those that have ended, or have been inactive \
        for a week. Without options, those that finished more than 90 days ago."
)]
#[expect(clippy::struct_excessive_bools, reason = "one flag each")]
pub(crate) struct Args {
    #[command(flatten)]
    filters: Filters,
    /// Include archived sessions
    #[arg(long)]
    include_archived: bool,
    /// Delete nothing; print what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    if !args.dry_run {
        context.refuse_to_agents("deleting conversations")?;
    }
    let Some(reader) = to_read(context)? else {
        return report(args, context, &[]);
    };
    let now = hermes_session::now();
    let mut filter = SessionFilter {
        ended: true,
        archived: (!args.include_archived).then_some(false),
        ..args.filters.resolve(context, now)
    };
    let default = SessionFilter {
        ended: true,
        archived: filter.archived,
        ..SessionFilter::default()
    };
    if filter == default {
        filter.ended_before = Some(now - DEFAULT_DAYS * 86_400.0);
    }
    let chosen = reader.matching(&filter)?;
    drop(reader);
    if args.dry_run {
        return report_plan(args, context, &chosen);
    }
    if chosen.is_empty() {
        return report(args, context, &[]);
    }
    let question = format!(
        "Permanently delete {} with all messages?",
        counted(chosen.len(), "session")
    );
    must_confirm(context.printer, args.yes, &question)?;
    let removed = match to_change(context)? {
        Some(mut store) => store.prune(&filter)?,
        None => Vec::new(),
    };
    report(args, context, &removed)
}

fn report(args: &Args, context: &Context, removed: &[SessionId]) -> Result<()> {
    if args.json {
        let value = json!({"dry_run": false, "count": removed.len(), "removed": removed});
        context.json(&value)?;
    } else if removed.is_empty() {
        context.line("No sessions to prune")?;
    } else {
        let what = counted(removed.len(), "session");
        context.line(format!("Pruned {what}"))?;
    }
    Ok(())
}

fn report_plan(args: &Args, context: &Context, chosen: &[Session]) -> Result<()> {
    if args.json {
        let ids: Vec<&SessionId> = chosen.iter().map(|session| &session.id).collect();
        let value = json!({"dry_run": true, "count": ids.len(), "removed": ids});
        return context.json(&value);
    }
    let what = counted(chosen.len(), "session");
    context.line(format!("Would prune {what}"))?;
    context.out(&shown(context, chosen))
}

/// A table of chosen sessions, cut where it would be too long to read.
pub(super) fn shown(context: &Context, chosen: &[Session]) -> String {
    if chosen.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["ID", "Src", "Begun", "Messages", "Title"]);
    for session in chosen.iter().take(SHOWN) {
        table.row(vec![
            one_line(session.id.as_str(), SHOWN_TITLE),
            one_line(&session.source, SHOWN_TITLE),
            minute(context, session.started_at),
            session.counters.message_count.to_string(),
            one_line(session.title.as_deref().unwrap_or("—"), SHOWN_TITLE),
        ]);
    }
    let mut text = table.render();
    if let Some(more) = chosen.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("… and {more} more\n"));
    }
    text
}
