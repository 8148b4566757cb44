//! `hermes kanban block`.

use hermes_board::model::{BlockKind, Status, TaskId};
use hermes_board::store::{BlockRequest, BoardStore};

use super::session::{BoardSession, Kanban, author};
use crate::commands::named;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Reason; also added as a comment
    reason: Vec<String>,
    /// More cards to block for the same reason
    #[arg(long, value_name = "ID", num_args = 1..)]
    ids: Vec<TaskId>,
    /// Kind of reason: another card, a person's answer, something no agent can do, or a temporary
    /// problem
    #[arg(long, value_name = "KIND", value_parser = named(BlockKind::ALL.iter().map(|kind| (kind.as_str(), *kind))))]
    kind: Option<BlockKind>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let reason = reason(&args.reason);
    let mut session = kanban.open()?;
    session.for_each(&all(&args.id, &args.ids), |session, id| {
        block(session, id, reason.as_deref(), args.kind)
    })
}

fn block(
    session: &mut BoardSession<'_>,
    id: &TaskId,
    reason: Option<&str>,
    kind: Option<BlockKind>,
) -> Result<()> {
    let expected_run = session.own_run(id, "block")?;
    announce(
        session,
        id,
        "BLOCKED",
        reason,
        &[Status::Ready, Status::Running],
    )?;
    let outcome = session.store.block(&BlockRequest {
        task: id.clone(),
        reason: reason.map(str::to_owned),
        kind,
        expected_run,
    })?;
    let why = because(reason);
    let line = match outcome.status {
        Status::Todo => format!("{id} → todo (waiting for its parents){why}"),
        Status::Triage => format!(
            "{id} → triage (blocked again for the same reason; a person has to decide){why}"
        ),
        _ => format!("Blocked {id}{why}"),
    };
    session.line(line)?;
    if kind == Some(BlockKind::Dependency) && outcome.kind != kind {
        session.hint(format!(
            "{id} has no open parent, so it needs an answer from somebody; `hermes kanban \
             link` names what it waits for"
        ))?;
    }
    Ok(())
}

/// The words of a reason as one text.
pub(super) fn reason(words: &[String]) -> Option<String> {
    let text = words.join(" ").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The first card and the others.
pub(super) fn all(first: &TaskId, others: &[TaskId]) -> Vec<TaskId> {
    std::iter::once(first).chain(others).cloned().collect()
}

/// Adds the reason as a comment: before the change, because a later comment counts as an answer. No
/// comment is added to a card that cannot be changed.
pub(super) fn announce(
    session: &mut BoardSession<'_>,
    id: &TaskId,
    what: &str,
    reason: Option<&str>,
    from: &[Status],
) -> Result<()> {
    let Some(reason) = reason else {
        return Ok(());
    };
    let own = session.caller()?.run_of(id);
    let may_speak = session.store.task(id)?.is_some_and(|task| {
        from.contains(&task.status()) && (own.is_none() || own == task.current_run_id)
    });
    if may_speak {
        let author = author(session);
        let text = format!("{what}: {reason}");
        session.store.add_comment(id, &author, &text)?;
    }
    Ok(())
}

pub(super) fn because(reason: Option<&str>) -> String {
    reason
        .map(|reason| format!(": {}", crate::ui::one_line(reason, 500)))
        .unwrap_or_default()
}
