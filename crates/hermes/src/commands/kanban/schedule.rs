//! `hermes kanban schedule`: scheduling cards for later.

use hermes_board::model::{Status, TaskId};
use hermes_board::store::{BoardStore, ScheduleRequest};

use super::block::{all, announce, because, reason};
use super::session::{Kanban, usage};
use super::times::parse_moment;
use crate::error::Result;

/// Statuses from which cards can be scheduled.
const PARKABLE: &[Status] = &[
    Status::Todo,
    Status::Ready,
    Status::Running,
    Status::Blocked,
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Reason; also added as a comment
    reason: Vec<String>,
    /// More cards to schedule for the same reason
    #[arg(long, value_name = "ID", num_args = 1..)]
    ids: Vec<TaskId>,
    /// When the card wakes: 2027-01-31T09:00:00Z, or seconds since 1970
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let at = match args.at.as_deref().map(parse_moment).transpose() {
        Ok(at) => at,
        Err(error) => return Err(usage(format!("--at: {error}"))),
    };
    let reason = reason(&args.reason);
    let mut session = kanban.open()?;
    session.for_each(&all(&args.id, &args.ids), |session, id| {
        let expected_run = session.own_run(id, "schedule")?;
        announce(session, id, "SCHEDULED", reason.as_deref(), PARKABLE)?;
        session.store.schedule(&ScheduleRequest {
            task: id.clone(),
            reason: reason.clone(),
            at,
            expected_run,
        })?;
        let until = at.map(|at| format!(" until {}", session.minute(at)));
        let line = format!(
            "Scheduled {id}{}{}",
            until.unwrap_or_default(),
            because(reason.as_deref())
        );
        session.line(line)
    })
}
