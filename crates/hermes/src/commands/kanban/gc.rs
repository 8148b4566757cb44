//! `hermes kanban gc`: garbage collection.

use hermes_board::files::{Retention, collect_garbage};

use super::session::Kanban;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Days to keep events of finished cards
    #[arg(
        long = "event-retention-days",
        value_name = "DAYS",
        default_value_t = 30
    )]
    events: u32,
    /// Days to keep logs and exit records of workers
    #[arg(long = "log-retention-days", value_name = "DAYS", default_value_t = 30)]
    logs: u32,
    /// Days to keep archived boards; forever if not given
    #[arg(long = "archive-retention-days", value_name = "DAYS")]
    archives: Option<u32>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_manage("collect garbage")?;
    let retention = Retention {
        event_days: args.events,
        log_days: args.logs,
        archive_days: args.archives,
    };
    let removed = collect_garbage(&mut session.store, &session.home, &retention)?;
    let mut parts = vec![
        format!("{} workspace(s)", removed.workspaces),
        format!("{} event row(s)", removed.events),
        format!("{} log file(s)", removed.logs),
    ];
    let seldom = [
        (removed.attachments, "attachment(s) without a card"),
        (removed.rows, "row(s) of deleted cards"),
        (removed.boards, "archived board(s)"),
    ];
    for (count, what) in seldom {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    kanban.line(format!("GC complete: {} removed", parts.join(", ")))
}
