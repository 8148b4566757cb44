//! `hermes sessions archive`: put away, not deleted.

use hermes_session::{SessionFilter, SessionStore};

use super::filters::Filters;
use super::prune::shown;
use super::{named, to_change};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, must_confirm};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions: ids, id prefixes, or titles
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// Restore archived sessions instead
    #[arg(long, requires = "ids")]
    restore: bool,
    /// Archive nothing; print what would be archived
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let store = to_change(context)?;
    let filter = args.filters.resolve(context, hermes_session::now());
    let has_filter = filter != SessionFilter::default();
    match (args.ids.as_slice(), has_filter) {
        ([], false) => Err(
            CommandError::usage("name sessions, or select them with options").hint(
                "`hermes sessions archive --older-than 30` archives sessions that ended more \
                than 30 days ago",
            ),
        ),
        ([_, ..], true) => Err(CommandError::usage(
            "name sessions or use options, not both",
        )),
        ([_, ..], false) => archive_named(args, context, store),
        ([], true) => archive_chosen(args, context, store, &filter),
    }
}

fn archive_named(args: &Args, context: &Context, store: Option<SessionStore>) -> Result<()> {
    let mut ids = Vec::new();
    let mut opened = store;
    // All names are looked up before anything happens to any of them.
    for name in &args.ids {
        let (store, id) = named(opened, name)?;
        opened = Some(store);
        ids.push(id);
    }
    let Some(mut store) = opened else {
        return Ok(());
    };
    let (done, would) = if args.restore {
        ("Restored", "Would restore")
    } else {
        ("Archived", "Would archive")
    };
    for id in ids {
        if args.dry_run {
            context.line(format!("{would} {id}"))?;
            continue;
        }
        store.set_archived(&id, !args.restore)?;
        context.line(format!("{done} {id}"))?;
    }
    Ok(())
}

fn archive_chosen(
    args: &Args,
    context: &Context,
    store: Option<SessionStore>,
    filter: &SessionFilter,
) -> Result<()> {
    let filter = SessionFilter {
        ended: true,
        archived: Some(false),
        ..filter.clone()
    };
    let (Some(mut store), false) = (store, args.restore) else {
        return context.line("No sessions to archive");
    };
    let chosen = store.matching(&filter)?;
    let what = counted(chosen.len(), "session");
    if args.dry_run {
        context.line(format!("Would archive {what}"))?;
        return context.out(&shown(context, &chosen));
    }
    if chosen.is_empty() {
        return context.line("No sessions to archive");
    }
    must_confirm(context.printer, args.yes, &format!("Archive {what}?"))?;
    let archived = store.archive_matching(&filter)?;
    let what = counted(archived.len(), "session");
    context.line(format!("Archived {what}"))
}
