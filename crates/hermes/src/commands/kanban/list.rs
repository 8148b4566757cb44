//! `hermes kanban list`: cards one after another, however many there are.

use std::io::Write;

use hermes_board::boards::Listed;
use hermes_board::model::{LinkedTask, Status};
use hermes_board::store::BoardStore;
use hermes_board::{Error, ListQuery, SortOrder};
use serde::Serializer;
use serde::ser::SerializeSeq;

use super::cards::card_line;
use super::session::{BoardSession, Kanban, author};
use crate::commands::named;
use crate::error::{CommandError, Result};
use crate::ui::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only cards assigned to the current profile
    #[arg(long)]
    mine: bool,
    /// Only cards assigned to this profile or lane
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// Only cards with this status
    #[arg(long, value_name = "STATUS", value_parser = named(Status::ALL.iter().map(|one| (one.as_str(), *one))))]
    status: Option<Status>,
    /// Only cards in this namespace
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only cards that this session created
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Include archived cards
    #[arg(long)]
    archived: bool,
    /// Sort order
    #[arg(long, value_name = "ORDER", value_parser = named(SortOrder::ALL.iter().map(|one| (one.as_str(), *one))))]
    sort: Option<SortOrder>,
    /// Only cards of this template
    #[arg(long, value_name = "ID")]
    workflow_template_id: Option<String>,
    /// Only cards at this step
    #[arg(long, value_name = "KEY")]
    step_key: Option<String>,
    /// At most this many cards
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Skip this many cards
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    // What waits for nothing any more shows as ready, dispatcher or not.
    let limit = session.settings.limits.failure_limit;
    session.store.promote_satisfied(limit)?;
    let query = query(args, &session);
    let mut out;
    if args.json {
        out = kanban.printer.json_stream();
        print_json(&session, &query, &mut out)?;
    } else {
        out = kanban.printer.stream();
        print_lines(&session, &query, &mut out)?;
    }
    out.flush()?;
    Ok(())
}

fn query(args: &Args, session: &BoardSession<'_>) -> ListQuery {
    let mine = || args.mine.then(|| author(session));
    ListQuery {
        assignee: args.assignee.clone().or_else(mine),
        status: args.status,
        tenant: args.tenant.clone(),
        session_id: args.session.clone(),
        workflow_template_id: args.workflow_template_id.clone(),
        step_key: args.step_key.clone(),
        include_archived: args.archived,
        sort: args.sort,
        limit: args.limit,
        offset: args.offset,
    }
}

fn print_json(session: &BoardSession<'_>, query: &ListQuery, out: &mut impl Write) -> Result<()> {
    let mut json = serde_json::Serializer::pretty(&mut *out);
    let mut array = json.serialize_seq(None)?;
    each(session, query, |task| {
        array.serialize_element(task).map_err(output_error)
    })?;
    array.end().map_err(output_error)?;
    Ok(out.write_all(b"\n")?)
}

fn print_lines(session: &BoardSession<'_>, query: &ListQuery, out: &mut impl Write) -> Result<()> {
    let boards = session.home.list(Listed::Active)?.len();
    if boards > 1 {
        let others = counted(boards - 1, "other board");
        let slug = &session.store.board().slug;
        writeln!(
            out,
            "Board: {slug} ({others}: `hermes kanban boards list`)\n"
        )?;
    }
    let mut any = false;
    each(session, query, |task| {
        any = true;
        Ok(writeln!(out, "{}", card_line(&task.task))?)
    })?;
    if !any {
        writeln!(out, "(no matching tasks)")?;
    }
    Ok(())
}

/// Passes on the cards until one cannot be printed.
fn each(
    session: &BoardSession<'_>,
    query: &ListQuery,
    mut print: impl FnMut(&LinkedTask) -> Result<()>,
) -> Result<()> {
    let mut failed = None;
    let listed = session.store.each_task(query, &mut |task| {
        print(&task).map_err(|error| {
            failed = Some(error);
            // Ends the walk; what counts is the error that was just put aside.
            Error::BadRequest(String::new())
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(listed?),
    }
}

/// Serialising into the output fails only where writing does.
fn output_error(error: serde_json::Error) -> CommandError {
    std::io::Error::from(error).into()
}
